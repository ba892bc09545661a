"""Every randomizer: its draws have its density, its loss is the supremum it claims, its sums have its law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lpcb.arrays import Array
from lpcb.mechanisms import Laplace, Mechanism, SymmetricLaplace, Wishart

D = 2
UNITS = np.array([1.0, 0.25])


def outer(*vectors: list[float]) -> Array:
    v = np.array(vectors)
    return v[:, :, None] * v[:, None, :]


# name: (mechanism, value, other); the loss of value over other is finite, for Wishart because value >= other.
CASES: dict[str, tuple[Mechanism, Array, Array]] = {
    "count": (Laplace(np.ones(2), 2.0, 1 / 3), np.array([1.0, 0.0]), np.array([0.0, 1.0])),
    "vector": (
        Laplace(UNITS[:, None], 2 * math.sqrt(D), 1 / 3),
        np.array([[0.6, -0.8], [0.0, 0.0]]),
        np.array([[0.0, 0.0], [0.25, 0.0]]),
    ),
    "symmetric": (
        SymmetricLaplace(UNITS**2, D + 1.0, 1 / 3, D),
        outer([0.6, 0.8], [0.0, 0.0]),
        outer([0.0, 0.0], [0.25, 0.0]),
    ),
    "wishart": (Wishart(UNITS**2, 1.0, 1 / 3, D), outer([0.6, 0.8], [0.2, 0.0]), outer([0, 0], [0, 0])),
}
names = pytest.mark.parametrize("name", CASES)


@names
def test_ratio_of_densities_averages_to_one(name: str) -> None:
    """E_other[p_value / p_other] = 1: true only if draws of ``other`` have the density claimed for them."""
    mechanism, value, other = CASES[name]
    n, worst = 100_000, math.exp(mechanism.loss(value, other))
    z = mechanism.release(other, np.random.default_rng(1), n)
    ratio = np.exp(mechanism.log_density(z, value) - mechanism.log_density(z, other))
    assert ratio.max() <= worst * (1 + 1e-9)
    # Hoeffding on [0, worst]: a correct mechanism fails with probability 1e-9.
    assert abs(ratio.mean() - 1) <= worst * math.sqrt(math.log(2e9) / (2 * n))


@names
def test_loss_is_attained_and_never_exceeded(name: str) -> None:
    mechanism, value, other = CASES[name]
    z = mechanism.release(value, np.random.default_rng(2), 20_000)
    z = np.concatenate([z, value[None], other[None], (value + other)[None] / 2])
    loss = mechanism.log_density(z, value) - mechanism.log_density(z, other)
    exact = mechanism.loss(value, other)
    assert loss.max() <= exact + 1e-9
    assert loss.max() == pytest.approx(exact)
    assert mechanism.loss(value, value) == 0


@names
def test_one_draw_of_the_sum_has_the_law_of_the_sum(name: str) -> None:
    mechanism, value, _ = CASES[name]
    rng, users, repeats = np.random.default_rng(3), 7, 4000
    direct = mechanism.release(value, rng, users * repeats).reshape(repeats, users, -1).sum(axis=1)
    drawn = np.stack([mechanism.release_sum(users * value, users, rng).ravel() for _ in range(repeats)])
    directions = np.vstack([np.eye(direct.shape[1]), rng.standard_normal((4, direct.shape[1]))])
    # Two-sample Kolmogorov-Smirnov per direction, false alarm 1e-9 each; detects a distance of about 0.08.
    for direction in directions:
        assert stats.ks_2samp(direct @ direction, drawn @ direction, method="asymp").pvalue > 1e-9


@pytest.mark.parametrize("d", [1, 2, 3])
def test_densities_integrate_over_the_noise(d: int) -> None:
    """scipy's laws, the second way to each density."""
    rng = np.random.default_rng(4)
    z = rng.standard_normal((50, d))
    laplace = Laplace(np.full(d, 0.3), 1.0, 0.5)
    assert np.allclose(laplace.log_density(z, np.zeros(d)), stats.laplace(scale=0.6).logpdf(z).sum(axis=1))
    wishart = Wishart(np.array(0.5), 1.0, 0.5, d)
    noise = wishart.release(np.zeros((d, d)), rng, 50)
    law = stats.wishart(d + 1, 0.5 * wishart.v * np.eye(d))
    shifted = noise + 0.5 * (d + 1) * wishart.v * np.eye(d)
    expected = [law.logpdf(s if d > 1 else s[0, 0]) for s in shifted]
    assert np.allclose(wishart.log_density(noise, np.zeros((d, d))), expected)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_wishart_shows_the_data_as_often_as_computed(d: int) -> None:
    """An output under the dummy is impossible under a unit vector with probability 1 - exp(-alpha/9)."""
    wishart, n = Wishart(np.array(1.0), 1.0, 1 / 3, d), 20_000
    phi = np.ones(d) / math.sqrt(d)
    data, dummy = np.outer(phi, phi), np.zeros((d, d))
    seen = wishart.release(dummy, np.random.default_rng(5), n)
    tell_tale = int(np.isneginf(wishart.log_density(seen, data)).sum())
    # Exact binomial test: a correct rate fails with probability 1e-9.
    assert stats.binomtest(tell_tale, n, 1 - math.exp(-1 / 9)).pvalue > 1e-9
    assert wishart.loss(dummy, data) == math.inf
    assert wishart.loss(data, dummy) == pytest.approx(1 / (2 * wishart.v))
    back = wishart.release(data, np.random.default_rng(6), n)
    assert np.isfinite(wishart.log_density(back, dummy)).all()


def test_asymmetric_output_is_impossible_under_symmetric_noise() -> None:
    mechanism, value, _ = CASES["symmetric"]
    z = mechanism.release(value, np.random.default_rng(0))
    z[0, 0, 1] += 1.0
    assert mechanism.log_density(z, value) == -math.inf


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_unit_vectors_stay_within_the_sensitivities(d: int, seed: int) -> None:
    """l1 norms of phi and of the upper triangle of phi phi' for |phi| <= 1, and where they are attained."""
    rng = np.random.default_rng(seed)
    phi = rng.standard_normal(d)
    phi *= rng.random() / np.linalg.norm(phi)
    upper = np.abs(np.outer(phi, phi)[np.triu_indices(d)]).sum()
    assert np.abs(phi).sum() <= math.sqrt(d) + 1e-12
    assert upper <= (d + 1) / 2 + 1e-12
    even = np.full(d, 1 / math.sqrt(d))
    assert np.abs(even).sum() == pytest.approx(math.sqrt(d))
    assert np.outer(even, even)[np.triu_indices(d)].sum() == pytest.approx((d + 1) / 2)


def test_wishart_loss_sees_small_cells() -> None:
    """Cells have units down to 1e-18; a change that fills one of them must not drown in a larger one."""
    wishart = Wishart(np.array([1.0, 1e-17]), 1.0, 1 / 3, 2)
    one, two = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    one[0, 0, 0], two[1, 0, 0] = 1.0, 1e-17
    assert wishart.loss(one, two) == wishart.loss(two, one) == math.inf


def test_floating_point_noise_is_not_private() -> None:
    """What FLOATING_POINT says: outputs of a count cell under 0 that no draw under 1 can give."""
    mechanism = Laplace(np.ones(1), 2.0, 1 / 3)
    rng = np.random.default_rng(0)
    under = {v: mechanism.release(np.full(200_000, v), rng) for v in (0.0, 1.0)}
    off_grid = {v: ((np.abs(z) < 0.5) & ((z * 2.0**53) % 1 != 0)).mean() for v, z in under.items()}
    assert off_grid[1.0] == 0
    # Binomial: 0.0438 +- 0.003 fails by chance with probability below 1e-9.
    assert abs(off_grid[0.0] - 0.0438) < 0.003
