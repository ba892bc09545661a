"""The joint test of two probabilities: valid by enumeration, sharp, without a ceiling."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from verification.evidence.privacy.exact import (
    Counts,
    Region,
    delta_low,
    detectable,
    epsilon_low,
    refutes,
)
from verification.evidence.tails import clopper_pearson

GRID = np.concatenate([[1e-4, 1e-3], np.linspace(0.01, 0.99, 50), [0.999]])
EPSILON = 0.5


@cache
def bounds(n1: int, n2: int, alpha: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Both bounds for every outcome."""
    shape = (n1 + 1, n2 + 1)
    low, leak = np.zeros(shape), np.zeros(shape)
    for a, b in np.ndindex(shape):
        low[a, b] = epsilon_low(Counts(a, n1, b, n2), delta, alpha)
        leak[a, b] = delta_low(Counts(a, n1, b, n2), EPSILON, alpha)
    return low, leak


@pytest.mark.parametrize(
    ("n1", "n2", "alpha", "delta"),
    [(12, 12, 0.05, 0.0), (14, 7, 0.05, 0.0), (9, 13, 0.01, 0.1), (12, 12, 0.3, 0.0)],
)
def test_bounds_are_too_high_with_probability_at_most_alpha(
    n1: int, n2: int, alpha: float, delta: float
) -> None:
    """By enumeration of all outcomes under a grid of pairs of probabilities: no chance involved."""
    low, leak = bounds(n1, n2, alpha, delta)
    worst = worst_leak = 0.0
    for p, q in itertools.product(GRID, GRID):
        joint = np.outer(stats.binom.pmf(np.arange(n1 + 1), n1, p), stats.binom.pmf(np.arange(n2 + 1), n2, q))
        true = math.log((p - delta) / q) if p > delta else -math.inf
        worst = max(worst, float(joint[low > max(true, 0.0)].sum()))
        worst_leak = max(worst_leak, float(joint[leak > max(0.0, p - math.exp(EPSILON) * q)].sum()))
    assert worst <= alpha
    assert worst_leak <= alpha
    assert worst > 0.8 * alpha, "the level is not used: the test is blunter than it should be"


@pytest.mark.parametrize("alpha", [0.05, 1e-3, 1e-6])
@pytest.mark.parametrize(("p", "q"), [(0.5, 0.35), (0.3, 0.05), (0.04, 0.004)])
def test_sharper_than_two_intervals(p: float, q: float, alpha: float) -> None:
    n = 3000
    counts = Counts(round(n * p), n, round(n * q), n)
    below = clopper_pearson(counts.k1, n, alpha / 2, "above")[0]
    above = clopper_pearson(counts.k2, n, alpha / 2, "below")[1]
    spread = math.sqrt(1 / counts.k1 + 1 / counts.k2 - 2 / n)
    gained = epsilon_low(counts, 0.0, alpha) - max(0.0, math.log(below / above))
    assert gained > 0.2 * spread


@pytest.mark.parametrize("alpha", [0.01, 1e-9, 1e-30])
def test_zero_counts_give_what_they_support(alpha: float) -> None:
    """Always against never in n samples: nothing beats (1 − e^−ε)^n = alpha, and this comes close."""
    n = 10_000
    best = -math.log(-math.expm1(math.log(alpha) / n))
    found = epsilon_low(Counts(n, n, 0, n), 0.0, alpha)
    assert best - 0.05 < found <= best + 1e-9
    assert epsilon_low(Counts(n, n, 0, 100 * n), 0.0, alpha) > found + 4.5
    assert delta_low(Counts(n, n, 0, n), 1.0, alpha) > 1 + 4 * math.log(alpha) / n


def test_nothing_follows_from_nothing() -> None:
    for counts in (
        Counts(0, 50, 0, 50),
        Counts(0, 50, 50, 50),
        Counts(50, 50, 50, 50),
        Counts(10, 50, 30, 50),
    ):
        assert epsilon_low(counts) == 0.0
        assert delta_low(counts, 0.0) == 0.0
        assert not refutes(counts, 0.0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.05, 1e-4]), st.sampled_from([0.0, 0.05]))
def test_bounds_are_monotone(k1: int, k2: int, alpha: float, delta: float) -> None:
    """Up to the slack of the certificate, in the counts and in the level."""
    here = epsilon_low(Counts(k1, 60, k2, 60), delta, alpha)
    assert epsilon_low(Counts(min(60, k1 + 3), 60, k2, 60), delta, alpha) >= here - 0.01
    assert epsilon_low(Counts(k1, 60, max(0, k2 - 3), 60), delta, alpha) >= here - 0.01
    assert epsilon_low(Counts(k1, 60, k2, 60), delta, alpha / 10) <= here + 0.01


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 40), st.integers(0, 39), st.floats(0.0, 2.0), st.floats(0.01, 0.99), st.floats(0.01, 0.99)
)
def test_probability_of_the_region_is_the_sum_over_outcomes(
    k1: int, k2: int, epsilon: float, p: float, q: float
) -> None:
    """Blocks are single outcomes at this size, so nothing but rounding stands between the two."""
    region = Region.of_epsilon(Counts(k1, 40, k2, 40), 0.0, 0.05)
    assert region is not None
    inside = np.zeros((41, 41), dtype=bool)
    for start, critical, stop in zip(region.starts, region.critical, [*region.starts[1:], 41], strict=True):
        inside[int(critical) :, int(start) : int(stop)] = True
    assert inside[k1, k2]
    joint = np.outer(stats.binom.pmf(np.arange(41), 40, p), stats.binom.pmf(np.arange(41), 40, q))
    found = float(region.probability(np.array([p]), np.array([q]))[0])
    assert found == pytest.approx(float(joint[inside].sum()), rel=1e-6, abs=1e-15)


@pytest.mark.parametrize(
    "counts", [Counts(60, 100, 40, 100), Counts(20, 300, 2, 250), Counts(6000, 10_000, 5000, 10_000)]
)
def test_certificates_hold_on_a_fine_grid(counts: Counts) -> None:
    """Just below the bound no null makes the outcome more likely than alpha; well above it some null does."""
    alpha = 0.01
    region = Region.of_epsilon(counts, 0.0, alpha)
    assert region is not None
    low = epsilon_low(counts, 0.0, alpha)
    q = np.linspace(*region.q, 5000)
    at = region.probability(np.minimum(1.0, math.exp(low) * q), q)
    assert at.max() <= alpha
    beyond = region.probability(np.minimum(1.0, math.exp(low * 1.1 + 0.05) * q), q)
    assert beyond.max() > alpha


def test_certificates_see_what_lies_between_the_probes() -> None:
    """At a level below the supremum but above all probes nothing may be certified."""
    hidden = 0
    for k1, k2 in itertools.product(range(3, 30, 3), range(4)):
        region = Region.of_epsilon(Counts(k1, 30, k2, 30), 0.0, 0.05)
        assert region is not None
        for epsilon in (0.2, 1.0):
            q = np.linspace(region.q[0], min(region.q[1], math.exp(-epsilon)), 3000)
            top = float(region.probability(np.minimum(1.0, math.exp(epsilon) * q), q).max())
            level = top * (1 - 1e-6)
            hidden += region.probe(epsilon, 0.0) < level
            assert not region.certified(epsilon, 0.0, level)
            assert region.certified(epsilon, 0.0, top * 1.01)
    assert hidden > 20


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98))
@settings(max_examples=60, deadline=None)
def test_far_blocks_are_bounded_from_above(p: float, q: float) -> None:
    """With many outcomes only a window of them is summed; what lies outside is counted, never dropped."""
    n = 3000
    region = Region.of_epsilon(Counts(1500, n, 1400, n), 0.0, 0.4)
    assert region is not None
    assert len(region.starts) > region.window
    k2 = np.arange(n + 1)
    critical = region.critical[np.searchsorted(region.starts, k2, "right") - 1]
    exact = float(stats.binom.pmf(k2, n, q) @ stats.binom.sf(critical - 1, n, p))
    assert float(region.probability(np.array([p]), np.array([q]))[0]) >= exact * (1 - 1e-9)


@pytest.mark.parametrize("probabilities", [(0.5, 0.5 / math.e), (0.9, 0.6), (0.1, 0.01)])
def test_coverage_over_2000_repetitions(probabilities: tuple[float, float]) -> None:
    """The bound exceeds the true ε in at most as many of 2000 samples as a rate of alpha allows.

    By chance this fails once in 10^9 runs per case.
    """
    p, q = probabilities
    alpha, n, repetitions = 0.05, 40, 2000
    rng = np.random.default_rng(1)
    seen = zip(rng.binomial(n, p, repetitions), rng.binomial(n, q, repetitions), strict=True)
    wrong = sum(epsilon_low(Counts(int(a), n, int(b), n), 0.0, alpha) > math.log(p / q) for a, b in seen)
    assert wrong <= stats.binom.isf(1e-9, repetitions, alpha)


def test_detectable_violations_are_detected() -> None:
    """By enumeration: the power at the stated violation is at least 0.99, well below it is not."""
    n, q, epsilon, alpha = 80, 0.2, 0.5, 0.01
    stated = detectable(n, n, q, epsilon, 0.0, alpha)
    least = []  # for every k2 the smallest k1 that refutes
    for k2 in range(n + 1):
        k1 = least[-1] if least else 0
        while k1 <= n and not refutes(Counts(k1, n, k2, n), epsilon, 0.0, alpha):
            k1 += 1
        least.append(k1)

    def power(true: float) -> float:
        masses = stats.binom.pmf(np.arange(n + 1), n, q)
        return float(masses @ stats.binom.sf(np.array(least) - 1, n, math.exp(true) * q))

    assert power(stated) >= 0.99
    assert power(epsilon + 0.6 * (stated - epsilon)) < 0.99
    assert detectable(10, 10, 0.5, 0.5, 0.0, 1e-9) == math.inf


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Counts(5, 4, 0, 4), "5 of 4"),
        (lambda: Counts(-1, 4, 0, 4), "-1 of 4"),
        (lambda: epsilon_low(Counts(1, 4, 0, 4), alpha=0.0), "alpha"),
        (lambda: epsilon_low(Counts(1, 4, 0, 4), delta=1.0), "delta"),
        (lambda: delta_low(Counts(1, 4, 0, 4), epsilon=-1.0), "epsilon"),
        (lambda: refutes(Counts(1, 4, 0, 4), math.nan), "epsilon"),
    ],
)
def test_bad_input(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
