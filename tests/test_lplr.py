"""Algorithms 3-6 on sums without noise, where the answers are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpcb import problem as problems
from lpcb.engines import aggregate
from lpcb.lplr import ci
from lpcb.lplr.pcr import Components, pcr, project, top_component
from lpcb.lplr.update import Statistics, residual_range
from lpcb.partition import edges
from lpcb.spec import REPAIRS, Spec
from tests.runs import small_spec

seeds = st.integers(0, 2**32 - 1)


def orthonormal(rng: np.random.Generator, d: int, columns: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, d)))[0][:, :columns]


@given(st.integers(1, 5), seeds)
def test_projection_gives_the_guarantee_that_the_proof_needs(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    U = orthonormal(rng, d, int(rng.integers(d)))
    rest = np.eye(d) - U @ U.T
    root = rest @ rng.standard_normal((d, d))
    truth = root @ root.T
    noise = rng.standard_normal((d, d)) * 10 ** rng.uniform(-3, 1)
    X = truth + (noise + noise.T) / 2
    values, vectors = project(X, rest)
    projected = (vectors * values) @ vectors.T
    distance = np.linalg.norm(X - truth, 2)
    assert np.linalg.eigvalsh(projected)[0] >= -1e-9 * (1 + distance)
    assert np.allclose(projected @ U, 0, atol=1e-9 * (1 + distance))
    s, u = top_component(X, rest)
    assert abs(s - np.linalg.eigvalsh(truth)[-1]) <= distance + 1e-9
    if s > 1e-6:
        assert np.allclose(projected @ u, s * u, atol=1e-8 * (1 + s))
        assert np.linalg.norm(u) == pytest.approx(1)
        assert u[np.abs(u).argmax()] > 0
        # What Lemma 4.3 uses: u' Y = s u' for the compression Y, whose distance to the truth is no larger.
        assert np.allclose(u @ rest @ X @ rest, s * u, atol=1e-8 * (1 + distance + s))


def exact_sums(phi: np.ndarray, theta: np.ndarray, n: int) -> Statistics:
    moment = phi.T @ phi / len(phi)
    return Statistics(np.array([1.0 * n]), n * (moment @ theta)[None], n * moment[None])


@given(st.integers(1, 4), seeds)
def test_pcr_without_noise_finds_theta_along_u(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi = rng.standard_normal((6, d))
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    theta = rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    spec = small_spec(d=d, actions=1)
    n = 10**6
    fit = pcr(spec, n, np.array([0]), exact_sums(phi, theta, n), np.array([True]), np.eye(d)[None])
    u = fit.u[0]
    assert fit.active[0]
    assert np.allclose(fit.theta[0], u * (u @ theta), atol=1e-9)
    assert fit.s[0] == pytest.approx(np.linalg.eigvalsh(phi.T @ phi / 6)[-1])


def one_bin(spec: Spec, psi: float, matrix: np.ndarray, n: int = 10**6, k: int = 0, parent: bool = True):
    sums = Statistics(np.array([psi * n]), np.zeros((1, spec.d)), psi * n * matrix[None])
    return pcr(spec, n, np.array([k]), sums, np.array([parent]), np.eye(spec.d)[None])


def test_activity_threshold_is_strict_and_the_last_level_is_inactive() -> None:
    spec = Spec(d=2, actions=1, horizon=10**6, activation=1e-4)
    n = 10**6
    threshold = spec.kappa1 * spec.gamma**2 * 27 / math.sqrt(n)
    good = np.diag([0.9, 0.05])
    assert not one_bin(spec, threshold * (1 - 1e-9), good).active[0]
    assert one_bin(spec, threshold * (1 + 1e-9), good).active[0]
    assert one_bin(spec, 0.9, good, k=spec.M - 1).active[0]
    assert not one_bin(spec, 0.9, good, k=spec.M).active[0]
    assert not one_bin(spec, 0.9, good, parent=False).active[0]


def test_eigenvalue_guard() -> None:
    spec = small_spec(d=2)
    least = 1 / (4 * spec.gamma**2)
    assert one_bin(spec, 0.9, np.diag([least * 1.001, 0])).active[0]
    assert not one_bin(spec, 0.9, np.diag([least * 0.999, 0])).active[0]
    bare = small_spec(d=2, repairs=REPAIRS - {"eigenvalue-guard"})
    assert one_bin(bare, 0.9, np.diag([1e-12, 0])).active[0]
    with pytest.raises(ArithmeticError, match="eigenvalue-guard"):
        one_bin(bare, 0.9, -np.eye(2))


@given(st.integers(2, 5), seeds)
def test_nothing_left_is_exactly_nothing(d: int, seed: int) -> None:
    """A negative compression leaves s = 0 and u = 0, not a direction made of rounding errors."""
    rng = np.random.default_rng(seed)
    U = orthonormal(rng, d, int(rng.integers(1, d)))
    root = rng.standard_normal((d, d))
    s, u = top_component(-root @ root.T, np.eye(d) - U @ U.T)
    assert s == 0
    assert np.linalg.norm(u) in (0, pytest.approx(1))


def test_residual_range_is_two_below_the_first_layer() -> None:
    assert [residual_range(small_spec(), h) for h in (1, 2)] == [1.0, 2.0]
    bare = small_spec(repairs=REPAIRS - {"residual-range"})
    assert [residual_range(bare, h) for h in (1, 2)] == [1.0, 1.0]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_oracle_recovers_the_truth_when_noise_is_small(d: int) -> None:
    """At n = 10^17 noise is tiny: f_hat is f* and intervals with scaled constants are small and cover."""
    problem = problems.random(d, 2, 12, seed=d)
    spec = Spec(d=d, actions=2, horizon=10**18, activation=1e-4, width=0.02)
    rng = np.random.default_rng(d)
    oracle = aggregate.fit(problem, spec, np.full((1, 12, 2), 0.5), 10**17, rng)
    phi = problem.features.reshape(-1, d)
    f, delta = oracle(phi, np.tile([0, 1], 12))
    assert np.abs(f - problem.means.ravel()).max() < 0.01
    assert (np.abs(f - problem.means.ravel()) <= delta).all()
    assert np.median(delta) < 0.1


def test_interval_of_an_unfitted_oracle_is_the_norm() -> None:
    problem = problems.random(2, 1, 6, seed=0)
    spec = Spec(d=2, actions=1, horizon=10**6)
    oracle = aggregate.fit(problem, spec, np.ones((1, 6, 1)), 10**4, np.random.default_rng(0))
    phi = np.vstack([problem.features[:, 0], np.zeros((1, 2))])
    f, delta = oracle(phi, np.zeros(7, dtype=np.int64))
    assert (f == 0).all()
    assert np.allclose(delta, np.linalg.norm(phi, axis=1))
    assert delta[-1] == 0
    printed = Spec(d=2, actions=1, horizon=10**6, repairs=REPAIRS - {"dummy-width"})
    oracle = aggregate.fit(problem, printed, np.ones((1, 6, 1)), 10**4, np.random.default_rng(0))
    _, delta = oracle(phi, np.zeros(7, dtype=np.int64))
    assert delta[-1] == edges(printed)[-1] > 0


def test_a_bin_that_fails_the_second_threshold_forgets_its_fit() -> None:
    """No Spec reaches this, for the first threshold is always higher; the printed code still has it."""
    spec = Spec(d=1, actions=1, horizon=10**6)
    fit = Components(np.array([1e-9]), np.array([True]), np.ones((1, 1)), np.ones(1), np.full((1, 1), 0.7))
    where = 10**6, np.array([0]), fit, np.ones((1, 1, 1)), np.zeros(1)
    repaired = ci.bins(spec, *where)
    assert not repaired.active[0]
    assert (repaired.u, repaired.s, repaired.theta) == (0, 0, 0)
    printed = ci.bins(Spec(d=1, actions=1, horizon=10**6, repairs=frozenset()), *where)
    assert printed.active[0]
    assert not printed.open[0]
    assert printed.theta == 0.7


def test_cap_is_two_for_clipped_estimates_and_one_as_printed() -> None:
    assert ci.cap(small_spec()) == 2.0
    assert ci.cap(small_spec(repairs=frozenset())) == 1.0
