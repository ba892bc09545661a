"""Probabilities of rare events of sums by tilted sampling, with intervals that hold at every sample size.

Under the law tilted by e^{sx} the event {S ≥ t} is common, and P(S ≥ t) = E_s[W 1{S ≥ t}] with
ln W = n ln E e^{sX} − sS. On the event S ≥ t, so W is at most C = exp(n ln E e^{sX} − st): Chernoff's
bound itself. So W 1{S ≥ t}/C lies in [0, 1], and its mean has an interval without any approximation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from lpcb.boundary import checked
from verification.evidence.chernoff import binomial_log_tail, laplace_sum_log_tail
from verification.evidence.kinds import Count, Draws, Inner, Level, Power, Size
from verification.evidence.quantiles import mean_detectable, mean_interval, mean_samples
from verification.evidence.tails import POWER
from verification.verdict import FALSE_ALARM


@dataclass(frozen=True)
class RareEvent:
    """ln P of an event: the estimate, an interval at level ``alpha``, and Chernoff's bound above all.

    ``hits`` of ``samples`` tilted draws fell into the event; ``effective`` is (ΣW)²/ΣW² over the hits, the
    number of equally weighted draws that would be as good.
    """

    log_p: float
    log_interval: tuple[float, float]
    log_chernoff: float
    samples: int
    hits: int
    effective: float
    alpha: float

    def contains(self, log_p: float) -> bool:
        """Is ``log_p`` (an exact value, say) inside the interval?"""
        return self.log_interval[0] <= log_p <= self.log_interval[1]

    def detectable(self, log_claimed: float, power: Power = POWER) -> float:
        """The smallest ln P at which a claim ln P ≤ ``log_claimed`` is refuted with probability ≥ power."""
        return rare_detectable(self.samples, self.log_chernoff, log_claimed, self.alpha, power)


@checked
def laplace_sum_rare(
    n: Size,
    b: float,
    t: float,
    samples: Draws,
    rng: np.random.Generator,
    alpha: Level = FALSE_ALARM,
    two_sided: bool = False,
) -> RareEvent:
    """ln P(X_1 + … + X_n ≥ t) for independent X_i ~ Lap(b); ``two_sided``: of |sum| ≥ t, twice as likely.

    With u = bs the tilted Lap(b) is the difference of exponentials with scales b/(1−u) and b/(1+u), so
    a tilted sum is a difference of two Gamma(n): one draw costs the same for every n.

    >>> event = laplace_sum_rare(1, 1.0, 80.0, 10_000, np.random.default_rng(0))
    >>> event.contains(-80 - math.log(2))
    True
    """
    _check_samples(samples)
    log_cap = laplace_sum_log_tail(n, b, t)  # also checks n, b and t
    tau = t / b
    u = tau / (n + math.hypot(n, tau))
    total = rng.standard_gamma(n, samples) / (1 - u) - rng.standard_gamma(n, samples) / (1 + u)
    excess = total[total >= tau] - tau
    return estimate_ratio(-u * excess, log_cap, samples, alpha, math.log(2) if two_sided else 0.0)


@checked
def binomial_rare(
    n: Size, p: float, k: Count, samples: Draws, rng: np.random.Generator, alpha: Level = FALSE_ALARM
) -> RareEvent:
    """ln P(S ≥ k) for S ~ Bin(n, p); the tilted law is Bin(n, k/n), or Bin(n, p) itself if k ≤ np.

    >>> event = binomial_rare(100, 0.01, 30, 10_000, np.random.default_rng(0))
    >>> event.contains(binomial_log_sf(100, 0.01, 30))
    True
    """
    _check_samples(samples)
    if not (0 < p < 1 and 0 <= k <= n and n >= 1):
        raise ValueError(f"p lies in (0, 1) and k in 0…n with n ≥ 1, not p={p!r}, k={k!r}, n={n!r}")
    tilted = max(p, k / n)
    draws = rng.binomial(n, tilted, samples)
    excess = draws[draws >= k] - k
    log_cap = binomial_log_tail(n, p, max(0.0, k - n * p))
    if tilted == p or tilted == 1.0:  # no tilt, or S = n = k always: all weights are equal
        return estimate_ratio(np.zeros(len(excess)), log_cap, samples, alpha)
    odds = math.log(p) - math.log(tilted) - math.log1p(-p) + math.log1p(-tilted)  # -s, below 0
    return estimate_ratio(odds * excess.astype(np.float64), log_cap, samples, alpha)


@checked
def binomial_log_sf(n: Draws, p: Inner, k: Count) -> float:
    """ln P(S ≥ k), S ~ Bin(n, p), by summing the probabilities on the log scale: the exact value.

    >>> round(binomial_log_sf(1000, 1e-3, 400), 3)
    -2094.349
    """
    if k <= n * p:
        return float(stats.binom.logsf(k - 1, n, p))
    return float(special.logsumexp(stats.binom.logpmf(np.arange(k, n + 1), n, p)))


@checked
def rare_detectable(
    samples: Size, log_chernoff: float, log_claimed: float, alpha: Level = FALSE_ALARM, power: Power = POWER
) -> float:
    """A ln P at which a claim ln P ≤ ``log_claimed`` is refuted with probability at least ``power``.

    P less the claim must exceed C times what :func:`mean_detectable` finds on [0, 1].

    >>> round(rare_detectable(100_000, log_chernoff=-50.0, log_claimed=-60.0), 2)
    -54.18
    """
    margin = mean_detectable(samples, alpha=alpha, power=power)
    return float(np.logaddexp(log_claimed, log_chernoff + math.log(margin)))


@checked
def rare_samples(
    log_chernoff: float, log_claimed: float, log_p: float, alpha: Level = FALSE_ALARM, power: Power = POWER
) -> int:
    """Tilted draws that refute ln P ≤ ``log_claimed`` when the truth is ``log_p`` above it.

    >>> rare_samples(log_chernoff=-50.0, log_claimed=-60.0, log_p=-52.0)
    1282
    """
    given = f"{log_claimed!r}, {log_p!r}, {log_chernoff!r}"
    if not log_claimed < log_p <= log_chernoff < math.inf:
        raise ValueError(f"log_claimed < log_p <= log_chernoff, the last finite, are needed, not {given}")
    distance = math.exp(log_p - log_chernoff) * -math.expm1(log_claimed - log_p)
    try:
        return mean_samples(distance, alpha=alpha, power=power)
    except ValueError as error:
        raise ValueError(f"log_claimed, log_p and log_chernoff are {given}: {error}") from None


def estimate_ratio(
    log_ratio: NDArray[np.float64], log_cap: float, samples: int, alpha: float, shift: float = 0.0
) -> RareEvent:
    """From ln(W/C) ≤ 0 of the hits; ``shift`` is added to every logarithm (ln 2 for two symmetric tails)."""
    ratio = np.zeros(samples)
    ratio[: len(log_ratio)] = np.exp(log_ratio)
    fit = mean_interval(ratio, alpha=alpha)
    square = float(np.square(ratio).sum())

    def log(mean: float) -> float:
        return min(0.0, log_cap + shift + math.log(mean)) if mean > 0 else -math.inf

    return RareEvent(
        log_p=log(fit.mean),
        log_interval=(log(fit.low), log(fit.high)),
        log_chernoff=min(0.0, log_cap + shift),
        samples=samples,
        hits=len(log_ratio),
        effective=float(ratio.sum()) ** 2 / square if square > 0 else 0.0,
        alpha=float(alpha),
    )


def _check_samples(samples: int) -> None:
    if samples < 1:
        raise ValueError(f"samples is at least 1, not {samples!r}")
