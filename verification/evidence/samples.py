"""Do samples follow a given law, or two samples the same law? Tests whose p-values hold at every n.

Distances are sup-distances between cdfs (Kolmogorov) or between cell probabilities. Beside each test,
``…_detectable`` gives a distance that is caught with the stated power under *every* alternative that far
away, and ``…_samples`` the number of samples that catches a given distance.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from lpcb.boundary import checked
from verification.evidence.kinds import Count, Level, Power, Size
from verification.evidence.quantiles import sample_of
from verification.evidence.tails import POWER, Side, check_counts, check_level, smallest_n
from verification.verdict import FALSE_ALARM

Cdf = Callable[[NDArray[np.float64]], ArrayLike]
Method = Literal["exact", "bound"]
MOST_EXACT = 10_000
"""Beyond this one-sample size the exact law is replaced by Massart's bound, which is then within 1 %."""
MOST_PATHS = 2**31
"""The exact two-sample law counts lattice paths; scipy can while nm/gcd(n, m)² is below this."""


@dataclass(frozen=True)
class Comparison:
    """A distance between laws as seen in samples, its p-value, and how that was found.

    ``exact`` is the null law of the statistic (under continuity; ties make it cautious); ``bound`` an upper
    bound on it. ``where`` is the value at which the distance is seen.
    """

    distance: float
    p: float
    n: tuple[int, ...]
    method: Method
    where: float | str

    def rejects(self, alpha: Level = FALSE_ALARM) -> bool:
        return self.p <= check_level(alpha)


# --- one sample against a cdf -------------------------------------------------------------------------


@checked
def ks_one_sample(x: ArrayLike, cdf: Cdf, cdf_left: Cdf | None = None) -> Comparison:
    """Kolmogorov's test of H0: x has the given cdf.

    For a law with atoms give ``cdf_left``, t ↦ P(X < t), as well: the distance is then taken properly
    (jumps against jumps) and the p-value is cautious, since an atom only removes points from the supremum.

    >>> round(ks_one_sample((np.arange(100) + 0.5) / 100, lambda t: t).distance, 12)
    0.005
    """
    data = np.sort(sample_of(x))
    n = len(data)
    points, counts = np.unique(data, return_counts=True)
    right = np.cumsum(counts) / n
    left = right - counts / n
    at = np.asarray(cdf(points), dtype=np.float64)
    before = at if cdf_left is None else np.asarray(cdf_left(points), dtype=np.float64)
    if not (np.all(before <= at) and np.all(before >= 0) and np.all(at <= 1)):
        raise ValueError("cdf gives probabilities, and cdf_left none above them")
    gaps = np.maximum(np.abs(right - at), np.abs(left - before))
    distance = float(gaps.max())
    p = float(stats.kstwo.sf(distance, n)) if n <= MOST_EXACT else _massart(distance, n)
    method: Method = "exact" if n <= MOST_EXACT else "bound"
    return Comparison(distance, min(1.0, p), (n,), method, float(points[int(gaps.argmax())]))


@checked
def ks_one_detectable(n: Size, alpha: Level = FALSE_ALARM, power: Power = POWER) -> float:
    """A sup-distance of cdfs that :func:`ks_one_sample` catches with probability at least ``power``.

    The critical distance plus how far the empirical cdf may stray at the one point where the laws differ
    most: √(ln(1/(1−power))/(2n)) by Hoeffding. Above 1: nothing is sure to be caught.

    >>> round(ks_one_detectable(10_000), 4)
    0.0479
    """
    half = check_level(alpha) / 2
    # P(D >= d) <= 2 P(D+ >= d), an equality to many digits at small levels.
    critical = float(special.smirnovi(n, half)) if n <= MOST_EXACT else math.sqrt(-math.log(half) / (2 * n))
    return critical + _strays(n, power)


@checked
def ks_one_samples(distance: float, alpha: Level = FALSE_ALARM, power: Power = POWER) -> int:
    """The number of samples at which :func:`ks_one_detectable` is at most ``distance``.

    >>> ks_one_samples(0.05)
    9169
    """
    return smallest_n(
        lambda n: ks_one_detectable(n, alpha, power) <= _distance(distance), what=f"distance {distance!r}"
    )


# --- two samples of numbers ---------------------------------------------------------------------------


@checked
def ks_two_sample(x: ArrayLike, y: ArrayLike) -> Comparison:
    r"""Smirnov's test of H0: x and y have the same law, for any sample sizes.

    Exact where the paths can be counted (equal sizes always); elsewhere the sum of Massart's bounds for
    each sample's distance to the common cdf, with d split so that both exponents agree:

    .. math:: p \le 4 \exp\Big(-\frac{2 n m d^2}{(\sqrt n + \sqrt m)^2}\Big).

    Ties make both cautious: breaking them at random can only raise the distance.

    >>> round(ks_two_sample([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).p, 12)
    0.1
    """
    a, b = sample_of(x), sample_of(y)
    n, m = len(a), len(b)
    points = np.unique(np.concatenate([a, b]))
    gaps = np.abs(_ecdf(a, points) - _ecdf(b, points))
    where, distance = float(points[int(gaps.argmax())]), float(gaps.max())
    if _countable(n, m):
        with warnings.catch_warnings(), suppress(RuntimeWarning):
            # Where scipy cannot count the paths it falls back on an approximation, and only warns.
            warnings.simplefilter("error", RuntimeWarning)
            result = stats.ks_2samp(a, b, method="exact")
            return Comparison(distance, min(1.0, float(result.pvalue)), (n, m), "exact", where)
    return Comparison(distance, _two_sample_bound(distance, n, m), (n, m), "bound", where)


@checked
def ks_two_detectable(n: Size, m: Size, alpha: Level = FALSE_ALARM, power: Power = POWER) -> float:
    """A sup-distance of cdfs that :func:`ks_two_sample` catches with probability at least ``power``.

    Equal sizes: P(D ≥ k/n) ≤ 2 C(2n, n+k)/C(2n, n), from reflected paths. Other sizes: from the bound,
    which the exact test only improves. Above 1: nothing is sure to be caught.

    >>> round(ks_two_detectable(10_000, 10_000), 4), round(ks_two_detectable(10_000, 10_001), 4)
    (0.0678, 0.088)
    """
    level = check_level(alpha)
    if n == m:
        steps = smallest_n(lambda k: k > n or _log_reflected(n, k) <= math.log(level), what="n")
        critical = steps / n if steps <= n else math.inf
    else:
        critical = math.sqrt(math.log(4 / level) / (2 * n * m)) * (math.sqrt(n) + math.sqrt(m))
    return critical + _strays(n * m / (n + m), power)


@checked
def ks_two_samples(distance: float, alpha: Level = FALSE_ALARM, power: Power = POWER) -> int:
    """The size of each of two equal samples at which ``distance`` is caught.

    >>> n = ks_two_samples(0.05)
    >>> ks_two_detectable(n, n) <= 0.05 < ks_two_detectable(n - 1, n - 1)
    True
    """
    return smallest_n(
        lambda n: ks_two_detectable(n, n, alpha, power) <= _distance(distance), what=f"distance {distance!r}"
    )


# --- two proportions, two discrete samples ------------------------------------------------------------


@checked
def two_proportions(s1: Count, n1: Count, s2: Count, n2: Count, side: Side = "two") -> Comparison:
    """Fisher's exact test of H0: p1 = p2 (``above``: p1 ≤ p2, ``below``: p1 ≥ p2), s of n successes each.

    Given the total s1 + s2 the count s1 is hypergeometric under p1 = p2, whatever that common value, and
    stochastically smaller when p1 < p2. ``two`` doubles the smaller tail.

    >>> round(two_proportions(10, 1000, 60, 1000).p, 12)
    4.22e-10
    """
    check_counts(s1, n1, ("s1", "n1"))
    check_counts(s2, n2, ("s2", "n2"))
    above, below = _fisher_tails(np.asarray(s1), np.asarray(s1 + s2), n1, n2)
    p = {"above": float(above), "below": float(below), "two": min(1.0, 2 * float(min(above, below)))}[side]
    distance = abs(s1 / n1 - s2 / n2) if n1 and n2 else 0.0
    return Comparison(distance, p, (int(n1), int(n2)), "exact", "success")


@checked
def proportions_detectable(
    n1: Size, n2: Size, alpha: Level = FALSE_ALARM, power: Power = POWER, cells: Size = 1
) -> float:
    """A difference |p1 − p2| that the two-sided test catches with probability ≥ ``power``, for every p1.

    The hypergeometric tail at an observed difference d is at most exp(−2 u² d²/(k(1 − (k−1)/N)))
    with u = n1 n2/N, N = n1 + n2 and k either sample's size (Serfling); Hoeffding bounds how far the
    observed difference strays. ``cells`` > 1: the level is shared, as in :func:`same_discrete_law`.

    >>> round(proportions_detectable(10_000, 10_000), 4)
    0.0677
    """
    total = n1 + n2
    shrink = min(k * (1 - (k - 1) / total) for k in (n1, n2))
    u = n1 * n2 / total
    critical = math.sqrt(math.log(2 * cells / check_level(alpha)) * shrink / 2) / u
    return critical + _strays(u, power)


@checked
def proportions_samples(
    distance: float, alpha: Level = FALSE_ALARM, power: Power = POWER, cells: Size = 1
) -> int:
    """The size of each of two equal samples at which a difference of ``distance`` is caught.

    >>> proportions_samples(proportions_detectable(10_000, 10_000))
    10000
    """
    return smallest_n(
        lambda n: proportions_detectable(n, n, alpha, power, cells) <= _distance(distance),
        what=f"distance {distance!r}",
    )


def same_discrete_law(x: Sequence[Any] | NDArray[Any], y: Sequence[Any] | NDArray[Any]) -> Comparison:
    """Test of H0: two discrete samples have the same law: Fisher's test on each cell, Bonferroni over cells.

    Valid at every n, unlike chi-square with rare cells: given all pooled counts each cell's count is
    hypergeometric, and the number of cells is a function of the pooled counts. ``distance`` and ``where``
    speak of the cell with the smallest p-value. See :func:`proportions_detectable` with ``cells``.

    >>> same_discrete_law(["a"] * 50 + ["b"] * 50, ["a"] * 99 + ["b"]).where
    'a'
    """
    try:
        a, b = np.asarray(x), np.asarray(y)
    except ValueError as error:
        raise ValueError(f"x and y are sequences of values ({error})") from None
    if a.ndim != 1 or b.ndim != 1 or len(a) == 0 or len(b) == 0:
        raise ValueError(
            f"x and y are sequences of at least one value, not of shapes {a.shape} and {b.shape}"
        )
    try:
        values, cell = np.unique(np.concatenate([a, b]), return_inverse=True)
    except TypeError as error:
        raise ValueError(f"x and y hold values that can be compared with each other ({error})") from None
    s1 = np.bincount(cell[: len(a)], minlength=len(values))
    s2 = np.bincount(cell[len(a) :], minlength=len(values))
    above, below = _fisher_tails(s1, s1 + s2, len(a), len(b))
    worst = int(np.argmin(np.minimum(above, below)))
    p = min(1.0, 2 * len(values) * float(min(above[worst], below[worst])))
    distance = abs(float(s1[worst]) / len(a) - float(s2[worst]) / len(b))
    return Comparison(distance, p, (len(a), len(b)), "exact", str(values[worst]))


def _fisher_tails(
    s1: NDArray[Any], total: NDArray[Any], n1: int, n2: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(H ≥ s1) and P(H ≤ s1) for H hypergeometric: n1 draws from n1 + n2 of which ``total`` count."""
    above = np.asarray(stats.hypergeom.sf(s1 - 1, n1 + n2, total, n1), dtype=np.float64)
    below = np.asarray(stats.hypergeom.cdf(s1, n1 + n2, total, n1), dtype=np.float64)
    return np.minimum(above, 1.0), np.minimum(below, 1.0)


def _massart(distance: float, n: float) -> float:
    return 2 * math.exp(-2 * n * distance**2)


def _two_sample_bound(distance: float, n: int, m: int) -> float:
    return min(1.0, 4 * math.exp(-2 * n * m * (distance / (math.sqrt(n) + math.sqrt(m))) ** 2))


def _log_reflected(n: int, k: int) -> float:
    """ln of 2 C(2n, n+k)/C(2n, n)."""
    lost = special.gammaln(n + k + 1) + special.gammaln(n - k + 1) - 2 * special.gammaln(n + 1)
    return math.log(2) - float(lost)


def _countable(n: int, m: int) -> bool:
    g = math.gcd(n, m)
    return (n // g) * (m // g) < MOST_PATHS


def _ecdf(data: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.searchsorted(np.sort(data), points, side="right") / len(data)


def _strays(n: float, power: Power) -> float:
    return math.sqrt(-math.log1p(-check_level(power)) / (2 * n))


def _distance(value: float) -> float:
    if not 0 < value <= 1:
        raise ValueError(f"distance lies in (0, 1], not {value!r}")
    return float(value)
