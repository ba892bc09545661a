"""Chernoff bounds on tails of sums, as natural logarithms, so that delta = 1e-36 is a number like any other.

Plain floating point, right to a few ulps: an evaluation of a rigorous bound, not an enclosure of it. The one
function on balls, :func:`laplace_sum_log_tail_ball`, encloses it, for whoever wants a proof.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from flint import arb
from scipy import optimize, special

from lpcb.boundary import checked
from verification.evidence.kinds import Probability

Side = Literal["above", "below", "two"]
ULPS = 1e-14
"""A shift this close (relatively) to the edge of [0, 1] is the edge: S = n has a probability, not zero."""


@checked
def laplace_sum_log_tail(n: float, b: float, t: float, two_sided: bool = False) -> float:
    r"""Upper bound on ln P(X_1 + … + X_n ≥ t), X_i ~ Lap(b) independent (``two_sided``: of |sum| ≥ t).

    .. math:: \min_s\, -st - n\ln(1 - b^2 s^2) = -x + n \ln\Big(1 + \frac{x}{2n}\Big),
       \quad x = \sqrt{n^2 + \tau^2} - n,\; \tau = t/b,

    at bs = τ/(n + √(n² + τ²)), where 1 − b²s² = 2n/(n + √(n² + τ²)).

    >>> round(laplace_sum_log_tail(1, 1.0, 80.0), 3), -80 - round(math.log(2), 3)
    (-75.305, -80.693)
    """
    x = _laplace_x(n, b, t)
    return min(0.0, -x + n * math.log1p(x / (2 * n)) + (math.log(2) if two_sided else 0.0))


def laplace_sum_log_tail_ball(n: arb, tau: arb) -> arb:
    """Encloses the two-sided bound of :func:`laplace_sum_log_tail` on ln P(|sum| >= b tau).

    It is ln 2 less sup_v (v c + n ln(1 - v^2/n)) at tau = c sqrt(n), and n ln(1 - v^2/n) rises with n for
    every v: at a given c the bound falls as n grows.
    """
    x = tau * tau / (n + (n * n + tau * tau).sqrt())
    return arb(2).log() - x + n * (1 + x / (2 * n)).log()


@checked
def laplace_sum_deviation(n: float, b: float, log_delta: float, two_sided: bool = False) -> float:
    """The t at which :func:`laplace_sum_log_tail` equals ``log_delta`` (natural logarithm, below 0).

    Never more than b(2√(nL) + L) with L = −log_delta (+ ln 2 if two-sided).

    >>> t = laplace_sum_deviation(10**17, 1.0, -82.9)
    >>> round(laplace_sum_log_tail(10**17, 1.0, t), 6)
    -82.9
    """
    _laplace_x(n, b, 0.0)
    if not -math.inf < log_delta < 0:
        raise ValueError(f"log_delta is a finite number below 0, not {log_delta!r}")
    need = -log_delta + (math.log(2) if two_sided else 0.0)
    # x - n ln(1 + x/2n) rises with slope in [1/2, 1), so the root lies in [need, 2 need]; 4 leaves room
    # for rounding when n is so large that the root is 2 need.
    x = optimize.brentq(lambda x: x - n * math.log1p(x / (2 * n)) - need, need, 4 * need, rtol=1e-15)
    return float(b * math.sqrt(x) * math.sqrt(x + 2 * n))


@checked
def binomial_log_tail(n: float, p: float, t: float, side: Side = "above") -> float:
    r"""Upper bound on ln P(S − np ≥ t) for S ~ Bin(n, p) (``below``: np − S ≥ t; ``two``: |S − np| ≥ t).

    .. math:: -n\,\mathrm{KL}(p \pm t/n \,\|\, p).

    >>> binomial_log_tail(10, 0.5, 5.0), 10 * math.log(0.5)
    (-6.931471805599453, -6.931471805599453)
    """
    if not (0 < n < math.inf and 0 <= p <= 1 and 0 <= t < math.inf):
        raise ValueError(
            f"n is finite and above 0, p in [0, 1], t finite and at least 0, not n={n!r}, p={p!r}, t={t!r}"
        )
    above = -n * kl_shift(p, t / n)
    below = -n * kl_shift(p, -t / n)
    return min(0.0, {"above": above, "below": below, "two": float(np.logaddexp(above, below))}[side])


@checked
def kl_shift(p: Probability, shift: float) -> float:
    """KL(p + shift ‖ p) of two Bernoulli laws, also where the shift is far below p's rounding error.

    As p·h(shift/p) + (1−p)·h(−shift/(1−p)) with h(x) = (1+x) ln(1+x) − x ≥ 0: nothing cancels.
    """
    if shift == 0:
        return 0.0
    if p in (0.0, 1.0) or not -p * (1 + ULPS) <= shift <= (1 - p) * (1 + ULPS):
        return math.inf  # p + shift is no probability, or the law is a point that cannot move
    shift = max(-p, min(1 - p, shift))
    if shift / p == math.inf:  # p is all but 0: ln(1 + shift/p) from its parts
        return (p + shift) * (math.log(p + shift) - math.log(p)) - shift + (1 - p) * _h(-shift / (1 - p))
    return p * _h(shift / p) + (1 - p) * _h(-shift / (1 - p))


def _laplace_x(n: float, b: float, t: float) -> float:
    if not (0 < n < math.inf and 0 < b < math.inf and 0 <= t < math.inf):
        raise ValueError(
            f"n and b are finite and above 0, t finite and at least 0, not n={n!r}, b={b!r}, t={t!r}"
        )
    tau = t / b
    return tau * (tau / (n + math.hypot(n, tau)))


def _h(x: float) -> float:
    """(1+x) ln(1+x) − x; its series Σ_{k≥2} (−x)^k/(k(k−1)) where the direct form cancels."""
    if abs(x) < 0.03:
        return sum((-x) ** k / (k * (k - 1)) for k in range(2, 12))
    return float(special.xlog1py(1 + x, x)) - x
