"""The analytic Gaussian mechanism: the least noise that is (epsilon, delta)-private."""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

WIDE = 2.0**20
"""Noise so much wider than the sensitivity that the two terms of delta agree in most of their digits."""


def log_delta(epsilon: float, ratio: float) -> float:
    """ln delta(epsilon) of Gaussian noise with standard deviation ``ratio`` times the l2 sensitivity.

    Balle & Wang (2018), Theorem 8: delta = Phi(1/(2r) - epsilon r) - e^epsilon Phi(-1/(2r) - epsilon r).
    """
    if ratio > WIDE:
        return _log_delta_of_wide(epsilon, ratio)
    near = float(log_ndtr(0.5 / ratio - epsilon * ratio))
    far = epsilon + float(log_ndtr(-0.5 / ratio - epsilon * ratio))
    # far < near in exact arithmetic; where rounding makes them equal, delta is below what doubles know.
    return near + math.log(-math.expm1(far - near)) if far < near else -math.inf


def _log_delta_of_wide(epsilon: float, ratio: float) -> float:
    """The same without the difference. With z = epsilon r, h = 1/(2r) and Mills' ratio R = Phi(-x)/phi(x),
    delta = phi(z - h) (R(z - h) - R(z + h)) and R' = x R - 1, so delta = phi(z - h) (1 - z R(z)) / r up to a
    share of h^2.
    """
    z, h = epsilon * ratio, 0.5 / ratio
    slope = 1 - z * math.sqrt(math.pi / 2) * float(erfcx(z / math.sqrt(2)))
    density = -((z - h) ** 2) / 2 - math.log(2 * math.pi) / 2
    return density + math.log(slope / ratio) if slope > 0 else -math.inf


def gaussian_scale(sensitivity: float, epsilon: float, delta: float) -> float:
    """The smallest standard deviation that makes a query of this l2 sensitivity (epsilon, delta)-private."""
    if not (sensitivity > 0 and epsilon > 0 and 0 < delta < 1):
        raise ValueError(
            f"sensitivity and epsilon are positive and delta lies in (0, 1), not {sensitivity!r}, "
            f"{epsilon!r}, {delta!r}"
        )
    target = math.log(delta)
    high = 1.0
    while log_delta(epsilon, high) > target:
        high *= 2
    low = high / 2
    while log_delta(epsilon, low) <= target:
        low /= 2
    ratio = brentq(lambda r: log_delta(epsilon, r) - target, low, high, xtol=1e-14 * high, rtol=1e-13)
    return sensitivity * float(ratio)
