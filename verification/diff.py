"""What differs between two reports, value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ABSENT = "—"
WHOLE = ("figures", "tables", "error", "counterexample")
"""Compared as a whole: their inner differences would bury the rest."""


@dataclass(frozen=True)
class Difference:
    """One value that is not the same in both reports."""

    row: str
    what: str
    left: str
    right: str


def diff(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[Difference]:
    """All differences: first of the runs, then row by row, then of the repairs."""
    ours, theirs = _sections(left), _sections(right)
    out: list[Difference] = []
    for section in dict.fromkeys([*ours, *theirs]):
        a, b = ours.get(section), theirs.get(section)
        if a is None or b is None:
            present = ("present", ABSENT) if b is None else (ABSENT, "present")
            out.append(Difference(section, "row", *present))
            continue
        flat_a, flat_b = dict(_leaves(a)), dict(_leaves(b))
        out += [
            Difference(section, key, *_shown(key, flat_a, flat_b))
            for key in dict.fromkeys([*flat_a, *flat_b])
            if flat_a.get(key, ABSENT) != flat_b.get(key, ABSENT)
        ]
    return out


def _sections(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    head = {key: value for key, value in report.items() if key not in ("rows", "repairs")}
    rows = {f"{row['id']}:{row['variant']}": _by_name(row) for row in report["rows"]}
    repairs = {f"{entry['id']} without {entry['repair']}": entry for entry in report["repairs"]}
    return {"run": head, **rows, **repairs}


def _by_name(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its evidence by name, so that inserting one piece is one difference."""
    return dict(row) | {"evidence": {evidence["check"]: evidence for evidence in row["evidence"]}}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and path not in WHOLE and not path.endswith(".counterexample"):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    else:
        yield path, value


def _shown(key: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> tuple[str, str]:
    if key in WHOLE or key.endswith(".counterexample"):
        return (
            ("one", "another") if left.get(key) and right.get(key) else (_some(left, key), _some(right, key))
        )
    return str(left.get(key, ABSENT)), str(right.get(key, ABSENT))


def _some(flat: Mapping[str, Any], key: str) -> str:
    return "one" if flat.get(key) else "none"
