r"""The formula for regret on levels at any horizon: how its slope comes down to 1/2 beyond what can be run.

The largest gap that the last oracle of a run cannot see has $s = w(T)\,B(J)\,\sqrt{8d/T}$ with
$J = \ln(1/4s)$ levels above it, and costs $sT$ (:mod:`verification.experiments.levels`); $B = 2J$ for one
layer, and $J^2 + J$ for the first of the pairs of levels. J is taken as a real number and epochs are
ignored, so this is :func:`verification.experiments.levels.predicted` without its steps. $\ln J$
grows by about 1/(2J) a unit of ln T, more than 1/ln T: that is why straight lines are steep for so long.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

from verification.experiments.onset import Formula
from verification.experiments.regret import SCALED
from verification.verdict import Table

DECADES = (10, 12, 14, 16, 18, 20, 30, 40, 60, 100, 1000)
SIMULATED = 18
"""Decades of T that runs reach."""
STEP = 0.01
ELSE = (
    "The plain exponent of the whole envelope misses [0.45, 0.58]. It is reached on users spread over J "
    "levels, the theorem's M, of which there is one when learning starts: for a unit of ln T the "
    "logarithm of J grows by about 1/(2J), which is more than 1/ln T, for as long as runs last. Simulated "
    "regret follows the formula for these instances (see the ratios; it was derived after the first look, "
    "and nothing in it is fitted). The formula is of order sqrt(T) ln^(d+1) T: its slopes come down to "
    "1/2, slowly"
)


def bins(d: int, J: float) -> float:
    return 2 * J if d == 1 else J * J + J


def levels_at(d: int, log_T: float) -> float:
    """J at the worst gap, scaled constants, two actions, alpha = 1."""
    noise = Formula(d, 2, 1.0, log_T, width=SCALED[d]["width"]).noise_width
    size = math.log(4 * noise * math.sqrt(8 * d)) - log_T / 2
    return float(brentq(lambda J: size + math.log(bins(d, J)) + J, 1e-9, log_T))


def log_regret(d: int, log_T: float) -> float:
    """ln(s T) with s = exp(-J)/4."""
    return log_T - math.log(4) - levels_at(d, log_T)


def local_slope(d: int, log_T: float) -> float:
    return (log_regret(d, log_T + STEP) - log_regret(d, log_T - STEP)) / (2 * STEP)


def without_logarithms(d: int, log_T: float) -> float:
    """The local slope once ln^(d+1) T, the formula's order, is divided out."""
    return local_slope(d, log_T) - (d + 1) / log_T


def far_table() -> Table:
    rows = []
    for decade in DECADES:
        log_T, past = decade * math.log(10), decade > SIMULATED
        cells = [f"1e{decade}", "extrapolated" if past else "simulated range"]
        for d in (1, 2):
            if d == 2 and decade < 13:  # nothing is learned before
                cells += ["", "", ""]
                continue
            found = (local_slope(d, log_T), without_logarithms(d, log_T))
            cells += [f"{levels_at(d, log_T):.1f}", *(f"{value:.3f}" for value in found)]
        rows.append(tuple(cells))
    columns = [f"d = {d}: {name}" for d in (1, 2) for name in ("levels", "slope", "ln^(d+1) T divided out")]
    caption = (
        "Local slopes of the formula for regret on levels, scaled constants, A = 2, alpha = 1; nothing is "
        f"fitted. Beyond 4e18 no run speaks: there it is an extrapolation of the formula. What else is "
        f"going on: {ELSE}"
    )
    return Table("Slopes far out, by formula", caption, ("T", "", *columns), tuple(rows))
