"""Runs random checks over a range of seeds and prints what they said, one line of JSON for each seed.

Run as a program, usually with :mod:`verification.substitution` in force: the same checks, other constants.
Experiments that claims share are simulated once for a block of seeds, so many times as large, and cut into
equal parts: their rows are independent, and large arrays cost little more than small ones. What a search
found (arrays of one row) is the same for a whole block; a check must keep its level at every outcome of it.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from verification.claim import Arrays, Claim, Context, Setting, merge_shards
from verification.registry import Registry, load
from verification.row import run_check
from verification.serialise import plain
from verification.threads import single_thread
from verification.verdict import Variant


def random_checks(registry: Registry) -> list[tuple[str, str]]:
    """(row, check) of every random check, in the registry's order."""
    return [
        (row.name, check.name)
        for row in registry.rows()
        for check in registry.claim(row.claim).checks
        if check.random
    ]


def part(arrays: Arrays, index: int, parts: int) -> Arrays:
    """The ``index``-th of so many equal parts; arrays of one row are common to all."""
    out = {}
    for name, array in arrays.items():
        if len(array) > 1 and len(array) % parts:
            raise ValueError(f"{len(array)} rows of {name!r} cannot be cut into {parts} parts")
        size = len(array) // parts
        out[name] = array if len(array) == 1 else array[index * size : (index + 1) * size]
    return out


def run_one(claim: Claim, setting: Setting, check: str, experiments: dict[str, Arrays]) -> dict[str, Any]:
    """Verdicts by evidence and intervals by baselined measure, or the error."""
    chosen = next(c for c in claim.checks if c.name == check)
    try:
        finding = run_check(chosen, Context(claim.id, setting, experiments))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {
        "evidence": {e.check: e.verdict for e in finding.evidence},
        "measures": {k: plain(m.interval) for k, m in finding.measures.items() if k in claim.baselined},
    }


class Block:
    """So many seeds that share the simulation of their experiments."""

    def __init__(self, registry: Registry, first: int, size: int) -> None:
        self.registry, self.first, self.size = registry, first, size
        self._arrays: dict[tuple[str, Variant], Arrays] = {}

    def run(self, name: str, check: str, seed: int) -> dict[str, Any]:
        """One check at one seed; the seconds of a simulation are those of the check that needs it first."""
        start = time.process_time()
        row = next(row for row in self.registry.rows() if row.name == name)
        claim = self.registry.claim(row.claim)
        experiments = {
            e.name: part(self._whole(claim, e.name, row.variant), seed - self.first, self.size)
            for e in claim.experiments
        }
        found = run_one(claim, Setting(row.variant, "quick", seed), check, experiments)
        return found | {"seconds": time.process_time() - start}

    def _whole(self, claim: Claim, name: str, variant: Variant) -> Arrays:
        if (name, variant) not in self._arrays:
            experiment = self.registry.experiment(claim.id, name)
            setting = Setting(variant, "quick", self.first)
            shards = [experiment.shard(setting, i) for i in range(experiment.shards["quick"])]
            self._arrays[name, variant] = merge_shards(shards)
        return self._arrays[name, variant]


def main(chosen: list[list[str]], first: int, seeds: int, size: int) -> None:
    """``seeds`` seeds from ``first`` on, in blocks of ``size``."""
    single_thread()
    registry = load()
    for start in range(first, first + seeds, size):
        block = Block(registry, start, size)
        for seed in range(start, start + size):
            found = [[name, check, block.run(name, check, seed)] for name, check in chosen]
            print(json.dumps({"seed": seed, "found": found}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), *map(int, sys.argv[2:5]))
