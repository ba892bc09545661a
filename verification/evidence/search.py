"""Looking for the input at which a number is largest. What is found may refute; nothing found only supports.

The inputs are a unit cube: whoever asks maps it to what is searched, so that edges and special cases take
up some volume. Given starts and a space-filling sample come first, differential evolution goes on from the
best of them, and Nelder and Mead's method ends. All randomness comes from the generator that is handed in.
A noisy objective should use common random numbers; the value at the winner is then too good, and is to be
measured again with fresh ones.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.stats import qmc

Array = NDArray[np.float64]
Objective = Callable[[Array], float]

SAMPLE_SHARE, LOCAL_SHARE = 0.35, 0.25
"""Parts of the budget for the space-filling sample and for the last, local step."""
MEMBERS = 16


@dataclass(frozen=True)
class Found:
    """The largest value seen, where, how often the objective was asked, and which step found it."""

    value: float
    point: tuple[float, ...]
    evaluations: int
    step: str


def maximise(
    objective: Objective,
    dimension: int,
    budget: int,
    rng: np.random.Generator,
    starts: Sequence[Sequence[float]] = (),
) -> Found:
    """The largest value of ``objective`` found on [0, 1]^dimension with at most ``budget`` evaluations.

    -inf marks a point that is no input; NaN is an error.

    >>> found = maximise(lambda x: -abs(x[0] - 0.25), 1, 200, np.random.default_rng(0))
    >>> abs(found.point[0] - 0.25) < 1e-3
    True
    """
    if dimension < 1 or budget < 1:
        raise ValueError(f"dimension and budget are at least 1, not {dimension!r} and {budget!r}")
    record = _Record(objective, dimension, budget)
    with contextlib.suppress(_Spent):
        _run(record, rng, starts)
    assert record.best is not None
    return Found(record.best[0], tuple(float(x) for x in record.best[1]), record.asked, record.best[2])


class _Spent(Exception):
    """The budget is used up."""


class _Record:
    """Counts evaluations and remembers all of them."""

    def __init__(self, objective: Objective, dimension: int, budget: int) -> None:
        self.objective, self.dimension, self.budget = objective, dimension, budget
        self.seen: list[tuple[float, Array]] = []
        self.best: tuple[float, Array, str] | None = None
        self.step = "start"

    @property
    def asked(self) -> int:
        return len(self.seen)

    def __call__(self, point: Array) -> float:
        """The negative of the objective, which optimisers minimise."""
        if self.asked >= self.budget:
            raise _Spent
        inside = np.clip(np.asarray(point, dtype=np.float64), 0.0, 1.0)
        value = float(self.objective(inside))
        if math.isnan(value):
            raise ValueError(f"the objective is NaN at {inside.tolist()}")
        self.seen.append((value, inside))
        if self.best is None or value > self.best[0]:
            self.best = value, inside, self.step
        # Optimisers compare and subtract values: no infinities.
        return -value if math.isfinite(value) else math.copysign(1e300, -value)


def _run(record: _Record, rng: np.random.Generator, starts: Sequence[Sequence[float]]) -> None:
    dimension, budget = record.dimension, record.budget
    for start in starts:
        record(np.asarray(start, dtype=np.float64))
    record.step = "sample"
    left = budget - record.asked
    sample = qmc.LatinHypercube(dimension, rng=rng).random(max(1, int(SAMPLE_SHARE * left)))
    for point in sample:
        record(point)
    record.step = "evolution"
    until = budget - int(LOCAL_SHARE * budget)
    if record.asked >= MEMBERS // 2 and until - record.asked > MEMBERS:
        first = sorted(record.seen, key=lambda pair: -pair[0])[:MEMBERS]
        optimize.differential_evolution(
            record,
            optimize.Bounds(np.zeros(dimension), np.ones(dimension)),
            init=np.stack([point for _, point in first]),
            maxiter=max(0, (until - record.asked) // len(first) - 1),
            mutation=(0.4, 0.9),
            recombination=0.6,
            polish=False,
            tol=0.0,
            rng=rng,
        )
    record.step = "local"
    while True:
        assert record.best is not None
        step = rng.uniform(0.02, 0.15)
        simplex = np.clip(
            record.best[1] + step * np.vstack([np.zeros(dimension), _signs(dimension, rng)]), 0, 1
        )
        optimize.minimize(
            record,
            record.best[1],
            method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * dimension,
            options={"initial_simplex": simplex, "xatol": 1e-4, "fatol": 0.0, "maxfev": 20 * dimension},
        )


def _signs(dimension: int, rng: np.random.Generator) -> Array:
    return np.diag(rng.choice([-1.0, 1.0], size=dimension))
