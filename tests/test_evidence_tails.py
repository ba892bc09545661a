"""Failure rates: the sequential test holds its level however often one looks, and the exact ones are exact.

Almost everything is computed, not simulated: crossing probabilities by dynamic programming over the counts.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats
from statsmodels.stats.proportion import proportion_confint

from verification.evidence import tails
from verification.evidence.tails import (
    FailureRate,
    anytime_interval,
    binomial_detectable,
    binomial_p,
    binomial_power,
    binomial_samples,
    clopper_pearson,
    critical_counts,
    log_e_above,
    log_e_below,
    rate_detectable,
    rate_of_batches,
    rate_samples,
    sequential_rate,
    smallest_n,
)

LOOKS = 5000


def stopped(p: float, below: NDArray[np.int64], above: NDArray[np.int64]) -> tuple[float, float]:
    """Exact probabilities that S_n first leaves (below_n, above_n) down- or upwards, looking at each n."""
    mass = np.array([1.0])
    down = up = 0.0
    for low, high in zip(below, above, strict=True):
        step = np.zeros(len(mass) + 1)
        step[:-1] += (1 - p) * mass
        step[1:] += p * mass
        down += float(step[: max(0, low + 1)].sum())
        up += float(step[max(0, high) :].sum())
        step[: max(0, low + 1)] = 0.0
        mass = step[: max(0, high)]
        if not mass.any():
            break
    return down, up


NEVER_BELOW = np.full(LOOKS, -1)
NEVER_ABOVE = np.arange(1, LOOKS + 1) + 1


@pytest.mark.parametrize(("failures", "n"), [(0, 1), (1, 1), (0, 40), (7, 40), (40, 40), (30, 200)])
@pytest.mark.parametrize("bound", [0.01, 0.05, 0.5, 0.97])
def test_e_values_are_the_mixtures_they_claim_to_be(failures: int, n: int, bound: float) -> None:
    def mixture(low: float, high: float) -> float:
        def ratio(q: float) -> float:
            return float(np.exp(stats.binom.logpmf(failures, n, q) - stats.binom.logpmf(failures, n, bound)))

        # with q = sin^2(a) the Beta(1/2, 1/2) law is uniform in a: no singularity
        ends = math.asin(math.sqrt(low)), math.asin(math.sqrt(high))
        value, _ = integrate.quad(lambda a: ratio(math.sin(a) ** 2), *ends, epsabs=0, epsrel=1e-10, limit=200)
        return float(value) / (ends[1] - ends[0])

    for value, e in (
        (float(log_e_above(failures, n, bound)), mixture(bound, 1.0)),
        (float(log_e_below(failures, n, bound)), mixture(0.0, bound)),
    ):
        underflow = value == -math.inf and e < 1
        assert underflow or value == pytest.approx(math.log(e), abs=1e-7)


@pytest.mark.parametrize("bound", [1e-36, 1e-3, 0.05, 0.5, 0.9])
def test_one_more_trial_never_raises_the_e_value_on_average(bound: float) -> None:
    n, s = np.meshgrid(np.arange(60), np.arange(60))
    n, s = n[s <= n], s[s <= n]
    for log_e, inside in (
        (log_e_above, lambda share: share * bound),
        (log_e_below, lambda share: 1 - share * (1 - bound)),
    ):
        now = log_e(s, n, bound)
        alive = now > -math.inf
        now, failed, passed = now[alive], log_e(s + 1, n + 1, bound)[alive], log_e(s, n + 1, bound)[alive]
        assert alive.mean() > 0.9 or bound == 1e-36
        for share in (1.0, 0.9, 0.3, 0.0):
            p = inside(share)
            after = p * np.exp(failed - now) + (1 - p) * np.exp(passed - now)
            assert after.max() <= 1 + 1e-11
            if share == 1.0 and bound > 1e-36:
                assert after.min() >= 1 - 1e-11  # at the bound itself nothing is given away


@pytest.mark.parametrize("bound", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("alpha", [0.1, 1e-3, 1e-9])
def test_looking_after_every_trial_keeps_the_level(bound: float, alpha: float) -> None:
    below, above = critical_counts(np.arange(1, LOOKS + 1), bound, alpha)
    for p in (bound, 0.8 * bound, 0.1 * bound):
        _, refuted = stopped(p, NEVER_BELOW, above)
        assert refuted <= alpha / 2
        if p == bound:
            assert refuted >= alpha / 200  # and it is a test, not a constant
    for p in (bound, 1.2 * bound, 2 * bound):
        held, _ = stopped(p, below, NEVER_ABOVE)
        assert held <= alpha / 2


def test_a_fixed_sample_p_value_would_fail_the_same_calibration() -> None:
    n = np.arange(1, LOOKS + 1)
    above = stats.binom.isf(0.05, n, 0.05).astype(np.int64) + 1  # the exact test at level 0.05, at each n
    assert float(stats.binom.sf(above - 1, n, 0.05).max()) <= 0.05
    _, refuted = stopped(0.05, NEVER_BELOW, above)
    assert refuted > 0.3


def test_looks_by_the_public_interface_are_the_critical_counts() -> None:
    rng = np.random.default_rng(1)
    n = np.arange(1, 401)
    for p, bound in [(0.05, 0.05), (0.2, 0.05), (0.01, 0.2), (0.5, 0.5)]:
        below, above = critical_counts(n, bound, 0.05)
        trials = rng.random(400) < p
        s = np.cumsum(trials)
        decided = np.flatnonzero((s <= below) | (s >= above))
        state = rate_of_batches(((int(t), 1) for t in trials), bound, 0.05)
        assert state.n == (decided[0] + 1 if len(decided) else 400)
        assert (state.verdict == "UNDECIDED") == (not len(decided))


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-9])
def test_interval_is_what_the_e_values_do_not_reject(alpha: float) -> None:
    need = math.log(2 / alpha)
    grid = np.concatenate([np.geomspace(1e-12, 0.01, 200), np.linspace(0.01, 0.999, 1000)])
    for n in (1, 2, 7, 50, 1000):
        for s in {0, 1, n // 10, n // 2, n - 1, n}:
            low, high = anytime_interval(s, n, alpha)
            assert 0 <= low <= s / n <= high <= 1
            # exactly the lower (upper) end of the grid is rejected: no islands
            assert np.array_equal(log_e_above(s, n, grid) >= need, grid <= low)
            assert np.array_equal(log_e_below(s, n, grid) >= need, grid >= high)


@pytest.mark.parametrize("p", [1e-4, 0.03, 0.5, 0.9])
def test_interval_covers_at_all_looks_together(p: float) -> None:
    below, above = critical_counts(np.arange(1, 2001), p, 0.1)
    down, up = stopped(p, below, above)
    assert down + up <= 0.1


def test_verdicts_of_the_sequential_procedure() -> None:
    """A wrong verdict has probability below 1e-9 each; the sizes leave UNDECIDED less than 1e-9 as well."""
    rng = np.random.default_rng(2)

    def failures(p: float) -> FailureRate:
        return sequential_rate(lambda k: rng.binomial(k, p), bound=0.05, max_n=20_000)

    low, high, even = failures(0.01), failures(0.2), failures(0.05)
    assert (low.verdict, high.verdict, even.verdict) == ("HOLDS", "REFUTED", "UNDECIDED")
    assert low.n < 5000
    assert high.n < 2000
    assert even.n == 20_000
    assert low.interval[1] < 0.05 < high.interval[0]
    assert even.interval[0] < 0.05 < even.interval[1]
    assert low.p_below <= 5e-10 < low.p_above
    assert high.p_above <= 5e-10 < high.p_below


def test_stated_power_is_reached_by_the_sequential_test() -> None:
    n, bound, alpha = 3000, 0.05, 1e-3
    low, high = rate_detectable(n, bound, alpha)
    below, above = critical_counts(np.arange(1, n + 1), bound, alpha)
    assert stopped(high, below, above)[1] >= 0.99 - alpha / 2
    assert stopped(low, below, above)[0] >= 0.99 - alpha / 2
    c, big = (int(v[-1]) for v in (below, above))
    assert stats.binom.sf(big - 1, n, high) == pytest.approx(0.99)
    assert stats.binom.cdf(c, n, low) == pytest.approx(0.99)


@pytest.mark.parametrize(("bound", "rate"), [(0.05, 0.0), (0.05, 0.01), (0.05, 0.2), (0.5, 0.9), (0.0, 0.1)])
def test_sample_sizes_are_enough_and_one_less_is_not(bound: float, rate: float) -> None:
    for detectable, samples in ((rate_detectable, rate_samples), (binomial_detectable, binomial_samples)):
        n = samples(bound, rate)

        def reached(m: int, detectable: object = detectable) -> bool:
            low, high = (rate_detectable if detectable is rate_detectable else binomial_detectable)(m, bound)
            return rate >= high if rate > bound else rate <= low

        assert reached(n)
        assert not reached(n - 1)
    assert binomial_samples(bound, rate) <= rate_samples(bound, rate)


@pytest.mark.parametrize("n", [1, 2, 9, 40])
@pytest.mark.parametrize("side", ["above", "below", "two"])
def test_binomial_p_values_are_super_uniform(n: int, side: tails.Side) -> None:
    bound = 0.3
    s = np.arange(n + 1)
    p_values = np.array([binomial_p(int(k), n, bound, side) for k in s])
    for p in {"above": (0.3, 0.1, 0.0), "below": (0.3, 0.7, 1.0), "two": (0.3,)}[side]:
        pmf = stats.binom.pmf(s, n, p)
        for level in p_values:
            assert pmf[p_values <= level].sum() <= level * (1 + 1e-12)


@pytest.mark.parametrize("n", [1, 6, 35])
@pytest.mark.parametrize("alpha", [0.05, 1e-9])
@pytest.mark.parametrize("side", ["above", "below", "two"])
def test_clopper_pearson_covers_every_rate(n: int, alpha: float, side: tails.Side) -> None:
    ends = np.array([clopper_pearson(s, n, alpha, side) for s in range(n + 1)])
    for p in np.concatenate([[0.0, 1e-12, 1.0], np.linspace(0.001, 0.999, 301)]):
        missed = (ends[:, 0] > p) | (ends[:, 1] < p)
        assert stats.binom.pmf(np.arange(n + 1), n, p)[missed].sum() <= alpha * (1 + 1e-9)


def test_clopper_pearson_agrees_with_statsmodels_and_with_the_tails() -> None:
    for s, n in [(0, 10), (3, 10), (10, 10), (17, 4000)]:
        low, high = clopper_pearson(s, n, 0.01)
        assert (low, high) == pytest.approx(proportion_confint(s, n, 0.01, method="beta"), rel=1e-9)
        low, high = clopper_pearson(s, n, 1e-12)
        assert low == 0 or binomial_p(s, n, low, "above") == pytest.approx(5e-13, rel=1e-6, abs=0)
        assert high == 1 or binomial_p(s, n, high, "below") == pytest.approx(5e-13, rel=1e-6, abs=0)


def test_power_is_exact() -> None:
    n, bound, alpha = 200, 0.1, 0.01
    for rate in (0.02, 0.2):
        s = np.arange(n + 1)
        side: tails.Side = "above" if rate > bound else "below"
        rejects = np.array([binomial_p(int(k), n, bound, side) <= alpha for k in s])
        assert binomial_power(n, bound, rate, alpha) == pytest.approx(
            stats.binom.pmf(s, n, rate)[rejects].sum()
        )


# --- edges ---------------------------------------------------------------------------------------------


def test_bounds_at_the_edges() -> None:
    assert FailureRate(0.0).look(0, 10**6).verdict == "UNDECIDED"  # never a failure proves p <= 0
    assert FailureRate(0.0).look(1, 10**6).verdict == "REFUTED"
    assert FailureRate(0.0).look(1, 10**6).p_above == 0.0
    assert FailureRate(1.0).look(1000, 1000).verdict == "UNDECIDED"
    assert FailureRate(1.0).look(999, 1000).verdict == "HOLDS"
    assert FailureRate(1e-36).look(0, 10**9).verdict == "UNDECIDED"
    assert FailureRate(1e-36).look(1, 10**9).verdict == "REFUTED"
    assert FailureRate(1e-36).look(0, 10**9).p_below == 1.0
    assert rate_detectable(100, 1e-36)[0] == -math.inf
    assert rate_detectable(1, 0.5) == (-math.inf, math.inf)
    assert binomial_detectable(1, 0.5) == (-math.inf, math.inf)
    assert binomial_detectable(10, 1.0)[1] == math.inf
    assert anytime_interval(0, 0) == (0.0, 1.0)
    assert anytime_interval(0, 1)[0] == 0.0
    assert anytime_interval(1, 1)[1] == 1.0
    assert clopper_pearson(0, 0) == (0.0, 1.0)


def test_extreme_counts_and_levels_stay_finite_and_ordered() -> None:
    for s, n, alpha in itertools.product((0, 1, 10**5, 10**9 - 1, 10**9), (10**9, 10**15), (1e-9, 1e-300)):
        low, high = anytime_interval(s, n, alpha)
        assert 0 <= low <= s / n <= high <= 1
        a, b = clopper_pearson(s, n, alpha)
        assert low <= a * (1 + 1e-9)
        assert b * (1 - 1e-9) <= high
    for s, n, bound in itertools.product(
        (0, 1, 500, 1000), (1000,), (0.0, 5e-324, 1e-36, 0.5, 1 - 1e-16, 1.0)
    ):
        for value in (log_e_above(s, n, bound), log_e_below(s, n, bound)):
            assert not math.isnan(float(value))


def test_results_are_plain_numbers_even_from_numpy_counts() -> None:
    state = FailureRate(0.05).look(np.int64(3), np.int64(100))
    assert type(state.n) is int
    assert type(state.failures) is int
    values = [state.log_e_above, state.log_e_below, state.p_above, state.p_below, *state.interval]
    values += [*rate_detectable(100, 0.5, 0.1), *clopper_pearson(3, 10), binomial_p(3, 10, 0.5)]
    values += [binomial_power(10, 0.5, 0.9, 0.1), *binomial_detectable(100, 0.5)]
    assert {type(v) for v in values} == {float}
    assert type(rate_samples(0.5, 0.9)) is int


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"bound lies in \[0, 1\], not 1.5"):
        FailureRate(1.5)
    with pytest.raises(ValueError, match=r"bound lies in \[0, 1\], not nan"):
        FailureRate(math.nan)
    with pytest.raises(ValueError, match="alpha lies in"):
        FailureRate(0.5, alpha=0.0)
    with pytest.raises(ValueError, match="failures"):
        FailureRate(0.5).look(3, 2)
    with pytest.raises(ValueError, match="failures"):
        clopper_pearson(-1, 2)
    with pytest.raises(ValueError, match="no sample size tells them apart"):
        rate_samples(0.05, 0.05)
    with pytest.raises(ValueError, match="max_n"):
        sequential_rate(lambda k: 0, 0.05, 0)
    with pytest.raises(ValueError, match=f"max_n is at most {2**50}, not {2**50 + 1}"):
        sequential_rate(lambda k: 0, 0.0, 2**50 + 1)
    for count in (-1, 65, 0.5, None, math.nan, "x"):
        with pytest.raises(ValueError, match=rf"sample\(64\) counts failures in 64 trials, not {count!r}"):
            sequential_rate(lambda k, count=count: count, 0.05, 100)
    with pytest.raises(ValueError, match="no sample size up to"):
        smallest_n(lambda n: False, what="this")
    with pytest.raises(ValueError, match="failures lie between"):
        log_e_above(3, 2, 0.5)
