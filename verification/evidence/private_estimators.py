r"""Private regression on a design: estimators that claims compare, and what is known of all of them at once.

A *design* is a problem with one action. Every estimator returns predictions at the design's points, shape
(seeds, K), so that mean-square and mean absolute errors are weighted sums over points.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from lpcb.arrays import Array
from lpcb.engines.aggregate import fit
from lpcb.problem import Problem
from lpcb.spec import Spec
from lpcb.sums import binomial, laplace_sum, multinomial_counts, sign_sum

CHUNK = 2**16
"""Users of one seed that are held in memory."""


def points(design: Problem) -> Array:
    if design.actions != 1:
        raise ValueError(f"a design has one action, not {design.actions}")
    return design.features[:, 0, :]


def mean_absolute(design: Problem, predictions: Array) -> Array:
    """E_φ |prediction − φ'θ*| for each seed."""
    out: Array = np.abs(predictions - design.means[:, 0]) @ design.weights
    return out


def mean_square(design: Problem, predictions: Array) -> Array:
    out: Array = (predictions - design.means[:, 0]) ** 2 @ design.weights
    return out


# --- layered regression -----------------------------------------------------------------------------------


def lplr(design: Problem, spec: Spec, n: int, seeds: int, rng: np.random.Generator) -> Array:
    """Predictions of LPLR from n users, a quarter of them in each of its 2d = 4 batches."""
    oracle = fit(design, spec, np.ones((seeds, design.contexts, 1)), n // (2 * design.d), rng)
    at = np.tile(points(design), (seeds, 1))
    found, _ = oracle(at, np.repeat(np.arange(seeds), design.contexts))
    return found.reshape(seeds, design.contexts)


# --- least squares from noisy moments ---------------------------------------------------------------------


def ball_least_squares(gram: Array, moment: Array) -> Array:
    """argmin θ'Gθ − 2m'θ over ‖θ‖ ≤ 1, also where noise has made G indefinite.

    With G's eigenvalues λ_1 ≤ λ_2 ≤ … and c = V'm the minimiser is V c/(λ_i − λ_1 + κ) with κ ≥ max(λ_1, 0)
    the smallest for which its norm is at most one; that κ lies between |c_1| and ‖c‖ unless it is λ_1.
    """
    values, vectors = np.linalg.eigh(gram)
    c = np.einsum("...ij,...i->...j", vectors, moment)
    lifted = values - values[..., :1]
    low, high = np.abs(c[..., 0]), np.linalg.norm(c, axis=-1)
    for _ in range(60):
        middle = (low + high) / 2
        inside = np.sum((c / (lifted + middle[..., None])) ** 2, axis=-1) <= 1
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    kappa = np.maximum(high, values[..., 0])
    theta: Array = np.einsum("...ij,...j->...i", vectors, c / (lifted + kappa[..., None]))
    return theta


def sufficient_statistics(
    design: Problem, n: int, scale: float, seeds: int, rng: np.random.Generator, units: Array
) -> tuple[Array, Array]:
    """Means of φφ' and yφ with Laplace noise on every entry, by the exact law of the sums.

    ``units`` divides each coordinate of φ before it is released; the result is in these units.
    """
    at = points(design) / units
    counts = multinomial_counts(n, np.broadcast_to(design.weights, (seeds, design.contexts)), rng)
    means = np.broadcast_to(design.means[:, 0], counts.shape)
    rewards = sign_sum(counts, means, rng) if design.reward == "sign" else counts * means
    d = design.d
    i, j = np.triu_indices(d)
    noise = laplace_sum(scale, n, rng, (seeds, d * (d + 3) // 2))
    gram = np.einsum("sk,ki,kj->sij", counts.astype(np.float64), at, at)
    gram[:, i, j] += noise[:, :-d]
    gram[:, j, i] = gram[:, i, j]
    return gram / n, (rewards @ at + noise[:, -d:]) / n


def statistics_scale(d: int, alpha: float) -> float:
    """l1 sensitivity of (upper triangle of φφ', yφ) for ‖φ‖ ≤ 1 is at most (1 + √d)², see the baseline."""
    return (1 + math.sqrt(d)) ** 2 / alpha


def box_scale(d: int, alpha: float) -> float:
    """The same for |φ_j| ≤ 1: twice d(d+1)/2 + d."""
    return d * (d + 3) / alpha


def perturbed_moments(
    design: Problem, n: int, scale: float, seeds: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Input perturbation: means of φ̃φ̃' − 2b²I and φ̃ỹ, every user's noise drawn.

    Users of one context are interchangeable, so they are put one context after the other.
    """
    if design.reward != "noiseless":
        raise ValueError(f"the theorem's rewards are noiseless, not {design.reward!r}")
    centre = np.column_stack([points(design), design.means[:, 0]])
    width = centre.shape[1]
    total = np.zeros((seeds, width, width))
    counts = multinomial_counts(n, np.broadcast_to(design.weights, (seeds, design.contexts)), rng)
    for seed in range(seeds):
        for context, count in enumerate(counts[seed]):
            for start in range(0, int(count), CHUNK):
                z = rng.laplace(0.0, scale, (min(CHUNK, int(count) - start), width)) + centre[context]
                total[seed] += z.T @ z
    d = design.d
    return total[:, :d, :d] / n - 2 * scale**2 * np.eye(d), total[:, :d, d] / n


def limit_moments(
    design: Problem, n: int, scale: float, seeds: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    r"""As :func:`perturbed_moments`, in the limit law of n → ∞, at a cost that does not depend on n.

    Counts are exact. Sums of ζ_j, ζ_j² − 2b² and ζ_jζ_k (variances 2b², 20b⁴, 4b⁴ a user) are uncorrelated
    and drawn as independent normals. Their standardised absolute third moments are 2.13, 6.71 and 4.5 at
    most, so each is within 3.2/√n of normal (Berry and Esseen, constant 0.4748), 3.2e-4 at n = 10^8.
    """
    if design.reward != "noiseless":
        raise ValueError(f"the theorem's rewards are noiseless, not {design.reward!r}")
    centre = np.column_stack([points(design), design.means[:, 0]])
    d, width = design.d, centre.shape[1]
    counts = multinomial_counts(n, np.broadcast_to(design.weights, (seeds, design.contexts)), rng)
    root = np.sqrt(2.0 * counts) * scale
    sums = root[..., None] * rng.standard_normal((seeds, design.contexts, width))
    cross = np.einsum("ki,skj->sij", centre, sums)
    normal = rng.standard_normal((seeds, width, width))
    noise = 2 * scale**2 * math.sqrt(n) * np.triu(normal, 1)
    noise = noise + np.swapaxes(noise, 1, 2)
    each = np.arange(width)
    noise[:, each, each] = math.sqrt(20.0 * n) * scale**2 * normal[:, each, each]
    fixed = np.einsum("sk,ki,kj->sij", counts.astype(np.float64), centre, centre)
    total = (fixed + cross + np.swapaxes(cross, 1, 2) + noise) / n
    return total[:, :d, :d], total[:, :d, d]


def predictions(design: Problem, gram: Array, moment: Array) -> Array:
    """Of constrained least squares."""
    out: Array = ball_least_squares(gram, moment) @ points(design).T
    return out


def perturbed_upper_bound(n: float, d: int, alpha: float) -> float:
    r"""E MAD of constrained least squares on perturbed inputs is at most this, for *every* design and θ*.

    Let W and ξ be the errors of the two moments and F(θ) = θ'Λθ − 2μ'θ, F̂ its estimate. With μ = Λθ*,
    MSE = F(θ̂) − F(θ*) ≤ (F − F̂)(θ̂) − (F − F̂)(θ*) ≤ 2‖W‖ + 4‖ξ‖ on the unit ball, and E MAD ≤ √(E MSE) by
    Jensen. With b = 1/α, ‖φ‖ ≤ 1 and |y| ≤ 1 the variances of the entries add up to
    n E‖W‖_F² ≤ 1 + b²(8 + 4(d−1)) + b⁴(20d + 4d(d−1)) and n E‖ξ‖² ≤ 1 + 2b²(1 + d) + 4d b⁴.
    """
    b = 1 / alpha
    gram = 1 + b**2 * (8 + 4 * (d - 1)) + b**4 * (20 * d + 4 * d * (d - 1))
    moment = 1 + 2 * b**2 * (1 + d) + 4 * d * b**4
    return math.sqrt((2 * math.sqrt(gram) + 4 * math.sqrt(moment)) / math.sqrt(n))


# --- the rare direction of Theorem 2.1 ---------------------------------------------------------------------


def response_posterior(
    rare: float, n: int, alpha: float, ones: bool, draws: int, rng: np.random.Generator
) -> Array:
    """Posterior mean of θ_2 in {0, 1} from randomized response on the bit [φ = e_2 and y = 1].

    Without noise in y the bit has mean ρ if θ_2 = 1 (``ones``) and is zero otherwise; no binary channel tells
    the two apart better.
    """
    truth = 1 / (1 + math.exp(-alpha))
    low, shift = 1 - truth, rare * (2 * truth - 1)
    count = binomial(np.full(draws, n), low + shift * ones, rng)
    log_odds = count * math.log1p(shift / low) + (n - count) * math.log1p(-shift / truth)
    out: Array = special.expit(log_odds)
    return out


def rare_test_error(rare: float, n: float, alpha: float) -> float:
    """Mean error of any test of θ_2 = 0 or 1 from alpha-LDP reports of n users, at least this.

    Reports q(z|x) lie in [m(z), e^α m(z)]. So |Q_0 − Q_1|(z) ≤ m(z)(e^α − 1) TV(P_0, P_1) and Q_1(z) ≥ m(z),
    and χ² ≤ (e^α − 1)² ρ², adaptive or not; then Pinsker.
    """
    kl = math.expm1(alpha) ** 2 * rare**2
    return max(0.0, (1 - math.sqrt(n * kl / 2)) / 2)
