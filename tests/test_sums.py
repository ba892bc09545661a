"""Sums drawn at once have the law of sums drawn one by one, at small n and at n = 10^17.

Distances of distribution functions are compared with the bounds of Dvoretzky, Kiefer, Wolfowitz and Massart,
which hold for every law and sample size: each assertion fails by chance with probability at most 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from lpcb import sums
from lpcb.arrays import Array

LEVEL = 1e-9
HUGE = 10**17


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_law(sample: ArrayLike, cdf: Callable[[Array], Array], slack: float = 0.0) -> None:
    """``sample`` has this distribution function, up to ``slack`` where the law is a limit."""
    x, repeats = np.unique(np.asarray(sample, dtype=np.float64), return_counts=True)
    n = repeats.sum()
    after = np.cumsum(repeats) / n
    before = after - repeats / n
    left = cdf(np.nextafter(x, -np.inf))
    distance = max(np.abs(after - cdf(x)).max(), np.abs(before - left).max())
    bound = math.sqrt(math.log(2 / LEVEL) / (2 * n)) + slack
    assert distance <= bound, f"distance {distance:.4f} > {bound:.4f}; by chance once in 10^9 runs"


def assert_same_law(first: ArrayLike, second: ArrayLike) -> None:
    a, b = np.sort(np.ravel(first)), np.sort(np.ravel(second))
    x = np.concatenate([a, b])
    distance = np.abs(
        np.searchsorted(a, x, side="right") / len(a) - np.searchsorted(b, x, side="right") / len(b)
    ).max()
    bound = sum(math.sqrt(math.log(4 / LEVEL) / (2 * len(sample))) for sample in (a, b))
    assert distance <= bound, f"distance {distance:.4f} > {bound:.4f}; by chance once in 10^9 runs"


def test_the_comparisons_notice_a_scale_that_is_off() -> None:
    draws = rng(0).standard_normal(20_000)
    with pytest.raises(AssertionError, match="once in 10"):
        assert_law(1.2 * draws, stats.norm.cdf)
    with pytest.raises(AssertionError, match="once in 10"):
        assert_same_law(1.4 * draws, rng(1).standard_normal(20_000))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_laplace_sum_against_direct_sums(n: int) -> None:
    direct = rng(2).laplace(0, 3.0, (40_000, n)).sum(axis=1)
    assert_same_law(sums.laplace_sum(3.0, n, rng(3), (40_000,)), direct)


def test_laplace_sum_of_very_many_is_normal_and_keeps_its_digits() -> None:
    draws = sums.laplace_sum(np.full(100_000, 2.0), HUGE, rng(4))
    sd = 2.0 * math.sqrt(2 * HUGE)
    assert_law(draws / sd, stats.norm.cdf, slack=1e-8)
    assert np.median(np.spacing(np.abs(draws))) / sd < 1e-15


def test_gaussian_sum() -> None:
    assert_law(sums.gaussian_sum(3.0, 4, rng(5), (100_000,)) / 6, stats.norm.cdf)


@pytest.mark.parametrize(("n", "p"), [(40, 0.3), (200, 0.5), (200, 0.05), (1000, 0.9), (3, 0.5), (50, 0.0)])
def test_the_recursion_is_binomial_at_small_n(n: int, p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy's sampler switched off, so that every draw goes through order statistics and waiting times."""
    monkeypatch.setattr(sums, "SOUND", 0)
    draws = sums.binomial(np.full(100_000, n), p, rng(6))
    assert_law(draws, stats.binom(n, p).cdf)


@pytest.mark.parametrize("mean", [1.0, 10.0, 100.0, 1000.0])
def test_rare_successes_among_very_many_are_poisson(mean: float) -> None:
    """Le Cam: the binomial is within mean/n of the Poisson law. (numpy's own sampler fails at 100.)"""
    draws = sums.binomial(np.full(200_000, HUGE), mean / HUGE, rng(7))
    assert_law(draws, stats.poisson(mean).cdf, slack=1e-12)


@pytest.mark.parametrize(("n", "p"), [(HUGE, 0.3), (2**62, 0.5), (2**62, 0.3), (HUGE, 1e-6), (2**62, 0.999)])
def test_binomials_of_very_many_are_normal(n: int, p: float) -> None:
    """Slack: Berry-Esseen, 0.5/sqrt(n p (1 - p)). (numpy's own sampler fails at 2^62.)"""
    sd = math.sqrt(n * p * (1 - p))
    centre = int(n * p)
    draws = sums.binomial(np.full(200_000, n), p, rng(8)) - centre
    assert_law((draws + (centre - n * p)) / sd, stats.norm.cdf, slack=0.5 / sd + 1e-6)


def test_sign_sum_against_direct_sums() -> None:
    count, mean = np.array([0, 1, 30, 30]), np.array([0.5, 0.3, -0.6, 1.0])
    drawn = sums.sign_sum(np.tile(count, (40_000, 1)), np.tile(mean, (40_000, 1)), rng(9))
    direct = np.where(rng(10).random((40_000, 4, 30)) < (1 + mean[:, None]) / 2, 1.0, -1.0)
    direct = (direct * (np.arange(30) < count[:, None])).sum(axis=-1)
    for cell in range(4):
        assert_same_law(drawn[:, cell], direct[:, cell])
    assert np.all(drawn[:, 3] == 30)


@pytest.mark.parametrize("mean", [0.0, -0.4, 0.99])
def test_sign_sum_of_very_many(mean: float) -> None:
    n = 2**62
    drawn = sums.sign_sum(np.full(100_000, n), np.full(100_000, mean), rng(11))
    sd = math.sqrt(n * (1 - mean**2))
    assert_law((drawn - n * mean) / sd, stats.norm.cdf, slack=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_sign_sum_draws_the_rare_sign(sign: float) -> None:
    """The rare sign is Poisson with mean 1/2 (Le Cam, as above)."""
    n, mean = 10**15, sign * (1 - 1e-15)
    drawn = sums.sign_sum(np.full(100_000, n), np.full(100_000, mean), rng(11))
    rare = n * (1 - abs(mean)) / 2
    assert_law((n - sign * drawn) / 2, stats.poisson(rare).cdf, slack=1e-12)


def test_multinomial_counts_against_direct_counts() -> None:
    p = np.array([0.5, 0.02, 0.3, 0.18, 0.0])
    drawn = sums.multinomial_counts(12, np.tile(p, (40_000, 1)), rng(12))
    direct = rng(13).multinomial(12, p, 40_000)
    assert drawn.dtype == np.int64
    assert np.all(drawn.sum(axis=1) == 12)
    for weights in (*np.eye(5), [1, 2, 4, 8, 16], [3, -1, 2, 0, 0]):  # single cells, and their dependence
        assert_same_law(drawn @ np.asarray(weights), direct @ np.asarray(weights))


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_multinomial_counts_sees_rare_cells_wherever_they_stand(order: list[int]) -> None:
    p = np.array([1.0, 1e-17, 4e-17])
    drawn = sums.multinomial_counts(HUGE, np.tile(p[order], (100_000, 1)), rng(14))
    assert np.all(drawn.sum(axis=1) == HUGE)
    assert_law(drawn[:, order.index(1)], stats.poisson(1.0).cdf, slack=1e-12)
    assert_law(drawn[:, order.index(2)], stats.poisson(4.0).cdf, slack=1e-12)


def test_multinomial_counts_with_one_number_of_draws_for_each_row() -> None:
    n = np.array([[0, 3, 2**62], [5, 1, HUGE]])
    drawn = sums.multinomial_counts(n, np.full((2, 3, 4), 0.25), rng(15))
    assert np.array_equal(drawn.sum(axis=-1), n)


def test_wishart_sum_against_direct_sums() -> None:
    d, dof, scale, n = 3, 4, 1.5, 5
    drawn = sums.wishart_sum_centred(d, dof, scale, n, rng(16), (20_000,))
    direct = stats.wishart(dof, scale * np.eye(d)).rvs(20_000 * n, random_state=rng(17))
    centred = direct.reshape(20_000, n, d, d).sum(axis=1) - n * dof * scale * np.eye(d)
    assert np.array_equal(drawn, drawn.swapaxes(1, 2))
    for i in range(d):
        for j in range(i + 1):
            assert_same_law(drawn[:, i, j], centred[:, i, j])
    assert_same_law(np.linalg.det(drawn), np.linalg.det(centred))
    assert_same_law(np.linalg.eigvalsh(drawn)[:, 0], np.linalg.eigvalsh(centred)[:, 0])


def test_wishart_sum_of_very_many_is_normal_and_keeps_its_digits() -> None:
    d, dof = 2, 3
    drawn = sums.wishart_sum_centred(d, dof, 2.0, HUGE, rng(18), (50_000,)) / (2 * math.sqrt(HUGE * dof))
    assert_law(drawn[:, 0, 1], stats.norm.cdf, slack=1e-6)
    for i in range(d):
        assert_law(drawn[:, i, i] / math.sqrt(2), stats.norm.cdf, slack=1e-6)
    # The coarsest step of a diagonal entry, that of N = n dof, is far below its standard deviation.
    assert np.spacing(float(HUGE * dof)) / math.sqrt(2 * HUGE * dof) < 1e-7
    assert len(np.unique(drawn[:, 0, 0])) > 49_900


def test_sums_of_nobody_are_zero() -> None:
    assert np.all(sums.laplace_sum(np.ones(3), 0, rng(19)) == 0)
    assert np.all(sums.gaussian_sum(np.ones(3), 0, rng(19)) == 0)
    assert np.all(sums.wishart_sum_centred(2, 3, 1.0, 0, rng(19), (4,)) == 0)
    assert np.all(sums.multinomial_counts(0, np.full(3, 1 / 3), rng(19)) == 0)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: sums.laplace_sum(1.0, -1, rng(0)), "n lies in"),
        (lambda: sums.laplace_sum(-1.0, 1, rng(0)), "scale"),
        (lambda: sums.laplace_sum(math.nan, 1, rng(0)), "scale"),
        (lambda: sums.gaussian_sum(1.0, 2**63, rng(0)), "n lies in"),
        (lambda: sums.sign_sum(np.array([1]), np.array([1.5]), rng(0)), "mean"),
        (lambda: sums.binomial(-1, 0.5, rng(0)), "n lies in"),
        (lambda: sums.binomial(1, math.nan, rng(0)), "p lies in"),
        (lambda: sums.multinomial_counts(1, np.array([0.5, 0.6]), rng(0)), "sum to one"),
        (lambda: sums.multinomial_counts(1, np.array([1.5, -0.5]), rng(0)), "probabilities"),
        (lambda: sums.multinomial_counts(-1, np.array([1.0]), rng(0)), "n lies in"),
        (lambda: sums.multinomial_counts(1, np.array(1.0), rng(0)), "shape"),
        (lambda: sums.wishart_sum_centred(3, 2, 1.0, 1, rng(0), ()), "dof"),
    ],
)
def test_bad_input(call: Callable[[], object], names: str) -> None:
    with pytest.raises(ValueError, match=names):
        call()
