"""Does every random check keep its level? All of them at 5 % with few samples, over many seeds.

A check is wrong on a seed when one of its verdicts contradicts the truth, or when it stops with an error
(two computations of one number disagree). The truth is what the unchanged check says at level 1e-9 with all
its samples; where that is UNDECIDED, it is HOLDS in a row that is expected to hold, and elsewhere unknown:
there HOLDS and REFUTED cannot both be right, and the rarer one counts.
A baselined measure is wrong when its interval misses that of the unchanged check, as in the gate.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
from scipy import stats

from verification.alarms.reductions import BLOCK, LEVEL, REDUCED, reduced_hash
from verification.alarms.worker import random_checks
from verification.baseline import expectations
from verification.fingerprint import versions
from verification.registry import load
from verification.report.studies import read_levels
from verification.serialise import canonical_json, number, write_atomic
from verification.substitution import Edit, run

SEEDS = 2000
FAMILYWISE = 1e-3
"""The chance that all limits together are passed when every check has level 0.05 exactly."""

Found = Mapping[str, Any]
Key = tuple[str, str]


@dataclass
class Tally:
    """What one check said so far."""

    seeds: int = 0
    wrong: int = 0
    errors: int = 0
    said: dict[str, dict[str, int]] = field(default_factory=dict)
    """For each piece of evidence: how often it said HOLDS and REFUTED. One that never did was never wrong."""
    missed: dict[str, int] = field(default_factory=dict)
    """For each measure: on how many seeds its interval missed the true one."""

    def add(self, true: Found, found: Found) -> None:
        self.seeds += 1
        if "error" in found:
            self.errors += 1
            self.wrong += 1
            return
        for name, verdict in found["evidence"].items():
            counts = self.said.setdefault(name, {"HOLDS": 0, "REFUTED": 0})
            if verdict != "UNDECIDED":
                counts[verdict] += 1
        told = found["evidence"]
        self.wrong += any(
            "UNDECIDED" not in (verdict, told.get(name, "UNDECIDED")) and told[name] != verdict
            for name, verdict in true["evidence"].items()
        )
        for name, (low, high) in found["measures"].items():
            if name in true["measures"]:
                one, two = true["measures"][name]
                apart = number(high) < number(one) or number(two) < number(low)
                self.missed[name] = self.missed.get(name, 0) + apart

    def all_wrong(self, true: Found) -> int:
        """With what must be wrong though the truth is unknown."""
        unknown = [name for name in self.said if true["evidence"].get(name, "UNDECIDED") == "UNDECIDED"]
        return self.wrong + sum(min(self.said[name].values()) for name in unknown)


def limit(seeds: int, comparisons: int) -> int:
    """The most rejections in ``seeds`` that a level of 0.05 explains, ``comparisons`` limits holding at once.

    >>> limit(2000, 1), limit(2000, 100)
    (131, 144)
    """
    return int(stats.binom.isf(FAMILYWISE / comparisons, seeds, LEVEL))


def detectable(seeds: int, comparisons: int) -> float:
    """The true level that passes the limit with probability 0.99."""
    most = limit(seeds, comparisons)
    return float(stats.beta.isf(0.01, most + 1, seeds - most)) if most < seeds else 1.0


def beyond(study: Mapping[str, Any]) -> list[str]:
    """The checks and measures that were wrong more often than a level of 0.05 explains."""
    return [
        name
        for c in study["checks"]
        for name, wrong in ((f"{c['row']} {c['check']}", c["all_wrong"]), *_measures(c).items())
        if wrong > c["limit"]
    ]


def _measures(check: Mapping[str, Any]) -> dict[str, int]:
    return {f"{check['row']} {check['check']}, {name}": missed for name, missed in check["missed"].items()}


def chunks(keys: Sequence[Key], done: Mapping[Key, Tally], most: int) -> Iterator[tuple[list[Key], int]]:
    """(checks, first seed) of what is left to do, all claims in turn, BLOCK seeds at a time."""
    for first in range(1, most + 1, BLOCK):
        if part := [key for key in keys if done[key].seeds < first]:
            yield part, first


def measure_levels(
    path: Path,
    most: int = SEEDS,
    jobs: int = 1,
    only: Sequence[str] = (),
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Runs what is missing in ``path``, writing it after every block, and returns what it holds then.

    What was measured of a check stays as long as the code that its claim runs is the same.
    """
    keys = [key for key in random_checks(load()) if not only or _claim(key) in only]
    if not keys:
        raise ValueError(f"claims: no random check among {list(only)}")
    study = _read(path)
    study["truth"] |= _truth([key for key in keys if _name(key) not in study["truth"]])
    done = {key: study["tallies"].get(_name(key), Tally()) for key in keys}
    calls = [joblib.delayed(_block)(part, first) for part, first in chunks(keys, done, most)]
    # In order, so that the seeds of every check are 1, 2, 3 … without a gap wherever it stops.
    for index, results in enumerate(
        joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch=jobs)(calls)
    ):
        for key, found in results:
            done[key].add(study["truth"][_name(key)], found)
            study["seconds"][_name(key)] = study["seconds"].get(_name(key), 0.0) + found["seconds"]
        study["tallies"] |= {_name(key): tally for key, tally in done.items()}
        _write(path, study)
        progress(f"{index + 1} of {len(calls)} blocks")
    return _plain(study)


def _block(keys: Sequence[Key], first: int) -> list[tuple[Key, Found]]:
    return run_checks(REDUCED, keys, first, BLOCK, BLOCK)


def _truth(keys: Sequence[Key]) -> dict[str, Found]:
    found = run_checks((), keys, 0, 1, 1) if keys else []
    rows = expectations()
    return {
        _name(key): truth(said, rows[_claim(key)][key[0].split(":")[1]]["quick"]["verdict"])
        for key, said in found
    }


def truth(said: Found, expected: str) -> Found:
    """What is true, by what the unchanged check ``said`` and by what is ``expected`` of its row."""
    if "error" in said:
        raise RuntimeError(f"an unchanged check stops with an error: {said['error']}")
    known = {
        name: expected if (verdict, expected) == ("UNDECIDED", "HOLDS") else verdict
        for name, verdict in said["evidence"].items()
    }
    return {"evidence": known, "measures": said["measures"]}


def run_checks(
    edits: Sequence[Edit], keys: Sequence[Key], first: int, seeds: int, size: int
) -> list[tuple[Key, Found]]:
    """What each check said at so many seeds from ``first`` on, in blocks of ``size``, with ``edits`` made."""
    words = (json.dumps(keys), str(first), str(seeds), str(size))
    done = run(edits, "verification.alarms.worker", *words)
    if done.returncode:
        raise RuntimeError(f"the checks could not be run: {done.stderr.strip()[-500:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [((name, check), found) for line in lines for name, check, found in line["found"]]


def _read(path: Path) -> dict[str, Any]:
    """What was measured with the code as it is now; nothing else can be added to."""
    study: dict[str, Any] = {"truth": {}, "tallies": {}, "seconds": {}}
    known = set(random_checks(load()))
    for c in read_levels(path)["checks"] if path.exists() else ():
        key = (c["row"], c["check"])
        if key in known and c["code"] == reduced_hash(_claim(key)):
            study["tallies"][_name(key)] = Tally(**{k: c[k] for k in Tally.__dataclass_fields__})
            study["truth"][_name(key)] = c["truth"]
            study["seconds"][_name(key)] = c["seconds"]
    return study


def _plain(study: Mapping[str, Any]) -> dict[str, Any]:
    measures = sum(len(tally.missed) for tally in study["tallies"].values())
    comparisons = len(study["tallies"]) + measures
    checks = []
    for name, tally in study["tallies"].items():
        row, check = name.split("/", 1)
        claim = row.split(":")[0]
        checks.append(
            {field: getattr(tally, field) for field in Tally.__dataclass_fields__}
            | {"row": row, "check": check, "truth": study["truth"][name], "code": reduced_hash(claim)}
            | {"all_wrong": tally.all_wrong(study["truth"][name]), "limit": limit(tally.seeds, comparisons)}
            | {"detectable": round(detectable(tally.seeds, comparisons), 4)}
            | {"seconds": round(study["seconds"].get(name, 0.0), 3)}
        )
    return {
        "schema": 1,
        "level": LEVEL,
        "familywise": FAMILYWISE,
        "comparisons": comparisons,
        "edits": [[edit.module, edit.old, edit.new] for edit in REDUCED],
        "versions": versions(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(sum(study["seconds"].values()), 1),
        "checks": checks,
    }


def _write(path: Path, study: Mapping[str, Any]) -> None:
    write_atomic(path, canonical_json(_plain(study)))


def _claim(key: Key) -> str:
    return key[0].split(":")[0]


def _name(key: Key) -> str:
    return "/".join(key)
