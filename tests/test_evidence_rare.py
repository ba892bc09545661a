"""Tilted sampling: unbiased, inside its interval where the exact value is known, and below Chernoff."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from verification.evidence.rare import (
    RareEvent,
    binomial_log_sf,
    binomial_rare,
    laplace_sum_rare,
    rare_detectable,
    rare_samples,
)
from verification.evidence.tails import binomial_log_tail, laplace_sum_deviation, laplace_sum_log_tail

SAMPLES = 40_000


def sharp(event: RareEvent) -> bool:
    """Within 40 % at level 1e-9: the interval says something."""
    return event.log_interval[1] - event.log_interval[0] < 0.8


@pytest.mark.parametrize(
    ("n", "p", "k"), [(100, 0.01, 30), (10**6, 0.01, 12_000), (50, 1e-10, 3), (20, 0.5, 10), (1, 0.3, 1)]
)
def test_binomial_against_the_exact_value(n: int, p: float, k: int) -> None:
    """False alarm 1e-9."""
    event = binomial_rare(n, p, k, SAMPLES, np.random.default_rng(15))
    exact = binomial_log_sf(n, p, k)
    assert event.contains(exact)
    assert sharp(event)
    assert (
        exact <= event.log_chernoff == pytest.approx(binomial_log_tail(n, p, max(0.0, k - n * p)), rel=1e-12)
    )
    assert 0 < event.effective <= event.hits <= SAMPLES


@pytest.mark.parametrize("tau", [0.0, 2.0, 80.0, 500.0])
@pytest.mark.parametrize("b", [1.0, 0.003])
def test_laplace_sums_against_closed_forms(tau: float, b: float) -> None:
    """False alarm 1e-9 each. One variable: e^{-τ}/2; two: e^{-τ}(2 + τ)/4."""
    for n, tail in ((1, 0.5), (2, (2 + tau) / 4)):
        event = laplace_sum_rare(n, b, b * tau, 4 * SAMPLES, np.random.default_rng(16))
        assert event.contains(-tau + math.log(tail))
        assert event.log_interval[1] - event.log_interval[0] < 2
        both = laplace_sum_rare(n, b, b * tau, SAMPLES, np.random.default_rng(16), two_sided=True)
        assert both.contains(min(0.0, -tau + math.log(2 * tail)))


@pytest.mark.parametrize("n", [10, 10**4, 10**12, 10**17])
def test_large_laplace_sums_at_delta_of_the_longest_horizon(n: int) -> None:
    """At t where Chernoff gives 1e-36 the truth is smaller, and for large n near the normal tail."""
    t = laplace_sum_deviation(n, 1.0, math.log(1e-36))
    event = laplace_sum_rare(n, 1.0, t, SAMPLES, np.random.default_rng(17))
    assert sharp(event)
    assert event.log_interval[1] < event.log_chernoff
    assert event.log_chernoff == pytest.approx(math.log(1e-36))
    if n >= 10**12:
        assert event.contains(float(stats.norm.logsf(t / math.sqrt(2 * n))))


def test_estimates_are_unbiased_and_intervals_cover() -> None:
    """1000 repetitions at alpha = 0.5; more misses than the limit have probability below 1e-9. The mean of
    all estimates is within seven standard errors of the truth (2e-12, by the normal law)."""
    rng = np.random.default_rng(18)
    exact = binomial_log_sf(60, 0.05, 15)
    events = [binomial_rare(60, 0.05, 15, 2000, rng, alpha=0.5) for _ in range(1000)]
    missed = sum(not event.contains(exact) for event in events)
    assert missed <= int(stats.binom.isf(1e-9, 1000, 0.5))
    ratios = np.exp(np.array([event.log_p for event in events]) - exact)
    assert abs(ratios.mean() - 1) <= 7 * ratios.std() / math.sqrt(len(ratios))
    assert ratios.std() < 0.06


def test_exact_binomial_tail_on_the_log_scale() -> None:
    for n, p, k in [(100, 0.3, 45), (100, 0.3, 10), (1000, 0.5, 600), (5, 0.2, 0), (7, 0.1, 7)]:
        assert binomial_log_sf(n, p, k) == pytest.approx(
            float(stats.binom.logsf(k - 1, n, p)), rel=1e-9, abs=1e-12
        )
    assert binomial_log_sf(10**4, 1e-30, 100) < -6000  # far below the smallest float


def test_power_is_reached() -> None:
    """A claim that is too low by the detectable amount is refuted; asked for 0.9 of the time."""
    rng = np.random.default_rng(19)
    n, p, k, draws, alpha = 60, 0.05, 15, 8000, 1e-3
    truth = binomial_log_sf(n, p, k)
    cap = binomial_log_tail(n, p, k - n * p)
    claimed = np.linspace(truth - 3, truth, 500)
    caught = [c for c in claimed if rare_detectable(draws, cap, float(c), alpha, 0.9) <= truth]
    assert caught
    events = [binomial_rare(n, p, k, draws, rng, alpha) for _ in range(300)]
    missed = sum(event.log_interval[0] <= caught[-1] for event in events)
    assert missed <= int(stats.binom.isf(1e-9, 300, 0.1))
    assert events[0].detectable(float(caught[-1]), 0.9) == rare_detectable(
        draws, cap, float(caught[-1]), alpha, 0.9
    )
    enough = rare_samples(cap, float(caught[-1]), truth, alpha, 0.9)
    assert rare_detectable(enough, cap, float(caught[-1]), alpha, 0.9) <= truth + 1e-9
    assert rare_detectable(enough - 1, cap, float(caught[-1]), alpha, 0.9) > truth - 1e-9
    assert enough <= draws


def test_edges() -> None:
    rng = np.random.default_rng(20)
    certain = binomial_rare(10, 0.5, 0, 100, rng)
    assert (certain.log_p, certain.log_interval[1], certain.hits) == (0.0, 0.0, 100)
    top = binomial_rare(10, 0.5, 10, 100, rng)
    assert top.log_p == pytest.approx(10 * math.log(0.5))
    one = laplace_sum_rare(3, 1.0, 30.0, 1, rng)
    assert one.log_interval[0] <= laplace_sum_log_tail(3, 1.0, 30.0)
    assert one.log_interval[1] <= one.log_chernoff
    missed = RareEvent(-math.inf, (-math.inf, -3.0), -1.0, 10, 0, 0.0, 1e-9)
    assert missed.contains(-5.0)
    for event in (certain, top, one):
        values = [event.log_p, *event.log_interval, event.log_chernoff, event.effective, event.alpha]
        assert {type(v) for v in values} == {float}
        assert {type(event.samples), type(event.hits)} == {int}
        assert not any(math.isnan(v) for v in values)


def test_bad_input_is_named() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"samples lies in .*, not 0"):
        laplace_sum_rare(1, 1.0, 1.0, 0, rng)
    with pytest.raises(ValueError, match="n and b are finite and above 0"):
        laplace_sum_rare(1, 0.0, 1.0, 10, rng)
    with pytest.raises(ValueError, match="p lies in"):
        binomial_rare(10, 0.0, 1, 10, rng)
    with pytest.raises(ValueError, match="k in 0"):
        binomial_rare(10, 0.5, 11, 10, rng)
    with pytest.raises(ValueError, match="log_claimed < log_p"):
        rare_samples(-10.0, -5.0, -6.0)
