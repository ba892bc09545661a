r"""Every displayed step of the proof of Lemma A.1, for all signs of $\mu$ and all $\alpha \in (0, 1]$.

Where both sides of a step vanish with $\mu$, their common factor is divided out:
$e^x - 1 = x E_1(x)$ and $e^x - 1 - x = x^2 E_2(x)$ with $E_1, E_2$ positive and increasing.

Where $\mu_1\mu_2 < 0$ the printed $(\mu_1+\mu_2)^2$ is too small for Case 2. With $\|\mu\|_1^2$ in its place,
and $\alpha\|\mu\|_1$ in the middle of (proof-mixture-4), the proof goes through with the same constant 16.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

from verification.claim import Check, Claim, Context
from verification.claims.lemma_a1 import CHI, SLACK
from verification.evidence.enclosure import (
    Ball,
    Box,
    Refuted,
    Result,
    Step,
    absolute,
    all_of,
    at_points,
    ball,
    cosh,
    established,
    exp,
    exp_tail,
    on_simplex,
    prove,
    step_evidence,
)
from verification.verdict import Finding

EVERYWHERE = "all alpha in (0, 1], all |mu|_1 <= 1, all signs of mu"
UNIT = Box(x=(-1, 1))
"""x = alpha (mu_1 + mu_2) or alpha (mu_1 − mu_2): at most alpha |mu|_1 <= 1 in absolute value."""


def on_domain(f: Callable[..., Ball]) -> Result:
    """Decide f(alpha, mu1, mu2) ≤ 0 for alpha in [0, 1] and |mu|_1 ≤ 1, by patterns of signs."""
    return all_of(_quadrant(f, s1, s2) for s1, s2 in product((1, -1), repeat=2))


def _quadrant(f: Callable[..., Ball], s1: int, s2: int) -> Result:
    def on_lengths(alpha: Ball, a: Ball, b: Ball) -> Ball:
        return f(alpha=alpha, mu1=s1 * a, mu2=s2 * b)

    def on_cube(alpha: Ball, **lengths: Ball) -> Ball:
        return on_simplex(lambda a, b: on_lengths(alpha, a, b), "a", "b")[0](**lengths)

    found = prove(on_cube, Box(alpha=(0, 1), a=(0, 1), b=(0, 1)), max_boxes=500)
    if not isinstance(found, Refuted):
        return found
    alpha, a, b = (found.point[name] for name in ("alpha", "a", "b"))
    return Refuted({"alpha": alpha, "mu1": s1 * a, "mu2": s2 * b * (1 - a)}, found.low, found.high)


# --- the displays, each as left side minus right side -------------------------------------------------------


def printed_exponents(
    alpha: Fraction, u: Fraction, v: Fraction, m1: Fraction, m2: Fraction
) -> list[Fraction]:
    """The two exponents in (proof-mixture-1)."""
    plus = -alpha * (abs(u - m1) - abs(u)) - alpha * (abs(v - m2) - abs(v))
    minus = -alpha * (abs(u + m1) - abs(u)) - alpha * (abs(v + m2) - abs(v))
    return [plus, minus]


def likelihood_ratio() -> Result:
    """ln of each component's density minus ln of P_0's is the printed exponent.

    Both are sums of absolute values, compared at points on every side of every kink.
    """

    def log_density(alpha: Fraction, u: Fraction, v: Fraction, m1: Fraction, m2: Fraction) -> Fraction:
        return -alpha * abs(u - m1) - alpha * abs(v - m2)

    def excess(alpha: Fraction, u: Fraction, v: Fraction, m1: Fraction, m2: Fraction) -> Fraction:
        centred = log_density(alpha, u, v, Fraction(0), Fraction(0))
        means = ((m1, m2), (-m1, -m2))
        direct = [log_density(alpha, u, v, *mean) - centred for mean in means]
        printed = printed_exponents(alpha, u, v, m1, m2)
        return sum((abs(x - y) for x, y in zip(direct, printed, strict=True)), Fraction(0))

    line = [Fraction(k, 2) for k in (-3, -1, 0, 1, 3)]
    names = ("u", "v", "m1", "m2")
    return at_points(
        excess,
        ({"alpha": Fraction(2, 3), **dict(zip(names, x, strict=True))} for x in product(line, repeat=4)),
    )


def outer_exponents(case: int) -> Result:
    """Outside both strips the exponents are printed as ±α(μ1 + μ2) in Case 1 and ±α(μ1 − μ2) in Case 2.

    Both are linear on each cone {side_u·u ≥ |m1|} × {side_v·v ≥ |m2|}, whose generators are tried.
    """

    def excess(**x: Fraction) -> Fraction:
        size = x["alpha"] * (x["m1"] + x["m2"] if case == 1 else x["m1"] - x["m2"])
        seen = sorted(printed_exponents(**x))
        return sum((abs(a - b) for a, b in zip(seen, sorted([size, -size]), strict=True)), Fraction(0))

    rays = ((1, 1), (1, -1), (0, 0))
    sides = ((1, 1), (-1, -1)) if case == 1 else ((1, -1), (-1, 1))
    return at_points(
        excess,
        (
            {"alpha": 1, "u": su * u, "v": sv * v, "m1": m1, "m2": m2}
            for (u, m1), (v, m2), (su, sv) in product(rays, rays, sides)
        ),
    )


def taylor(x: Ball) -> Ball:
    """(e^x − 1 − x)/x² − e/2."""
    return exp_tail(2)(x) - exp(ball(1)) / 2


def outer_ratio(x: Ball) -> Ball:
    """(cosh x − 1)/x² − e/2."""
    return (exp_tail(2)(x) + exp_tail(2)(-x)) / 2 - exp(ball(1)) / 2


def case_two_printed(alpha: Ball, mu1: Ball, mu2: Ball) -> Ball:
    """|cosh(α(μ1 − μ2)) − 1| − (e/2) α² (μ1 + μ2)²."""
    return cosh(alpha * (mu1 - mu2)) - 1 - exp(ball(1)) / 2 * alpha**2 * (mu1 + mu2) ** 2


def shifts() -> Result:
    """||u − m| − |u|| − |m| is linear between the rays u = 0, m = 0, u = m, u = m/2, which generate cones."""
    rays = [(1, 0), (0, 1), (1, 1), (1, 2)]
    points = ({"u": s * u, "m": s * m} for u, m in rays for s in (1, -1))
    return at_points(lambda u, m: abs(abs(u - m) - abs(u)) - abs(m), points)


def first_order(z: Ball) -> Ball:
    """|e^z − 1|/|z| − e for |z| ≤ alpha |mu|_1 ≤ 1."""
    return exp_tail(1)(z) - exp(ball(1))


def strip_ratio(z: Ball, w: Ball) -> Ball:
    """The mean of the two previous bounds, z and w being the two exponents."""
    return (exp_tail(1)(z) + exp_tail(1)(w)) / 2 - exp(ball(1))


def cases_cover() -> Result:
    """Each coordinate is below, inside or above its strip; each of the nine combinations is in some case."""

    def missed(u: Fraction, v: Fraction) -> Fraction:
        case_one, case_two, case_three = u * v == 1, u * v == -1, u == 0 or v == 0
        return Fraction(0 if case_one or case_two or case_three else 1)

    return at_points(missed, ({"u": u, "v": v} for u, v in product((-1, 0, 1), repeat=2)))


def union_bound(a: Ball, b: Ball) -> Ball:
    """(P[Case 3] − P[|u| ≤ |μ1|] − P[|v| ≤ |μ2|])/(ab) = −E_1(−a) E_1(−b), a = α|μ1|, b = α|μ2|."""
    return -exp_tail(1)(-a) * exp_tail(1)(-b)


def strips_printed(alpha: Ball, mu1: Ball, mu2: Ball) -> Ball:
    """P_0[|u| ≤ |μ1|] + P_0[|v| ≤ |μ2|] − 2·(α²/4)(2|μ1| + 2|μ2|)."""
    a, b = absolute(mu1), absolute(mu2)
    return 2 - exp(-alpha * a) - exp(-alpha * b) - 2 * (alpha**2 / 4) * (2 * a + 2 * b)


def strips_corrected(a: Ball) -> Ball:
    """(1 − e^{−a})/a − 1, for each of a = α|μ1|, α|μ2|."""
    return exp_tail(1)(-a) - 1


def chi_square_sum(r: Ball) -> Ball:
    """sup χ²/r³ − 2e² with the certified 1/3: the first term of the printed bound is not even needed."""
    return ball(Fraction(1, 3) + SLACK) + 0 * r - 2 * exp(ball(2))


def fourth_powers(alpha: Ball, mu1: Ball, mu2: Ball) -> Ball:
    """(e²/4) α⁴ (‖μ‖₁⁴ − (μ1 + μ2)⁴): zero if the printed equality were true."""
    return exp(ball(2)) / 4 * alpha**4 * ((absolute(mu1) + absolute(mu2)) ** 4 - (mu1 + mu2) ** 4)


def final_constant(r: Ball) -> Ball:
    """e²/4 r + 2e² − 16.7."""
    return exp(ball(2)) / 4 * r + 2 * exp(ball(2)) - ball("16.7")


def kl_below_chi_square(x: Ball) -> Ball:
    """log L − (L − 1) at L = e^x, divided by x²: −E_2(x)."""
    return -exp_tail(2)(x)


def chi_square_bound(context: Context) -> Callable[[], Result]:
    def decide() -> Result:
        established(CHI, context.setting.profile)
        return prove(chi_square_sum, Box(r=(0, 1)))

    return decide


def steps(context: Context) -> Iterator[Step]:
    yield Step(
        "proof-mixture-1",
        "the likelihood ratio is a mean of exp(-alpha(|u-+mu1|-|u|) - alpha(|v-+mu2|-|v|))",
        EVERYWHERE,
        likelihood_ratio,
    )
    yield Step(
        "Case 1, reduction",
        "the ratio is cosh(alpha(mu1+mu2)): beyond |mu1| the shift is -+mu1",
        EVERYWHERE,
        lambda: outer_exponents(1),
    )
    yield Step(
        "Case 1, Taylor",
        "|e^x - (1+x)| <= (e/2) x^2 with x = -+alpha(mu1+mu2)",
        EVERYWHERE,
        lambda: prove(taylor, UNIT),
    )
    yield Step(
        "proof-mixture-2",
        "|L - 1| <= (e/2) alpha^2 (mu1+mu2)^2 in Case 1",
        EVERYWHERE,
        lambda: prove(outer_ratio, UNIT),
    )
    yield Step(
        "Case 2, reduction",
        "the ratio is cosh(alpha(mu1-mu2))",
        EVERYWHERE,
        lambda: outer_exponents(2),
    )
    yield Step(
        "Case 2, (proof-mixture-2) holds too",
        "|cosh(alpha(mu1-mu2)) - 1| <= (e/2) alpha^2 (mu1+mu2)^2",
        EVERYWHERE,
        lambda: on_domain(case_two_printed),
        corrected="(|mu1|+|mu2|)^2 on the right; then true in both cases, and the lemma keeps its constant",
    )
    yield Step(
        "Case 2, corrected",
        "|cosh(alpha(mu1-mu2)) - 1| <= (e/2) alpha^2 |mu|_1^2, since |mu1-mu2| <= |mu|_1",
        EVERYWHERE,
        lambda: prove(outer_ratio, UNIT),
    )
    yield Step("Case 3, shifts", "||u-+mu1| - |u|| <= |mu1|", EVERYWHERE, shifts)
    yield Step(
        "Case 3, Taylor",
        "|e^z - 1| <= e alpha |mu|_1 for |z| <= alpha |mu|_1",
        EVERYWHERE,
        lambda: prove(first_order, Box(z=(-1, 1))),
    )
    yield Step(
        "proof-mixture-3",
        "|L - 1| <= e alpha |mu|_1 in Case 3",
        EVERYWHERE,
        lambda: prove(strip_ratio, Box(z=(-1, 1), w=(-1, 1))),
    )
    yield Step("Cases 1-3", "every (u, v) is in one of the three cases", EVERYWHERE, cases_cover)
    yield from _last_steps(context)


def _last_steps(context: Context) -> Iterator[Step]:
    unit = Box(a=(0, 1), b=(0, 1))
    yield Step(
        "proof-mixture-4, union bound",
        "P_0[Case 3] <= P_0[|u| <= |mu1|] + P_0[|v| <= |mu2|]",
        EVERYWHERE,
        lambda: prove(union_bound, unit),
    )
    yield Step(
        "proof-mixture-4, middle",
        "P_0[|u| <= |mu1|] + P_0[|v| <= |mu2|] <= 2 (alpha^2/4) (2|mu1| + 2|mu2|)",
        EVERYWHERE,
        lambda: on_domain(strips_printed),
        corrected="alpha(|mu1|+|mu2|) in the middle (the density of one coordinate is at most alpha/2, not "
        "alpha^2/2); the right end 2 alpha |mu|_1 stays true",
    )
    yield Step(
        "proof-mixture-4, corrected",
        "P_0[|u| <= |mu1|] + P_0[|v| <= |mu2|] <= alpha |mu|_1",
        EVERYWHERE,
        lambda: prove(strips_corrected, Box(a=(0, 1))),
    )
    yield Step(
        "proof-mixture-4, right end",
        "2 (alpha^2/4) (2|mu1| + 2|mu2|) <= 2 alpha |mu|_1, and so is alpha |mu|_1",
        EVERYWHERE,
        lambda: prove(lambda alpha: alpha - 2, Box(alpha=(0, 1))),
    )
    yield Step(
        "proof-mixture-5, inequality",
        "chi^2 <= (e^2/4) alpha^4 (mu1+mu2)^4 + 2 e^2 alpha^3 |mu|_1^3",
        EVERYWHERE,
        chi_square_bound(context),
    )
    yield Step(
        "proof-mixture-5, equality",
        "(e^2/4) alpha^4 (mu1+mu2)^4 = (e^2/4) alpha^4 |mu|_1^4",
        EVERYWHERE,
        lambda: on_domain(fourth_powers),
        corrected="<= instead of =; the chain and its end 16.7 stay true",
    )
    yield Step(
        "proof-mixture-5, constant",
        "e^2/4 alpha |mu|_1 + 2 e^2 <= 16.7",
        EVERYWHERE,
        lambda: prove(final_constant, Box(r=(0, 1))),
    )
    yield Step(
        "KL <= chi^2",
        "log L <= L - 1, in expectation under P_mu",
        "every L in [1/e, e], so every L that occurs",
        lambda: prove(kl_below_chi_square, UNIT),
    )


def every_step(context: Context) -> Finding:
    return Finding(tuple(step_evidence(step) for step in steps(context)))


CLAIMS = (
    Claim(
        id="lemma-A.1-steps",
        title="Steps of the proof of Lemma A.1",
        statement=r"Every displayed step of the proof of Lemma A.1 is true for all signs of $\mu$ and all "
        r"$\alpha \in (0, 1]$.",
        repaired=None,
        method="Each step is an inequality in at most three parameters, proved or refuted everywhere; "
        "where both sides vanish the common factor is divided out.",
        checks=(Check("steps", every_step, random=False),),
    ),
)
