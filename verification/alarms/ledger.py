"""Whole runs over many root seeds: how often does a row come out unexpected by chance?

Every run is one entry of a committed file, with the hash of the code that each claim ran. When the code of a
claim changes, that claim alone is run again; what was made with earlier code stays and is counted apart.
"""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from verification.alarms.code import claim_hash
from verification.alarms.worker import random_checks
from verification.fingerprint import versions
from verification.registry import load
from verification.report.studies import read_seeds
from verification.runner import Event, Run, verify
from verification.serialise import canonical_json, write_atomic
from verification.verdict import VARIANTS

Entry = dict[str, Any]


class IncompleteError(Exception):
    """A run was stopped, or lost a worker: nothing can be said about it."""


def run_seeds(
    path: Path,
    seeds: Sequence[int],
    jobs: int = 1,
    claims: Sequence[str] = (),
    progress: Callable[[Event], None] = lambda event: None,
) -> dict[int, list[Entry]]:
    """Runs in the quick profile what ``path`` does not hold yet, and returns the entries by seed.

    The file is written after every run. ``claims`` restricts the runs; the others can be added later.
    """
    entries = read_seeds(path)["entries"] if path.exists() else []
    code = hashes(claims)
    for seed in seeds:
        missing = [c for c in code if not any(_holds(e, seed, c, code[c]) for e in entries)]
        if not missing:
            continue
        chosen = missing if len(missing) < len(load().claims) else ()
        with tempfile.TemporaryDirectory() as folder:
            run = verify(chosen, VARIANTS, "quick", seed, Path(folder), jobs=jobs, progress=progress)
            seconds = json.loads((Path(folder) / "timings.json").read_text())["seconds"]
        if run.trouble is not None or not run.report["complete"]:
            raise IncompleteError(
                f"the run at seed {seed} is incomplete: {run.trouble or 'rows are missing'}"
            )
        made = _entry(run, {c: code[c] for c in missing}) | {"seconds": round(sum(seconds.values()), 1)}
        entries = sorted([*entries, made], key=_order)
        write_atomic(path, canonical_json({"schema": 1, "entries": entries}))
    return {
        seed: [e for e in entries if any(_holds(e, seed, c, code[c]) for c in code)]
        for seed in sorted(set(seeds))
    }


def hashes(claims: Sequence[str] = ()) -> dict[str, str]:
    """What each of ``claims``, or of all, runs as the code is now."""
    return {load().claim(claim).id: claim_hash(claim) for claim in claims or load().claims}


def unexpected(report: Mapping[str, Any]) -> list[str]:
    """The rows that are not as expected, and the repairs that are no longer shown to be necessary."""
    rows = [f"{row['id']}:{row['variant']}" for row in report["rows"] if not row["passed"]]
    repairs = [e for e in report["repairs"] if e["verdict"] != "REFUTED"]
    return rows + [f"{e['id']}:repaired-without-{e['repair']}" for e in repairs]


def _entry(run: Run, code: Mapping[str, str]) -> Entry:
    report = run.report
    rows = {f"{row['id']}:{row['variant']}" for row in report["rows"]}
    return {
        "seed": report["seed"],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": report["versions"],
        "claims": dict(code),
        "rows": len(report["rows"]) + len(report["repairs"]),
        "unexpected": unexpected(report),
        "random_checks": sum(name in rows for name, _ in random_checks(load())),
    }


def _holds(entry: Mapping[str, Any], seed: int, claim: str, code: str) -> bool:
    """Whether ``claim`` was run at this seed with this code: it need not be run again."""
    made = (entry["seed"], entry["versions"], entry["claims"].get(claim))
    return bool(made == (seed, versions(), code))


def _order(entry: Mapping[str, Any]) -> tuple[str, int, int]:
    return entry["date"], entry["seed"], -len(entry["claims"])
