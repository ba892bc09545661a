"""From which horizon on the algorithm has less worst-case regret than baselines that grow like T^(3/4)."""

from __future__ import annotations

import math

import numpy as np

from lpcb.arrays import Array
from verification.experiments.onset import Formula

SLOW = ("private_statistics", "ldp_linucb_doubling", "input_perturbation")
FACTORS = {"printed": 1.0, "scaled": 1e-4}


def log_regret(log_T: float, width: float) -> float:
    """ln of worst-case regret on F(s), d = 2, alpha = 1, by the width formula.

    All users share a bin on both layers, psi = 1/2, so eta_2 = 2 eta_1 + 2w/sqrt(n) = 6w/sqrt(n); the last
    oracle, n = T/16, misses gaps up to 2 eta, and half of the largest is lost in each round: 24 w sqrt(T).
    """
    return math.log(24 * Formula(2, 2, 1.0, log_T, width=width).noise_width) + log_T / 2


def overtakes(T: Array, regret: Array, width: float) -> float:
    """The T at which log_regret falls below the baseline's, continued as its largest regret / T^(3/4)."""
    rate = float((regret.mean(axis=0) / T**0.75).max())
    for log_T in np.arange(12.0, 150.0, 0.1):
        if log_regret(float(log_T), width) < math.log(rate) + 0.75 * log_T:
            return math.exp(log_T)
    return math.inf


def overtakes_simulated(ours: tuple[Array, Array], theirs: tuple[Array, Array]) -> float:
    """The T from which on our simulated regret stays below theirs; infinite if it is not at the end.

    Each is (horizons, mean regret), joined by straight lines in log-log over the horizons that both cover.
    """
    low, high = max(ours[0].min(), theirs[0].min()), min(ours[0].max(), theirs[0].max())
    if low >= high:
        raise ValueError(f"two curves have no horizons in common: {ours[0]} and {theirs[0]}")
    log_T = np.linspace(math.log(low), math.log(high), 2001)
    one, two = (np.interp(log_T, np.log(T), np.log(regret)) for T, regret in (ours, theirs))
    above = np.flatnonzero(one >= two)
    if not above.size:
        return float(low)
    return math.inf if above[-1] == len(log_T) - 1 else math.exp(log_T[above[-1] + 1])
