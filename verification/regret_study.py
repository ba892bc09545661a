"""The full regret figure: worst-case regret of every algorithm against T, with its exponents.

``python -m verification.regret_study --out reports`` (or ``make regret``) simulates the thorough profile's
envelopes, which takes some forty minutes of processor time, and writes ``regret.json`` (every seed's regret),
``regret.svg`` and ``regret.md``; with ``--drawn-again`` it reads ``regret.json`` and writes the other two
anew. On one machine and lock file the bytes are always the same.
"""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from verification.claim import Arrays, Experiment, Setting
from verification.experiments.baseline_bend import BASELINE_BEND
from verification.experiments.baseline_envelopes import BASELINE_ENVELOPES, baseline_grids
from verification.experiments.baseline_wholes import BASELINE_WHOLES, column, elsewhere
from verification.experiments.envelopes import ENVELOPES, LOST, cases
from verification.report.regret import markdown, svg
from verification.serialise import canonical_json, plain, write_atomic
from verification.threads import single_thread

SEED = 0
PAPER, REPAIRED = (Setting(variant, "thorough", SEED) for variant in ("paper", "repaired"))
PARTS: tuple[tuple[Experiment, Setting], ...] = (
    (ENVELOPES, REPAIRED),
    (BASELINE_ENVELOPES, REPAIRED),
    (BASELINE_WHOLES, REPAIRED),
    (BASELINE_BEND, REPAIRED),
    (ENVELOPES, PAPER),
    (LOST, PAPER),
)


def simulated(jobs: int) -> list[dict[str, Any]]:
    """One record for each curve, from the same shards as the thorough profile of thm-4.6-slope."""
    with ProcessPoolExecutor(jobs) as pool:
        repaired, beside, others, bend, paper, lost = pool.map(_shard, range(len(PARTS)))
    out: list[dict[str, Any]] = []
    for setting, data in ((PAPER, paper), (REPAIRED, repaired)):
        chosen = [case.name for case in cases(setting)]
        out += [{"group": setting.variant, "name": name, **_record(data, name)} for name in chosen]
    out.append({"group": "paper", "name": "d=2 printed, best actions lost", **_record(lost, "")})
    for grid in baseline_grids(REPAIRED):
        extra = {"expected": grid.expected, "why": grid.why}
        out.append({"group": "baseline", "name": grid.key, **_record(beside, grid.key), **extra})
    out.append({"group": "bend", "name": "ldp_linucb_doubling", **plain(bend)})
    names, places = elsewhere(REPAIRED)
    for name, place in product(names, places):
        key = column(name, place)
        out.append({"group": "elsewhere", "name": name, "place": place, **_record(others, key)})
    return out


def _shard(part: int) -> Arrays:
    single_thread()
    experiment, setting = PARTS[part]
    return experiment.shard(setting, 0)


def _record(data: Arrays, name: str) -> dict[str, Any]:
    """The columns of a curve; those that are the same for all seeds have one row."""
    found = {}
    for key, value in data.items():
        owner, _, column = key.rpartition(":")
        if owner == name:
            found[column] = value[0] if len(value) == 1 else value
    record: dict[str, Any] = plain(found)
    return record


def main(
    out: Annotated[Path, typer.Option(help="Directory to write to.")] = Path("reports"),
    jobs: Annotated[int, typer.Option(help="Processes; the results do not depend on it.")] = 1,
    drawn_again: Annotated[bool, typer.Option(help="Only draw what regret.json holds.")] = False,
) -> None:
    """Simulate the full regret figure, or draw it again."""
    file = out / "regret.json"
    if not drawn_again:
        out.mkdir(parents=True, exist_ok=True)
        write_atomic(file, canonical_json({"schema": 1, "seed": SEED, "curves": simulated(jobs)}))
    curves = json.loads(file.read_text(encoding="utf-8"))["curves"]
    write_atomic(out / "regret.svg", svg(curves))
    write_atomic(out / "regret.md", markdown(curves))


if __name__ == "__main__":
    typer.run(main)
