"""The analytic Gaussian mechanism: the least noise that is (epsilon, delta)-private."""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr


def log_delta(epsilon: float, ratio: float) -> float:
    """ln delta(epsilon) of Gaussian noise with standard deviation ``ratio`` times the l2 sensitivity.

    Balle & Wang (2018), Theorem 8: delta = Phi(1/(2r) - epsilon r) - e^epsilon Phi(-1/(2r) - epsilon r).
    """
    near = float(log_ndtr(0.5 / ratio - epsilon * ratio))
    far = epsilon + float(log_ndtr(-0.5 / ratio - epsilon * ratio))
    # far < near in exact arithmetic; where rounding makes them equal, delta is below what doubles know.
    return near + math.log(-math.expm1(far - near)) if far < near else -math.inf


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
