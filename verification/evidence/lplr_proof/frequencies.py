r"""Lemma 4.2, first bound: steps from the Laplace distribution to [proof-lplr-update-3].

The count carries the noise 3 Lap(1/alpha), whose factor 3 is left out in [proof-lplr-update-1]; and the root
of its right side is $(2L + \sqrt{4L^2 + 8Ln})/(\alpha n)$, about $\sqrt{8L/n}/\alpha$, not
$\sqrt{2L/n}/\alpha$. The end, 6.2 ln(12/delta_0), is true all the same: $-\ln(1-x^2) \le x^2/(1-x)$ makes
$P(|\sum X_i| > 2\sqrt{nL} + L) \le 2e^{-L}$ for standard Laplace variables (take $x = \sqrt L/(\sqrt n +
\sqrt L)$ in Chernoff's bound), so that $3(2\sqrt{L/n} + L/n)$ covers the noise.
"""

from __future__ import annotations

from fractions import Fraction

from verification.evidence.enclosure import Ball, Box, Step, all_of, ball, exp, log, log_tail, prove, sqrt
from verification.evidence.lplr_proof.probabilities import laplace_sum_tail
from verification.evidence.lplr_proof.tools import (
    UNIT,
    counterexample,
    exponential,
    hoeffding,
    inverse_root_log,
    top,
)

ALL = "all n >= 1, alpha in (0, 1], delta_0 in (0, 1]"


def other_definition(c_hat: Fraction, n: Fraction) -> Ball:
    """c_hat/sqrt(n) − c_hat/n: the lemma's psi_hat less that of the algorithm and of the proof."""
    return ball(c_hat) / sqrt(ball(n)) - ball(c_hat / n)


def sub_exponential(y: Ball, *, variance: int = 4) -> Ball:
    """(−ln(1 − x²) − ν² x²/2)/x² at y = x² ≤ 1/4, in units of 1/alpha: ν² = 4 and |x| ≤ 1/b = 1/2."""
    return log_tail(1)(-y) - variance / 2


def mean_of_many(m: Ball) -> Ball:
    """ln E e^{x mean} ≤ 2x²/n against 2n x², divided by 2n x²: m² − 1 with m = 1/n."""
    return m * m - 1


def bernstein(v: Ball) -> Ball:
    r"""t²/(2(ν² + bt)) against Chernoff's exponent, v = ν²/(bt) ≤ 1, in units of t/b.

    At λ = 1/b the exponent is t/b − ν²/(2b²). For v ≥ 1 take λ = t/ν²: the exponent t²/(2ν²) is more at
    sight.
    """
    return 1 / (2 * (1 + v)) - (1 - v / 2)


def printed_bernstein(n: Fraction, epsilon: Fraction, alpha: Fraction) -> Ball:
    """P(|(3/n) Σ X_i| > epsilon), exactly, less the printed bound."""
    size, x = int(n), ball(alpha * epsilon)
    return 2 * laplace_sum_tail(size, size * x / 3) - 2 * exp(-size * x**2 / (2 * (4 + 2 * x)))


def printed_deviation(n: Fraction, delta_0: Fraction, alpha: Fraction) -> Ball:
    """P(|psi_hat − psi| > the printed middle), exactly, less delta_0/3; an empty bin, psi = 0."""
    ln = log(ball(12 / delta_0))
    size, a = int(n), ball(alpha)
    limit = 4 * ln / (a * size) + sqrt(2 * ln / size) / a + sqrt(ln / (2 * size))
    return 2 * laplace_sum_tail(size, size * a * limit / 3) - ball(delta_0 / 3)


def printed_sum(r: Ball, v: Ball, *, end: str = "6.2") -> Ball:
    """4r + sqrt(2) v + v/sqrt(2) − 6.2, with alpha ≤ 1 in the last root; times L/(alpha sqrt(n))."""
    return 4 * r + sqrt(ball(2)) * v + v / sqrt(ball(2)) - ball(end)


def corrected_sum(r: Ball, v: Ball, *, end: str = "6.2") -> Ball:
    """3(2v + r) + v/sqrt(2) − 6.2: the noise as it is, and the count of users."""
    return 3 * (2 * v + r) + v / sqrt(ball(2)) - ball(end)


STEPS = (
    Step(
        "psi_hat",
        "Lemma 4.2 defines psi_hat = c_hat/sqrt(n); the proof and the algorithm mean c_hat/n",
        "all n >= 1",
        lambda: counterexample(other_definition, c_hat=4, n=4),
        "psi_hat = c_hat/n",
    ),
    Step(
        "Laplace is sub-exponential",
        "E exp(lambda X) <= exp(nu^2 lambda^2/2) for |lambda| <= 1/b, nu = b = 2/alpha",
        "all alpha",
        lambda: prove(sub_exponential, Box(y=(0, "0.25"))),
    ),
    Step(
        "sample mean",
        "the sample mean of n has parameters nu = 2 sqrt(n)/alpha, b = 2/alpha (those of the sum: true, and "
        "n times too large)",
        "all n >= 1",
        lambda: prove(mean_of_many, Box(m=UNIT)),
    ),
    Step(
        "Bernstein's inequality",
        "P(|S| > t) <= 2 exp(-t^2/(2(nu^2 + b t)))",
        "all t, nu, b > 0",
        lambda: prove(bernstein, Box(v=UNIT)),
    ),
    Step(
        "proof-lplr-update-1",
        "P(|psi_hat - psi_tilde| > eps) <= 2 exp(-n^2 eps^2/(2(4n/alpha^2 + 2n eps/alpha)))",
        "all n >= 1, eps > 0, alpha in (0, 1]",
        lambda: counterexample(printed_bernstein, n=10, epsilon=3, alpha=1),
        "noise is 3 Lap(1/alpha): 2 exp(-n^2 eps^2/(2(36n/alpha^2 + 6n eps/alpha)))",
    ),
    Step(
        "proof-lplr-update-2",
        "P(|psi_tilde - psi| > eps) <= 2 exp(-2n eps^2)",
        "all n >= 1, eps > 0, psi in [0, 1]",
        hoeffding,
    ),
    Step(
        "proof-lplr-update-3, left",
        "with probability 1 - delta_0/3: |psi_hat - psi| <= 4L/(alpha n) + sqrt(2L)/(alpha sqrt(n)) + "
        "sqrt(L/2n), L = ln(12/delta_0)",
        ALL,
        lambda: counterexample(printed_deviation, n=25, delta_0="0.1", alpha=1),
        "3L/(alpha n) + 6 sqrt(L/n)/alpha + sqrt(L/2n); what is printed has sqrt(2L) for sqrt(8L) and lacks "
        "the factor 3 of the noise",
    ),
    Step(
        "proof-lplr-update-3, right",
        "4L/(alpha n) + sqrt(2L)/(alpha sqrt(n)) + sqrt(L/2n) <= 6.2 L/(alpha sqrt(n))",
        ALL,
        lambda: prove(printed_sum, Box(r=UNIT, v=(0, inverse_root_log(12)))),
    ),
    Step(
        "proof-lplr-update-3, corrected",
        "3L/(alpha n) + 6 sqrt(L/n)/alpha + sqrt(L/2n) <= 6.2 L/(alpha sqrt(n)): the end survives",
        "all n >= 3 (n >= 2 ln(12/delta_0) is assumed later), alpha and delta_0 in (0, 1]",
        lambda: all_of(
            (
                exponential(),
                prove(corrected_sum, Box(r=(0, top(1 / sqrt(ball(3)))), v=(0, inverse_root_log(12)))),
            )
        ),
    ),
    Step(
        "Lemma 4.2, first bound",
        "corrected: |psi_hat - psi| <= 6.2 L'/(alpha sqrt(n)), L' = d ln(48d/(beta delta)) >= ln 96, psi_hat "
        "= "
        "c_hat/n",
        "all n >= 1, alpha in (0, 1], d >= 1, beta in (0, 1/2], delta in (0, 1]",
        lambda: all_of((exponential(), prove(corrected_sum, Box(r=UNIT, v=(0, inverse_root_log(96)))))),
    ),
)
