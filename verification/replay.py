"""Runs one counterexample or one row's evidence again and says whether it comes out the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification import strict
from verification.claim import Context, Setting
from verification.registry import Registry
from verification.reportfile import check_file, read_report
from verification.row import run_check, run_row
from verification.serialise import plain
from verification.threads import single_thread
from verification.verdict import PROFILES

KEYS = {"claim", "variant", "profile", "seed", "without", "check", "evidence", "input"}

TEXTS = ("claim", "variant", "profile", "check", "evidence")

FIRST = ("verdict", "value", "bound", "interval", "counterexample")
"""What a reader looks for."""


@dataclass(frozen=True)
class Pair:
    """One value as it was recorded and as it is now."""

    evidence: str
    what: str
    recorded: Any
    now: Any

    @property
    def agrees(self) -> bool:
        return bool(self.recorded == self.now)


def replay(target: str, report: Path, registry: Registry) -> list[Pair]:
    """``target`` is a row such as ``lemma-4.2-psi:paper`` of ``report``, or a file with a counterexample."""
    if target.endswith(".json"):
        example = _read_example(Path(target))
        fresh = _run_example(example, registry)
        recorded = {"verdict": "REFUTED", "counterexample": example["input"]}
        return _pairs(example["evidence"], recorded, fresh)
    found = read_report(report)
    row = find_row(found, target)
    if row["counterexample"] is not None:
        example = _checked(row["counterexample"], str(report))
        kept = next((e for e in row["evidence"] if e["check"] == example["evidence"]), None)
        if kept is None:
            raise ValueError(f"{report}: row {target!r} has no evidence {example['evidence']!r}")
        return _pairs(example["evidence"], kept, _run_example(example, registry))
    claim = registry.claim(row["id"])
    fresh_row = run_row(claim, row["variant"], found["profile"], found["seed"])
    pairs = _pairs("row", {k: row[k] for k in ("verdict", "reason")}, fresh_row)
    now = {e["check"]: e for e in fresh_row["evidence"]}
    for evidence in row["evidence"]:
        pairs += _pairs(evidence["check"], evidence, now.get(evidence["check"], {}))
    return pairs


def find_row(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The row called ``id:variant``, or ``id`` where there is only one."""
    rows = {f"{row['id']}:{row['variant']}": row for row in report["rows"]}
    named = [key for key in rows if key == name or key.startswith(f"{name}:")]
    if len(named) != 1:
        about = (
            f"it could be {' or '.join(named)}" if named else f"the report has {', '.join(rows) or 'no rows'}"
        )
        raise ValueError(f"row {name!r}: {about}")
    row: Mapping[str, Any] = rows[named[0]]
    return row


def _run_example(example: Mapping[str, Any], registry: Registry) -> Mapping[str, Any]:
    """The evidence that the counterexample belongs to, gathered again; empty if it is no longer there."""
    single_thread()
    claim = registry.claim(example["claim"])
    check = next((c for c in claim.checks if c.name == example["check"]), None)
    if check is None:
        names = ", ".join(c.name for c in claim.checks)
        raise ValueError(f"claim {claim.id!r} has no check {example['check']!r}; it has {names}")
    claim.text(example["variant"])
    if example["profile"] not in PROFILES:
        raise ValueError(f"profile is one of {', '.join(PROFILES)}, not {example['profile']!r}")
    setting = Setting(example["variant"], example["profile"], example["seed"], frozenset(example["without"]))
    finding = plain(run_check(check, Context(claim.id, setting)))
    return next((e for e in finding["evidence"] if e["check"] == example["evidence"]), {})


def _pairs(name: str, recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[Pair]:
    ordered = sorted(recorded, key=lambda what: FIRST.index(what) if what in FIRST else len(FIRST))
    return [Pair(name, what, recorded[what], now.get(what)) for what in ordered if what != "check"]


def _read_example(path: Path) -> Mapping[str, Any]:
    if path.exists():
        check_file("example", path)
    try:
        content = strict.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON, or cut off: {error}") from None
    return _checked(content, str(path))


def _checked(example: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(example, dict) or set(example) != KEYS:
        raise ValueError(f"{where} holds no counterexample; it has the keys {', '.join(sorted(KEYS))}")
    for name in TEXTS:
        if not isinstance(example[name], str):
            raise ValueError(f"{where}: {name} is text, not {example[name]!r}")
    without, seed = example["without"], example["seed"]
    if not isinstance(without, list) or not all(isinstance(repair, str) for repair in without):
        raise ValueError(f"{where}: without is a list of repairs, not {without!r}")
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"{where}: seed is a whole number of at least 0, not {seed!r}")
    return example
