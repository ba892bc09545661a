"""Does a run still say what the baseline says? The changes, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verification.baseline import Expectations, changes, deciding, find
from verification.registry import Registry, Row


@dataclass(frozen=True)
class Change:
    """One difference between the baseline and what was found."""

    row: str
    what: str
    expected: str
    found: str


def compare(
    report: Mapping[str, Any], expected: Expectations, registry: Registry, claims: Sequence[str] = ()
) -> list[Change]:
    """Everything in which ``report`` differs from what is ``expected`` of ``claims``, or of all claims.

    That includes rows without an expectation, expectations without a row, rows that the report lacks,
    repairs that it does not show to be necessary, and evidence and measures that nobody looks at any more.
    """
    chosen = {row.name: row for row in registry.rows(claims)}
    rows = {_name(row): row for row in report["rows"]}
    seen = [row for name, row in rows.items() if name in chosen or not claims]
    repaired = [row for name, row in chosen.items() if name in rows]
    out = [
        change for row in seen for change in _of_row(row, find(row, report["profile"], expected), registry)
    ]
    out += _of_repairs(report, registry.repair_rows(repaired))
    out += [Change(name, "row", "in the report", "missing") for name in chosen if name not in rows]
    return out + stale(expected, registry)


def _of_row(
    row: Mapping[str, Any], expectation: Mapping[str, Any] | None, registry: Registry
) -> list[Change]:
    name = _name(row)
    if expectation is None:
        return [Change(name, "verdict", "nothing", row["verdict"])]
    found = [Change(name, *change) for change in changes(row, expectation)]
    if row["verdict"] == expectation["verdict"] == "HOLDS":
        there = deciding(row)
        lost = [check for check in expectation.get("deciding", ()) if check not in there]
        found += [Change(name, check, "decides", "missing") for check in lost]
    claim = registry.claims.get(row["id"])
    if claim is not None:
        dropped = set(expectation.get("guards", ())) - claim.guards
        found += [Change(name, f"without {repair}", "REFUTED", "not guarded") for repair in sorted(dropped)]
        new = (claim.baselined & row["measures"].keys()) - expectation["measures"].keys()
        found += [Change(name, m, "nothing", str(row["measures"][m]["interval"])) for m in sorted(new)]
    return found


def _of_repairs(report: Mapping[str, Any], wanted: Iterable[Row]) -> list[Change]:
    """Repairs that are not shown to be necessary for the claims that guard them."""
    found = {(entry["id"], entry["repair"]): entry["verdict"] for entry in report["repairs"]}
    pairs = [(row, repair) for row in wanted for repair in row.without]
    return [
        Change(f"{row.claim}:{row.variant}", f"without {repair}", "REFUTED", verdict)
        for row, repair in pairs
        if (verdict := found.get((row.claim, repair), "missing")) != "REFUTED"
    ]


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['id']}:{row['variant']}"


def stale(expected: Expectations, registry: Registry) -> list[Change]:
    """Expectations of rows that are not registered."""
    return [
        Change(f"{id}:{variant}", "row", "registered", "no such row")
        for id, variants in expected.items()
        for variant in variants
        if id not in registry.claims or variant not in registry.claims[id].variants
    ]
