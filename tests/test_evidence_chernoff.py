"""Chernoff tails: above the exact probability, at the minimum, and sound where delta is 1e-36 and n 1e17."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx
from scipy import integrate, optimize, stats

from verification.evidence.chernoff import (
    binomial_log_tail,
    kl_shift,
    laplace_sum_deviation,
    laplace_sum_log_tail,
    laplace_sum_log_tail_ball,
)
from verification.evidence.enclosure.balls import ball, lower, upper


def exact_laplace_tail(n: int, tau: float) -> float:
    """P(G − G' ≥ τ) for independent Gamma(n), the law of a sum of n standard Laplace variables."""
    value, _ = integrate.quad(
        lambda g: stats.gamma.pdf(g, n) * stats.gamma.sf(tau + g, n),
        0,
        np.inf,
        epsabs=0,
        epsrel=1e-9,
        limit=500,
    )
    return float(value)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
@pytest.mark.parametrize("tau", [0.5, 3.0, 10.0, 40.0])
def test_laplace_bound_is_above_the_exact_tail_and_not_far(n: int, tau: float) -> None:
    exact = math.log(exact_laplace_tail(n, tau))
    if n <= 2:
        assert exact == pytest.approx(-tau + math.log([0.5, (2 + tau) / 4][n - 1]), abs=1e-6)
    for b in (1.0, 0.01, 300.0):
        bound = laplace_sum_log_tail(n, b, b * tau)
        assert exact <= bound <= exact + 6
        assert laplace_sum_log_tail(n, b, b * tau, two_sided=True) == pytest.approx(
            min(0.0, bound + math.log(2))
        )


@pytest.mark.parametrize("n", [1, 7, 1000, 10**9])
@pytest.mark.parametrize("scaled", [0.1, 1.0, 9.0])
def test_laplace_bound_is_the_minimum_over_s(n: int, scaled: float) -> None:
    tau = scaled * math.sqrt(n)
    best = optimize.minimize_scalar(
        lambda u: -u * tau - n * math.log1p(-u * u),
        bounds=(0, min(0.999999, 4 * tau / n)),
        method="bounded",
        options={"xatol": 1e-14},
    )
    assert laplace_sum_log_tail(n, 1.0, tau) == pytest.approx(float(best.fun), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("n", [1, 10, 10**6, 10**17, 10**18])
@pytest.mark.parametrize("log_delta", [-1e-3, -0.7, -20.7, -82.9, -1e4])
@pytest.mark.parametrize("two_sided", [False, True])
def test_deviation_inverts_the_tail(n: int, log_delta: float, two_sided: bool) -> None:
    t = laplace_sum_deviation(n, 0.5, log_delta, two_sided)
    assert laplace_sum_log_tail(n, 0.5, t, two_sided) == pytest.approx(log_delta, rel=1e-6)
    budget = -log_delta + (math.log(2) if two_sided else 0.0)
    assert t <= 0.5 * (2 * math.sqrt(n * budget) + budget) * (1 + 1e-12)


@pytest.mark.parametrize("c", [0.3, 2.0, 13.0, 40.0])
def test_the_enclosed_tail_is_the_tail_and_falls_with_n(c: float) -> None:
    """At tau = c sqrt(n); the last step is certain for balls, not a matter of rounding."""
    before = None
    for n in (2, 3, 7, 100, 10**6, 10**18):
        with ctx.workprec(256):
            found = laplace_sum_log_tail_ball(arb(n), ball(c) * arb(n).sqrt())
            assert before is None or found < before
            before = found
        plain = laplace_sum_log_tail(n, 1.0, c * math.sqrt(n)) + math.log(2)
        assert lower(found) - 1e-9 <= plain <= upper(found) + 1e-9 * (1 + abs(plain)) or plain == math.log(2)


@pytest.mark.parametrize("n", [1, 4, 50, 1000])
@pytest.mark.parametrize("p", [1e-36, 1e-3, 0.3, 0.5, 0.99])
def test_binomial_bound_is_above_the_exact_tail(n: int, p: float) -> None:
    for k in {0, 1, n // 3, n // 2, n - 1, n}:
        if k >= n * p:
            exact = float(stats.binom.logsf(k - 1, n, p))
            assert exact <= binomial_log_tail(n, p, k - n * p) + 1e-9
        if k <= n * p:
            exact = float(stats.binom.logcdf(k, n, p))
            assert exact <= binomial_log_tail(n, p, n * p - k, "below") + 1e-9
    two = binomial_log_tail(n, p, 0.4 * n * p, "two")
    above, below = (binomial_log_tail(n, p, 0.4 * n * p, side) for side in ("above", "below"))
    assert two == pytest.approx(min(0.0, np.logaddexp(above, below)), abs=1e-12)


@pytest.mark.parametrize("n", [3, 10, 77, 12345])
@pytest.mark.parametrize("p", [0.1, 0.3, 0.7])
def test_the_outermost_value_has_its_own_probability(n: int, p: float) -> None:
    """n − np rounds; were S = n taken for impossible, the bound would be wrong."""
    assert binomial_log_tail(n, p, n - n * p) == pytest.approx(n * math.log(p), rel=1e-9)
    assert binomial_log_tail(n, p, n * p, "below") == pytest.approx(n * math.log1p(-p), rel=1e-9, abs=0)
    assert binomial_log_tail(n, p, (n - n * p) * 1.01) == -math.inf


def test_divergence_of_tiny_shifts() -> None:
    for p in (0.5, 0.01, 1e-20):
        for relative in (1e-3, 1e-9, 1e-15):
            shift = relative * p
            expected = shift**2 / (2 * p * (1 - p)) * (1 - relative * (1 - 2 * p) / (3 * (1 - p)))
            assert kl_shift(p, shift) == pytest.approx(expected, rel=1e-5, abs=0)
    for p, q in [(0.3, 0.31), (0.3, 0.3089), (0.3, 0.9), (0.9, 0.0), (0.2, 1.0)]:
        entropy = float(stats.entropy([q, 1 - q], [p, 1 - p]))
        assert kl_shift(p, q - p) == pytest.approx(entropy, rel=1e-9, abs=0)
    assert kl_shift(0.0, 0.1) == math.inf
    assert kl_shift(1.0, 0.0) == 0.0


def test_bad_input_is_named() -> None:
    for call in (
        lambda: laplace_sum_log_tail(0, 1.0, 1.0),
        lambda: laplace_sum_log_tail(1, -1.0, 1.0),
        lambda: laplace_sum_log_tail(1, 1.0, math.nan),
        lambda: laplace_sum_deviation(1, 1.0, 0.0),
        lambda: laplace_sum_deviation(1, 1.0, -math.inf),
        lambda: binomial_log_tail(10, 1.1, 1.0),
        lambda: binomial_log_tail(10, 0.5, -1.0),
    ):
        with pytest.raises(ValueError, match="not"):
            call()
    assert laplace_sum_log_tail(5, 1.0, 0.0) == 0.0
