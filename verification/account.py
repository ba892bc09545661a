"""A run, or the list of claims, in short and as plain data: what scripts read with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verification.registry import Registry
from verification.report.model import sentences
from verification.runner import passed


def account(report: Mapping[str, Any], out: Path | None) -> dict[str, Any]:
    """The rows and what came of them; the whole of it is in ``out``/report.json."""
    keys = ("id", "variant", "verdict", "expected", "passed")
    return {
        "schema": 1,
        "profile": report["profile"],
        "seed": report["seed"],
        "complete": report["complete"],
        "passed": passed(dict(report)),
        "summary": sentences(dict(report)),
        "report": None if out is None else str(out / "report.json"),
        "rows": [{key: row[key] for key in keys} for row in report["rows"]],
    }


def contents(registry: Registry) -> dict[str, Any]:
    """All claims, with formulas as LaTeX between dollar signs."""
    return {
        "schema": 1,
        "claims": [
            {
                "id": claim.id,
                "title": claim.title,
                "variants": claim.variants,
                "statement": claim.statement,
                "repaired": claim.repaired,
                "method": claim.method,
                "checks": [check.name for check in claim.checks],
                "guards": claim.guards,
            }
            for claim in registry.claims.values()
        ],
    }
