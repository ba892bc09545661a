r"""Lemma 4.4, first part: privacy of Algorithm 5 and Lemma A.3, [proof-epsic-1] to its last display.

In Lemma A.3 the factor 0.74 is false at d = 1, but only active bins have an $\hat s_B$, and for them
[proof-pcr-1] gives $\hat\psi_B \ge 0.97\psi_B$; the constant 47 stands.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from verification.evidence.enclosure import Ball, Box, Step, all_of, at_points, ball, log, prove, sqrt
from verification.evidence.lplr_proof.bins import printed_levels
from verification.evidence.lplr_proof.frequencies import corrected_sum
from verification.evidence.lplr_proof.tools import (
    UNIT,
    at_most,
    counterexample,
    exponential,
    hoeffding,
    identity,
    inverse_log,
    inverse_root_log,
    settled,
    top,
    triangle,
)
from verification.evidence.lplr_proof.vectors import bias, count_tail

ALL = "all d, n >= 1, gamma >= 1, alpha and delta_0 in (0, 1]"
ROOT2 = "s_hat >= gamma^(-2k-2)/(2d), so that gamma^-k/sqrt(s_hat) <= sqrt(2d) gamma"
COND = "psi >= 8.5 gamma sqrt(d) ln(6/delta_0)/(alpha sqrt(n)); " + ALL
SIZES = [{"d": d, "gamma": g, "k": k} for d in (1, 2, 7) for g in (1, 3) for k in (0, 2)]


def negative_width(eps_hat: Fraction, n: Fraction, gamma: Fraction) -> Ball:
    """|eta_hat| − 1 by Algorithm 5 at d = 1, alpha = 1, beta = 1/2, delta = 1, psi_hat = s_hat = u'phi = 1, h
    = 1.
    """
    kappa2, kappa3 = 118 * log(ball(48)), 300 * log(ball(96))
    error = ball(eps_hat / n) + kappa2 * ball(gamma / n)
    width = kappa3 * ball(gamma**2 * 16) / sqrt(ball(n)) + error
    return abs(width.min(arb(1))) - 1


def table_change(first: Fraction, second: Fraction) -> Fraction:
    """l1 change of the table of error shares less one full cell, in units of gamma^−k/sqrt(s): two bins
    change.
    """
    return first + second - 1


def error_noise(u: Ball, r: Ball, *, room: int = 6) -> Ball:
    """Bernstein's exponent at t = 6 sqrt(n) L is at least ln(8/delta_0) = L + ln(4/3), L = ln(6/delta_0)."""
    return (4 * u + 2 * room * r) * 2 * (1 + u * log(ball(Fraction(4, 3)))) - room**2


def kept(d: Fraction, gamma: Fraction, delta_0: Fraction) -> Ball:
    """0.74 − (1 − 6.2 ln(12/delta_0)/(8.5 gamma sqrt(d) ln(6/delta_0))): psi as small as the condition
    allows.
    """
    share = ball("6.2") * log(ball(12 / delta_0)) / (ball("8.5") * ball(gamma) * sqrt(ball(d)))
    return ball("0.74") - 1 + share / log(ball(6 / delta_0))


def gamma_below_two(horizon: Fraction, beta: Fraction) -> Ball:
    """2 − T^beta."""
    return 2 - (ball(beta) * log(ball(horizon))).exp()


def active_kept(t: Ball, g: Ball, *, keep: str = "0.97") -> Ball:
    """0.97 − (1 − 6.2d/(36(d+1)³γ²)): what proof-pcr-1 gives for active bins."""
    return ball(keep) - 1 + ball("6.2") * t**2 * g**2 / (36 * (1 + t) ** 3)


def total_error(v: Ball, *, constant: int = 47) -> Ball:
    """37 + 6√2 + 1/√L − 47, L = ln(12/delta_0), ln(6/delta_0) and ln(8/delta_0) being smaller."""
    return 37 + 6 * sqrt(ball(2)) + v - constant


def unit_size(d: Fraction, gamma: Fraction, k: Fraction) -> Fraction:
    """gamma^{−2k}/s_hat − 2d gamma² at s_hat = gamma^{−2k−2}/(2d)."""
    smallest = gamma ** (-2 * int(k) - 2) / (2 * d)
    return gamma ** (-2 * int(k)) / smallest - 2 * d * gamma**2


PRIVACY = (
    Step(
        "privacy, eta_hat in [0, 1]",
        "|epsilon_i| <= gamma^-k/sqrt(s_hat) almost surely, because eta_hat lies in [0, 1]",
        "every transcript; here d = 1, psi_hat = s_hat = 1, and a noise sum of -10^8, which is unlikely and "
        "possible",
        lambda: counterexample(negative_width, eps_hat=-(10**8), n=10**6, gamma=2),
        "min{1, .} does not keep eta_hat from -infinity; cap error estimates at 0 from below",
    ),
    Step(
        "privacy, sensitivity",
        "the table changes by at most gamma^-k/sqrt(s_hat), in units of its noise by 1",
        "all pairs of users",
        lambda: counterexample(table_change, first=1, second=1),
        "2: one cell is emptied and another filled; the release loses 2 alpha",
    ),
)

LEMMA_A3 = (
    Step(
        "Lemma A.3, number of bins",
        "M^h delta_0 <= (2 beta)^-d delta_0",
        "all beta in (0, 1/2], h <= d",
        lambda: counterexample(printed_levels, beta="0.4", d=1),
        "M is rounded up: beta^-d, or (1.5/beta)^d with the bins k = M",
    ),
    Step(
        "proof-epsic-1",
        "|psi_hat - psi| <= 6.2 ln(12/delta_0)/(alpha sqrt(n)), from proof-lplr-update-3 as corrected",
        "n >= 3; " + ALL,
        lambda: all_of(
            (
                exponential(),
                prove(corrected_sum, Box(r=(0, top(1 / sqrt(ball(3)))), v=(0, inverse_root_log(12)))),
            )
        ),
    ),
    Step("proof-epsic-2", "the triangle inequality", "all real numbers", triangle),
    Step(
        "proof-epsic-3",
        "P(count > 2 psi n) <= e^(-2n); shown as logarithms",
        COND + "; here d = alpha = delta_0 = 1, gamma = 2, where 17 ln 6/1000 = 0.0305",
        lambda: counterexample(count_tail, n=10**6, psi="0.06"),
        "e^(-2 n psi^2)",
    ),
    Step(
        "after epsic-3",
        "e^(-2n) <= delta_0/4 for n >= 2 ln(4/delta_0)",
        ALL,
        lambda: at_most(1, 4),
    ),
    Step(
        "proof-epsic-3, corrected",
        "e^(-2 n psi^2) <= delta_0/4: 2 n psi^2 >= 2 8.5^2 ln(6/delta_0)^2 >= ln(4/delta_0); survives",
        COND,
        lambda: settled(lambda: 1 - 2 * ball("8.5") ** 2 * log(ball(6))),
    ),
    Step(
        "proof-epsic-4",
        "P(|sum X_i| >= 6 sqrt(n) ln(6/delta_0)/alpha) <= delta_0/4",
        ALL + "; X_i in units of gamma^-k/sqrt(s_hat)",
        lambda: prove(error_noise, Box(u=(0, inverse_log(6)), r=UNIT)),
    ),
    Step(
        "proof-epsic-5",
        "the same in the units of the bin",
        ALL,
        lambda: prove(error_noise, Box(u=(0, inverse_log(6)), r=UNIT)),
    ),
    Step(
        "proof-epsic-6",
        "sum of both parts, failing with probability delta_0/4 + delta_0/4",
        ALL,
        lambda: at_most(Fraction(1, 4) + Fraction(1, 4), Fraction(1, 2)),
    ),
    Step(
        "proof-epsic-7",
        "2 + x <= 3 for x = 6 gamma^-k ln(6/delta_0)/(alpha sqrt(s_hat n) psi) <= 1",
        COND,
        lambda: prove(lambda x: 2 + x - 3, Box(x=UNIT)),
    ),
    Step(
        "after epsic-7, 8.5",
        "6 gamma^-k/sqrt(s_hat) <= 8.5 gamma sqrt(d): 6 sqrt(2) <= 8.5",
        ROOT2 + " (Lemma 4.3)",
        lambda: settled(lambda: 6 * sqrt(ball(2)) - ball("8.5")),
    ),
    Step(
        "before epsic-8, gamma >= 2",
        "gamma = T^beta >= 2",
        "all T >= 2, beta in (0, 1/2]",
        lambda: counterexample(gamma_below_two, horizon=10**6, beta="0.05"),
        "true for beta >= ln 2/ln T only, e.g. beta = 1/ln T, gamma = e; not needed (see below)",
    ),
    Step(
        "before epsic-8, 0.74",
        "psi_hat psi >= 0.74 psi^2",
        COND + ", gamma >= 2",
        lambda: counterexample(kept, d=1, gamma=2, delta_0="0.001"),
        "psi_hat >= 0.97 psi for active bins, by proof-pcr-1 (next step); 0.74 is 1 - 6.2/(17 sqrt(2)), "
        "which takes "
        "d = 2 and ln(12/delta_0) = ln(6/delta_0)",
    ),
    Step(
        "before epsic-8, corrected",
        "1 - 6.2d/(36(d+1)^3 gamma^2) >= 0.97 >= 0.74: Lemma A.3 survives for active bins, without gamma >= "
        "2",
        "active bins, all d >= 1, gamma >= 1",
        lambda: prove(active_kept, Box(t=UNIT, g=UNIT)),
    ),
    Step(
        "proof-epsic-8",
        "6.2/0.74 <= 8.4",
        COND,
        lambda: at_most(Fraction(62, 10) / Fraction(74, 100), "8.4"),
    ),
    Step(
        "proof-epsic-9",
        "3 * 8.4 <= 26 and 26 sqrt(2) <= 37",
        ROOT2,
        lambda: all_of(
            (at_most(3 * Fraction(84, 10), 26), settled(lambda: 26 * sqrt(ball(2)) - 37)),
        ),
    ),
    Step(
        "after epsic-9, unbiased",
        "E[eps_hat/n] = psi eps: E[1_B z] = P(B) E[z | B], noise having mean 0",
        ALL,
        lambda: at_points(bias, ({"inside": i, "outside": o} for i in (1, 2, 5) for o in (0, 1, 7))),
    ),
    Step(
        "proof-epsic-10",
        "P(|eps_hat/n - eps_tilde| >= 6 gamma^-k ln(6/delta_0)/(alpha sqrt(s_hat n))) <= delta_0/4",
        ALL,
        lambda: prove(error_noise, Box(u=(0, inverse_log(6)), r=UNIT)),
    ),
    Step(
        "proof-epsic-11",
        "Hoeffding with range 1: 2 exp(-2 n t^2) = delta_0/4 at t^2 = ln(8/delta_0)/(2n)",
        ALL + ", error shares in [0, 1] units",
        lambda: all_of((hoeffding(), identity(lambda x: 2 * x / 2 - x, x=1))),
    ),
    Step(
        "proof-epsic-10half",
        "6 gamma^-k/sqrt(s_hat) <= 6 sqrt(2d) gamma: equal at the smallest s_hat",
        ROOT2,
        lambda: at_points(unit_size, SIZES),
    ),
    Step(
        "proof-epsic-11half",
        "gamma^-k/sqrt(s_hat) <= sqrt(2d) gamma",
        ROOT2,
        lambda: at_points(unit_size, SIZES),
    ),
    Step(
        "after epsic-11half, 47",
        "37 ln(12/delta_0) + 6 sqrt(2) ln(6/delta_0) + sqrt(ln(8/delta_0)) <= 47 ln(12/delta_0)",
        ALL,
        lambda: prove(total_error, Box(v=(0, inverse_root_log(12)))),
    ),
)

STEPS = PRIVACY + LEMMA_A3
