"""Whole runs over many root seeds: how often does a row come out unexpected by chance?

Every run is one entry of a committed file. Entries made with other code stay there and are counted apart.
"""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from verification.alarms.code import rows_hash
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
) -> list[Entry]:
    """Runs the quick profile at every seed that ``path`` does not hold yet, and returns the entries of all.

    The file is written after every run. ``claims`` restricts the runs, for a look; such entries say so.
    """
    entries = read_seeds(path)["entries"] if path.exists() else []
    for seed in seeds:
        if any(_same(entry, seed, claims) for entry in entries):
            continue
        with tempfile.TemporaryDirectory() as folder:
            run = verify(claims, VARIANTS, "quick", seed, Path(folder), jobs=jobs, progress=progress)
            seconds = json.loads((Path(folder) / "timings.json").read_text())["seconds"]
        if run.trouble is not None or not run.report["complete"]:
            raise IncompleteError(
                f"the run at seed {seed} is incomplete: {run.trouble or 'rows are missing'}"
            )
        entries.append(_entry(run, claims) | {"seconds": round(sum(seconds.values()), 1)})
        write_atomic(path, canonical_json({"schema": 1, "entries": sorted(entries, key=_order)}))
    return [entry for entry in entries if any(_same(entry, seed, claims) for seed in seeds)]


def unexpected(report: Mapping[str, Any]) -> list[str]:
    """The rows that are not as expected, and the repairs that are no longer shown to be necessary."""
    rows = [f"{row['id']}:{row['variant']}" for row in report["rows"] if not row["passed"]]
    repairs = [e for e in report["repairs"] if e["verdict"] != "REFUTED"]
    return rows + [f"{e['id']}:repaired-without-{e['repair']}" for e in repairs]


def _entry(run: Run, claims: Sequence[str]) -> Entry:
    report = run.report
    rows = {f"{row['id']}:{row['variant']}" for row in report["rows"]}
    return {
        "seed": report["seed"],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "code": rows_hash(),
        "versions": report["versions"],
        "claims": sorted(claims),
        "rows": len(report["rows"]) + len(report["repairs"]),
        "unexpected": unexpected(report),
        "random_checks": sum(name in rows for name, _ in random_checks(load())),
    }


def _same(entry: Mapping[str, Any], seed: int, claims: Sequence[str]) -> bool:
    """Made at this seed with this code: it need not be made again."""
    made = (entry["seed"], entry["code"], entry["versions"], entry["claims"])
    return bool(made == (seed, rows_hash(), versions(), sorted(claims)))


def _order(entry: Mapping[str, Any]) -> tuple[str, str, int]:
    return entry["date"], entry["code"], entry["seed"]
