"""What every baseline is asked for, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lpcb.arrays import Array
from lpcb.boundary import Range, check_fields, short
from lpcb.problem import Problem
from lpcb.spec import MAX_HORIZON, MIN_ALPHA

Dimension = Annotated[int, Range(1, 10**6)]
Count = Annotated[int, Range(1, MAX_HORIZON)]
Alpha = Annotated[float, Range(MIN_ALPHA, 1)]
Scale = Annotated[float, Range(0, math.inf, "()")]
MAX_SCALE = 1e60
"""More noise than MIN_ALPHA asks for, and its fourth power is still a number."""
Failure = Annotated[float, Range(0, 1, "(]")]

MAX_NUMBERS = 10**8
"""Seeds times contexts times actions times d that are held side by side: several arrays of 800 MB."""
MAX_USERS = 10**9
"""Users of all seeds together that are drawn one by one: hours."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Expected regret given the policy, accumulated up to each checkpoint; shape (seeds, checkpoints)."""

    label: str
    checkpoints: tuple[int, ...]
    regret: Array


Simulate = Callable[[Problem, int, float, int, np.random.Generator, Sequence[int]], Curve]
"""(problem, horizon, alpha, seeds, rng, checkpoints) -> Curve"""


@dataclass(frozen=True, eq=False)
class Run:
    """One request: ``seeds`` independent repetitions side by side, all drawn from ``rng``."""

    problem: Problem
    horizon: int
    alpha: float
    seeds: int
    rng: np.random.Generator
    checkpoints: Sequence[int]

    def __post_init__(self) -> None:
        _whole("horizon", self.horizon, MAX_HORIZON)
        _whole("seeds", self.seeds, 10**6)
        check_fields(self)
        if not MIN_ALPHA <= self.alpha <= 1:
            raise ValueError(f"alpha lies in (0, 1] and is at least {MIN_ALPHA:g}, not {self.alpha!r}")
        size = self.problem.features.size
        if self.seeds * size > MAX_NUMBERS:
            raise ValueError(
                f"seeds times {size} features is at most {MAX_NUMBERS:.0e}, not {self.seeds} times"
            )
        self._check_checkpoints()

    def _check_checkpoints(self) -> None:
        if not _in_a_row(self.checkpoints) or len(self.checkpoints) == 0:
            raise ValueError(
                f"checkpoints is a list of at least one number of rounds, not {short(self.checkpoints)}"
            )
        for checkpoint in self.checkpoints:
            _whole("checkpoints", checkpoint, self.horizon)
        if any(b <= a for a, b in zip(self.checkpoints, self.checkpoints[1:], strict=False)):
            raise ValueError(f"checkpoints must increase, not {short(list(self.checkpoints))}")

    @property
    def failure(self) -> float:
        """Every confidence statement of a run may fail with this probability, 1/T: it costs regret 2."""
        return 1 / self.horizon

    def curve(self, label: str, regret: Array) -> Curve:
        return Curve(label, tuple(int(c) for c in self.checkpoints), regret)

    def streamed(self, limit: int) -> Run:
        """This run, if it is short enough to draw every user."""
        if self.horizon > limit:
            raise ValueError(
                f"horizon {self.horizon} is too long to draw every user; streams end at {limit:.0e}, "
                "see the aggregate form of the baseline, if it has one"
            )
        if self.seeds * self.horizon > MAX_USERS:
            raise ValueError(
                f"seeds times the horizon of {self.horizon} is at most {MAX_USERS:.0e} where every user is "
                f"drawn, not {self.seeds} times"
            )
        return self

    def aggregated(self) -> Run:
        """This run, if the law of its reward sums is known."""
        if self.problem.reward not in ("sign", "noiseless"):
            raise ValueError(
                f"reward {self.problem.reward!r}: sums are exact in law for 'sign' and 'noiseless' only"
            )
        return self


def _whole(name: str, value: object, high: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 1 <= value <= high:
        raise ValueError(f"{name}: whole numbers from 1 to {high}, not {short(value)}")


def check_scale(b: float) -> None:
    if float(b) > MAX_SCALE:
        raise ValueError(f"b is the scale of noise, at most {MAX_SCALE:g}, not {b!r}")


def _in_a_row(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
