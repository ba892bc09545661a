r"""The constants of Lemmas 4.4 and 4.5 and of Theorem 4.6 when every kappa is at its lower bound.

In units of $\gamma^2\ln(48d/\beta\delta)/(\alpha\sqrt n)$ the second term of the recursion is

    12 M^h [300(d+1)^4 + 118 d²ρ/γ + 43(d+1)³],   ρ = ln(24d/βδ)/ln(48d/βδ) < 1,

and $(\beta M)^h < 1$ comes arbitrarily close to 1 when β approaches 1/2 from below, where M = 2. So the sharp
constant in front of $\gamma^2d^4\ln(48d/\beta\delta)/(\alpha\beta^h\sqrt n)$ is 12(300·16 + 118 + 43·8) =
63144, at d = 1; below 10⁴ only from d = 4 on. With d³ instead of d⁴ there is no constant at all unless β ≤
1/4, say.
"""

from __future__ import annotations

from fractions import Fraction

from verification.evidence.enclosure import (
    Ball,
    Box,
    Proved,
    Result,
    Step,
    all_of,
    at_points,
    ball,
    log,
    prove,
)
from verification.evidence.lplr_proof.bins import levels, partitioning_bins
from verification.evidence.lplr_proof.tools import (
    UNIT,
    basis,
    cauchy_schwarz,
    counterexample,
    dot,
    plus,
    scale,
    settled,
)

SHARP = 63144
BETAS = "all beta in (0, 1/2], h <= d, gamma >= 1, delta in (0, 1]"


def second_term(d: Fraction, h: Fraction, beta: Fraction, delta: Fraction, gamma: Fraction) -> Ball:
    """The second term of Lemma 4.4 over γ²d⁴ ln(48d/βδ)/(αβ^h√n), kappas at their lower bounds.

    Of the maximum κ₁γ²(d+1)³ is the larger part: 43(d+1)³γ ≥ 15 d^{3/2}.
    """
    big, small = log(ball(48 * d / (beta * delta))), log(ball(24 * d / (beta * delta)))
    sizes = ball(300 * (d + 1) ** 4 + 43 * (d + 1) ** 3) + ball(118 * d**2 / gamma) * small / big
    return ball(12 * (beta * levels(beta)) ** int(h) / d**4) * sizes


def above_ten_thousand(d: Fraction, h: Fraction, beta: Fraction, delta: Fraction, gamma: Fraction) -> Ball:
    return second_term(d, h, beta, delta, gamma) - 10**4


def remark(t: Ball, g: Ball, *, constant: int = SHARP, kappa1: Ball | int = 43) -> Ball:
    """12[300(1+t)⁴ + 118t²g + 43t(1+t)³] − C: (βM)^h ≤ 1 and ρ ≤ 1."""
    return 12 * (300 * (1 + t) ** 4 + 118 * t**2 * g + kappa1 * t * (1 + t) ** 3) - constant


def larger_threshold(t: Ball, g: Ball) -> Ball:
    """The same with κ₁ = 73 d, as the recursion needs: 12[… + 73(1+t)³] − 66024."""
    return 12 * (300 * (1 + t) ** 4 + 118 * t**2 * g + 73 * (1 + t) ** 3) - 66024


REMARK = (
    Step(
        "remark, M <= 2/beta",
        "M <= 2/beta; beta M <= 1 is true",
        "all beta in (0, 1/2]",
        lambda: prove(partitioning_bins, Box(beta=(0, "0.5"))),
    ),
    Step(
        "remark, C < 10^4",
        "second term <= C gamma^2 d^4 ln(48d/(beta delta))/(alpha beta^h sqrt(n)) with C = 10^4",
        BETAS + ", d >= 1, kappas at their lower bounds",
        lambda: counterexample(
            above_ten_thousand, d=1, h=1, beta=Fraction(1, 42), delta=Fraction(1, 10**36), gamma=3
        ),
        "C = 63144; C < 10^4 is true for d >= 4",
    ),
    Step(
        "remark, corrected",
        "C = 63144",
        BETAS + ", d >= 1",
        lambda: prove(remark, Box(t=UNIT, g=UNIT)),
    ),
    Step(
        "remark, from d = 4 on",
        "C = 10^4",
        BETAS + ", d >= 4",
        lambda: prove(lambda t, g: remark(t, g, constant=10**4), Box(t=(0, "0.25"), g=UNIT)),
    ),
    Step(
        "remark, with kappa_1 = 73 d ln(48d/(beta delta))/alpha",
        "C = 66024",
        BETAS + ", d >= 1",
        lambda: prove(larger_threshold, Box(t=UNIT, g=UNIT)),
    ),
)


# --- Lemma 4.5 ----------------------------------------------------------------------------------------------


def other_parameter(first: Fraction, second: Fraction) -> Fraction:
    """‖theta_B* − theta*‖₁ on the last of two layers, u_1 = e_1, u_2 = e_2, theta* = (first, second)."""
    last, theta = basis(2)[1], (first, second)
    gap = plus(scale(dot(last, theta), last), scale(Fraction(-1), theta))
    return sum((abs(x) for x in gap), Fraction(0))


def geometric(growth: str) -> Result:
    """Σ_{j<d} c^j M^{d−j} ≤ M^d Σ_{j<d} c^j < M^d c^d/(c − 1) ≤ (cM)^d."""
    return settled(lambda: 1 / (ball(growth) - 1) - 1)


def simplified_ratio(d: Fraction, beta: Fraction, constant: Fraction) -> Ball:
    """(βM)^d 12·300(d+1)⁴/d³ − C: a part of the bound over (2.54/β)^d γ²d³ ln(48d/βδ)/(α√n)."""
    mass = (int(d) * log(ball(beta * levels(beta)))).exp()
    return mass * ball(Fraction(3600) * (d + 1) ** 4 / d**3) - ball(constant)


def growing(t: Ball) -> Ball:
    """1800 − 3600(1+t)⁴/2, at β = 1/2 − 1/(4d): M = 2 and (1 − 1/(2d))^d ≥ 1/2, so the ratio is at least 1800
    d.
    """
    return 1800 - 1800 * (1 + t) ** 4


def no_constant() -> Result:
    """Unbounded in d by :func:`growing`, with a point at which a billion is passed."""
    unbounded = prove(growing, Box(t=UNIT))
    if not isinstance(unbounded, Proved):
        return unbounded
    d = 10**6
    return counterexample(simplified_ratio, d=d, beta=Fraction(1, 2) - Fraction(1, 4 * d), constant=10**9)


def small_beta(d: Fraction) -> Fraction:
    """(3/4)^d 12[300(d+1)⁴ + 118d² + 43(d+1)³]/d³ − 47358: βM ≤ 1/2 + β ≤ 3/4."""
    sizes = 300 * (d + 1) ** 4 + 118 * d**2 + 43 * (d + 1) ** 3
    return Fraction(3, 4) ** int(d) * 12 * sizes / d**3 - 47358


def cubic() -> Result:
    """For d < 9 one by one; then d(3/4)^d falls (4d > 3(d+1)) and is below 1, so that 12[…]/d⁴ remains."""
    return all_of(
        (
            at_points(small_beta, ({"d": d} for d in range(1, 9))),
            settled(lambda: 9 * ball("0.75") ** 9 - 1),
            prove(lambda t, g: remark(t, g, constant=47358), Box(t=(0, Fraction(1, 9)), g=UNIT)),
        )
    )


LEMMA_45 = (
    Step(
        "Lemma 4.5, failure probability",
        "two events per layer, d layers: 2 d delta",
        "all d >= 1",
        lambda: at_points(
            lambda d: sum((Fraction(2) for _ in range(int(d))), Fraction(0)) - 2 * d,
            ({"d": d} for d in range(1, 13)),
        ),
    ),
    Step(
        "Lemma 4.5, last layer",
        "theta_B* = theta* on the last layer",
        "all theta*; here d = 2",
        lambda: counterexample(other_parameter, first=1, second=0),
        "theta_B^tot = theta*: the projections of all layers together",
    ),
    Step(
        "Lemma 4.5, iteration",
        "sum over layers of 2.54^(d-h) M^h <= (2.54 M)^d",
        "all d, M >= 1",
        lambda: geometric("2.54"),
    ),
    Step(
        "Lemma 4.5, iteration, corrected",
        "sum over layers of 3.15^(d-h) M^h <= (3.15 M)^d",
        "all d, M >= 1; the recursion with 3.15",
        lambda: geometric("3.15"),
    ),
    Step(
        "Lemma 4.5, mean width",
        "E_B[eta_hat] <= sqrt(E_B[eta_hat^2])",
        "all laws",
        cauchy_schwarz,
    ),
    Step(
        "Lemma 4.5, simplified",
        "the bound is at most C (2.54/beta)^d gamma^2 d^3 ln(48d/(beta delta))/(alpha sqrt(n)), C absolute",
        "all d >= 1, beta in (0, 1/2]; here beta = 1/2 - 1/(4d) and C = 10^9",
        no_constant,
        "d^4 with C = 63144 for every beta; d^3 with C = 47358 for beta <= 1/4",
    ),
    Step(
        "Lemma 4.5, simplified, corrected",
        "C (2.54/beta)^d gamma^2 d^4 ln(48d/(beta delta))/(alpha sqrt(n)) with C = 63144: (beta M)^d <= 1",
        BETAS + ", d >= 1",
        lambda: all_of((prove(partitioning_bins, Box(beta=(0, "0.5"))), prove(remark, Box(t=UNIT, g=UNIT)))),
    ),
    Step(
        "Lemma 4.5, simplified, beta <= 1/4",
        "d^3 with C = 47358",
        "all d >= 1, beta in (0, 1/4], gamma >= 1",
        cubic,
    ),
    Step(
        "Lemma 4.5, what it leaves of Theorem 4.6",
        "d^4 sqrt(2d) <= sqrt(2) d^5: batches are an epoch over 2d, and the theorem's d^5 covers d^4; shown "
        "squared, over 2d^9",
        "all d >= 1",
        lambda: prove(lambda t: t - 1, Box(t=UNIT)),
    ),
)


# --- the remark on Theorem 4.6 ------------------------------------------------------------------------------


def printed_power(d: Fraction, beta: Fraction, degree: Fraction, horizon: Fraction) -> Ball:
    """ln of (2.54/β)^d over (2/β)^{−d} less ln of (d ln(dT))^degree, A = alpha = 1."""
    left = int(d) * (log(ball("2.54") / ball(beta)) + log(2 / ball(beta)))
    return left - int(degree) * log(ball(d) * log(ball(d * horizon)))


def positive_power(d: Fraction, degree: Fraction, horizon: Fraction) -> Ball:
    """The same with (2/β)^d in place of (2/β)^{−d}: (2.54/2)^d is left, whatever β."""
    return int(d) * log(ball("1.27")) - int(degree) * log(ball(d) * log(ball(d * horizon)))


def horizon_power(x: Fraction) -> Fraction:
    """|2β ln T − 2| at β = 1/ln T, x = ln T: T^{2β} = e²."""
    return abs(2 / x * x - 2)


def left_over(power: Fraction, constant: Fraction) -> Ball:
    """2.54 e² ln²(48 T ln T) − C at T = 10^power, d = A = alpha = 1: Theorem 4.6 over √T ln^d T at β = 1/ln
    T.
    """
    t = int(power) * log(ball(10))
    return ball("2.54") * ball(2).exp() * (log(ball(48)) + t + log(t)) ** 2 - ball(constant)


def logarithms_grow(z: Ball) -> Ball:
    """ln T − ln(48 T ln T) = −ln 48 + ln z, z = 1/ln T ≤ 1/2: what is left over grows at least like ln² T."""
    return log(z) - log(ball(48))


def no_polynomial() -> Result:
    """Unbounded in T, and beyond a million at T = 10^100."""
    unbounded = prove(logarithms_grow, Box(z=(Fraction(1, 10**6), Fraction(1, 2))))
    if not isinstance(unbounded, Proved):
        return unbounded
    return counterexample(left_over, power=100, constant=10**6)


THEOREM_46 = (
    Step(
        "remark, (2/beta)^-d",
        "(2.54/beta)^d <= poly(d, 1/alpha, A, ln(dT)) (2/beta)^-d; shown as logarithms against (d "
        "ln(dT))^100",
        "all d, beta in (0, 1/2]; here beta = 1/2, T = 10^6",
        lambda: counterexample(printed_power, d=1000, beta="0.5", degree=100, horizon=10**6),
        "(2.54/beta)^d: the sign of the exponent is wrong, the factor grows as beta falls",
    ),
    Step(
        "remark, (2/beta)^d",
        "(2.54/beta)^d <= poly(d, ...) (2/beta)^d, the sign put right; shown as logarithms against (d "
        "ln(dT))^10",
        "all d, beta in (0, 1/2]; here T = 10^6",
        lambda: counterexample(positive_power, d=1000, degree=10, horizon=10**6),
        "2.54 cannot be rounded to 2: 1.27^d is not polynomial in d",
        role="supports",
    ),
    Step(
        "remark, T^(2 beta)",
        "T^(2 beta) = e^2 at beta = 1/ln T",
        "all T >= e^2, for which beta <= 1/2",
        lambda: at_points(horizon_power, ({"x": x} for x in (2, 5, 41))),
    ),
    Step(
        "remark, beta = 1/ln T",
        "the bound is at most poly(d, 1/alpha, A) sqrt(T) (ln T)^d; shown at d = A = alpha = 1 against 10^6",
        "all T >= e^2",
        no_polynomial,
        "poly(d, 1/alpha, A) (2.54 ln T)^d ln^2(48 d T ln T) sqrt(T): two more logarithms for fixed d, and "
        "2.54^d",
    ),
)
