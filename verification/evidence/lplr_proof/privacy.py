r"""Proposition 4.1: sensitivities and normalisations in its proof.

Definition 3.1 compares a user's data with any other data: one cell is emptied and another filled, or y
changes sign. So every sensitivity is twice the printed one. The normalised statistic is
$\gamma^{k}y_h\phi_h$, not $\gamma^{-k}y_h\phi_h$. And no scale makes Wishart noise private: in one dimension
3 W_1(2, 1.5/alpha) is exponential with mean 9/alpha, and an output below x² is impossible under x.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from flint import arb

from verification.evidence.enclosure import Ball, Step, at_points, ball, exp
from verification.evidence.lplr_proof.bins import uncounted_bins
from verification.evidence.lplr_proof.tools import at_most, counterexample, identity, sum_of_squares
from verification.evidence.lplr_proof.vectors import residual

PAIRS = "all pairs of users (Definition 3.1)"
CELLS = "all layers, all k, gamma >= 1"
LEVELS = 3
"""M in the finite checks of routing; the argument does not depend on it."""


def level(norm: Fraction, gamma: Fraction) -> list[int]:
    """All k ≤ M with norm ≤ gamma^{−k}."""
    return [k for k in range(LEVELS + 1) if norm * gamma**k <= 1]


def routing(norm: Fraction, gamma: Fraction) -> Fraction:
    """0 if the maximum of {k ≤ M: norm ≤ gamma^−k} exists and brackets the norm as the proofs say."""
    found = level(norm, gamma)
    k = max(found, default=-1)
    inside = k >= 0 and norm * gamma**k <= 1 and (k == LEVELS or norm * gamma ** (k + 1) > 1)
    return Fraction(0 if inside else 1)


def route_all() -> list[dict[str, Fraction]]:
    """Norms on the edges, between them, and 0; gamma = 2 and 3/2."""
    norms = [Fraction(i, 16) for i in range(17)] + [Fraction(2, 3), Fraction(4, 9), Fraction(8, 27)]
    return [{"norm": x, "gamma": g} for x, g in product(norms, (Fraction(2), Fraction(3, 2)))]


def count_change(k: Fraction, other: Fraction) -> Fraction:
    """‖c − c'‖₁ − 1 for users in the bins k and k' of one layer."""
    one, two = ([int(j == i) for j in range(LEVELS + 1)] for i in (k, other))
    return Fraction(sum(abs(a - b) for a, b in zip(one, two, strict=True)) - 1)


def vector_change(y: Fraction, other: Fraction) -> Fraction:
    """‖y phi − y' phi‖₁ − √d for d = 4 and phi = (1, 1, 1, 1)/2 in the bin k = 0."""
    phi = [Fraction(1, 2)] * 4
    return sum((abs(y * x - other * x) for x in phi), Fraction(0)) - 2


def loss_of_normalised(gamma: Fraction, k: Fraction) -> Fraction:
    """Loss over alpha of a change of √d in gamma^{−k}y phi, less 1/3.

    Noise 3√d gamma^{−k}/alpha on y phi is 3√d gamma^{−2k}/alpha on gamma^{−k} y phi.
    """
    return 1 / (3 * gamma ** (-2 * int(k))) - Fraction(1, 3)


def output_below(limit: Fraction, phi: Fraction, alpha: Fraction) -> Ball:
    """P(phi² + 3 W_1(2, 1.5/alpha) < limit): the noise is exponential with mean 9/alpha."""
    room = limit - phi**2
    return 1 - exp(ball(-alpha * room / 9)) if room > 0 else arb(0)


def impossible_output(alpha: Fraction) -> Ball:
    """P(output < 1 | phi = 0) − e^{alpha/3} P(output < 1 | phi = 1), d = 1 (centring shifts both alike)."""
    below, other = (output_below(Fraction(1), Fraction(phi), alpha) for phi in (0, 1))
    return below - exp(ball(alpha / 3)) * other


STEPS = (
    Step(
        "number of bins",
        "layer h has L = M^h bins",
        "all beta in (0, 1/2], h >= 1",
        lambda: counterexample(uncounted_bins, beta="0.5", h=1),
        "(M+1)^h with the bins k = M, which count users too; privacy does not depend on the number",
    ),
    Step(
        "one bin per layer",
        "each phi belongs to exactly one bin of a layer",
        CELLS,
        lambda: at_points(routing, route_all()),
    ),
    Step(
        "sensitivity of counts",
        "the l1-sensitivity of the counts is 1",
        PAIRS,
        lambda: counterexample(count_change, k=0, other=1),
        "2: one cell is emptied and another filled; the release loses 2 alpha/3",
    ),
    Step(
        "counts, Laplace mechanism",
        "sensitivity 1 and noise 3 Lap(1/alpha) give a loss of alpha/3",
        "given the sensitivity",
        lambda: at_most(Fraction(1) / 3, Fraction(1, 3)),
    ),
    Step(
        "|y_h| <= 1",
        "|y_h| <= 1 by definition",
        "all layers",
        lambda: counterexample(residual, y=1, prediction="-0.4"),
        "true on the first layer; below it predictions have to be clipped, and then |y_h| <= 2",
    ),
    Step(
        "||phi_h|| <= gamma^-k",
        "gamma^(-k-1) < ||phi_h|| <= gamma^-k, the left part for k < M",
        CELLS,
        lambda: at_points(routing, route_all()),
    ),
    Step(
        "l1 and l2 norms",
        "||x||_1 <= sqrt(d) ||x||_2",
        "all d",
        sum_of_squares,
    ),
    Step(
        "normalised vector",
        "gamma^-k y_h phi_h has l1 norm at most sqrt(d), so lambda_hat with noise 3 sqrt(d) gamma^-k "
        "Lap(1/alpha) loses "
        "alpha/3; shown over alpha",
        CELLS,
        lambda: counterexample(loss_of_normalised, gamma=2, k=1),
        "gamma^(+k) y_h phi_h is the statistic in units of its noise; its norm is at most sqrt(d)",
    ),
    Step(
        "normalised vector, corrected",
        "gamma^k ||phi_h|| <= 1",
        CELLS,
        lambda: at_points(lambda norm, gamma: norm * gamma ** max(level(norm, gamma)) - 1, route_all()),
    ),
    Step(
        "sensitivity of vectors",
        "the l1-sensitivity of the vectors is sqrt(d)",
        PAIRS + ", here d = 4, phi = (1, 1, 1, 1)/2",
        lambda: counterexample(vector_change, y=1, other=-1),
        "2 sqrt(d): y changes sign, or two cells change; the release loses 2 alpha/3",
    ),
    Step(
        "vectors, Laplace mechanism",
        "sensitivity sqrt(d) gamma^-k and noise 3 sqrt(d) gamma^-k Lap(1/alpha) give a loss of alpha/3",
        "given the sensitivity",
        lambda: identity(lambda s: s / (3 * s) - Fraction(1, 3), s=2),
    ),
    Step(
        "normalised matrix",
        "||gamma^-k phi_h|| <= 1 (true and of no use: the units of the noise ask for gamma^k phi_h)",
        CELLS,
        lambda: at_points(
            lambda norm, gamma: norm / gamma ** max(level(norm, gamma)) - 1,
            route_all(),
        ),
    ),
    Step(
        "Wishart mechanism",
        "Lambda_hat is alpha/3-private by the Wishart mechanism",
        PAIRS + ", d = 1, phi = 0 against phi = 1",
        lambda: counterexample(impossible_output, alpha=1),
        "the support depends on the data and the loss is infinite; symmetric noise is needed",
    ),
    Step(
        "composition",
        "alpha/3 + alpha/3 + alpha/3 = alpha",
        "given the three",
        lambda: at_most(3 * Fraction(1, 3), 1),
    ),
)
