r"""The failure probability that Algorithm 1 has and needs (Definition 3.1, Theorem 3.2, Lemma 4.5).

LPLR run with δ fails with probability at most 2dδ: an update and an interval event on each of d layers.
Definition 3.1 calls δ what fails the oracle, and Algorithm 1 sets it to 1/T². Over A oracles and τ₀ epochs
that makes 2dAτ₀/T² of failure, and since one run loses at most 2T, at most 4dAτ₀/T of expected regret. With
$n_\tau = 2^\tau n_0$, $(2^{\tau_0} - 2)n_0 < T$, so that $\tau_0 < \log_2(T + 2) \le \log_2 T + 1$.
"""

from __future__ import annotations

from fractions import Fraction

from verification.evidence.enclosure import Ball, Box, Result, Step, all_of, at_points, ball, exp, log, prove
from verification.evidence.lplr_proof.bins import UNION, all_bins
from verification.evidence.lplr_proof.tools import at_most, counterexample, exponential, top

RUNS = "all d, A >= 1, T >= 8, epochs n_tau = 2^tau n_0, delta = 1/T^2"


def oracle_budget(d: Fraction, delta: Fraction) -> Fraction:
    """2dδ − δ: what Lemma 4.5 gives LPLR run with δ, less what Definition 3.1 allows the oracle."""
    return 2 * d * delta - delta


def layers(d: Fraction) -> Fraction:
    """Failure of d layers in units of δ, an update and an interval event each, less 2d."""
    return sum((Fraction(1) + Fraction(1) for _ in range(int(d))), Fraction(0)) - 2 * d


def failure_regret(p: Ball) -> Ball:
    """4(1 + log₂T)/T^{3/2} − 1 with p = T^{−1/2} and ln T·T^{−1/2} ≤ 2/e: 4(p³ + (2/e)p²/ln 2) − 1.

    4dAτ₀/T over the bound A²d⁵ ln²(48dT/β)√T of Theorem 4.6 with C = 1 is at most that, every other factor
    being at least 1.
    """
    return 4 * (p**3 + 2 / (exp(ball(1)) * log(ball(2))) * p**2) - 1


def never_dominant() -> Result:
    """x e^{−x} ≤ 1/e is e^{x−1} ≥ x."""
    return all_of((exponential(), prove(failure_regret, Box(p=(0, top(1 / ball(8).sqrt()))))))


def epoch_bound(n0: Fraction, tau: Fraction) -> Fraction:
    """2^τ₀ − (T + 2) for the shortest T that reaches epoch τ₀: rounds of the epochs before, and one."""
    horizon = sum((2**j * n0 for j in range(1, int(tau))), Fraction(1))
    return Fraction(2 ** int(tau)) - (horizon + 2)


COMMON = (
    Step(
        "layers",
        "d layers with an update and an interval event each: 2 d delta",
        "all d >= 1",
        lambda: at_points(layers, ({"d": d} for d in range(1, 13))),
    ),
    Step(
        "number of epochs",
        "tau_0 <= log2(T + 2)",
        "n_tau = 2^tau n_0, n_0 >= 1; linear in n_0 and, at n_0 = 1, the same for every tau_0",
        lambda: at_points(epoch_bound, ({"n0": n, "tau": t} for n in (1, 2, 1000) for t in range(1, 60))),
    ),
    Step(
        "expected regret of failures",
        "2T * 2dA tau_0/T^2 = 4dA tau_0/T is below A^2 d^5 ln^2(48dT/beta) sqrt(T)",
        RUNS,
        never_dominant,
    ),
)

PRINTED = (
    Step(
        "one oracle",
        "LPLR run with delta fails with probability at most delta, as Definition 3.1 asks; what Lemma 4.5 "
        "gives is 2d delta",
        "all d >= 1",
        lambda: counterexample(oracle_budget, d=1, delta=Fraction(1, 10**12)),
        "run it with delta/(2d), or read delta = 1/T^2 as 2d/T^2; both change only the logarithm",
    ),
    *(step for step in UNION if step.label == "layer, delta_0"),
    *COMMON,
)

REPAIRED = (
    Step(
        "with delta/(2d)",
        "LPLR run with delta/(2d) fails with probability at most delta, and ln(48d 2d/(beta delta)) <= "
        "2 ln(48d/(beta delta)): 2d <= 96d <= 48d/(beta delta)",
        "all d >= 1, beta in (0, 1/2], delta in (0, 1]",
        lambda: at_most(2, 96),
    ),
    Step(
        "bins of one layer",
        "(M+1)^h delta_0 <= delta with delta_0 = delta (beta/1.5)^d",
        "all beta in (0, 1/2], h <= d",
        lambda: prove(all_bins, Box(beta=(0, "0.5"))),
    ),
    *COMMON,
)
