"""Ellipsoids, intervals and noise bounds of the baselines hold with the probability that they state."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lpcb import problem
from lpcb.arrays import Array, Bools, dot
from lpcb.baselines import (
    elimination_ls,
    input_perturbation,
    ldp_linucb,
    ldp_linucb_doubling,
    linucb,
    linucb_doubling,
    private_statistics,
)
from lpcb.baselines._data import Cells, summed_cells
from lpcb.baselines._least_squares import RIDGE, fit, log_det, norms
from lpcb.baselines._private import intervals, symmetric
from lpcb.baselines._run import Run

LEVEL = 1e-9
FAILURE = 0.2


def assert_rate(failed: Bools | np.bool_, claimed: float) -> None:
    """No more failures than a claimed rate explains; wrong by chance once in 10^9 runs."""
    most = stats.binom.isf(LEVEL, failed.size, claimed)
    assert failed.sum() <= most, f"{failed.sum()} of {failed.size} failed, at most {most:.0f} expected"


def uniform(run: Run) -> Array:
    instance = run.problem
    return np.full((run.seeds, instance.contexts, instance.actions), 1 / instance.actions)


def test_sherman_morrison_is_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    state, V, b = linucb.start(4, 3), np.tile(np.eye(3), (4, 1, 1)) * RIDGE, np.zeros((4, 3))
    for _ in range(500):
        phi, y = rng.uniform(-0.5, 0.5, (4, 3)), rng.uniform(-1, 1, 4)
        state = linucb.learn(state, phi, y)
        V, b = V + phi[:, :, None] * phi[:, None, :], b + y[:, None] * phi
    np.testing.assert_allclose(state.inverse, np.linalg.inv(V), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(state.theta, np.linalg.solve(V, b[..., None])[..., 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.logdet, np.linalg.slogdet(V / RIDGE)[1], rtol=1e-10)


def test_least_squares_against_normal_equations() -> None:
    rng = np.random.default_rng(12)
    phi, counts = rng.uniform(-0.5, 0.5, (6, 3)), rng.integers(0, 5, (4, 6)).astype(np.float64)
    sums = counts * rng.uniform(-1, 1, (4, 6))
    V = np.eye(3) + np.einsum("sc,ci,cj->sij", counts, phi, phi)
    theta, R = fit(phi, counts, sums)
    s = phi @ np.linalg.inv(V)
    np.testing.assert_allclose(R.swapaxes(1, 2) @ R, V, atol=1e-12)
    np.testing.assert_allclose(theta, np.linalg.solve(V, (sums @ phi)[..., None])[..., 0], atol=1e-12)
    np.testing.assert_allclose(norms(R, phi)[0], np.sqrt(dot(s, phi)), atol=1e-12)
    np.testing.assert_allclose(norms(R, phi)[1], np.linalg.norm(s, axis=-1), atol=1e-12)
    np.testing.assert_allclose(log_det(R), np.linalg.slogdet(V)[1], atol=1e-12)


def test_least_squares_keeps_few_users_beside_very_many() -> None:
    """10^18 users at (0.6, 0.8) and 50 at its orthogonal: the 50 still count, which V in float64 forgets."""
    phi, counts = np.array([[0.6, 0.8], [-0.8, 0.6]]), np.array([[1e18, 50.0]])
    theta, R = fit(phi, counts, counts * np.array([0.25, -0.5]))
    np.testing.assert_allclose(phi @ theta[0], [0.25, -0.5 * 50 / 51], atol=1e-6)
    np.testing.assert_allclose(norms(R, phi)[0][0], [1e-9, 1 / math.sqrt(51)], rtol=1e-6)


def test_linucb_ellipsoid_holds_at_all_times() -> None:
    """An adaptive design, the one LinUCB makes, with theta on the sphere; all t up to 200."""
    instance, seeds = problem.random(2, 3, 4, seed=3), 1000
    rng, seed = np.random.default_rng(1), np.arange(seeds)
    state, outside = linucb.start(seeds, 2), np.zeros(seeds, dtype=np.bool_)
    for _ in range(200):
        x = rng.choice(4, seeds, p=instance.weights)
        phi = instance.features[x]
        a = linucb.upper(state, phi, FAILURE).argmax(axis=1)
        state = linucb.learn(state, phi[seed, a], instance.draw_reward(instance.means[x, a], rng))
        error = state.theta - instance.theta
        size = np.sqrt(dot((np.linalg.inv(state.inverse) @ error[..., None])[..., 0], error))
        outside |= size > linucb.radius(state.logdet, FAILURE)
    assert_rate(outside, FAILURE)


def test_linucb_radius_is_not_slack_by_more_than_a_small_factor() -> None:
    """Uninformative designs fail an ellipsoid of a third of the radius: the check above can fail."""
    rng, seeds = np.random.default_rng(2), 400
    state, phi = linucb.start(seeds, 1), np.ones((seeds, 1))
    largest = np.zeros(seeds)
    for _ in range(300):
        state = linucb.learn(state, phi, np.where(rng.random(seeds) < 0.5, 1.0, -1.0))
        size = np.abs(state.theta[:, 0]) / np.sqrt(state.inverse[:, 0, 0])
        largest = np.maximum(largest, size / linucb.radius(state.logdet, FAILURE))
    assert np.mean(largest > 1 / 3) > 0.5


@pytest.mark.parametrize("n", [30, 3000, 10**12, 10**18])
def test_upper_bounds_of_the_doubling_form(n: int) -> None:
    run = Run(problem.random(3, 3, 4, seed=3), n, 1.0, 1500, np.random.default_rng(3), [n])
    cells = summed_cells(run, uniform(run), n)
    upper = linucb_doubling.upper(run.problem, cells, FAILURE)[0]
    assert_rate((upper < run.problem.means).any(axis=(1, 2)), FAILURE)
    if n >= 10**12:
        assert np.all(upper < run.problem.means + 100 / math.sqrt(n))


@pytest.mark.parametrize("n", [30, 3000, 10**12, 10**18])
@pytest.mark.parametrize("name", ["random", "line"])
def test_least_squares_intervals_cover(n: int, name: str) -> None:
    instance = problem.random(2, 3, 4, seed=3) if name == "random" else problem.line(2, 3, 4, seed=3)
    run = Run(instance, n, 1.0, 1500, np.random.default_rng(4), [n])
    cells = summed_cells(run, uniform(run), n)
    f_hat, width = elimination_ls.intervals(instance, cells, FAILURE)
    assert_rate((np.abs(f_hat - instance.means) > width).any(axis=(1, 2)), FAILURE)
    assert width.max() <= 2
    if n >= 10**12:
        assert width.max() < 200 / math.sqrt(n), "the line's design of rank one included"


def test_least_squares_intervals_are_those_of_the_derivation() -> None:
    """The share of the ridge in the width is too small for coverage alone to miss it."""
    instance, rng = problem.random(3, 2, 4, seed=3), np.random.default_rng(13)
    counts = rng.integers(0, 4, (1, 4, 2)).astype(np.float64)
    sums = counts * rng.uniform(-1, 1, (1, 4, 2))
    f_hat, width = elimination_ls.intervals(instance, Cells(counts, sums), FAILURE)
    for a in range(2):
        phi = instance.features[:, a]
        s = phi @ np.linalg.inv(RIDGE * np.eye(3) + phi.T @ (counts[0, :, a, None] * phi))
        noise = math.sqrt(2 * math.log(2 * 4 * 2 / FAILURE)) * np.sqrt(dot(s, phi))
        expected = noise + RIDGE * np.linalg.norm(s, axis=-1)
        np.testing.assert_allclose(width[0, :, a], np.minimum(expected, 2), rtol=1e-10)
        np.testing.assert_allclose(f_hat[0, :, a], s @ phi.T @ sums[0, :, a], atol=1e-12)
    assert np.any(width < 2)


def test_least_squares_intervals_are_sharp() -> None:
    """One context, one action: the width is within a factor two of what coverage 1 - FAILURE needs."""
    instance = problem.case_1(0.5, theta=(0.0, 0.0))
    run = Run(instance, 10**6, 1.0, 4000, np.random.default_rng(5), [1])
    cells = summed_cells(run, uniform(run), 10**6)
    f_hat, width = elimination_ls.intervals(instance, cells, FAILURE)
    assert np.mean((np.abs(f_hat) > width / 2).any(axis=(1, 2))) > FAILURE


@pytest.mark.parametrize("t", [20, 2000, 10**12])
def test_private_linucb_ellipsoid(t: int) -> None:
    """theta* on the sphere is inside, as stated for one look: three events of FAILURE / 3."""
    instance = problem.random(3, 2, 4, seed=6)
    run = Run(instance, 1000, 1.0, 1500, np.random.default_rng(6), [1])
    sigma = ldp_linucb.noise_scale(3, 1.0, 1000)
    gram, moment = ldp_linucb_doubling.summed_reports(run, uniform(run), np.full(1500, t), sigma)
    theta, inverse, radius = ldp_linucb.ellipsoid(ldp_linucb.State(t, gram, moment), sigma, FAILURE / 3)
    H = np.linalg.inv(inverse)
    error = theta - instance.theta
    size = dot((H @ error[..., None])[..., 0], error)
    unsound = np.linalg.eigvalsh(H)[:, 0] <= 0
    assert_rate(unsound | (size > radius**2), FAILURE)
    if t <= 2000:
        assert np.median(size) > (radius / 5) ** 2, "where noise rules, the radius is not far from the error"


@pytest.mark.parametrize("d", [1, 2, 5])
def test_shift_bounds_the_noise_of_private_linucb(d: int) -> None:
    p, sigma, n = 0.05, 3.0, 7
    W, _ = ldp_linucb.noise(sigma, n, d, np.random.default_rng(7), 5000)
    size = np.abs(np.linalg.eigvalsh(W)).max(axis=1)
    assert_rate(size > ldp_linucb.shift(n, d, sigma, p), p)
    assert np.mean(size > ldp_linucb.shift(n, d, sigma, p) / 2.5) > p, "a smaller shift would be noticed"


@pytest.mark.parametrize("n", [1, 10, 10**6, 10**17])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_noise_bounds_of_private_statistics(n: int, d: int) -> None:
    b, p, seeds = 2.0, 0.05, 3000
    U, r = private_statistics.bounds(n, d, b, p)
    instance = problem.random(d, 2, 2)
    run = Run(instance, 10, 1.0, seeds, np.random.default_rng(8), [1])
    clean, noisy = (
        private_statistics.summed_statistics(
            Run(instance, 10, 1.0, seeds, np.random.default_rng(8), [1]), uniform(run), n, scale
        )
        for scale in (0.0, b)
    )
    W, xi = noisy[0] - clean[0], noisy[1] - clean[1]
    failed = (np.abs(np.linalg.eigvalsh(W)).max(axis=-1) > U) | (np.linalg.norm(xi, axis=-1) > r)
    assert_rate(failed[:, 0], 3 * p)
    if n >= 10**6:  # where sums are near normal the bounds are sharp: smaller ones would be noticed
        assert np.mean(np.linalg.norm(xi[:, 0], axis=-1) > r / 3) > 3 * p
        assert np.mean(np.abs(np.linalg.eigvalsh(W)).max(axis=-1)[:, 0] > U / 6) > 3 * p


@pytest.mark.parametrize("n", [50, 2000])
def test_noise_bounds_of_input_perturbation(n: int) -> None:
    """Statistics less those of the same users without noise; one action suffices, all have the same law."""
    d, b, p, seeds = 2, 1.5, 0.2, 400
    U, r = input_perturbation.bounds(n, d, b, p)
    instance = problem.random(d, 1, 1, seed=4, reward="noiseless")  # every user is the same
    run = Run(instance, n, 1.0, seeds, np.random.default_rng(9), [1])
    gram, moment = input_perturbation.drawn_statistics(run, uniform(run), n, b)
    phi, y = instance.features[0, 0], instance.means[0, 0]
    W, xi = (gram[:, 0] - n * np.outer(phi, phi)), moment[:, 0] - n * y * phi
    size = np.abs(np.linalg.eigvalsh(W)).max(axis=-1)
    assert_rate((size > U) | (np.linalg.norm(xi, axis=-1) > r), p)
    # Unbiased: means within 7 standard errors, which a forgotten correction 2 n b^2 is far beyond.
    for entries in (W.reshape(seeds, -1), xi):
        assert np.all(np.abs(entries.mean(axis=0)) < 7 * entries.std(axis=0) / math.sqrt(seeds))
    assert np.median(size) > U / 30


@pytest.mark.parametrize("n", [100, 10**7, 10**10, 10**17])
def test_private_statistics_intervals_cover(n: int) -> None:
    instance = problem.random(2, 2, 4, seed=5)
    run = Run(instance, n, 1.0, 1500, np.random.default_rng(10), [1])
    b = private_statistics.l1_sensitivity(2)
    p = FAILURE / (4 * instance.actions)
    U, r = private_statistics.bounds(n, 2, b, p)
    gram, moment = private_statistics.summed_statistics(run, uniform(run), n, b)
    f_hat, width = intervals(instance, gram, moment, U, r, p / instance.contexts)
    assert_rate((np.abs(f_hat - instance.means) > width).any(axis=(1, 2)), FAILURE)
    assert np.all(width <= 2)
    if n >= 10**10:
        assert width.max() < 1, "the interval says something"


def test_intervals_cover_whatever_the_noise_inside_its_bounds() -> None:
    """No probability: noise on the edge of ||W|| <= U and ||xi|| <= r, noiseless rewards."""
    instance, rng, seeds = (
        problem.random(3, 1, 6, seed=7, reward="noiseless"),
        np.random.default_rng(11),
        2000,
    )
    weights = rng.dirichlet(np.ones(6) / 3, seeds) * rng.choice([10.0, 1e3, 1e5], (seeds, 1))
    phi = instance.features[:, 0]
    Lambda = np.einsum("sk,ki,kj->sij", weights, phi, phi)
    W, xi = rng.standard_normal((seeds, 3, 3)), rng.standard_normal((seeds, 3))
    W = W + W.swapaxes(1, 2)
    U, r = 50.0, 30.0
    W *= U / np.abs(np.linalg.eigvalsh(W)).max(axis=-1)[:, None, None]
    xi *= r / np.linalg.norm(xi, axis=-1, keepdims=True)
    moment = Lambda @ instance.theta + xi
    f_hat, width = intervals(instance, (Lambda + W)[:, None], moment[:, None], U, r, 0.5)
    error = np.abs(f_hat - instance.means)
    assert np.all(error <= width + 1e-12)
    assert np.max(error / width) > 0.3
    assert width.min() < 0.1


def test_an_impossible_gram_matrix_says_nothing() -> None:
    instance = problem.random(2, 1, 2)
    gram = -10.0 * np.eye(2)[None, None]
    f_hat, width = intervals(instance, gram, np.ones((1, 1, 2)), 1.0, 1.0, 0.1)
    assert np.all(f_hat == 0)
    assert np.all(width == 2)


def test_symmetric_fills_both_triangles() -> None:
    full = symmetric(np.array([1.0, 2, 3, 4, 5, 6]), 3)
    assert np.array_equal(full, [[1, 2, 3], [2, 4, 5], [3, 5, 6]])
