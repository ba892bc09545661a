"""What every row is expected to say, as committed in baseline.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verification import strict
from verification.registry import Registry
from verification.reportfile import check_file
from verification.serialise import canonical_json, number, write_atomic
from verification.verdict import PROFILES, VARIANTS, VERDICTS, Profile

BASELINE = Path(__file__).with_name("baseline.json")

Expectations = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""claim id, variant, profile → {"verdict": …, "measures": {name: [low, high]}, "deciding": …, "guards": …}.

``deciding`` names the evidence that a row which holds rests on, ``guards`` the repairs without which it is
refuted. A file may lack them: then nothing is expected of either.
"""


def read(path: Path) -> Expectations:
    """The expectations in one file."""
    if path.exists():
        check_file("baseline", path)
    try:
        content = strict.loads(path.read_text(encoding="utf-8"))
        rows: Expectations = content["rows"]
        if content["schema"] != 1:
            raise ValueError(f"schema {content['schema']!r}, expected 1")
        for variants in rows.values():
            for variant, profiles in variants.items():
                for profile, expectation in profiles.items():
                    _check(variant, profile, expectation)
    except (FileNotFoundError, IsADirectoryError):
        raise ValueError(f"baseline {str(path)!r}: there is no such file") from None
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"baseline {str(path)!r} is not a baseline: {error}") from None
    return rows


def expectations(extra: Path | None = None) -> Expectations:
    """The committed expectations, and over them those of a user's own file."""
    return read(BASELINE) | (read(extra) if extra else {})


def judge(row: Mapping[str, Any], profile: Profile, expected: Expectations) -> dict[str, Any]:
    """The row with ``expected`` and ``passed``."""
    found = find(row, profile, expected)
    return dict(row) | {
        "expected": found and found["verdict"],
        "passed": found is not None and not changes(row, found),
    }


def find(row: Mapping[str, Any], profile: Profile, expected: Expectations) -> dict[str, Any] | None:
    return expected.get(row["id"], {}).get(row["variant"], {}).get(profile)


def changes(row: Mapping[str, Any], expectation: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What differs from the expectation: (what, expected, seen)."""
    out = []
    if row["verdict"] != expectation["verdict"]:
        out.append(("verdict", expectation["verdict"], row["verdict"]))
    for name, (low, high) in sorted(expectation["measures"].items()):
        found = row["measures"].get(name)
        if found is None:
            out.append((name, f"[{low}, {high}]", "missing"))
        elif _apart(found["interval"], (low, high)):
            out.append((name, f"[{low}, {high}]", f"{found['value']} in {found['interval']}"))
    if row["error"] is not None:
        # A crash is UNDECIDED too, and must not pass for an expected UNDECIDED.
        out.append(("error", "none", row["reason"]))
    return out


def _apart(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Two intervals for one truth overlap unless one of them misses it; a new estimate alone strays from an
    old interval far more often than the interval's error rate says.

    One that has become infinite overlaps with everything, and says nothing any more.
    """
    (low, high), (least, most) = map(number, found), map(number, expected)
    lost = (math.isinf(low) and not math.isinf(least)) or (math.isinf(high) and not math.isinf(most))
    return lost or high < least or most < low


def deciding(row: Mapping[str, Any]) -> list[str]:
    """The evidence that a verdict rests on, by name."""
    return [e["check"] for e in row["evidence"] if e["role"] == "decides"]


def updated(old: Expectations, report: Mapping[str, Any], registry: Registry) -> Expectations:
    """Expectations after accepting ``report``; those of rows that no longer exist are dropped.

    A row that failed with an error is not accepted: nobody should expect a crash.
    """
    new: Expectations = {}
    for id, variants in old.items():
        known: tuple[str, ...] = registry.claims[id].variants if id in registry.claims else ()
        if kept := {variant: dict(p) for variant, p in variants.items() if variant in known}:
            new[id] = kept
    for row in report["rows"]:
        if row["error"] is not None:
            continue
        wanted = registry.claim(row["id"]).baselined
        intervals = {k: m["interval"] for k, m in row["measures"].items() if k in wanted}
        profiles = new.setdefault(row["id"], {}).setdefault(row["variant"], {})
        profiles[report["profile"]] = {"verdict": row["verdict"], "measures": intervals} | rests_on(
            row, report
        )
    return new


def rests_on(row: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, list[str]]:
    """What a row that holds must not lose: its deciding evidence, and the repairs shown to be necessary.

    One counterexample refutes, whatever else was looked at: a refuted row may rest on any of its evidence.
    """
    repairs = [e["repair"] for e in report["repairs"] if e["id"] == row["id"] and e["verdict"] == "REFUTED"]
    found = {
        "deciding": sorted(deciding(row)) if row["verdict"] == "HOLDS" else [],
        "guards": sorted(repairs) if row["variant"] == "repaired" else [],
    }
    return {name: names for name, names in found.items() if names}


def write(path: Path, rows: Expectations) -> None:
    write_atomic(path, canonical_json({"schema": 1, "rows": rows}))


def _check(variant: str, profile: str, expectation: Mapping[str, Any]) -> None:
    if variant not in VARIANTS or profile not in PROFILES or expectation["verdict"] not in VERDICTS:
        raise ValueError(f"{variant!r}, {profile!r}, {expectation!r}")
    for low, high in expectation["measures"].values():
        if not number(low) <= number(high):
            raise ValueError(f"empty interval [{low}, {high}]")
    for name in ("deciding", "guards"):
        if not isinstance(names := expectation.get(name, []), list) or not all(type(n) is str for n in names):
            raise ValueError(f"{name} is a list of names, not {names!r}")
