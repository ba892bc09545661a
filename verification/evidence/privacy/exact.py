r"""The exact joint test of P ≤ e^ε Q + δ for an event seen k1 of n1 times under P and k2 of n2 under Q.

Two separate intervals pay twice; this is one test of the two probabilities. Outcomes are ordered once and
for all by T = ln((L(k1) − δ)/U(k2)), a rough lower limit of ε (or L(k1) − e^ε U(k2), one of δ), and the
p-value is P(T ≥ t) under the worst null. Why it is valid:

1. T rises with k1 and falls with k2, so P_{p,q}(T ≥ t) rises with p and falls with q: the worst null with a
   given q is p = min(1, e^ε q + δ). For every (p, q) the chance that P_{p,q}(T ≥ t) ≤ a is at most a.
2. q is looked for in Clopper and Pearson's interval for it at level γ only; γ is added (Berger and Boos).
   There the supremum is bounded cell by cell: for q in [a, b], P ≤ P_{p(b),a}(T ≥ t), by 1.
3. The p-value rises with ε and with δ, since nulls are nested and neither T nor the interval moves. So
   {ε : p-value ≤ α} is an interval from below, and its end is above the true ε with probability ≤ α.

Sums run over blocks of k2, each bounded from above. Everything is a sum of positive terms with full relative
precision, so levels down to 1e-100 are numbers like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from lpcb.boundary import check_fields, checked
from verification.evidence.kinds import Draws, Power, Probability
from verification.evidence.tails import POWER, clopper_pearson

Array = NDArray[np.float64]
Bound = Literal["epsilon", "delta"]

NUISANCE = 0.02
"""The share of alpha that is spent on the interval for q."""
SLACK = 0.1
"""Bounds are certified at most about this many standard deviations below the supremum's own."""
BLOCK, CELL = 0.06, 0.09
"""Width of a block of k2 and first width of a cell of q, in standard deviations: they fit the slack."""
MOST_FIRST_CELLS = 400
MOST_CELLS = 20_000
SMALLEST_ALPHA = 1e-100
MOST_EPSILON = 700.0


@dataclass(frozen=True)
class Counts:
    """An event seen ``k1`` times in ``n1`` samples under one input, ``k2`` in ``n2`` under the other."""

    k1: int
    n1: int
    k2: int
    n2: int

    def __post_init__(self) -> None:
        check_fields(self)
        for k, n in ((self.k1, self.n1), (self.k2, self.n2)):
            if not (0 <= k <= n and n >= 1):
                raise ValueError(f"counts are 0 <= k <= n with n >= 1, not {k!r} of {n!r}")


@checked
def epsilon_low(counts: Counts, delta: float = 0.0, alpha: float = 0.01) -> float:
    """The largest ε for which P ≤ e^ε Q + δ is refuted at level alpha; 0 if none is.

    >>> round(epsilon_low(Counts(1000, 1000, 0, 1000)), 2), round(math.log(1000 / math.log(100)), 2)
    (5.38, 5.38)
    """
    _check(alpha, delta=delta)
    return _epsilon_low(counts, float(delta), float(alpha))


@checked
def delta_low(counts: Counts, epsilon: float, alpha: float = 0.01) -> float:
    """The largest δ for which P ≤ e^ε Q + δ is refuted at level alpha; 0 if none is.

    >>> round(delta_low(Counts(500, 1000, 0, 1000), epsilon=1.0), 2)
    0.46
    """
    _check(alpha, epsilon=epsilon)
    region = Region.of_delta(counts, epsilon, alpha)
    if region is None:
        return 0.0
    return _largest(region, lambda delta: (epsilon, delta), alpha, 1.0)


@checked
def refutes(
    counts: Counts, epsilon: float, delta: float = 0.0, alpha: float = 0.01, by: Bound = "epsilon"
) -> bool:
    """Do the counts refute P ≤ e^ε Q + δ at level alpha? ``by`` says whose bound's order is used.

    >>> refutes(Counts(600, 1000, 400, 1000), 0.2), refutes(Counts(600, 1000, 400, 1000), 0.4)
    (True, False)
    """
    _check(alpha, epsilon=epsilon, delta=delta)
    if by == "epsilon":
        region = Region.of_epsilon(counts, delta, alpha)
    else:
        region = Region.of_delta(counts, epsilon, alpha)
    return region is not None and region.certified(epsilon, delta, alpha * (1 - NUISANCE))


@checked
def detectable(
    n1: Draws,
    n2: Draws,
    q: Probability,
    epsilon: float,
    delta: float = 0.0,
    alpha: float = 0.01,
    power: Power = POWER,
) -> float:
    """The smallest ε' such that an event with P = e^ε' q + δ, Q = q refutes ε with probability ≥ power.

    Each count misses its quantile at (1 − power)/2 at most, so the pair of quantiles decides. Infinite when
    not even P = 1 would be enough.

    >>> round(detectable(10_000, 10_000, 0.2, epsilon=1.0), 2)
    1.12
    """
    _check(alpha, epsilon=epsilon, delta=delta)
    if not 0 < q < 1:
        return math.inf
    k2 = int(stats.binom.isf((1 - power) / 2, n2, q))

    def caught(p: float) -> bool:
        k1 = int(stats.binom.ppf((1 - power) / 2, n1, p))
        region = Region.of_epsilon(Counts(k1, n1, k2, n2), delta, alpha)
        return region is not None and region.probe(epsilon, delta) <= alpha * (1 - NUISANCE)

    low, high = min(1.0, math.exp(min(epsilon, MOST_EPSILON)) * q + delta), 1.0
    if low >= 1 or not caught(1.0):
        return math.inf
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if caught(middle) else (middle, high)
    return math.log((high - delta) / q)


@dataclass(frozen=True, eq=False)
class Region:
    """The outcomes at least as extreme as the observed one: {k1 ≥ c(k2)}, c rising, by blocks of k2.

    ``starts`` are the first k2 of each block and ``critical`` the c there: the smallest of the block, so
    that the region is if anything too large and its probability bounded from above.
    """

    n1: int
    n2: int
    starts: Array
    critical: Array
    q: tuple[float, float]
    window: int

    @staticmethod
    def of_epsilon(counts: Counts, delta: float, alpha: float) -> Region | None:
        """Ordered by (L − δ)/U. None if the outcome is among the least extreme: nothing is refuted."""
        low, high = _limits(counts, alpha)
        return None if low <= delta else _region(counts, alpha, (low - delta) / high, delta)

    @staticmethod
    def of_delta(counts: Counts, epsilon: float, alpha: float) -> Region | None:
        """Ordered by L − e^ε U."""
        low, high = _limits(counts, alpha)
        factor = math.exp(min(epsilon, MOST_EPSILON))
        return None if low <= factor * high else _region(counts, alpha, factor, low - factor * high)

    @property
    def coarse(self) -> bool:
        """Are there so many outcomes that care costs time and gains little?"""
        return len(self.starts) >= 200

    def probability(self, p: Array, q: Array) -> Array:
        """P_{p,q}(T ≥ t), or slightly more; vectorised. Far from n2·q, one block on either side is enough."""
        centre = np.searchsorted(self.starts, self.n2 * q)
        first = np.clip(centre - self.window // 2, 0, max(0, len(self.starts) - self.window))
        at = first[:, None] + np.arange(min(self.window, len(self.starts)))
        starts, critical = self.starts[at], self.critical[at]
        inside = self._masses(starts, q[:, None]) * _at_least(critical, self.n1, p[:, None])
        before = _below(starts[:, 0], self.n2, q) * _at_least(self.critical[:1], self.n1, p)
        return np.asarray((inside.sum(axis=1) + before) * (1 + 1e-9))

    def probe(self, epsilon: float, delta: float) -> float:
        """The largest probability at a few nulls: from below, for finding one's way."""
        points = 9 if self.coarse else 25  # small counts make it saw-toothed in q
        q = _by_angle(*self._range(epsilon, delta), points)
        return float(self.probability(_partner(q, epsilon, delta), q).max())

    def certified(self, epsilon: float, delta: float, level: float) -> bool:
        """Is the probability at most ``level`` under every null? False also when that stays open."""
        if self.probe(epsilon, delta) > level:
            return False
        edges = self._edges(epsilon, delta)
        a, b = edges[:-1], edges[1:]
        used = len(a)
        while True:
            open_ = self.probability(_partner(b, epsilon, delta), a) > level
            if not open_.any():
                return True
            a, b = a[open_], b[open_]
            middle = (a + b) / 2
            used += 4 * len(a)
            if used > MOST_CELLS or self.probability(_partner(middle, epsilon, delta), middle).max() > level:
                return False
            cuts = np.linspace(a, b, 5)
            a, b = cuts[:-1].ravel(), cuts[1:].ravel()

    def _range(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Where q is looked for. Beyond (1 − δ)e^−ε p stays at 1 and the probability falls."""
        low, high = self.q
        return low, max(low, min(high, (1 - delta) * math.exp(-epsilon)))

    def _edges(self, epsilon: float, delta: float) -> Array:
        """Cells equally long in standard deviations of both counts together."""
        q = _by_angle(*self._range(epsilon, delta), 2048)
        angle = math.sqrt(self.n1) * _angle(_partner(q, epsilon, delta)) + math.sqrt(self.n2) * _angle(q)
        length = 2 * (angle - angle[0])
        if length[-1] <= 0:
            return q[[0, -1]]
        cells = min(MOST_FIRST_CELLS, math.ceil(float(length[-1]) / CELL))
        edges = np.interp(np.linspace(0, length[-1], cells + 1), length, q)
        edges[[0, -1]] = q[[0, -1]]
        return edges

    def _masses(self, starts: Array, q: Array) -> Array:
        """P_q(K2 in block), the last one without end: differences of whichever tail is small."""
        high = starts > self.n2 * q
        k = np.clip(starts, 1, self.n2)
        up, down = np.where(high, k, self.n2 - k + 1), np.where(high, self.n2 - k + 1, k)
        tail = np.where(starts <= 0, 0.0, special.betainc(up, down, np.where(high, q, 1 - q)))
        after, after_high = tail[:, 1:], high[:, 1:]
        lower = np.where(after_high, 1 - after, after) - tail[:, :-1]
        masses = np.where(high[:, :-1], tail[:, :-1] - after, lower)
        last = np.where(high[:, -1:], tail[:, -1:], 1 - tail[:, -1:])
        return np.concatenate([masses, last], axis=1)


@lru_cache(maxsize=65_536)
def _epsilon_low(counts: Counts, delta: float, alpha: float) -> float:
    region = Region.of_epsilon(counts, delta, alpha)
    if region is None:
        return 0.0
    return _largest(region, lambda epsilon: (epsilon, delta), alpha, MOST_EPSILON)


def _largest(region: Region, null: Callable[[float], tuple[float, float]], alpha: float, top: float) -> float:
    """The largest x at which ``null(x)`` = (ε, δ) is refuted: sought by probing, then certified."""
    level = alpha * (1 - NUISANCE)

    def excess(x: float, slack: float) -> float:
        return math.log(max(region.probe(*null(x)), 1e-300) / level) + slack

    high = 1e-3
    while high < top and excess(high, 0.0) < 0:
        high = min(2 * high, top)
    whole = SLACK * max(1.0, float(stats.norm.isf(alpha)))  # the normal tail falls like e^(-z dz)
    for part in (1.0,) if region.coarse else (0.05, 0.3, 1.0):
        if excess(0.0, whole * part) >= 0:
            continue
        found = high
        if excess(high, whole * part) > 0:
            found = float(optimize.brentq(excess, 0.0, high, args=(whole * part,), xtol=1e-8, rtol=1e-6))
        if region.certified(*null(found), level):
            return found
    # Between the probes there was more, or only a hair of slack is left: ask at 0 and below what was found.
    if not region.certified(*null(0.0), level):
        return 0.0
    low, high = 0.0, high
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if region.certified(*null(middle), level) else (low, middle)
    return low


def _region(counts: Counts, alpha: float, factor: float, shift: float) -> Region:
    """{L(k1) ≥ factor · U(k2) + shift}, with the observed outcome on its edge."""
    starts = _blocks(counts, alpha)
    critical = _critical(factor * _upper(starts, counts.n2, alpha) + shift, counts.n1, alpha)
    # Rounding must not push the observed outcome out of its own region.
    critical = np.where(starts <= counts.k2, np.minimum(critical, counts.k1), critical)
    q = clopper_pearson(counts.k2, counts.n2, alpha * NUISANCE)
    window = math.ceil(2 * (float(stats.norm.isf(alpha)) + 2.5) / BLOCK)
    return Region(counts.n1, counts.n2, starts, critical, q, max(window, 64))


def _blocks(counts: Counts, alpha: float) -> Array:
    """First k2 of each block; beyond both ends of what q's interval makes likely, one block each."""
    low, high = clopper_pearson(counts.k2, counts.n2, alpha * NUISANCE)
    n, reach = counts.n2, float(stats.norm.isf(alpha * NUISANCE)) / (2 * math.sqrt(counts.n2))
    first, last = max(0.0, float(_angle(low)) - reach), min(math.pi / 2, float(_angle(high)) + reach)
    step = BLOCK / (2 * math.sqrt(n))
    angles = np.linspace(first, last, max(2, math.ceil((last - first) / step)))
    inner = np.floor(n * np.sin(angles) ** 2)
    return np.unique(np.concatenate([[0.0, float(counts.k2)], inner, [min(n, inner[-1] + 1)]]))


def _limits(counts: Counts, alpha: float) -> tuple[float, float]:
    return float(_lower(counts.k1, counts.n1, alpha)), float(_upper(np.asarray(counts.k2), counts.n2, alpha))


def _margin(n: int, alpha: float) -> float:
    """Half of a one-sided normal margin in each angle: together they make a whole one."""
    return float(stats.norm.isf(min(alpha, 0.4))) / (2 * math.sqrt(2 * n))


def _lower(k: int, n: int, alpha: float) -> float:
    """Above 0 for every k > 0, however small alpha is: θ²/(θ + v) in place of θ − v."""
    angle, v = math.asin(math.sqrt(k / n)), _margin(n, alpha)
    return math.sin(angle**2 / (angle + v)) ** 2


def _critical(x: Array, n: int, alpha: float) -> Array:
    """The smallest k with _lower(k) ≥ x, n + 1 if none; a hair low, so that rounding is on the safe side."""
    v = _margin(n, alpha)
    angle = np.arcsin(np.sqrt(np.clip(x, 0.0, 1.0)))
    angle = (angle + np.sqrt(angle**2 + 4 * angle * v)) / 2
    k = np.ceil(n * np.sin(np.minimum(angle, np.pi / 2)) ** 2 * (1 - 1e-12) - 1e-9)
    return np.asarray(np.where((x > 1) | (angle > np.pi / 2 * (1 + 1e-12)), n + 1.0, np.maximum(k, 0.0)))


def _upper(k: NDArray[Any], n: int, alpha: float) -> Array:
    angle = np.arcsin(np.sqrt((k + 1) / (n + 1))) + _margin(n, alpha)
    return np.asarray(np.sin(np.minimum(angle, np.pi / 2)) ** 2)


def _at_least(k: Array, n: int, p: Array) -> Array:
    """P(Bin(n, p) ≥ k)."""
    tail = special.betainc(np.clip(k, 1, n), n - np.clip(k, 1, n) + 1, p)
    return np.asarray(np.where(k <= 0, 1.0, np.where(k > n, 0.0, tail)))


def _below(k: Array, n: int, q: Array) -> Array:
    """P(Bin(n, q) < k)."""
    inside = np.clip(k, 1, n)
    tail = special.betainc(n - inside + 1, inside, 1 - q)
    return np.asarray(np.where(k <= 0, 0.0, np.where(k > n, 1.0, tail)))


def _partner(q: Array, epsilon: float, delta: float) -> Array:
    return np.minimum(1.0, math.exp(min(epsilon, MOST_EPSILON)) * q + delta)


def _angle(p: float | Array) -> Array:
    return np.asarray(np.arcsin(np.sqrt(p)))


def _by_angle(low: float, high: float, points: int) -> Array:
    # min keeps the ends exact: sin(asin(x)) may come out above x.
    return np.asarray(np.clip(np.sin(np.linspace(_angle(low), _angle(high), points)) ** 2, low, high))


def _check(alpha: float, epsilon: float = 0.0, delta: float = 0.0) -> None:
    if not SMALLEST_ALPHA <= alpha < 1:
        raise ValueError(f"alpha lies in [{SMALLEST_ALPHA:g}, 1), not {alpha!r}")
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon is a number from 0, not {epsilon!r}")
    if not 0 <= delta < 1:
        raise ValueError(f"delta lies in [0, 1), not {delta!r}")
