"""Runs mutants against rows, and says which of them were noticed and by what."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from verification import substitution
from verification.mutants import observe
from verification.mutants.mutant import Mutant, place
from verification.mutants.observe import Seen
from verification.substitution import Edit

ROW_SECONDS = 120.0
"""A mistake may make a row endless."""


@dataclass(frozen=True)
class Noticed:
    """What a row saw of a mutant: ``by`` is "verdict" or a measure's name, ``samples`` how many it took.

    Where ``by`` is "error" the row was not decided because something was raised, which is no kill; or, with
    ``lost``, because its process was stopped, and nothing is known of the row.
    """

    row: str
    by: str
    expected: str
    found: str
    samples: int
    lost: bool = False


@dataclass(frozen=True)
class Kill:
    """What the rows that were run say of a mutant: None where nothing has changed.

    A mutant is killed if the row that it names has noticed it.
    """

    mutant: Mutant
    cells: Mapping[str, Noticed | None]
    seconds: float

    @property
    def kept(self) -> Kill:
        """Without the rows that are lost: what a study may hold for good."""
        known = {row: cell for row, cell in self.cells.items() if cell is None or not cell.lost}
        return replace(self, cells=known)

    @property
    def named(self) -> Noticed | None:
        return self.cells.get(self.mutant.row)

    @property
    def killed(self) -> bool:
        return self.named is not None and self.named.by != "error"

    @property
    def also(self) -> tuple[Noticed, ...]:
        """What other rows noticed."""
        others = (cell for row, cell in self.cells.items() if row != self.mutant.row)
        return tuple(cell for cell in others if cell and cell.by != "error")


def observed(
    edits: Sequence[Edit], rows: Sequence[str], seed: int, seconds: float = ROW_SECONDS
) -> list[Seen]:
    """``rows`` with ``edits`` in force, in one fresh process.

    An endless row ends at its own limit, inside, and that is its answer. What the limit of the whole process
    cuts off is lost: a call into C that never returns looks like a machine that stood still.
    """
    words = [str(seed), str(seconds), *rows]
    limit = 60 + seconds * len(rows)
    try:
        done = substitution.run(edits, "verification.mutants.observe", *words, timeout=limit)
    except subprocess.TimeoutExpired as error:
        return _late(error, rows)
    return _read(done, rows)


def traced(rows: Sequence[str], seed: int, seconds: float = ROW_SECONDS) -> list[Seen]:
    """``rows`` of the code as it is, with the functions that each of them calls."""
    words = [sys.executable, "-P", observe.__file__, "--calls", str(seed), str(seconds), *rows]
    path = os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path.rstrip(os.pathsep)}
    limit = 60 + seconds * len(rows)
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as error:
        return _late(error, rows)
    return _read(done, rows)


def _late(error: subprocess.TimeoutExpired, rows: Sequence[str]) -> list[Seen]:
    """What was printed before the process was killed; the other rows are lost."""
    said: bytes = error.output or b""  # bytes, even where text was asked for
    return _answers(said.decode(), rows, f"no answer within {error.timeout:g} s", lost=True)


def _read(done: subprocess.CompletedProcess[str], rows: Sequence[str]) -> list[Seen]:
    """What was printed; rows without an answer are lost if their process was stopped, and else an error.

    A mistake that keeps lpcb from being imported ends its process, too, but with an exit code. Python has one
    for an interruption as well when that comes early.
    """
    lost = done.returncode < 0 or "KeyboardInterrupt" in done.stderr
    trouble = f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
    return _answers(done.stdout, rows, trouble, lost)


def _answers(text: str, rows: Sequence[str], trouble: str, lost: bool) -> list[Seen]:
    """The rows that were printed, and for the others what the ``trouble`` was."""
    whole = text[: text.rfind("\n") + 1]  # the last line of a process that was killed may be half a line
    found = {seen.row: seen for seen in map(Seen.from_json, whole.splitlines())}
    error = (("error", "none", trouble),)
    return [found.get(row) or Seen(row, error, (), trouble, 0.0, lost=lost) for row in rows]


def reference(rows: Sequence[str], seed: int, jobs: int, calls: bool = False) -> dict[str, Seen]:
    """Each row of the code as it is. A row that does not pass there cannot judge mutants: a ValueError."""
    names = list(dict.fromkeys(rows))
    parts = [names[i::jobs] for i in range(min(jobs, len(names)))]
    with ThreadPoolExecutor(jobs) as pool:
        run = traced if calls else (lambda part, seed: observed((), part, seed))
        found = {seen.row: seen for part in pool.map(lambda part: run(part, seed), parts) for seen in part}
    if failed := [row for row in names if found[row].changes]:
        raise ValueError(f"mutants: the code as it is fails {failed[0]}: {found[failed[0]].changes[0]}")
    return {row: found[row] for row in names}


def affected(mutant: Mutant, calls: Mapping[str, Seen]) -> list[str]:
    """The rows that call the function which the mutant changes, or all if it acts on import."""
    line = place(mutant.edit)
    at = (mutant.edit.module, line)
    return [row for row, seen in calls.items() if line is None or seen.calls is None or at in seen.calls]


def noticed(seen: Seen, plain: Seen) -> Noticed | None:
    """What a row that says ``plain`` of the code as it is has noticed."""
    if seen.error is not None:
        return Noticed(seen.row, "error", "none", seen.error, 0, seen.lost)
    return Noticed(seen.row, *seen.changes[0], _samples(seen, plain)) if seen.changes else None


def judge(mutant: Mutant, seen: Sequence[Seen], plain: Mapping[str, Seen]) -> Kill:
    """The verdict on a mutant from the rows that were run, the named one among them or unaffected."""
    cells = {s.row: noticed(s, plain[s.row]) for s in seen}
    return Kill(mutant, cells, sum(s.seconds for s in seen))


def _samples(now: Seen, before: Seen) -> int:
    """Those of the first evidence whose verdict changed, or else whose value did; exact evidence has none."""
    old = {check: (verdict, value) for check, verdict, value, _ in before.evidence}
    for part in (0, 1):
        for check, verdict, value, samples in now.evidence:
            if check not in old or (verdict, value)[part] != old[check][part]:
                return samples
    return 0


def run_named(
    mutants: Sequence[Mutant], seed: int, jobs: int, progress: Callable[[Kill], None] = lambda kill: None
) -> list[Kill]:
    """Each mutant against the row that it names."""
    plain = reference([mutant.row for mutant in mutants], seed, jobs)

    def one(mutant: Mutant) -> Kill:
        kill = judge(mutant, observed((mutant.edit,), (mutant.row,), seed), plain)
        progress(kill)
        return kill

    return side_by_side(one, mutants, jobs)


def side_by_side(one: Callable[[Mutant], Kill], mutants: Iterable[Mutant], jobs: int) -> list[Kill]:
    """In the order of ``mutants``, whatever the order in which they finish."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, mutants))
