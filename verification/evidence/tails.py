"""Failure rates: tests that may be looked at any time, exact binomial ones, and Chernoff tails beside them.

Every method stands beside the smallest violation it detects and the number of samples it needs:

- :class:`FailureRate`, :func:`sequential_rate`, :func:`rate_detectable`, :func:`rate_samples`;
- :func:`binomial_p`, :func:`clopper_pearson`, :func:`binomial_detectable`, :func:`binomial_samples`;
- what no sample reaches: Chernoff bounds in :mod:`verification.evidence.chernoff`, re-exported here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from lpcb.boundary import checked
from verification.evidence.chernoff import (
    Side,
    binomial_log_tail,
    laplace_sum_deviation,
    laplace_sum_log_tail,
)
from verification.evidence.kinds import Count, Level, Power, Probability, Size
from verification.verdict import FALSE_ALARM, Verdict

__all__ = [
    "POWER",
    "FailureRate",
    "Side",
    "anytime_interval",
    "binomial_detectable",
    "binomial_log_tail",
    "binomial_p",
    "binomial_power",
    "binomial_samples",
    "check_counts",
    "check_level",
    "check_rate",
    "clopper_pearson",
    "critical_counts",
    "laplace_sum_deviation",
    "laplace_sum_log_tail",
    "log_e_above",
    "log_e_below",
    "rate_detectable",
    "rate_of_batches",
    "rate_samples",
    "sequential_rate",
    "smallest_n",
]

POWER = 0.99
"""With this probability a violation of the stated size is caught."""
MOST_SAMPLES = 2**50
"""Sample sizes beyond this are not searched: counts would no longer be exact as floats."""
PRIOR = 0.5
"""Both parameters of the mixing beta (Jeffreys): the price of not knowing p is ln(n)/2 in the exponent."""


# --- looking at any time ------------------------------------------------------------------------------


@checked
def log_e_above(failures: ArrayLike, n: ArrayLike, bound: ArrayLike) -> NDArray[np.float64]:
    r"""ln of the e-value against H0: p ≤ δ after ``failures`` among ``n``; δ = ``bound``, vectorised.

    .. math:: E_n = \int_\delta^1 \Big(\frac q\delta\Big)^{S}\Big(\frac{1-q}{1-\delta}\Big)^{n-S} w(dq),
       \quad w = \mathrm{Beta}(\tfrac12, \tfrac12) \text{ conditioned on } (\delta, 1).

    One more trial multiplies the integrand by q/δ (failure) or (1−q)/(1−δ) (success). For q > δ its mean
    pq/δ + (1−p)(1−q)/(1−δ) increases in p and is 1 at p = δ, so it is at most 1 for every p ≤ δ.
    Hence E is a supermartingale from 1 under every p ≤ δ, and P(E ever reaches 1/α) ≤ α (Ville).
    Far on the other side of δ, where E < 1, the beta tail underflows and E is given as 0: no harm.

    >>> round(float(log_e_above(20, 100, 0.05)), 2)
    11.6
    """
    s, f, d = _trials(failures, n, bound)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = special.betaln(PRIOR + s, PRIOR + f) - special.betaln(PRIOR, PRIOR)
        out = out + np.log(special.betaincc(PRIOR + s, PRIOR + f, d))
        out = out - np.log(special.betaincc(PRIOR, PRIOR, d))
        out = out - special.xlogy(s, d) - special.xlog1py(f, -d)
    return np.where(d >= 1, 0.0, out)  # p <= 1 is never wrong


@checked
def log_e_below(failures: ArrayLike, n: ArrayLike, bound: ArrayLike) -> NDArray[np.float64]:
    """ln of the e-value against H0: p ≥ δ, the mirror image of :func:`log_e_above`: w on (0, δ).

    >>> float(log_e_below(0, 500, 0.05)) > math.log(1e9)
    True
    """
    s, f, d = _trials(failures, n, bound)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = special.betaln(PRIOR + s, PRIOR + f) - special.betaln(PRIOR, PRIOR)
        out = out + np.log(special.betainc(PRIOR + s, PRIOR + f, d))
        out = out - np.log(special.betainc(PRIOR, PRIOR, d))
        out = out - special.xlogy(s, d) - special.xlog1py(f, -d)
    return np.where(d <= 0, 0.0, out)  # p >= 0 is never wrong


@checked
def anytime_interval(failures: Count, n: Count, alpha: Level = FALSE_ALARM) -> tuple[float, float]:
    r"""Confidence interval for p, valid at all n at once: the δ that neither e-value rejects at α/2.

    Why the rejected δ form intervals at the two ends. Put t = logit q, ℓ(t) the log-likelihood (concave),
    w's density in t (log-concave, so its hazard h increases) and g = ℓ'(δ). Then E = E_w[e^{ℓ(t)−ℓ(δ)} | t>δ]
    and d ln E/dδ = h(1 − 1/E) − g. By concavity E ≤ E_w[e^{g(t−δ)} | t>δ]: at most 1 if g ≤ 0, and at most
    h/(h−g) if 0 < g < h, since t−δ is then below an Exp(h). So E > 1 forces g ≥ h(1−1/E): E decreases.

    >>> low, high = anytime_interval(0, 1000, alpha=0.05)
    >>> low, round(high, 4)
    (0.0, 0.0046)
    """
    check_counts(failures, n)
    need = math.log(2 / check_level(alpha))
    if n == 0:
        return 0.0, 1.0
    rate = failures / n
    low, high = 0.0, 1.0
    if failures > 0:  # the root in u = ln delta
        u = _crossing(lambda u: float(log_e_above(failures, n, math.exp(u))) - need, -700.0, math.log(rate))
        low = math.exp(u) if u > -700.0 else 0.0
    if failures < n:  # the root in v = ln(1 - delta); at v = -36 delta is 1 up to rounding
        v = _crossing(
            lambda v: float(log_e_below(failures, n, -math.expm1(v))) - need, -36.0, math.log1p(-rate)
        )
        high = -math.expm1(v) if v > -36.0 else 1.0
    return low, high


@dataclass(frozen=True)
class FailureRate:
    """What is known about a failure rate p claimed to be at most ``bound``, after any number of looks.

    ``log_e_above`` and ``log_e_below`` are the largest e-values seen so far. Each side spends alpha/2, so
    that verdict and interval agree: REFUTED when p > bound is shown, HOLDS when p < bound is shown. Either
    is wrong with probability at most alpha/2, however often and whenever one looks.

    >>> FailureRate(bound=0.05).look(0, 600).verdict
    'HOLDS'
    >>> FailureRate(bound=1e-36).look(1, 100).verdict
    'REFUTED'
    """

    bound: float
    alpha: Level = FALSE_ALARM
    n: int = 0
    failures: int = 0
    log_e_above: float = 0.0
    log_e_below: float = 0.0

    def __post_init__(self) -> None:
        check_rate("bound", self.bound)
        check_level(self.alpha)
        check_counts(self.failures, self.n)

    def look(self, failures: int, n: int) -> FailureRate:
        """After ``n`` more trials with ``failures`` more failures."""
        check_counts(failures, n)
        s, total = self.failures + int(failures), self.n + int(n)
        return replace(
            self,
            n=total,
            failures=s,
            log_e_above=max(self.log_e_above, float(log_e_above(s, total, self.bound))),
            log_e_below=max(self.log_e_below, float(log_e_below(s, total, self.bound))),
        )

    @property
    def verdict(self) -> Verdict:
        need = math.log(2 / self.alpha)
        if self.log_e_above >= need:
            return "REFUTED"
        return "HOLDS" if self.log_e_below >= need else "UNDECIDED"

    @property
    def rate(self) -> float:
        return self.failures / self.n if self.n else 0.0

    @property
    def p_above(self) -> float:
        """Anytime p-value of H0: p <= bound."""
        return math.exp(-self.log_e_above)

    @property
    def p_below(self) -> float:
        """Anytime p-value of H0: p >= bound."""
        return math.exp(-self.log_e_below)

    @property
    def interval(self) -> tuple[float, float]:
        return anytime_interval(self.failures, self.n, self.alpha)


@checked
def rate_of_batches(
    batches: Iterable[tuple[int, int]], bound: float, alpha: Level = FALSE_ALARM
) -> FailureRate:
    """Looks after each batch of (failures, trials); stops drawing batches at the first verdict.

    >>> rate_of_batches([(50, 100)] * 10, bound=0.05).n
    100
    """
    state = FailureRate(float(bound), alpha)
    if not isinstance(batches, Iterable):
        raise ValueError(f"batches are pairs of failures and trials, not {batches!r}")
    for batch in batches:
        try:
            failures, n = batch
            state = state.look(failures, n)
        except (TypeError, ValueError) as error:
            raise ValueError(f"batches are pairs of failures and trials, not {batch!r} ({error})") from None
        if state.verdict != "UNDECIDED":
            break
    return state


@checked
def sequential_rate(
    sample: Callable[[int], int], bound: float, max_n: Size, alpha: Level = FALSE_ALARM, first: Size = 64
) -> FailureRate:
    """Draws until the claim p ≤ ``bound`` is decided or ``max_n`` trials are spent.

    ``sample(k)`` makes k new trials and returns the number of failures. Batches grow by an eighth, so the
    last look is never far beyond the first one that would have decided.

    >>> sequential_rate(lambda k: 0, bound=0.05, max_n=10_000).verdict
    'HOLDS'
    """
    if max_n > MOST_SAMPLES:
        raise ValueError(f"max_n is at most {MOST_SAMPLES}, not {max_n!r}")

    def batches() -> Iterable[tuple[int, int]]:
        n = 0
        while n < max_n:
            k = min(max(first, n // 8), max_n - n)
            failures = sample(k)
            try:
                check_counts(failures, k)
            except (TypeError, ValueError):
                raise ValueError(f"sample({k}) counts failures in {k} trials, not {failures!r}") from None
            yield failures, k
            n += k

    return rate_of_batches(batches(), bound, alpha)


@checked
def critical_counts(
    n: ArrayLike, bound: float, alpha: Level = FALSE_ALARM
) -> tuple[NDArray[Any], NDArray[Any]]:
    """(c, C): a single look after n trials says HOLDS iff S ≤ c and REFUTED iff S ≥ C; vectorised over n.

    Both e-values are monotone in S (the integrand is), so bisection finds them; c = -1 and C = n + 1
    mean never.
    """
    need = math.log(2 / check_level(alpha))
    below = _first_count(n, lambda s, m: log_e_below(s, m, bound) < need) - 1
    return below, _first_count(n, lambda s, m: log_e_above(s, m, bound) >= need)


@checked
def rate_detectable(
    n: Size, bound: float, alpha: Level = FALSE_ALARM, power: Power = POWER
) -> tuple[float, float]:
    """(p, P): rates up to p are found to HOLD, rates from P on are REFUTED, with probability ≥ ``power``.

    Exact for one look after n trials; earlier looks add to it, less alpha/2 for a wrong early verdict.
    -inf and inf mean that n is too small for any rate.

    >>> [round(p, 4) for p in rate_detectable(20_000, bound=0.05)]
    [0.0365, 0.0656]
    """
    below, above = critical_counts(n, bound, alpha)
    return _detectable(n, int(below), int(above), power)


@checked
def rate_samples(bound: float, rate: float, alpha: Level = FALSE_ALARM, power: Power = POWER) -> int:
    """Trials after which the true ``rate`` is told from ``bound`` with probability at least ``power``.

    >>> rate_samples(bound=0.05, rate=0.0)
    451
    """
    return _samples(rate_detectable, bound, rate, alpha, power)


# --- a number of trials fixed beforehand --------------------------------------------------------------


@checked
def binomial_p(failures: Count, n: Count, bound: float, side: Side = "above") -> float:
    """Exact p-value: P(S ≥ s) for H0: p ≤ bound (``above``), P(S ≤ s) for H0: p ≥ bound (``below``),
    twice the smaller for H0: p = bound (``two``). For one look only.

    >>> binomial_p(0, 414, 0.05, "below") < 1e-9
    True
    """
    check_counts(failures, n)
    check_rate("bound", bound)
    above = float(stats.binom.sf(failures - 1, n, bound))
    below = float(stats.binom.cdf(failures, n, bound))
    return {"above": above, "below": below, "two": min(1.0, 2 * min(above, below))}[side]


@checked
def clopper_pearson(
    failures: Count, n: Count, alpha: Level = FALSE_ALARM, side: Side = "two"
) -> tuple[float, float]:
    """Exact interval: ``two`` spends alpha/2 on each end, ``above`` all on the lower end (and leaves the
    upper at 1), ``below`` all on the upper end. For one look only.

    >>> low, high = clopper_pearson(0, 414)
    >>> low, round(high, 4)
    (0.0, 0.0504)
    """
    check_counts(failures, n)
    level = check_level(alpha) / (2 if side == "two" else 1)
    low, high = 0.0, 1.0
    if failures > 0 and side != "below":
        low = float(stats.beta.ppf(level, failures, n - failures + 1))
    if failures < n and side != "above":
        high = float(stats.beta.isf(level, failures + 1, n - failures))
    return low, high


@checked
def binomial_power(n: Size, bound: Probability, rate: Probability, alpha: Level = FALSE_ALARM) -> float:
    """Exact probability that n trials at ``rate`` reject ``bound`` on the side where ``rate`` lies."""
    below, above = _binomial_critical(n, bound, alpha)
    if rate > bound:
        return float(stats.binom.sf(above - 1, n, rate))
    return float(stats.binom.cdf(below, n, rate))


@checked
def binomial_detectable(
    n: Size, bound: float, alpha: Level = FALSE_ALARM, power: Power = POWER
) -> tuple[float, float]:
    """As :func:`rate_detectable`, for the exact one-sided tests with n fixed beforehand.

    >>> [round(p, 4) for p in binomial_detectable(20_000, bound=0.05)]
    [0.0378, 0.0635]
    """
    return _detectable(n, *_binomial_critical(n, bound, alpha), power)


@checked
def binomial_samples(bound: float, rate: float, alpha: Level = FALSE_ALARM, power: Power = POWER) -> int:
    """As :func:`rate_samples`, for the exact one-sided tests.

    >>> binomial_samples(bound=0.05, rate=0.0)
    405
    """
    return _samples(binomial_detectable, bound, rate, alpha, power)


# --- shared ------------------------------------------------------------------------------------------


def check_level(alpha: float) -> float:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha lies in (0, 1), not {alpha!r}")
    return float(alpha)


def check_rate(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} lies in [0, 1], not {value!r}")
    return float(value)


def check_counts(failures: int, n: int, names: tuple[str, str] = ("failures", "n")) -> None:
    if not (0 <= failures <= n and failures == int(failures) and n == int(n)):
        few, all_ = names
        raise ValueError(f"{few} and {all_} are whole with 0 <= {few} <= {all_}, not {failures!r} and {n!r}")


def smallest_n(enough: Callable[[int], bool], first: int = 1, *, what: str) -> int:
    """A sample size that is enough, by doubling and bisection: the smallest one if ``enough`` is monotone,
    else (exact tests have saw-toothed power) one whose predecessor is not enough. ``what`` asks for too much
    where no size is enough."""
    high = first
    while not enough(high):
        high *= 2
        if high > MOST_SAMPLES:
            raise ValueError(f"{what} asks for too much: no sample size up to {MOST_SAMPLES} is enough")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _trials(failures: ArrayLike, n: ArrayLike, bound: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    s, total, d = (np.asarray(v, dtype=np.float64) for v in (failures, n, bound))
    try:
        np.broadcast_shapes(s.shape, total.shape, d.shape)
    except ValueError:
        raise ValueError(f"failures, n and bound have shapes {s.shape}, {total.shape}, {d.shape}") from None
    if not np.all((s >= 0) & (s <= total) & (total <= MOST_SAMPLES)):
        raise ValueError(f"failures lie between 0 and n, and n up to {MOST_SAMPLES}")
    if not np.all((d >= 0) & (d <= 1)):
        raise ValueError(f"bound lies in [0, 1], not {bound!r}")
    return s, total - s, d


def _crossing(excess: Callable[[float], float], low: float, high: float) -> float:
    """Where ``excess`` falls below 0 between low and high; low if it is not above 0 even there."""
    if low >= high or excess(low) <= 0:
        return low
    return float(optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-14, maxiter=500))


def _first_count(
    n: ArrayLike, true_from: Callable[[NDArray[Any], NDArray[Any]], NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """The smallest S in 0…n for which a condition monotone in S is true, n + 1 if none; vectorised."""
    whole = np.asarray(n, dtype=np.float64)
    if not ((whole >= 0) & (whole <= MOST_SAMPLES) & (whole == np.floor(whole))).all():
        raise ValueError(f"n holds whole numbers from 0 to {MOST_SAMPLES}, not {n!r}")
    total = whole.astype(np.int64)
    low, high = np.zeros_like(total), total + 1
    while np.any(low < high):
        middle = (low + high) // 2
        yes = true_from(np.minimum(middle, total), total)
        low, high = (
            np.where(yes | (low >= high), low, middle + 1),
            np.where(yes, np.minimum(middle, high), high),
        )
    return low


def _binomial_critical(n: int, bound: float, alpha: float) -> tuple[int, int]:
    check_rate("bound", bound)
    level = check_level(alpha)
    below = _first_count(n, lambda s, m: np.asarray(stats.binom.cdf(s, m, bound) > level)) - 1
    above = _first_count(n, lambda s, m: np.asarray(stats.binom.sf(s - 1, m, bound) <= level))
    return int(below), int(above)


def _detectable(n: int, below: int, above: int, power: Power) -> tuple[float, float]:
    """P_p(S ≥ c) is the cdf at p of Beta(c, n − c + 1), so the rates are beta quantiles."""
    low = float(stats.beta.ppf(1 - power, below + 1, n - below)) if below >= 0 else -math.inf
    high = float(stats.beta.ppf(power, above, n - above + 1)) if above <= n else math.inf
    return low, high


def _samples(
    detectable: Callable[[int, float, float, float], tuple[float, float]],
    bound: float,
    rate: float,
    alpha: float,
    power: Power,
) -> int:
    check_rate("rate", rate)
    if rate == check_rate("bound", bound):
        raise ValueError(f"rate {rate!r} equals the bound: no sample size tells them apart")

    def enough(n: int) -> bool:
        low, high = detectable(n, bound, alpha, power)
        return rate >= high if rate > bound else rate <= low

    return smallest_n(enough, what=f"rate {rate!r} beside bound {bound!r}")
