r"""Lemma 4.2, second bound: steps from [proof-lplr-update-4] to its last display.

Below the first layer the residual reward leaves [-1, 1], so the first display and the ones that rest on a
range of $\gamma^{-k}$ assume $|y_h| \le 1$ (repaired elsewhere). On the first layer three things are wrong:
an equality, the probability 1 − e^{−2n}, and a factor 2 in Hoeffding's inequality. The bound (19d+29) absorbs
all three.
"""

from __future__ import annotations

from fractions import Fraction

from verification.evidence.enclosure import (
    Ball,
    Box,
    Step,
    all_of,
    at_points,
    ball,
    exp,
    log,
    prove,
    sqrt,
)
from verification.evidence.lplr_proof.probabilities import binomial_tail, coin_tail, log_binomial_atom
from verification.evidence.lplr_proof.tools import (
    UNIT,
    at_most,
    counterexample,
    hoeffding,
    identity,
    inverse_log,
    inverse_root_log,
    settled,
)

COND = "psi >= 18d L/(alpha sqrt(n)), L = ln(24d/delta_0); all d, n >= 1, alpha, delta_0 in (0, 1]"
ALL = "all d, n >= 1, alpha and delta_0 in (0, 1]"


def equality(mean: Fraction, psi_hat: Fraction, psi: Fraction, truth: Fraction) -> Fraction:
    """|‖a − c‖ − ‖a − b‖ − ‖b − c‖| in one dimension, a = mean/psi_hat, b = mean/psi, c = truth."""
    a, b = mean / psi_hat, mean / psi
    return abs(abs(a - truth) - abs(a - b) - abs(b - truth))


def residual(y: Fraction, prediction: Fraction) -> Fraction:
    """|y_2| − 1 with y_2 = y − prediction."""
    return abs(y - prediction) - 1


def count_tail(n: Fraction, psi: Fraction) -> Ball:
    """ln P(count > 2 psi n) + 2n, the probability being at least that of one value."""
    k = int(2 * psi * n) + 1
    return log_binomial_atom(int(n), psi, k) + 2 * int(n)


def small_count_tail(n: Fraction, psi: Fraction) -> Ball:
    """P(count > 2 psi n), exactly, less e^{−2n}."""
    return ball(binomial_tail(int(n), psi, int(2 * psi * n))) - exp(ball(-2 * n))


def coordinate_tail(n: Fraction, delta_0: Fraction, d: Fraction) -> Ball:
    """P(|mean of n signs| ≥ sqrt(L/2n)), exactly, less delta_0/12: y = ±1, phi = 1, psi = 1, d = 1."""
    limit = sqrt(int(n) * log(ball(24 * d / delta_0)) / 2)
    above = int(limit.upper().ceil().unique_fmpz())
    return ball(coin_tail(int(n), above) - delta_0 / 12)


def noise_tail(u: Ball, r: Ball, *, room: int = 6) -> Ball:
    """Bernstein's exponent at t = 6 sqrt(n) L is at least L: (4 + 2·6 L r)/(6²/2) ≤ L, times u = 1/L."""
    return (4 * u + 2 * room * r) * 2 - room**2


def shrunk(t: Ball, *, keep: str = "0.65") -> Ball:
    """0.65 − (1 − 6.2 ln(12/delta_0)/(18 d ln(24d/delta_0))), the logarithms being in order."""
    return ball(keep) - 1 + ball("6.2") / 18 * t


def printed_vector(v: Ball, s: Ball, *, per_d: int = 19) -> Ball:
    """(29 + 18d + sqrt(d/2L) − 19d − 29)/d with the printed Hoeffding."""
    return 18 + v * s / sqrt(ball(2)) - per_d


def corrected_vector(v: Ball, s: Ball, *, per_d: int = 19) -> Ball:
    """(29 + 18d + sqrt(2d/L) − 19d − 29)/d with the range of 2 in Hoeffding's inequality."""
    return 18 + sqrt(ball(2)) * v * s - per_d


def bias(inside: Fraction, outside: Fraction) -> Fraction:
    """|E[1_B z] − psi E[z | B]| by enumeration: two atoms in the bin and one outside, so weighted."""
    atoms = [(inside, True, Fraction(1)), (2 * inside, True, Fraction(-3)), (outside, False, Fraction(5))]
    inside_atoms = [(w, z) for w, within, z in atoms if within]
    total = sum((w for w, _, _ in atoms), Fraction(0))
    mass = sum((w for w, _ in inside_atoms), Fraction(0))
    weighted = sum((w * z for w, z in inside_atoms), Fraction(0))
    masked = sum((w * z * within for w, within, z in atoms), Fraction(0))
    return abs(masked / total - mass / total * (weighted / mass))


FIRST = (
    Step(
        "proof-lplr-update-4",
        "||lambda_hat/(psi_hat n) - lambda|| = ||first difference|| + ||second difference||",
        ALL,
        lambda: counterexample(equality, mean="0.25", psi_hat="0.25", psi="0.5", truth=1),
        "<=, the triangle inequality; nothing else changes",
    ),
    Step(
        "after update-4, ||y_h phi_h|| <= gamma^-k",
        "|y_h| <= 1 on every layer, so the sum in a bin is at most gamma^-k times its count",
        "all layers h",
        lambda: counterexample(residual, y=1, prediction="-0.4"),
        "true for h = 1; below, |y_h| <= 2 once predictions are clipped to [-1, 1], and every bound on "
        "lambda_hat that rests on it doubles",
    ),
    Step(
        "after update-4, 1 - e^(-2n)",
        "P(count > 2 psi n) <= e^(-2n); shown as logarithms",
        COND + "; here d = alpha = delta_0 = 1",
        lambda: counterexample(count_tail, n=10**6, psi="0.06"),
        "e^(-2 n psi^2)",
    ),
    Step(
        "after update-4, 1 - e^(-2n), few users",
        "P(count > 2 psi n) <= e^(-2n), for any psi",
        "all n >= 1, psi in (0, 1]",
        lambda: counterexample(small_count_tail, n=4, psi="0.25"),
        "e^(-2 n psi^2)",
    ),
    Step(
        "after update-4, n >= 2 ln(12/delta_0)",
        "e^(-2n) <= delta_0/12: 2n >= 4L >= L",
        ALL,
        lambda: at_most(1, 4),
    ),
    Step(
        "after update-4, corrected",
        "e^(-2 n psi^2) <= delta_0/12: 2 n psi^2 >= 2 (18 L)^2 >= L; survives",
        COND,
        lambda: settled(lambda: 1 - 2 * 18**2 * log(ball(24))),
    ),
    Step(
        "proof-lplr-update-4half",
        "P(max_j |(sum X_i)_j| >= 6 sqrt(n) L/alpha) <= delta_0/12, L = ln(24d/delta_0)",
        ALL,
        lambda: prove(noise_tail, Box(u=(0, inverse_log(24)), r=UNIT)),
    ),
    Step(
        "proof-lplr-update-5",
        "||3 sqrt(d) gamma^-k sum X_i|| <= 18 d gamma^-k sqrt(n) L/alpha: 3 sqrt(d) sqrt(d) 6 = 18d",
        ALL,
        lambda: identity(lambda s: 3 * s * s * 6 - 18 * s**2, s=2),
    ),
    Step(
        "proof-lplr-update-6",
        "sum of both parts, failing with probability delta_0/12 + delta_0/12",
        COND,
        lambda: at_most(Fraction(1, 12) + Fraction(1, 12), Fraction(1, 6)),
    ),
    Step(
        "proof-lplr-update-7",
        "2 psi n + 18 d sqrt(n) L/alpha <= 3 psi n; x = 18dL/(alpha sqrt(n) psi) <= 1",
        COND,
        lambda: prove(lambda x: 2 + x - 3, Box(x=UNIT)),
    ),
    Step(
        "before update-8, 0.65",
        "psi_hat psi >= 0.65 psi^2",
        COND,
        lambda: prove(shrunk, Box(t=UNIT)),
    ),
    Step(
        "proof-lplr-update-8",
        "6.2/0.65 <= 9.54",
        COND,
        lambda: at_most(Fraction(62, 10) / Fraction(65, 100), "9.54"),
    ),
    Step(
        "proof-lplr-update-8half",
        "3 * 9.54 <= 29",
        COND,
        lambda: at_most(3 * Fraction(954, 100), 29),
    ),
)

SECOND = (
    Step(
        "after update-8half, unbiased",
        "E[lambda_hat/n] = psi lambda: E[1_B z] = P(B) E[z | B], noise having mean 0",
        ALL,
        lambda: at_points(bias, ({"inside": i, "outside": o} for i in (1, 2, 5) for o in (0, 1, 7))),
    ),
    Step(
        "proof-lplr-update-9",
        "P(||lambda_hat/n - lambda_tilde|| >= 18 d gamma^-k L/(alpha sqrt(n))) <= delta_0/12",
        ALL,
        lambda: all_of(
            (
                prove(noise_tail, Box(u=(0, inverse_log(24)), r=UNIT)),
                identity(lambda s: 3 * s * s * 6 - 18 * s**2, s=2),
            )
        ),
    ),
    Step(
        "proof-lplr-update-10",
        "P(max_j |(lambda_tilde - psi lambda)_j| >= gamma^-k sqrt(L/2n)) <= delta_0/12",
        COND + "; here y = +-1 and phi = 1",
        lambda: counterexample(coordinate_tail, n=3600, delta_0=1, d=1),
        "gamma^-k sqrt(2L/n): y phi_j lies in [-gamma^-k, gamma^-k], twice as wide as assumed (and j runs "
        "to d)",
    ),
    Step(
        "proof-lplr-update-11",
        "P(||lambda_tilde - psi lambda|| >= sqrt(d) gamma^-k sqrt(L/2n)) <= delta_0/12",
        COND + "; here d = 1, where it is the previous step",
        lambda: counterexample(coordinate_tail, n=3600, delta_0=1, d=1),
        "sqrt(d) gamma^-k sqrt(2L/n)",
    ),
    Step(
        "proof-lplr-update-11, corrected",
        "Hoeffding's exponent 2 n t^2/2^2 is L at t = sqrt(2L/n)",
        ALL,
        lambda: all_of((hoeffding(), at_points(lambda x: abs(2 * 2 * x / 4 - x), [{"x": 1}]))),
    ),
    Step(
        "proof-lplr-update-4, second display of that label",
        "29 ln(12/delta_0) + 18dL + sqrt(d) sqrt(L/2) <= (19d + 29) L",
        COND,
        lambda: prove(printed_vector, Box(v=(0, inverse_root_log(24)), s=UNIT)),
    ),
    Step(
        "proof-lplr-update-4, second display, corrected",
        "29 ln(12/delta_0) + 18dL + sqrt(d) sqrt(2L) <= (19d + 29) L: the bound survives",
        COND,
        lambda: prove(corrected_vector, Box(v=(0, inverse_root_log(24)), s=UNIT)),
    ),
    Step(
        "Lemma 4.2, second bound",
        "(19d + 29) d = 19d^2 + 29d and 18d d = 18d^2, with ln(24d/delta_0) <= d ln(48d/(beta delta))",
        ALL,
        lambda: identity(lambda d: (19 * d + 29) * d - (19 * d**2 + 29 * d), d=2),
    ),
)

STEPS = FIRST + SECOND
