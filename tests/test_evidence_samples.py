"""Tests of laws: p-values are super-uniform (with ties, rare cells, unequal sizes) and power is reached."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from verification.evidence import samples
from verification.evidence.samples import (
    Comparison,
    ks_one_detectable,
    ks_one_sample,
    ks_one_samples,
    ks_two_detectable,
    ks_two_sample,
    ks_two_samples,
    proportions_detectable,
    proportions_samples,
    same_discrete_law,
    two_proportions,
)
from verification.evidence.tails import Side

REPETITIONS = 2000


def most(rate: float, repetitions: int = REPETITIONS) -> int:
    """More events than this have probability below 1e-9 if each has at most ``rate``."""
    return int(stats.binom.isf(1e-9, repetitions, rate))


def assert_super_uniform(p_values: list[float]) -> None:
    for level in (0.01, 0.05, 0.3):
        assert sum(p <= level for p in p_values) <= most(level, len(p_values))


# --- one sample -----------------------------------------------------------------------------------------


def test_one_sample_is_calibrated_and_agrees_with_scipy() -> None:
    rng = np.random.default_rng(6)
    x = rng.random((REPETITIONS, 30))
    results = [ks_one_sample(row, lambda t: t) for row in x]
    assert_super_uniform([r.p for r in results])
    assert sum(r.p <= 0.3 for r in results) > REPETITIONS * 0.2  # exact, not merely valid
    for row, result in zip(x[:20], results[:20], strict=True):
        reference = stats.kstest(row, "uniform", method="exact")
        assert (result.distance, result.p) == pytest.approx((reference.statistic, reference.pvalue))


def test_atoms_need_the_left_limit_of_the_cdf() -> None:
    rng = np.random.default_rng(7)
    law = stats.poisson(1.0)
    x = law.rvs(size=(REPETITIONS, 30), random_state=rng).astype(float)
    right = [ks_one_sample(row, law.cdf, lambda t: law.cdf(t - 1)).p for row in x]
    assert_super_uniform(right)
    wrong = [ks_one_sample(row, law.cdf).p for row in x[:50]]
    assert max(wrong) < 0.05  # an atom is no continuous law, and is seen at once
    everything_at_zero = ks_one_sample(np.zeros(100), lambda t: (t >= 0) * 1.0, lambda t: (t > 0) * 1.0)
    assert everything_at_zero.distance == 0.0


def test_large_samples_use_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(8).random(400) ** 1.3
    exact = ks_one_sample(x, lambda t: t)
    monkeypatch.setattr(samples, "MOST_EXACT", 10)
    bound = ks_one_sample(x, lambda t: t)
    assert (exact.method, bound.method) == ("exact", "bound")
    assert exact.p <= bound.p <= 1.3 * exact.p
    assert bound.distance == exact.distance


@pytest.mark.parametrize("alpha", [1e-3, 1e-9])
def test_one_sample_power(alpha: float) -> None:
    """The law has moved mass ε from everywhere to one point: the distance is ε, reached at one point only."""
    rng = np.random.default_rng(9)
    n, repetitions = 300, 500
    distance = ks_one_detectable(n, alpha, power=0.9)
    moved = rng.random((repetitions, n)) < distance
    x = np.where(moved, 1.0, rng.random((repetitions, n)))
    missed = sum(not ks_one_sample(row, lambda t: t).rejects(alpha) for row in x)
    assert missed <= most(0.1, repetitions)
    assert ks_one_samples(distance, alpha, power=0.9) == n


# --- two samples ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(25, 25), (20, 33)])
@pytest.mark.parametrize("ties", [False, True])
def test_two_samples_are_calibrated(n: int, m: int, ties: bool) -> None:
    rng = np.random.default_rng(10)
    x = rng.poisson(2.0, (REPETITIONS, n + m)).astype(float) if ties else rng.random((REPETITIONS, n + m))
    p = [ks_two_sample(row[:n], row[n:]).p for row in x]
    assert_super_uniform(p)
    if not ties:
        assert sum(v <= 0.3 for v in p) > REPETITIONS * 0.15


def exact_two_sample_p(n: int, m: int, gap: int) -> Fraction:
    """P(max |m i − n j| ≥ gap) over uniformly random lattice paths from (0, 0) to (n, m)."""
    row = [0] * (m + 1)
    for i in range(n + 1):
        for j in range(m + 1):
            start = 1 if i == j == 0 else 0
            row[j] = (
                0 if abs(m * i - n * j) >= gap else start + (row[j] if i else 0) + (row[j - 1] if j else 0)
            )
    return 1 - Fraction(row[m], math.comb(n + m, n))


@pytest.mark.parametrize(("n", "m"), [(40, 40), (35, 52), (10, 200)])
@pytest.mark.parametrize("shift", [0.2, 0.5, 0.8])
def test_two_sample_p_is_exact_far_in_the_tail(n: int, m: int, shift: float) -> None:
    x, y = (np.arange(n) + 0.5) / n, (np.arange(m) + 0.5) / m + shift
    result = ks_two_sample(x, y)
    exact = float(exact_two_sample_p(n, m, round(result.distance * n * m)))
    assert result.p == pytest.approx(exact, rel=1e-9, abs=0)
    assert samples._two_sample_bound(result.distance, n, m) >= exact


def test_sizes_beyond_counting_use_a_valid_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    x, y = rng.random(300), rng.random(401) ** 3
    exact = ks_two_sample(x, y)
    monkeypatch.setattr(samples, "MOST_PATHS", 1)
    bound = ks_two_sample(x, y)
    assert (exact.method, bound.method) == ("exact", "bound")
    assert exact.p < bound.p < 1e-3
    assert ks_two_sample(rng.random(99_999), rng.random(100_000)).method == "bound"


@pytest.mark.parametrize(("n", "m"), [(200, 200), (150, 400)])
def test_two_sample_power(n: int, m: int) -> None:
    rng = np.random.default_rng(12)
    alpha, repetitions = 1e-6, 400
    distance = ks_two_detectable(n, m, alpha, power=0.9)
    assert distance < 1
    x = rng.random((repetitions, n))
    y = np.where(rng.random((repetitions, m)) < distance, 1.0, rng.random((repetitions, m)))
    missed = sum(not ks_two_sample(a, b).rejects(alpha) for a, b in zip(x, y, strict=True))
    assert missed <= most(0.1, repetitions)


def test_two_sample_sizes() -> None:
    for distance in (1.0, 0.3, 0.02, 1e-4):
        n = ks_two_samples(distance)
        assert ks_two_detectable(n, n) <= distance < ks_two_detectable(n - 1, n - 1)
    for distance in (1.0, 0.3, 0.02, 1e-4):
        n = proportions_samples(distance)
        assert proportions_detectable(n, n) <= distance < proportions_detectable(n - 1, n - 1)


# --- proportions and cells ------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["above", "below", "two"])
@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (12, 9), (30, 4)])
def test_fisher_is_super_uniform_for_every_common_rate(side: Side, n1: int, n2: int) -> None:
    table = [[two_proportions(a, n1, b, n2, side).p for b in range(n2 + 1)] for a in range(n1 + 1)]
    p_values = np.array(table)
    for p in (0.0, 0.03, 0.3, 0.5, 0.8, 1.0):
        mass = np.outer(stats.binom.pmf(np.arange(n1 + 1), n1, p), stats.binom.pmf(np.arange(n2 + 1), n2, p))
        for level in (1e-4, 0.01, 0.05, 0.3):
            assert mass[p_values <= level].sum() <= level * (1 + 1e-9)


def test_fisher_agrees_with_scipy_and_knows_sides() -> None:
    for s1, n1, s2, n2 in [(3, 10, 7, 12), (0, 50, 9, 50), (500, 1000, 400, 1000)]:
        table = [[s1, n1 - s1], [s2, n2 - s2]]
        above = stats.fisher_exact(table, alternative="greater").pvalue
        below = stats.fisher_exact(table, alternative="less").pvalue
        assert two_proportions(s1, n1, s2, n2, "above").p == pytest.approx(above, rel=1e-9, abs=0)
        assert two_proportions(s1, n1, s2, n2, "below").p == pytest.approx(below, rel=1e-9, abs=0)
        turned = two_proportions(s2, n2, s1, n1).p
        assert two_proportions(s1, n1, s2, n2).p == pytest.approx(turned, rel=1e-9, abs=0)


@pytest.mark.parametrize(("n1", "n2"), [(120, 120), (100, 400)])
@pytest.mark.parametrize("centre", [0.5, 0.2])
def test_proportions_power_is_exact_or_more(n1: int, n2: int, centre: float) -> None:
    alpha = 1e-3
    distance = proportions_detectable(n1, n2, alpha)
    p1, p2 = centre, centre + distance
    a, b = np.meshgrid(np.arange(n1 + 1), np.arange(n2 + 1), indexing="ij")
    above, below = samples._fisher_tails(a, a + b, n1, n2)
    rejects = 2 * np.minimum(above, below) <= alpha
    mass = np.outer(stats.binom.pmf(np.arange(n1 + 1), n1, p1), stats.binom.pmf(np.arange(n2 + 1), n2, p2))
    assert mass[rejects].sum() >= 0.99


def test_discrete_samples_are_calibrated_with_rare_cells_and_chi_square_is_not() -> None:
    rng = np.random.default_rng(13)
    n, repetitions = 100, 1000
    cells = np.array([0.9] + [0.1 / 20] * 20)
    x = rng.choice(21, (repetitions, 2, n), p=cells)
    p = [same_discrete_law(pair[0], pair[1]).p for pair in x]
    assert_super_uniform(p)
    few = [0.98, 0.01, 0.01]
    skewed = rng.choice(3, (repetitions, 20), p=few), rng.choice(3, (repetitions, 800), p=few)
    asymptotic = []
    for a, b in zip(*skewed, strict=True):
        counts = np.stack([np.bincount(a, minlength=3), np.bincount(b, minlength=3)])
        asymptotic.append(stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)
    exact = [same_discrete_law(a, b).p for a, b in zip(*skewed, strict=True)]
    assert_super_uniform(exact)
    assert sum(v <= 1e-3 for v in asymptotic) > most(1e-3, repetitions)  # about 35 are, of 1 allowed


def test_discrete_samples_power() -> None:
    rng = np.random.default_rng(14)
    n, alpha, repetitions = 400, 1e-6, 300
    distance = proportions_detectable(n, n, alpha, power=0.9, cells=5)
    x = rng.choice(5, (repetitions, n), p=[0.2, 0.2, 0.2, 0.2, 0.2])
    tilted = np.array([0.2 + distance] + [0.2 - distance / 4] * 4)
    y = rng.choice(5, (repetitions, n), p=tilted)
    missed = sum(not same_discrete_law(a, b).rejects(alpha) for a, b in zip(x, y, strict=True))
    assert missed <= most(0.1, repetitions)


# --- edges ---------------------------------------------------------------------------------------------


def test_edges() -> None:
    assert ks_two_sample([1.0], [1.0]).p == 1.0
    assert ks_two_sample([1.0], [2.0]).p == 1.0
    assert ks_two_sample([3.0] * 50, [3.0] * 70).p == 1.0
    apart = ks_two_sample([0.0] * 50, [1.0] * 50)
    assert (apart.distance, apart.where) == (1.0, 0.0)
    assert apart.p == pytest.approx(2 / math.comb(100, 50), rel=1e-9, abs=0)
    assert ks_one_sample([0.5], lambda t: t).p == 1.0
    assert ks_one_sample([0.0] * 5, lambda t: t).p == 0.0
    assert two_proportions(0, 5, 0, 7).p == 1.0
    assert two_proportions(5, 5, 7, 7).p == 1.0
    assert two_proportions(0, 0, 3, 7).p == 1.0
    assert two_proportions(0, 10**6, 10**6, 10**6).p == 0.0
    assert same_discrete_law([1], [1]).p == 1.0
    assert same_discrete_law(["a"] * 40, ["b"] * 40).p < 1e-9
    assert ks_two_detectable(1, 1) == math.inf
    assert ks_one_detectable(1) > 1


def test_results_are_plain_numbers() -> None:
    results: list[Comparison] = [
        ks_one_sample([0.1, 0.5], lambda t: t),
        ks_two_sample([0.1, 0.5], [0.2]),
        two_proportions(1, 5, 2, 7),
        same_discrete_law([1, 2], [2, 2]),
    ]
    for result in results:
        assert {type(result.distance), type(result.p)} == {float}
        assert {type(n) for n in result.n} == {int}
        assert type(result.where) in (float, str)
    assert {type(v) for v in (ks_one_detectable(9), ks_two_detectable(9, 9), ks_two_detectable(8, 9))} == {
        float
    }


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="at least one number"):
        ks_two_sample([], [1.0])
    with pytest.raises(ValueError, match="cdf gives probabilities"):
        ks_one_sample([1.0], lambda t: t + 1)
    with pytest.raises(ValueError, match="cdf gives probabilities"):
        ks_one_sample([1.0], lambda t: t * np.nan)
    with pytest.raises(ValueError, match="s1"):
        two_proportions(3, 2, 1, 1)
    with pytest.raises(ValueError, match="at least one value"):
        same_discrete_law([], [1])
    with pytest.raises(ValueError, match="distance lies in"):
        ks_two_samples(0.0)
