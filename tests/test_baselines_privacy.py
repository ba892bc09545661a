"""The private baselines add the noise that they promise: sensitivities by search, delta by quadrature."""

from __future__ import annotations

import math
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from flint import arb, ctx
from scipy import integrate, optimize, stats

from lpcb.arrays import Array
from lpcb.baselines import input_perturbation, ldp_linucb, private_statistics
from lpcb.baselines._data import Users
from lpcb.baselines._gaussian import gaussian_scale, log_delta
from lpcb.problem import Problem

LEVEL = 1e-9


def ball(z: Array) -> Array:
    """Onto the unit ball."""
    return z / max(1.0, float(np.linalg.norm(z)))


def frobenius_statistic(phi: Array, y: float) -> Array:
    """(M_ii, sqrt(2) M_ij, y phi): distances are Frobenius on M = phi phi'."""
    i, j = np.triu_indices(len(phi))
    return np.concatenate([np.outer(phi, phi)[i, j] * np.where(i == j, 1, math.sqrt(2)), y * phi])


def largest_distance(d: int, seed: int) -> float:
    """By local search from random pairs over the unit ball and rewards in [-1, 1]."""

    def minus(z: Array) -> float:
        one, two = ball(z[:d]), ball(z[d : 2 * d])
        y = np.clip(z[2 * d :], -1, 1)
        return -float(np.linalg.norm(frobenius_statistic(one, y[0]) - frobenius_statistic(two, y[1])))

    rng = np.random.default_rng(seed)
    starts = rng.standard_normal((12, 2 * d + 2))
    return max(-float(optimize.minimize(minus, z, method="Nelder-Mead").fun) for z in starts)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_l2_sensitivity_is_attained_and_not_exceeded(d: int) -> None:
    found = max(largest_distance(d, seed) for seed in range(3))
    assert found <= ldp_linucb.l2_sensitivity(d) + 1e-9
    assert found >= ldp_linucb.l2_sensitivity(d) - 1e-3


def test_l2_sensitivity_at_the_worst_pair() -> None:
    one, two = np.array([1.0, 0.0]), np.array([0.5, math.sqrt(0.75)])
    distance = np.linalg.norm(frobenius_statistic(one, 1.0) - frobenius_statistic(two, -1.0))
    assert distance == pytest.approx(ldp_linucb.l2_sensitivity(2), rel=1e-12)


def test_noise_of_the_gram_matrix_is_isotropic_in_those_coordinates() -> None:
    """Covariance of 10^5 draws against sigma^2 I, each of 45 entries within 7 standard errors (1e-9)."""
    draws, d, sigma = 100_000, 3, 2.0
    W, xi = ldp_linucb.noise(sigma, 1, d, np.random.default_rng(0), draws)
    i, j = np.triu_indices(d)
    assert np.array_equal(W, W.swapaxes(1, 2))
    coordinates = np.concatenate([W[:, i, j] * np.where(i == j, 1, math.sqrt(2)), xi], axis=1)
    covariance = coordinates.T @ coordinates / draws
    assert np.abs(covariance - sigma**2 * np.eye(9)).max() < 7 * sigma**2 * math.sqrt(2 / draws)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-12])
def test_the_gaussian_mechanism_spends_its_delta_exactly(epsilon: float, delta: float) -> None:
    """delta(epsilon) = integral of (p - e^epsilon q)+ for N(1, s^2) and N(0, s^2), by quadrature."""
    s = gaussian_scale(1.0, epsilon, delta)

    def excess(x: float) -> float:
        return float(stats.norm.pdf(x, 1, s) - math.exp(epsilon) * stats.norm.pdf(x, 0, s))

    cut = epsilon * s * s + 0.5  # the densities' ratio is e^epsilon here
    points = np.linspace(cut, cut + 15 * s, 61)
    value = math.fsum(integrate.quad(excess, a, b, epsabs=0, epsrel=1e-10)[0] for a, b in pairwise(points))
    assert value == pytest.approx(delta, rel=1e-6)
    assert math.exp(log_delta(epsilon, s)) == pytest.approx(delta, rel=1e-8)
    assert math.exp(log_delta(epsilon, 0.99 * s)) > 1.01 * delta, "one percent less noise is too little"


@pytest.mark.parametrize("epsilon", [1e-8, 1e-14, 1e-20])
@pytest.mark.parametrize("delta", [1e-6, 1e-18])
def test_wide_noise_spends_its_delta_too(epsilon: float, delta: float) -> None:
    """Balle & Wang's formula in ball arithmetic: in doubles its two terms are equal there."""
    before, ctx.prec = ctx.prec, 300
    try:
        r, e = arb(gaussian_scale(1.0, epsilon, delta)), arb(epsilon)
        near, far = (-(sign / (2 * r) - e * r) / arb(2).sqrt() for sign in (1, -1))
        assert float((near.erfc() - e.exp() * far.erfc()) / 2) == pytest.approx(delta, rel=1e-8)
    finally:
        ctx.prec = before


def test_the_noise_level_is_that_of_the_promise() -> None:
    for d, alpha, horizon in [(3, 1.0, 1000), (2, 0.3, 10**18), (1, 1.0, 10**7)]:
        sigma = ldp_linucb.noise_scale(d, alpha, horizon)
        ratio = sigma / ldp_linucb.l2_sensitivity(d)
        assert math.exp(log_delta(alpha, ratio)) == pytest.approx(min(1e-6, 1 / horizon), rel=1e-6)


@pytest.mark.parametrize("bad", [(0.0, 1.0, 0.1), (1.0, 0.0, 0.1), (1.0, 1.0, 0.0), (1.0, 1.0, 1.0)])
def test_the_gaussian_mechanism_refuses_what_makes_no_sense(bad: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="sensitivity and epsilon are positive"):
        gaussian_scale(*bad)


def table(module: ModuleType, phi: Array, action: int, y: float) -> Array:
    """What a user's report would be without noise."""
    features = np.zeros((1, 2, len(phi)))
    features[0, action] = phi
    user = Users(np.zeros((1, 1), dtype=np.int64), np.array([[action]]), np.array([[y]]))
    problem = Problem(features, np.ones(1), np.zeros(len(phi)))
    clean: Array = module.reports(problem, user, 0.0, np.random.default_rng(0))[0, 0]
    return clean


@pytest.mark.parametrize("module", [private_statistics, input_perturbation])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_l1_sensitivity_of_the_whole_table(module: ModuleType, d: int) -> None:
    """Search over pairs of users, actions included; the bound is attained at the corner of the ball."""
    sensitivity = float(module.l1_sensitivity(d))
    rng = np.random.default_rng(d)
    for _ in range(400):
        one, two = (ball(rng.standard_normal(d) * 3) for _ in range(2))
        y, z = np.sign(rng.standard_normal(2)) * rng.random(2) ** 0.2
        a, b = rng.integers(0, 2, 2)
        assert np.abs(table(module, one, a, y) - table(module, two, b, z)).sum() <= sensitivity + 1e-9
    corner = np.full(d, 1 / math.sqrt(d))
    worst = np.abs(table(module, corner, 0, 1.0) - table(module, corner, 1, 1.0)).sum()
    assert worst == pytest.approx(sensitivity, rel=1e-12)


@pytest.mark.parametrize("module", [private_statistics, input_perturbation])
def test_every_entry_of_the_table_gets_laplace_noise_of_its_scale(module: ModuleType) -> None:
    """Rows of actions not taken as well; Kolmogorov-Smirnov at level 1e-9 for each entry."""
    draws, d, b = 4000, 2, 1.7
    features = np.array([[[0.6, 0.2], [0.1, -0.3], [0.0, 0.5]]])
    users = Users(
        np.zeros((1, draws), dtype=np.int64), np.ones((1, draws), dtype=np.int64), np.ones((1, draws))
    )
    problem = Problem(features, np.ones(1), np.zeros(d))
    noisy = module.reports(problem, users, b, np.random.default_rng(1))[0]
    clean = module.reports(problem, users, 0.0, np.random.default_rng(1))[0]
    entries = (noisy - clean).reshape(draws, -1)
    bound = math.sqrt(math.log(2 / LEVEL) / (2 * draws))
    for column in entries.T:
        assert stats.kstest(column, stats.laplace(0, b).cdf).statistic <= bound
    correlation = np.corrcoef(entries.T) - np.eye(entries.shape[1])
    assert np.abs(correlation).max() < 7 / math.sqrt(draws)
