"""Mixtures of tilted laws against closed forms, plain simulation and the one-dimensional method."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

from verification.evidence.rare import RareEvent, laplace_sum_rare
from verification.evidence.rare_norms import (
    laplace_matrix_rare,
    laplace_norm_rare,
    norm,
    operator_norm,
    wishart_rare,
)
from verification.evidence.tails import clopper_pearson, laplace_sum_deviation

SAMPLES = 30_000


def overlaps(event: RareEvent, low: float, high: float) -> bool:
    return event.log_interval[0] <= math.log(high) and math.log(low) <= event.log_interval[1]


@pytest.mark.parametrize("n", [1, 50, 10**7])
def test_one_dimension_is_the_sum(n: int) -> None:
    """False alarm 2e-9: two estimates of one probability near 1e-9."""
    t = laplace_sum_deviation(n, 3.0, math.log(1e-9), two_sided=True)
    one = laplace_sum_rare(n, 3.0, t, SAMPLES, np.random.default_rng(1), two_sided=True)
    other = laplace_norm_rare(n, 3.0, 1, t, SAMPLES, np.random.default_rng(2))
    assert one.log_interval[0] <= other.log_interval[1]
    assert other.log_interval[0] <= one.log_interval[1]
    assert other.log_interval[1] - other.log_interval[0] < 1.5
    assert other.log_chernoff == pytest.approx(one.log_chernoff, abs=1e-6)


@pytest.mark.parametrize("degrees", [4, 1000, 10**5])
def test_one_dimensional_wishart_is_chi_square(degrees: int) -> None:
    """Exact value near 1e-9, both tails; false alarm 1e-9."""
    r = float(stats.chi2.isf(5e-10, degrees)) - degrees
    below = float(stats.chi2.cdf(degrees - r, degrees)) if r < degrees else 0.0
    exact = math.log(float(stats.chi2.sf(degrees + r, degrees)) + below)
    assert wishart_rare(degrees, 1, r, SAMPLES, np.random.default_rng(3)).contains(exact)


def test_many_degrees_of_freedom_are_normal() -> None:
    """6.1 deviations out at N = 1e9 the skewness moves each tail by 0.3 %, in opposite directions."""
    exact = math.log(2 * float(stats.norm.sf(6.1)))
    r = 6.1 * math.sqrt(2e9)
    assert wishart_rare(10**9, 1, r, SAMPLES, np.random.default_rng(3)).contains(exact)


def _vector(rng: np.random.Generator, size: int) -> np.ndarray:
    return norm(rng.laplace(size=(size, 20, 2)).sum(axis=1))


def _matrix(rng: np.random.Generator, size: int) -> np.ndarray:
    return operator_norm(*rng.laplace(size=(size, 20, 3)).sum(axis=1).T)


def _wishart(rng: np.random.Generator, size: int) -> np.ndarray:
    g = rng.standard_normal((size, 30, 2))
    w = np.einsum("nki,nkj->nij", g, g) - 30 * np.eye(2)
    return np.abs(np.linalg.eigvalsh(w)).max(axis=1)


@pytest.mark.parametrize(
    ("plain", "tilted", "r"),
    [
        (_vector, lambda r, rng: laplace_norm_rare(20, 1.0, 2, r, SAMPLES, rng), 22.0),
        (_matrix, lambda r, rng: laplace_matrix_rare(20, 1.0, 2, r, SAMPLES, rng), 28.0),
        (_wishart, lambda r, rng: wishart_rare(30, 2, r, SAMPLES, rng), 32.0),
    ],
)
def test_two_dimensions_against_plain_simulation(
    plain: Callable[..., np.ndarray], tilted: Callable[..., RareEvent], r: float
) -> None:
    """Probabilities that plain draws reach; false alarm 2e-9 each."""
    rng = np.random.default_rng(4)
    hits = int((plain(rng, 60_000) >= r).sum())
    assert 20 < hits < 6000
    event = tilted(r, rng)
    assert overlaps(event, *clopper_pearson(hits, 60_000, 1e-9))
    assert event.log_p <= event.log_chernoff
    assert event.log_interval[1] - event.log_interval[0] < 2


def test_every_weight_is_below_the_union_bound() -> None:
    """Also at r = 0, where everything is in the event and the bound is 1, and with a single draw."""
    for r in (0.0, 1e-3, 5.0, 400.0):
        for samples in (1, 1000):
            event = laplace_norm_rare(3, 1.0, 2, r, samples, np.random.default_rng(5))
            assert event.log_interval[0] <= event.log_p <= event.log_chernoff <= 0
    with pytest.raises(ValueError, match="d = 1 and 2, not 3"):
        laplace_norm_rare(3, 1.0, 3, 1.0, 10, np.random.default_rng(0))
    with pytest.raises(ValueError, match="samples is at least 1"):
        wishart_rare(3, 2, 1.0, 0, np.random.default_rng(0))


@pytest.mark.parametrize("r", [0.5, 2.0, 5.0, 25.0])
def test_one_user_against_quadrature(r: float) -> None:
    """P(|x| >= r) of two Laplace variables, also where the union bound over directions is above 1.

    |x_1|, |x_2| are exponential: the integral of e^(-x - sqrt(r^2 - x^2)) up to r, and e^-r. Level 1e-9.
    """

    def density(x: float) -> float:
        return math.exp(-x - math.sqrt(max(r * r - x * x, 0.0)))

    inside = integrate.quad(density, 0, r, epsabs=0, epsrel=1e-9, limit=500)[0]
    p = inside + math.exp(-r)
    event = laplace_norm_rare(1, 1.0, 2, r, SAMPLES, np.random.default_rng(5))
    assert overlaps(event, p, p)
