"""Every mutant against every row, cheap rows first, in pieces that can be gone on with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock

from verification.mutants.kill import Kill, affected, judge, observed, reference, side_by_side
from verification.mutants.mutant import Mutant
from verification.mutants.observe import Seen
from verification.mutants.study import SEED, Study
from verification.registry import load

WAVES = (1.5, 5.0, float("inf"))
"""Seconds that a row takes while its calls are listed, about twice what it takes otherwise: a mutant is run
against the rows of a wave in one process, where they share their experiments."""


def run_matrix(
    mutants: Sequence[Mutant],
    study: Study,
    jobs: int,
    keep: Callable[[Study], None],
    progress: Callable[[Kill], None] = lambda kill: None,
) -> Study:
    """Adds to ``study`` what it lacks of ``mutants``, and calls ``keep`` after every piece.

    A row that never calls the function which a mutant changes does not notice it, and is not run. One whose
    process was stopped is still lacking, and is run when somebody goes on.
    """
    lock = Lock()
    left = [row.name for row in load().rows() if any(_lacks(study, m, row.name) for m in mutants)]
    plain = reference(left, SEED, jobs, calls=True) if left else {}
    for wave in waves(plain):

        def one(mutant: Mutant, wave: Mapping[str, Seen] = wave) -> Kill:
            missing = [row for row in wave if _lacks(study, mutant, row)]
            reached = [row for row in affected(mutant, wave) if row in missing]
            found = judge(mutant, observed((mutant.edit,), reached, SEED) if reached else [], plain)
            with lock:
                old = study.get(mutant, Kill(mutant, {}, 0.0))
                cells = {**old.cells, **dict.fromkeys(missing), **found.cells}
                study[mutant] = Kill(mutant, cells, old.seconds + found.seconds)
                if missing:
                    keep(study)
            progress(study[mutant])
            return study[mutant]

        side_by_side(one, mutants, jobs)
    return study


def _lacks(study: Study, mutant: Mutant, row: str) -> bool:
    return mutant not in study or row not in study[mutant].kept.cells


def waves(plain: Mapping[str, Seen]) -> Iterator[dict[str, Seen]]:
    """The rows by what they cost, none empty."""
    lower = float("-inf")
    for upper in WAVES:
        if wave := {row: seen for row, seen in plain.items() if lower < seen.seconds <= upper}:
            yield wave
        lower = upper
