"""Does a run still say what the baseline says? The changes, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verification.baseline import Expectations, changes, find
from verification.registry import Registry
from verification.verdict import Profile


@dataclass(frozen=True)
class Change:
    """One difference between the baseline and what was found."""

    row: str
    what: str
    expected: str
    found: str


def compare(report: Mapping[str, Any], expected: Expectations, registry: Registry) -> list[Change]:
    """Everything in which ``report`` differs from what is ``expected``, in the report's order.

    That includes rows without an expectation, expectations without a row, and repairs that the report
    does not show to be necessary.
    """
    profile: Profile = report["profile"]
    out = []
    for row in report["rows"]:
        name = f"{row['id']}:{row['variant']}"
        expectation = find(row, profile, expected)
        if expectation is None:
            out.append(Change(name, "verdict", "nothing", row["verdict"]))
        else:
            out += [Change(name, *change) for change in changes(row, expectation)]
    for entry in report["repairs"]:
        if entry["verdict"] != "REFUTED":
            out.append(
                Change(f"{entry['id']}:repaired", f"without {entry['repair']}", "REFUTED", entry["verdict"])
            )
    return out + stale(expected, registry)


def stale(expected: Expectations, registry: Registry) -> list[Change]:
    """Expectations of rows that are not registered."""
    return [
        Change(f"{id}:{variant}", "row", "registered", "no such row")
        for id, variants in expected.items()
        for variant in variants
        if id not in registry.claims or variant not in registry.claims[id].variants
    ]
