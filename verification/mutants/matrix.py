"""Every mutant against every row that it can reach, in pieces: what is done is kept in a file of lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

from verification.alarms.code import claim_hash
from verification.fingerprint import versions
from verification.mutants.kill import Kill, affected, judge, observed, reference, side_by_side
from verification.mutants.mutant import Mutant
from verification.mutants.observe import Seen
from verification.registry import load


@lru_cache(maxsize=512)
def code(row: str, seed: int) -> str:
    """A hash of all that a row's result depends on but the mutant: its claim's code, libraries, the seed.

    A new mutant leaves the results of the others alone, and a change of one claim those of the other rows.
    """
    text = json.dumps([claim_hash(row.partition(":")[0]), versions(), seed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass
class Progress:
    """Finished rows by mutant, read from a file and appended to it; broken lines are skipped."""

    path: Path
    seed: int

    def __post_init__(self) -> None:
        self.lock = Lock()
        self.done: dict[tuple[str, str], Seen] = {}
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        for line in lines:
            try:
                data = json.loads(line)
                seen = Seen.from_json(json.dumps(data["seen"]))
                if data["code"] == code(seen.row, self.seed):
                    self.done[data["key"], seen.row] = seen
            except (ValueError, KeyError, TypeError):
                continue  # a line that was cut off, or a row that is no more: done again if it is wanted

    def keep(self, key: str, found: Iterable[Seen]) -> None:
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            for seen in found:
                self.done[key, seen.row] = seen
                data = {"code": code(seen.row, self.seed), "key": key, "seen": asdict(seen)}
                file.write(f"{json.dumps(data)}\n")

    def missing(self, key: str, rows: Sequence[str]) -> list[str]:
        return [row for row in rows if (key, row) not in self.done]


def run_matrix(
    mutants: Sequence[Mutant],
    seed: int,
    jobs: int,
    path: Path,
    progress: Callable[[Kill], None] = lambda kill: None,
) -> list[Kill]:
    """Each mutant against all rows that call the function it changes. Goes on where ``path`` ends."""
    kept = Progress(path, seed)
    plain = _plain(kept, seed, jobs)

    def one(mutant: Mutant) -> Kill:
        key = json.dumps(asdict(mutant.edit), sort_keys=True)
        rows = affected(mutant, plain)
        if left := kept.missing(key, rows):
            kept.keep(key, observed((mutant.edit,), left, seed))
        kill = judge(mutant, [kept.done[key, row] for row in rows], plain)
        progress(kill)
        return kill

    return side_by_side(one, mutants, jobs)


def _plain(kept: Progress, seed: int, jobs: int) -> Mapping[str, Seen]:
    """Every row of the code as it is, with the functions that it calls."""
    rows = [row.name for row in load().rows()]
    if left := kept.missing("plain", rows):
        kept.keep("plain", reference(left, seed, jobs, calls=True).values())
    return {row: kept.done["plain", row] for row in rows}
