r"""Theorem 4.6 from Theorem 3.2 and Lemma 4.5, as repaired: the paper leaves the sum to the reader.

Theorem 3.2 has the constant 2(1 − 1/A) < 2, Lemma 4.5 the factor (3.02M)^d, a batch an epoch over 2d users:

    regret ≤ 2n_1 + 2A² Σ_{τ≥2} r_τ (3.02M)^d 12K/√⌊n_{τ−1}/(2d)⌋ + (failures),   r_τ the rounds of epoch τ,
    K = κ₃γ²(d+1)⁴ + κ₂γd² + max{κ₁γ²(d+1)³, κ₁'γd^{3/2}} ≤ 5262 d⁴γ² ln(48dT²/β)/α.

Failures: coverage and mean width are claimed with probability 1 − 2dδ each, so an oracle fails with at most
4dδ; A oracles in each of τ₀ epochs, and at most 2 a round, make 8dδAτ₀T.
With M ≤ 1/β, ln(48dT²/β) ≤ 2 ln(48dT/β), n_{τ−1} = n_τ/2, γ² = T^{2β} and Σ r_τ/√n_τ ≤ 2.42√T this is at most
1.25·10⁶ (3.02/β)^d A²d⁵ ln(48dT/β) T^{1/2+2β}/α, one logarithm less than the theorem prints.

The steps take the constants from the paper. :func:`as_run` takes them from a specification, so that a change
of the code is noticed too.
"""

from __future__ import annotations

import math
from fractions import Fraction

from lpcb.spec import Spec
from verification.evidence.enclosure import Ball, Box, Result, Step, all_of, ball, log, prove, sqrt
from verification.evidence.lplr_proof.bins import partitioning_bins
from verification.evidence.lplr_proof.constants import remark
from verification.evidence.lplr_proof.tools import UNIT, at_most, settled

GROWTH = "3.02"
"""The factor of the repaired recursion (lemma-4.4-recursion)."""
CONSTANT = 1_250_000
EPOCHS = "2.42"
SHORTEST = 32
"""Users that the shortest batch has at least, before rounding down."""
FAILING = 4
"""d delta times this is the probability that an oracle fails: 2 for coverage, 2 for the mean width."""
RUNS = (
    "d = 1 to 12, all A >= 1, beta in (0, 1/2], delta = 1/T^2, n_tau = 2^tau n_0, T >= n_1; "
    "given Theorem 3.2 and Lemma 4.5"
)


def shortest_batch() -> Result:
    """n_1/(2d) = n_0/d ≥ 4d ln(24dT²/β) ≥ 4 ln(24·64·2), at d = 1, T = 8, β = 1/2."""
    return settled(lambda: SHORTEST - 4 * log(ball(24 * 64 * 2)))


def epoch_sum(p: Ball, x: Ball) -> Ball:
    """(1+√2)(1 − p) + x − 2.42√(1 − p² + x): Σ r_τ/√n_τ less 2.42√T, over √N.

    m ≥ 1 whole epochs, p = 2^{−m/2}, then a part x of the next, which has N = 2^{m+1}n_0 rounds: the whole
    ones have N(1 − p²) rounds, and their Σ√n_τ = √n_0 √2(2^{m/2} − 1)/(√2 − 1) = √N (1 + √2)(1 − p).
    """
    return (1 + sqrt(ball(2))) * (1 - p) + x - ball(EPOCHS) * sqrt(1 - p * p + x)


def epochs() -> Result:
    return prove(epoch_sum, Box(p=(0, "0.7072"), x=UNIT))


def small_terms() -> Ball:
    """(4n_0 + failures)/(d⁵A² ln(48dT/β)√T): 4n_0 ≤ 32d² ln(48dT/β) + 4, failures cost at most 8dAτ₀/T.

    τ₀ ≤ log₂T + 1, and (log₂T + 1)/T falls from T = 8 on, where it is 1/2; ln(48dT/β) ≥ ln 768.
    """
    return (32 + ball(4 + FAILING) / log(ball(768))) / sqrt(ball(8))


def constant() -> Ball:
    """2·12·5262·2 · √2·√2 · 2.42·√(32/31), and the small terms, less 1.25·10⁶.

    2A² of Theorem 3.2, 12·5262 of Lemma 4.5, 2 of the logarithm, √(2d) of the batches, √2 of n_{τ−1} = n_τ/2.
    """
    rounding = sqrt(ball(Fraction(SHORTEST, SHORTEST - 1)))
    return 2 * 12 * 5262 * 2 * 2 * ball(EPOCHS) * rounding + small_terms() - CONSTANT


CHAIN = (
    Step(
        "levels",
        "M <= 1/beta",
        "all beta in (0, 1/2]",
        lambda: prove(partitioning_bins, Box(beta=(0, "0.5"))),
    ),
    Step(
        "size of the increment",
        "K <= 5262 d^4 gamma^2 ln(48d/(beta delta))/alpha; shown times 12",
        "all d >= 1, gamma >= 1, beta in (0, 1/2], delta in (0, 1]",
        lambda: prove(remark, Box(t=UNIT, g=UNIT)),
    ),
    Step(
        "logarithm",
        "ln(48 d T^2/beta) <= 2 ln(48 d T/beta): 1 <= 48 d/beta",
        RUNS,
        lambda: at_most(1, 96),
    ),
    Step(
        "batches",
        "n_1/(2d) >= 32, so that rounding down costs a factor of at most 32/31",
        RUNS,
        shortest_batch,
    ),
    Step("epochs", f"sum of r_tau/sqrt(n_tau) <= {EPOCHS} sqrt(T)", RUNS, epochs),
    Step(
        "powers of d",
        "d^4 sqrt(d) <= d^5; shown squared, over d^10",
        "all d >= 1",
        lambda: prove(lambda t: t - 1, Box(t=UNIT)),
    ),
    Step(
        "the constant",
        "regret <= 1.25e6 (3.02/beta)^d A^2 d^5 ln(48dT/beta) T^(1/2+2 beta)/alpha, the first epoch and "
        "failures included; given Theorem 3.2 with 2(1 - 1/A) and Lemma 4.5 with 3.02",
        RUNS,
        lambda: all_of((settled(constant), settled(lambda: small_terms() - 12))),
    ),
)
"""Every step is needed: the last multiplies what the others give."""


def as_run(spec: Spec) -> float:
    """The sum that the steps bound, with the code's own constants, batches, epochs and failure budget."""
    d, gamma, A = spec.d, spec.gamma, spec.actions
    increment = spec.kappa3 * gamma**2 * (d + 1) ** 4 + spec.kappa2 * gamma * d**2
    increment += max(spec.kappa1 * gamma**2 * (d + 1) ** 3, spec.kappa1_prime * gamma * d**1.5)
    mean_width = (float(GROWTH) * spec.M) ** d * 12 * increment
    (_, first), *later = spec.epochs()
    total = 2.0 * first + sum(
        2 * (1 - 1 / A) * A**2 * rounds * mean_width / math.sqrt(spec.batch(tau - 1)) for tau, rounds in later
    )
    return float(total + 2 * spec.horizon * FAILING * d * spec.failure * A * (len(later) + 1))


def log_bound(d: int, actions: int, alpha: float, beta: float, log_T: float) -> float:
    """ln of what the steps come to: 1.25e6 (3.02/beta)^d A^2 d^5 ln(48dT/beta) T^(1/2 + 2 beta)/alpha."""
    size = math.log(CONSTANT * actions**2 * d**5 / alpha) + d * math.log(float(GROWTH) / beta)
    return size + math.log(math.log(48 * d / beta) + log_T) + (0.5 + 2 * beta) * log_T


def over_bound(spec: Spec) -> float:
    """The sum as run over the bound; at most 1 if the chain speaks of this specification."""
    bound = log_bound(spec.d, spec.actions, spec.alpha, spec.b, math.log(spec.horizon))
    return math.exp(math.log(as_run(spec)) - bound)
