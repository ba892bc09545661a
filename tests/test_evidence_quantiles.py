"""Intervals for quantiles and bounded means cover at their level for every law, small samples included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from verification.evidence.quantiles import (
    mean_detectable,
    mean_interval,
    mean_samples,
    quantile_detectable,
    quantile_interval,
    quantile_samples,
)
from verification.evidence.tails import Side


def most(repetitions: int, rate: float) -> int:
    """More events than this have probability below 1e-9 if each has at most ``rate``."""
    return int(stats.binom.isf(1e-9, repetitions, rate))


@pytest.mark.parametrize("n", [1, 5, 31, 200])
@pytest.mark.parametrize("q", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("alpha", [0.05, 1e-9])
@pytest.mark.parametrize("side", ["above", "below", "two"])
def test_ranks_are_the_tightest_that_keep_the_level(n: int, q: float, alpha: float, side: Side) -> None:
    r, s = quantile_interval(np.arange(n), q, alpha, side).ranks
    level = alpha / 2 if side == "two" else alpha
    if side == "below":
        assert r == 0
    else:
        assert stats.binom.cdf(r - 1, n, q) <= level < stats.binom.cdf(r, n, q)
    if side == "above":
        assert s == n + 1
    else:
        assert stats.binom.sf(s - 1, n, q) <= level < stats.binom.sf(s - 2, n, q)


@pytest.mark.parametrize("law", [stats.norm(), stats.poisson(1.5), stats.bernoulli(0.3), stats.randint(7, 8)])
@pytest.mark.parametrize("q", [0.3, 0.7, 0.9])
def test_quantile_intervals_cover_with_and_without_ties(law: Any, q: float) -> None:
    rng = np.random.default_rng(3)
    repetitions, n, alpha = 3000, 40, 0.05
    x = np.sort(law.rvs(size=(repetitions, n), random_state=rng), axis=1)
    r, s = quantile_interval(np.arange(n), q, alpha).ranks
    truth = float(law.ppf(q))
    missed = (x[:, r - 1] > truth) | (x[:, s - 1] < truth if s <= n else False)
    assert missed.sum() <= most(repetitions, alpha)


def test_interval_ends_are_the_order_statistics_and_infinite_when_there_are_too_few() -> None:
    fit = quantile_interval([5.0, 1.0, 3.0], 0.5, alpha=0.3)
    assert (fit.low, fit.high, fit.ranks) == (1.0, 5.0, (1, 3))
    fit = quantile_interval([2.0], 0.5)
    assert (fit.low, fit.high, fit.ranks, fit.n) == (-math.inf, math.inf, (0, 2), 1)
    fit = quantile_interval([4.0] * 100, 0.5)
    assert (fit.low, fit.high) == (4.0, 4.0)
    assert {type(fit.low), type(fit.high)} == {float}


@pytest.mark.parametrize("q", [0.1, 0.5, 0.99])
def test_quantile_sample_sizes(q: float) -> None:
    n = quantile_samples(q)
    assert max(q**n, (1 - q) ** n) <= 5e-10 < max(q ** (n - 1), (1 - q) ** (n - 1))
    m = quantile_samples(q, 0.01, within=0.05)
    low, high = quantile_detectable(m, q, 0.01)
    assert q - 0.05 <= low < q < high <= q + 0.05


def test_quantile_power_is_exact() -> None:
    n, q, alpha = 500, 0.8, 1e-6
    r, s = quantile_interval(np.arange(n), q, alpha).ranks
    low, high = quantile_detectable(n, q, alpha)
    # X_(r) >= the q'-quantile: fewer than r values below it
    assert stats.binom.cdf(r - 1, n, low) == pytest.approx(0.99)
    assert stats.binom.sf(s - 1, n, high) == pytest.approx(0.99)


@pytest.mark.parametrize("n", [1, 2, 10, 60])
@pytest.mark.parametrize("alpha", [0.2, 0.01, 1e-9])
def test_mean_interval_covers_coin_flips_exactly(n: int, alpha: float) -> None:
    ends = []
    for s in range(n + 1):
        fit = mean_interval(np.repeat([1.0, 0.0], [s, n - s]), alpha=alpha)
        assert 0 <= fit.low <= fit.mean <= fit.high <= 1
        ends.append((fit.low, fit.high))
    low, high = np.array(ends).T
    for p in np.concatenate([[0.0, 1e-12, 1e-4, 1.0], np.linspace(0.01, 0.99, 99)]):
        missed = stats.binom.pmf(np.arange(n + 1), n, p)[(low > p) | (high < p)].sum()
        assert missed <= alpha * (1 + 1e-9)


@pytest.mark.parametrize("law", ["beta", "rare", "skewed"])
def test_mean_interval_covers_other_laws(law: str) -> None:
    """At alpha = 0.5, where an invalid interval would show; chance of a false alarm below 1e-9."""
    rng = np.random.default_rng(4)
    repetitions, n, alpha = 1000, 50, 0.5
    draws, mean = {
        "beta": (rng.beta(0.2, 2.0, (repetitions, n)), 0.2 / 2.2),
        "rare": ((rng.random((repetitions, n)) < 0.02) * 0.5, 0.01),
        "skewed": (rng.random((repetitions, n)) ** 8, 1 / 9),
    }[law]
    fits = [mean_interval(row, alpha=alpha) for row in draws]
    assert sum(not fit.low <= mean <= fit.high for fit in fits) <= most(repetitions, alpha)
    assert np.mean([fit.high - fit.low for fit in fits]) < 0.6  # says something


def test_small_variance_is_used() -> None:
    x = np.full(10_000, 0.3)
    x[::2] += 0.001
    assert mean_interval(x).high - mean_interval(x).low < 0.02
    assert mean_interval(x, -50, 50).high - mean_interval(x, -50, 50).low < 2


@pytest.mark.parametrize("std", [None, 0.05])
def test_stated_distance_from_the_mean_is_detected(std: float | None) -> None:
    """Power 0.9 asked for; fewer detections than the binomial limit have probability below 1e-9."""
    rng = np.random.default_rng(5)
    n, alpha, repetitions = 400, 1e-3, 500
    distance = mean_detectable(n, alpha=alpha, power=0.9, std=std)
    spread = 0.5 if std is None else std
    x = 0.5 + spread * rng.choice([-1.0, 1.0], (repetitions, n))
    fits = [mean_interval(row, alpha=alpha) for row in x]
    for claimed in (0.5 - distance, 0.5 + distance):
        missed = sum(fit.low <= claimed <= fit.high for fit in fits)
        assert missed <= most(repetitions, 0.1)
    assert mean_samples(distance, alpha=alpha, power=0.9, std=std) == n


def test_mean_edges() -> None:
    assert mean_interval([0.0]).low == 0.0
    assert mean_interval([1.0]).high == 1.0
    assert mean_interval([1.0] * 5).low < 0.05
    fit = mean_interval([3, 4, 5], 0, 10)
    assert (fit.low >= 0, fit.high <= 10, fit.mean) == (True, True, pytest.approx(4.0))
    assert {type(v) for v in (fit.low, fit.high, fit.mean)} == {float}
    tiny = mean_interval([1e-30] * 10)
    assert 0 <= tiny.low <= 1e-30 <= tiny.high
    assert mean_interval([0.5] * 10, alpha=1e-300).low >= 0


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="x lies in"):
        mean_interval([0.5, 1.5])
    with pytest.raises(ValueError, match="low < high"):
        mean_interval([0.5], 1.0, 1.0)
    with pytest.raises(ValueError, match="without NaN"):
        mean_interval([math.nan])
    with pytest.raises(ValueError, match="at least one number"):
        quantile_interval([], 0.5)
    with pytest.raises(ValueError, match=r"q lies in \(0, 1\), not 1.0"):
        quantile_interval([1.0], 1.0)
    with pytest.raises(ValueError, match="alpha"):
        quantile_interval([1.0], 0.5, alpha=1.0)
    with pytest.raises(ValueError, match="distance"):
        mean_samples(0.0)
