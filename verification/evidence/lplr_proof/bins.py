r"""How many bins a layer has, and what failure probability is left for one of them.

With $M = \lceil 1/(2\beta)\rceil$ a layer has index tuples $(k_1, …, k_h) \in \{0, …, M\}^h$, of which M^h
are partitioning ones. $\beta(M+1) \le 1/2 + 2\beta \le 3/2$, so that $\delta_0 = \delta(\beta/1.5)^d$ pays
for all.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from verification.evidence.enclosure import Ball, Box, Result, Step, ball, log, prove
from verification.evidence.lplr_proof.tools import UNIT, counterexample

BETA = "all beta in (0, 1/2], d >= 1, h <= d"
LOGS = "all d >= 1, beta in (0, 1/2], delta in (0, 1], with delta_0 = delta (beta/1.5)^d"


def levels(beta: Fraction) -> int:
    """M = ceil(1/(2 beta))."""
    return math.ceil(1 / (2 * beta))


def uncounted_bins(beta: Fraction, h: Fraction) -> Fraction:
    """Bins on layer h, k = M included, less the printed M^h."""
    return Fraction((levels(beta) + 1) ** int(h) - levels(beta) ** int(h))


def partitioning_bins(beta: Ball) -> Ball:
    """beta M − 1, M being below 1/(2 beta) + 1; then M^h ≤ beta^{−h} ≤ beta^{−d}."""
    return ball("0.5") + beta - 1


def all_bins(beta: Ball) -> Ball:
    """beta (M + 1) − 3/2; then (M + 1)^h ≤ (1.5/beta)^d."""
    return ball("0.5") + 2 * beta - ball("1.5")


def printed_share(beta: Fraction, d: Fraction, delta: Fraction) -> Fraction:
    """M^d delta_0 − delta with the printed delta_0 = delta/(2 beta^d)."""
    return Fraction(levels(beta) ** int(d)) * delta / (2 * beta ** int(d)) - delta


def printed_levels(beta: Fraction, d: Fraction) -> Fraction:
    """M^d − (2 beta)^{−d}."""
    return Fraction(levels(beta) ** int(d)) - 1 / (2 * beta) ** int(d)


def log_step(c: int, big: int) -> Result:
    r"""ln(c d/delta_0) ≤ d ln(big·d/(beta delta)), and so without the d on the left.

    With delta_0 = delta (beta/1.5)^d, divided by d: (ln c)/d + ln 1.5 − ln big plus (1/d − 1) times
    ln(d) + ln(1/delta) ≥ 0; the latter is at most 0.
    """

    def excess(t: Ball) -> Ball:
        return t * log(ball(c)) + log(ball("1.5")) - log(ball(big))

    return prove(excess, Box(t=UNIT))


UNION = (
    Step(
        "layer, number of bins",
        "layer h has M^h bins",
        BETA,
        lambda: counterexample(uncounted_bins, beta="0.5", h=1),
        "M^h are the partitioning bins; with k = M there are (M+1)^h <= (1.5/beta)^d",
    ),
    Step(
        "layer, M^h <= 2 beta^-d",
        "M^h delta_0 <= 2 beta^-d delta_0",
        BETA,
        lambda: prove(partitioning_bins, Box(beta=(0, "0.5"))),
    ),
    Step(
        "layer, all bins",
        "corrected: (M+1)^h <= (1.5/beta)^d",
        BETA,
        lambda: prove(all_bins, Box(beta=(0, "0.5"))),
    ),
    Step(
        "layer, delta_0",
        "delta_0 = delta/(2 beta^d) keeps the sum over M^h bins below delta",
        BETA + ", h = d",
        lambda: counterexample(printed_share, beta="0.25", d=1, delta=1),
        "delta_0 = delta (beta/1.5)^d, which pays for all (M+1)^h bins; the lemmas' logarithms cover it",
    ),
)


def log_steps(*uses: tuple[int, int, str]) -> tuple[Step, ...]:
    """The steps from logarithms of 1/delta_0 to the logarithms of the lemmas, with what each is used for."""
    return tuple(
        Step(
            f"layer, ln({c}d/delta_0)",
            f"corrected delta_0: ln({c}d/delta_0) <= d ln({big}d/(beta delta)), {use}",
            LOGS,
            partial(log_step, c, big),
        )
        for c, big, use in uses
    )
