r"""Lemma 4.2, third bound: the steps about the Wishart noise and the second moments.

The noise is $4.5\alpha^{-1}\gamma^{-2k}(W - N I)$ summed over users, W = Σ g g' over N = n(d+1) standard
Gaussian vectors. E exp(θgg') is a multiple of the identity, 1 + Σ_k θ^k/k! Π_{i<k}(d+2i), whose terms grow by
a factor (d+2k)/(k+1) ≤ c = (d+5)/3 from k = 2 on, and exp(−θgg') ⪯ 1 − θgg' + θ²(gg')²/2 for θ ≥ 0. So the
matrix Laplace transform gives

    P(‖W/N − I‖ ≥ √(2(d+2)ε'/N) + cε'/N) ≤ 2d e^{−ε'}.

That proves the tail that is cited, where it is used, and [proof-lplr-update-17] as printed: its constant 6
forgets the factor 3 of the noise, but the cited tail was looser than needed by more. Hence 7(d+1)³ stands.

For second moments 0 ⪯ Y ⪯ I: E exp(θY) ⪯ I + (e^θ − 1) E Y, which commutes with E Y, so that the scalar
inequality of Hoeffding applies to each eigenvalue: even 2d exp(−2nε²) is true.
"""

from __future__ import annotations

from fractions import Fraction

from verification.evidence.enclosure import Ball, Box, Step, all_of, at_points, ball, log, prove, sqrt
from verification.evidence.lplr_proof.bins import levels
from verification.evidence.lplr_proof.tools import (
    UNIT,
    at_most,
    counterexample,
    hoeffding,
    identity,
    inverse_log,
    inverse_root_log,
)
from verification.evidence.lplr_proof.vectors import bias, count_tail, equality

ALL = "all d, n >= 1, alpha and delta_0 in (0, 1]"
COND = "psi >= 18(d+1)^2 L/(alpha sqrt(n)), L = ln(12d/delta_0); " + ALL


def effective_rank(d: Fraction) -> Fraction:
    """|tr(C)/‖C‖ − d|, C being the sum of the d+1 covariances of the columns of X_t, in units of 1/alpha."""
    diagonal = [sum([Fraction(3, 2)] * (int(d) + 1), Fraction(0)) for _ in range(int(d))]
    return abs(sum(diagonal, Fraction(0)) / max(diagonal) - d) + abs(max(diagonal) - Fraction(3, 2) * (d + 1))


def moments(d: Fraction, k: Fraction) -> Fraction:
    """(d+5)(k+1) − 3(d+2k) = (d−1)(k−2) + 3 > 0 for d ≥ 1, k ≥ 2."""
    return (d + 5) * (k + 1) - 3 * (d + 2 * k) - ((d - 1) * (k - 2) + 3)


def root_part(t: Ball, u: Ball) -> Ball:
    """(d+2)(1 + u ln 2) − (d+1)², times t²: the root of the proved tail at ε' = ε + ln 2 and of the cited
    one.
    """
    return (t + 2 * t**2) * (1 + u * log(ball(2))) - (1 + t) ** 2


def linear_part(t: Ball, u: Ball) -> Ball:
    """c(1 + u ln 2) − 2d(d+1), times t²."""
    return (t + 5 * t**2) / 3 * (1 + u * log(ball(2))) - 2 * (1 + t)


def wishart_size(s: Ball, v: Ball, r: Ball, *, constant: int = 6) -> Ball:
    """√(2(d+1)/L) + 2d/√n − (6/1.5)(d+1), times t = s²."""
    t = s * s
    return sqrt(ball(2)) * s * sqrt(1 + t) * v + 2 * r - ball(Fraction(constant) / Fraction(3, 2)) * (1 + t)


def direct_size(t: Ball, v: Ball, *, constant: int = 6) -> Ball:
    """The noise with its factor 3 against 6(d+1)² L, at n = 1, divided by the latter; ε' = L + ln 2."""
    more = 1 + v * v * log(ball(2))
    root = sqrt(2 * (1 + 2 * t) / (1 + t)) * v * sqrt(more)
    rest = (1 + 5 * t) / (3 * (1 + t)) * more
    return ball("4.5") / constant * (root + rest) * t / (1 + t) - 1


def condition_misprint(d: Fraction, delta_0: Fraction, psi: Fraction, n: Fraction) -> Ball:
    """2 psi + 18(d+1)² ln(12d/delta_0)/sqrt(n) − 3 psi where psi ≥ 18(d+1)² ln(12 d delta_0)/sqrt(n), alpha =
    1.
    """
    size = ball(18 * (d + 1) ** 2) / sqrt(ball(n))
    if not ball(psi) >= size * log(ball(12 * d * delta_0)):
        raise ValueError(f"psi = {psi} does not satisfy the printed condition")
    return size * log(ball(12 * d / delta_0)) - ball(psi)


def lost_factor(noise: Fraction, k: Fraction, gamma: Fraction) -> Fraction:
    """|3 gamma^{−2k} x − x|: what Algorithm 3 adds, and what the proof says it adds."""
    return abs(3 * noise / gamma ** int(2 * k) - noise)


def matrix_sum(t: Ball, v: Ball, *, constant: int = 7) -> Ball:
    """(29 + 6(d+1)² + √(2/L) − 7(d+1)² − 29)/d², L = ln(24d/delta_0)."""
    return (6 - constant) * (1 + t) ** 2 + sqrt(ball(2)) * v * t**2


def without_beta(d: Fraction, beta: Fraction, delta: Fraction) -> Ball:
    """(7(d+1)²+29) ln(24d/delta_0) − (7(d+1)³+29d) ln(48d/delta), delta_0 = delta/M^d being all that M^d bins
    allow.
    """
    left = ball(7 * (d + 1) ** 2 + 29) * log(ball(24 * d * levels(beta) ** int(d) / delta))
    return left - ball(7 * (d + 1) ** 3 + 29 * d) * log(ball(48 * d / delta))


def with_beta(t: Ball) -> Ball:
    """((7(d+1)²+29) d − 7(d+1)³ − 29d)/d³, the logarithms being in order."""
    return (7 * (1 + t) ** 2 + 29 * t**2) - (7 * (1 + t) ** 3 + 29 * t**2)


def threshold(t: Ball) -> Ball:
    """(d(d+1)² − (d+1)³)/d³, the logarithms being in order."""
    return (1 + t) ** 2 - (1 + t) ** 3


NOISE = (
    Step(
        "before update-12, mean of the noise",
        "W_d(d+1, V) has mean (d+1) V, so the noise is centred; r = tr(C)/||C|| = d for C = 1.5(d+1)/alpha I",
        ALL,
        lambda: at_points(effective_rank, ({"d": d} for d in range(1, 9))),
    ),
    Step(
        "proof-lplr-update-12",
        "||Lambda_hat/(psi_hat n) - Lambda|| = ||first difference|| + ||second difference||",
        ALL,
        lambda: counterexample(equality, mean="0.25", psi_hat="0.25", psi="0.5", truth=1),
        "<=, the triangle inequality; nothing else changes",
    ),
    Step(
        "proof-lplr-update-13",
        "P(count > 2 psi n) <= e^(-2n); shown as logarithms",
        COND + "; here d = 1, alpha = 1, delta_0 = 1, where 18*4*ln 12/1000 = 0.179",
        lambda: counterexample(count_tail, n=10**6, psi="0.2"),
        "e^(-2 n psi^2) <= delta_0/12 under the condition on psi",
    ),
    Step(
        "after update-13, corrected",
        "2 n psi^2 >= 2 (72 L)^2 >= L >= ln(12/delta_0); survives",
        COND,
        lambda: prove(lambda u: u - 2 * 72**2, Box(u=(0, inverse_log(12)))),
    ),
    Step(
        "before update-14, tail of the Wishart noise",
        "P(||mean of X_t X_t' - C|| >= ||C|| (sqrt(2 eps (d+1)/n) + 2 eps d/n)) <= d e^-eps",
        "all d, n >= 1 and eps >= ln 12, which covers eps = ln(12d/delta_0)",
        lambda: all_of(
            (
                identity(moments, d=1, k=1),
                prove(root_part, Box(t=UNIT, u=(0, inverse_log(12)))),
                prove(linear_part, Box(t=UNIT, u=(0, inverse_log(12)))),
            )
        ),
    ),
    Step(
        "proof-lplr-update-14",
        "1.5(d+1)(sqrt(2L(d+1)/n) + 2Ld/n) <= 6(d+1)^2 L/sqrt(n), L = ln(12d/delta_0)",
        ALL,
        lambda: prove(wishart_size, Box(s=UNIT, v=(0, inverse_root_log(12)), r=UNIT)),
    ),
    Step(
        "proof-lplr-update-15",
        "3 * 6 = 18, failing with probability delta_0/12 + delta_0/12",
        COND,
        lambda: all_of((at_most(3 * 6, 18), at_most(Fraction(2, 12), Fraction(1, 6)))),
    ),
    Step(
        "before update-16, condition",
        "psi >= 18(d+1)^2 ln(12 d delta_0)/(alpha sqrt(n)) is enough for proof-lplr-update-16",
        ALL,
        lambda: counterexample(condition_misprint, d=1, delta_0=Fraction(1, 12), psi="0.1", n=10**4),
        "a misprint for ln(12d/delta_0), as two lines later",
    ),
    Step(
        "proof-lplr-update-16",
        "2 psi + 18(d+1)^2 L/(alpha sqrt(n)) <= 3 psi; x = 18(d+1)^2 L/(alpha sqrt(n) psi) <= 1",
        COND,
        lambda: prove(lambda x: 2 + x - 3, Box(x=UNIT)),
    ),
    Step(
        "proof-lplr-update-16half",
        "3 * 6.2/0.65 <= 29, and psi_hat >= 0.65 psi: 6.2/(18(d+1)^2) <= 0.35",
        COND,
        lambda: all_of(
            (
                at_most(3 * Fraction(62, 10) / Fraction(65, 100), 29),
                at_most(Fraction(62, 10) / (18 * 4), "0.35"),
            )
        ),
    ),
)

MOMENTS = (
    Step(
        "after update-16half, unbiased",
        "E[Lambda_hat/n] = psi Lambda: E[1_B z] = P(B) E[z | B], noise having mean 0",
        ALL,
        lambda: at_points(bias, ({"inside": i, "outside": o} for i in (1, 2, 5) for o in (0, 1, 7))),
    ),
    Step(
        "before update-17",
        "Lambda_hat/n - Lambda_tilde = mean of X_t X_t' - 1.5(d+1)/alpha I",
        "all k >= 0, gamma >= 1",
        lambda: counterexample(lost_factor, noise=1, k=0, gamma=2),
        "3 gamma^(-2k) times that; then proof-lplr-update-14 gives 18(d+1)^2 gamma^(-2k), not 6(d+1)^2, and "
        "the lemma "
        "19(d+1)^3 + 29d; a sharper tail saves 7(d+1)^3 (next step)",
    ),
    Step(
        "proof-lplr-update-17",
        "P(||Lambda_hat/n - Lambda_tilde|| >= 6(d+1)^2 L/(alpha sqrt(n))) <= delta_0/12: true, with "
        "gamma^(-2k) on the "
        "right too, by the sharper tail",
        ALL,
        lambda: all_of(
            (identity(moments, d=1, k=1), prove(direct_size, Box(t=UNIT, v=(0, inverse_root_log(12)))))
        ),
    ),
    Step(
        "before update-18, matrix Hoeffding",
        "P(||mean of Y - E Y|| >= eps) <= 2d exp(-n eps^2/2) for 0 <= Y <= I: exp(-2 n eps^2) is true",
        "all d, n >= 1, eps > 0",
        lambda: all_of((hoeffding(), at_most("0.5", 2))),
    ),
    Step(
        "proof-lplr-update-18",
        "2d exp(-n eps^2/2) = delta_0/12 at eps^2 = (2/n) ln(24d/delta_0)",
        ALL,
        lambda: identity(lambda x: 2 * x / 2 - x, x=1),
    ),
    Step(
        "proof-lplr-update-5, second display of that label",
        "29 ln(12/delta_0) + 6(d+1)^2 L + sqrt(2L) <= (7(d+1)^2 + 29) L, L = ln(24d/delta_0)",
        COND,
        lambda: prove(matrix_sum, Box(t=UNIT, v=(0, inverse_root_log(24)))),
    ),
    Step(
        "Lemma 4.2, third bound",
        "(7(d+1)^2 + 29) ln(24d/delta_0) <= (7(d+1)^3 + 29d) ln(48d/delta)",
        "all d >= 1, beta in (0, 1/2], delta in (0, 1], delta_0 = delta/M^d",
        lambda: counterexample(without_beta, d=1, beta=Fraction(1, 40), delta=1),
        "ln(48d/(beta delta)), as in the other two bounds and as Lemma 4.3 uses it",
    ),
    Step(
        "Lemma 4.2, third bound, corrected",
        "(7(d+1)^2 + 29) d <= 7(d+1)^3 + 29d, with ln(24d/delta_0) <= d ln(48d/(beta delta))",
        ALL,
        lambda: prove(with_beta, Box(t=UNIT)),
    ),
    Step(
        "Lemma 4.2, third condition",
        "d(d+1)^2 <= (d+1)^3, with ln(12d/delta_0) <= d ln(24d/(beta delta))",
        ALL,
        lambda: prove(threshold, Box(t=UNIT)),
    ),
    Step(
        "Lemma 4.2, failure probability",
        "1/3 for psi, 3/12 for lambda, 3/12 for Lambda: at most delta_0 for one bin (the displays' delta_0/3 "
        "for "
        "lambda and Lambda are joint with the event of proof-lplr-update-3)",
        ALL,
        lambda: at_most(Fraction(1, 3) + Fraction(3, 12) + Fraction(3, 12), 1),
    ),
)

STEPS = NOISE + MOMENTS
