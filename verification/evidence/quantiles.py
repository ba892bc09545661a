"""Distribution-free intervals for a quantile and for the mean of bounded variables, valid at every n.

- :func:`quantile_interval`, :func:`quantile_detectable`, :func:`quantile_samples`;
- :func:`mean_interval`, :func:`mean_detectable`, :func:`mean_samples`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from lpcb.boundary import checked
from verification.evidence.chernoff import kl_shift
from verification.evidence.kinds import Level, Power, Probability, Size
from verification.evidence.tails import POWER, Side, check_level, smallest_n
from verification.verdict import FALSE_ALARM


@dataclass(frozen=True)
class QuantileInterval:
    """[low, high] contains the q-quantile; the ends are the order statistics of rank ``ranks``.

    Rank 0 and n + 1 stand for -inf and inf: n was too small for that end.
    """

    q: float
    low: float
    high: float
    ranks: tuple[int, int]
    n: int
    alpha: float


@checked
def quantile_interval(
    x: ArrayLike, q: float, alpha: Level = FALSE_ALARM, side: Side = "two"
) -> QuantileInterval:
    """Interval between two order statistics for ξ_q = inf{t : F(t) ≥ q}, whatever F is (ties allowed).

    X_(r) > ξ_q means that fewer than r values are ≤ ξ_q, and each is so with probability F(ξ_q) ≥ q:
    P ≤ P(Bin(n, q) ≤ r − 1). X_(s) < ξ_q means that at least s values are < ξ_q, and each is so with
    probability ≤ q: P ≤ P(Bin(n, q) ≥ s). ``two`` spends alpha/2 on each end, ``above`` all on the lower
    end (the quantile lies above it), ``below`` all on the upper end.

    >>> quantile_interval(range(1, 101), 0.5, alpha=0.05).ranks
    (40, 61)
    """
    data = np.sort(sample_of(x))
    r, s = _ranks(len(data), _open("q", q), check_level(alpha), side)
    low = float(data[r - 1]) if r >= 1 else -math.inf
    high = float(data[s - 1]) if s <= len(data) else math.inf
    return QuantileInterval(float(q), low, high, (r, s), len(data), float(alpha))


@checked
def quantile_detectable(
    n: Size, q: float, alpha: Level = FALSE_ALARM, power: Power = POWER, side: Side = "two"
) -> tuple[float, float]:
    """(q', q''): with probability ≥ ``power`` each, low ≥ ξ_{q'} and high ≤ ξ_{q''}.

    So a claimed value of the q-quantile below the true ξ_{q'} or above the true ξ_{q''} is refuted. 0 and 1
    mean that n is too small. Exact: P(at least r of n are < ξ_{q'}) is the cdf at q' of Beta(r, n − r + 1).

    >>> [round(v, 3) for v in quantile_detectable(1000, 0.5)]
    [0.368, 0.632]
    """
    r, s = _ranks(n, _open("q", q), check_level(alpha), side)
    low = float(stats.beta.ppf(1 - power, r, n - r + 1)) if r >= 1 else 0.0
    high = float(stats.beta.ppf(power, s, n - s + 1)) if s <= n else 1.0
    return low, high


@checked
def quantile_samples(
    q: float, alpha: Level = FALSE_ALARM, side: Side = "two", within: Probability = 1.0
) -> int:
    """Samples for finite ends that, with probability 0.99 each, lie between ξ_{q−within} and ξ_{q+within}.

    With the default the ends need only be finite: q^n and (1−q)^n at most alpha/2.

    >>> quantile_samples(0.5), quantile_samples(0.99, side="below")
    (31, 2062)
    """
    _open("q", q)

    def enough(n: int) -> bool:
        r, s = _ranks(n, q, alpha, side)
        low, high = quantile_detectable(n, q, alpha, side=side)
        good_low = side == "below" or (r >= 1 and low >= q - within)
        good_high = side == "above" or (s <= n and high <= q + within)
        return good_low and good_high

    return smallest_n(enough, what=f"within {within!r}")


@dataclass(frozen=True)
class MeanInterval:
    """[low, high] contains the mean of variables known to lie in a range; ``mean`` is the sample's."""

    mean: float
    low: float
    high: float
    n: int
    alpha: float


@checked
def mean_interval(
    x: ArrayLike, low: float = 0.0, high: float = 1.0, alpha: Level = FALSE_ALARM
) -> MeanInterval:
    r"""Interval for the mean of independent, identically distributed values in [low, high], at every n.

    The intersection of two valid intervals that spend alpha/2 each (alpha/4 per end), on the unit scale:
    Chernoff-Hoeffding, :math:`n\,\mathrm{KL}(\bar x \| \mu) \le \ln(4/\alpha)`, sharp for 0/1 values, and
    Maurer and Pontil's empirical Bernstein with sample variance V, sharp for small variances,
    :math:`|\bar x - \mu| \le \sqrt{2 V \ln(8/\alpha)/n} + 7\ln(8/\alpha)/(3(n-1))`.

    >>> fit = mean_interval([0.5] * 10_000)
    >>> round(fit.low, 4), round(fit.high, 4)
    (0.4947, 0.5053)
    """
    width = _range(low, high)
    data = sample_of(x)
    if data.min() < low or data.max() > high:
        raise ValueError(f"x lies in [{low!r}, {high!r}], not in [{data.min()!r}, {data.max()!r}]")
    unit = (data - low) / width
    n, mean = len(unit), float(np.clip(unit.mean(), 0.0, 1.0))
    a, b = _kl_interval(mean, n, math.log(4 / check_level(alpha)))
    if n >= 2:
        margin = _bernstein(n, math.sqrt(float(unit.var(ddof=1))), math.log(8 / alpha))
        a, b = max(a, mean - margin), min(b, mean + margin)
    return MeanInterval(low + width * mean, low + width * a, low + width * b, n, float(alpha))


@checked
def mean_detectable(
    n: Size,
    low: float = 0.0,
    high: float = 1.0,
    alpha: Level = FALSE_ALARM,
    power: Power = POWER,
    std: float | None = None,
) -> float:
    """A distance d such that a claimed value d or more away from the mean falls outside
    :func:`mean_interval` with probability at least ``power``, for every law (of standard deviation at most
    ``std``, if given).

    Both margins are bounded from above: KL's by Pinsker's inequality, empirical Bernstein's by Maurer and
    Pontil's √V ≤ σ + √(2 ln(2/η)/(n−1)) with probability 1 − η/2, η = 1 − power; to this add how far the
    sample mean strays, by Hoeffding's or Bernstein's inequality.

    >>> round(mean_detectable(10_000), 4), round(mean_detectable(10_000, std=0.01), 4)
    (0.0484, 0.0087)
    """
    width = _range(low, high)
    if std is not None and not 0 <= std < math.inf:
        raise ValueError(f"std is finite and at least 0, not {std!r}")
    eta = 1 - check_level(power)
    hoeffding = math.sqrt(math.log(4 / check_level(alpha)) / (2 * n)) + math.sqrt(-math.log(eta) / (2 * n))
    if std is None or n < 2:
        return width * hoeffding
    sigma, spare = std / width, math.log(2 / eta)
    seen = sigma + math.sqrt(2 * spare / (n - 1))
    strays = sigma * math.sqrt(2 * spare / n) + spare / (3 * n)
    return width * min(hoeffding, _bernstein(n, seen, math.log(8 / alpha)) + strays)


@checked
def mean_samples(
    distance: float,
    low: float = 0.0,
    high: float = 1.0,
    alpha: Level = FALSE_ALARM,
    power: Power = POWER,
    std: float | None = None,
) -> int:
    """The smallest n whose :func:`mean_detectable` is at most ``distance``.

    >>> mean_samples(mean_detectable(10_000))
    10000
    """
    if not distance > 0:
        raise ValueError(f"distance is above 0, not {distance!r}")
    return smallest_n(
        lambda n: mean_detectable(n, low, high, alpha, power, std) <= distance, what=f"distance {distance!r}"
    )


def _ranks(n: int, q: float, alpha: float, side: Side) -> tuple[int, int]:
    """The largest r with P(Bin(n, q) ≤ r−1) ≤ level and the smallest s with P(Bin(n, q) ≥ s) ≤ level."""
    level = alpha / 2 if side == "two" else alpha
    r = int(stats.binom.ppf(level, n, q))  # the smallest k with cdf(k) >= level
    if stats.binom.cdf(r, n, q) <= level:
        r += 1
    s = int(stats.binom.isf(level, n, q)) + 1  # isf is the smallest k with P(Bin > k) <= level
    return (0 if side == "below" else r), (n + 1 if side == "above" else s)


def _kl_interval(mean: float, n: int, budget: float) -> tuple[float, float]:
    """{μ : n KL(mean ‖ μ) ≤ budget}; at the ends of [0, 1] in closed form."""

    def excess(mu: float) -> float:
        return n * kl_shift(mu, mean - mu) - budget

    far = -math.expm1(-budget / n)  # KL(0 || far) n = budget
    if mean == 0:
        return 0.0, far
    if mean == 1:
        return 1 - far, 1.0
    a, b, top = 0.0, 1.0, math.nextafter(1.0, 0.0)
    if excess(math.exp(-700.0)) > 0:  # on the log scale: the root may be many orders below the mean
        root = optimize.brentq(lambda u: excess(math.exp(u)), -700.0, math.log(mean), rtol=1e-12)
        a = min(mean, math.exp(root))
    if mean < top and excess(top) > 0:
        b = optimize.brentq(excess, mean, top, xtol=1e-300, rtol=1e-12, maxiter=500)
    return float(a), float(b)


def _bernstein(n: int, std: float, budget: float) -> float:
    return std * math.sqrt(2 * budget / n) + 7 * budget / (3 * (n - 1))


def sample_of(x: ArrayLike) -> NDArray[np.float64]:
    data = np.asarray(x, dtype=np.float64)
    if data.ndim != 1 or len(data) == 0 or np.isnan(data).any():
        raise ValueError(f"x is a sequence of at least one number without NaN, not of shape {data.shape}")
    return data


def _range(low: float, high: float) -> float:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"low and high are finite with low < high, not {low!r} and {high!r}")
    return float(high) - float(low)


def _open(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise ValueError(f"{name} lies in (0, 1), not {value!r}")
    return float(value)
