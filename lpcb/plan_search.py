"""The search for the horizon at which average regret falls to a share of uniform play's.

For an algorithm and a horizon T let r(T) be its expected regret over T rounds divided by that of uniform
play, in the median over seeds. *Users needed* is where r falls through the target: r(low) > target >= r(high)
with high/low at most sqrt(2). All parameters follow the horizon (delta = 1/T^2, beta = 1/ln T), so every
horizon is a run of its own.

Beyond 2^62 users nothing can be simulated, but constants can be moved. With gamma = e, thresholds and widths
depend on T and n through L(T)/sqrt(n) alone, L(T) = ln(48 d ln(T) T^2), and all batches are fixed shares of
T. So a run of 2^62 users with all constants times f meets the widths of a run of T users with the printed
ones, where f^2 = (L(T)/L(2^62))^2 2^62 / T. Noise is then too large against the widths by 1/f, which does not
matter as long as the printed constants are thousands of times larger than it: f is kept above 1/1000.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from scipy.optimize import brentq

from lpcb.arrays import Array, Ints
from lpcb.boundary import Range, checked
from lpcb.problem import Problem
from lpcb.spec import MAX_HORIZON

RESOLUTION = 0.5
"""Users needed are known up to a factor of 2^RESOLUTION."""
TOP = math.log2(MAX_HORIZON)
SMALLEST_FACTOR = 1e-3
"""How far constants are moved to look beyond MAX_HORIZON."""

Status = Literal["reached", "extrapolated", "not reached", "no gap"]


@dataclass(frozen=True, eq=False)
class Played:
    """Regret accumulated after ``elapsed`` users, as a share of uniform play's: a row per seed."""

    elapsed: Ints
    share: Array
    covered: float | None

    @property
    def final(self) -> float:
        return float(np.median(self.share[:, -1]))


@dataclass(frozen=True)
class Algorithm:
    """Something that can be run to a horizon.

    ``movable`` if its constants can stand for longer horizons; ``sound`` if its intervals are known to hold,
    so that more users never make it worse.
    """

    name: str
    privacy: str
    play: Callable[[Problem, int, float, int, np.random.Generator], Played]
    first: Callable[[Problem], int]
    movable: bool
    sound: bool
    factors: tuple[float, float] | None


@dataclass(frozen=True, eq=False)
class Need:
    """What one algorithm needs on one problem. ``users`` reach the target and ``missed`` do not.

    ``curve`` is the run that reached it, or the longest there was; if the status is "extrapolated" its
    constants are moved by ``factor`` and its users stand for ``users / 2^62`` times as many. ``lost`` is a
    longer horizon that was run and misses the target all the same. ``x`` is log2 of the curve's horizon.
    """

    status: Status
    users: float | None
    missed: float | None
    curve: Played | None
    factor: float = 1.0
    lost: float | None = None
    x: float | None = None


class Search:
    """The search of one algorithm on one problem, over x = log2 of the horizon.

    Every run is a function of x, whatever was run before.
    """

    def __init__(
        self, algorithm: Algorithm, problem: Problem, target: float, seeds: int, seed: tuple[int, ...]
    ) -> None:
        self.algorithm, self.problem, self.target = algorithm, problem, target
        self.seeds, self.seed = seeds, seed
        self.low = math.log2(algorithm.first(problem))
        self.high = _standing_for(problem.d, SMALLEST_FACTOR) if algorithm.movable else TOP
        self.seen: dict[float, Played] = {}

    def at(self, x: float) -> Played:
        if x not in self.seen:
            horizon = min(round(2.0**x), MAX_HORIZON)
            rng = np.random.default_rng(np.random.SeedSequence([*self.seed, horizon, round(x * 2**32)]))
            factor = moved(self.problem.d, x)
            self.seen[x] = self.algorithm.play(self.problem, horizon, factor, self.seeds, rng)
        return self.seen[x]

    def reached(self, x: float) -> bool:
        return self.at(x).final <= self.target

    def need(self, guess: float | None) -> Need:
        """``guess`` is where to look first: what another theta needed."""
        if not self.problem.uniform_regret > 0:
            return Need("no gap", None, None, None)
        start = self._guess() if guess is None else guess
        missed, found = crossing(self.reached, min(max(start, self.low), self.high), self.low, self.high)
        if found is None:
            return Need("not reached", None, 2.0**self.high, self.at(TOP), x=TOP)
        status: Status = "reached" if found <= TOP else "extrapolated"
        short = None if missed is None else 2.0**missed
        if not self.algorithm.sound:
            self.at(max(TOP, found))
        lost = max((2.0**x for x in self.seen if x > found and not self.reached(x)), default=None)
        return Need(status, 2.0**found, short, self.at(found), moved(self.problem.d, found), lost, found)

    def _guess(self) -> float:
        """From one long run: thresholds are passed when L(T)/sqrt(n) is small enough, so n ~ L(T)^2."""
        longest = min((x for x in (TOP, self.high) if self.reached(x)), default=self.high)
        run = self.at(longest)
        hits = run.elapsed[np.median(run.share, axis=0) <= self.target]
        if not len(hits):
            return longest
        # The run's own users, counted on the scale of x.
        hit = math.log2(hits[0]) + longest - min(longest, TOP)
        if not self.algorithm.movable:
            return hit
        ratio = _log_term(self.problem.d, longest)
        return float(
            brentq(lambda x: x - hit - 2 * math.log2(_log_term(self.problem.d, x) / ratio), 3, 2 * hit)
        )


@checked
def crossing(
    reached: Callable[[float], bool],
    guess: float,
    low: float,
    high: float,
    step: Annotated[float, Range(1e-9, 1e9)] = RESOLUTION,
) -> tuple[float | None, float | None]:
    """(x that misses, x that reaches) at most ``step`` apart, found outwards from ``guess``.

    None in place of an end that lies outside [low, high].

    >>> crossing(lambda x: x >= 3.3, 5.0, 0.0, 10.0, 0.5)
    (3.0, 3.5)
    >>> crossing(lambda x: True, 5.0, 0.0, 10.0), crossing(lambda x: False, 5.0, 0.0, 10.0)
    ((None, 0.0), (10.0, None))
    """
    if not -1e9 <= low <= guess <= high <= 1e9:
        raise ValueError(f"guess lies between low and high, at most 1e9 in size, not {low}, {guess}, {high}")
    inward = reached(guess)
    near, stop = guess, (low if inward else high)
    for far in _steps(guess, stop, step):
        if reached(far) != inward:
            break
        near = far
    else:
        return (None, near) if inward else (near, None)
    miss, hit = (far, near) if inward else (near, far)
    while hit - miss > step:
        middle = (hit + miss) / 2
        miss, hit = (miss, middle) if reached(middle) else (middle, hit)
    return miss, hit


def _steps(start: float, stop: float, step: float) -> Iterator[float]:
    """start -+ step, then twice as far, and so on; ``stop`` is the last."""
    direction = math.copysign(1.0, stop - start)
    while (stop - start) * direction > step:
        yield start + direction * step
        step *= 2
    if start != stop:
        yield stop


@checked
def moved(d: Annotated[int, Range(1, 10**6)], x: Annotated[float, Range(-1000, 1000)]) -> float:
    """The factor on all constants with which 2^62 users stand for 2^x; 1 where they can be simulated.

    >>> moved(2, 40.0), round(moved(2, 64.0), 3)
    (1.0, 0.515)
    """
    return 1.0 if x <= TOP else _log_term(d, x) / _log_term(d, TOP) * 2 ** ((TOP - x) / 2)


def _standing_for(d: int, factor: float) -> float:
    """The inverse of :func:`moved`."""
    return float(brentq(lambda x: moved(d, x) - factor, TOP, 1000))


def _log_term(d: int, x: float) -> float:
    """L(T) = ln(48 d ln(T) T^2) at T = 2^x, the logarithm in every printed constant."""
    log_T = x * math.log(2)
    return math.log(48 * d * log_T) + 2 * log_T
