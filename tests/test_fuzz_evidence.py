"""Odd arguments to the methods of evidence: a number, or a ValueError that names the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fuzz import arguments, cases, mostly, odd_arrays, total
from verification.evidence import chernoff, quantiles, rare, samples, scaling, tails
from verification.evidence.privacy import Counts, delta_low, detectable, epsilon_low, refutes

unit = st.floats(0, 1)
inner = st.floats(1e-6, 1 - 1e-6)
level = st.sampled_from([1e-9, 0.01, 0.05, 0.5])
count = st.integers(0, 40)
size = st.integers(1, 60)
large = st.integers(1, 10**12)
positive = st.floats(1e-3, 1e3)
real = st.floats(-50, 50)
flag = st.booleans()
side = st.sampled_from(["above", "below", "two"])
rng = st.integers(0, 5).map(np.random.default_rng)
vector = st.lists(st.floats(0, 1), min_size=1, max_size=12)
table = st.integers(2, 4).flatmap(
    lambda m: st.lists(st.lists(st.floats(0.1, 9), min_size=m, max_size=m), min_size=2, max_size=5)
)
points = st.integers(2, 4).map(lambda m: [2.0**k for k in range(1, m + 1)])
fit = st.builds(
    lambda a, s: scaling.slope([2, 4, 8, 16], np.exp(np.random.default_rng(s).normal(size=(9, 4))), a),
    level,
    st.integers(0, 9),
)


def half_sample(share: float) -> Callable[[int], int]:
    return lambda n: int(share * n)


COUNTS = {"failures": count, "n": size}
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, st.SearchStrategy[Any]]]] = {
    "log_e_above": (tails.log_e_above, COUNTS | {"bound": unit}),
    "log_e_below": (tails.log_e_below, COUNTS | {"bound": unit}),
    "anytime_interval": (tails.anytime_interval, COUNTS | {"alpha": level}),
    "rate_of_batches": (
        tails.rate_of_batches,
        {"batches": st.lists(st.tuples(count, size), max_size=4), "bound": unit, "alpha": level},
    ),
    "sequential_rate": (
        tails.sequential_rate,
        {"sample": unit.map(half_sample), "bound": unit, "max_n": large, "alpha": level, "first": size},
    ),
    "critical_counts": (tails.critical_counts, {"n": size, "bound": unit, "alpha": level}),
    "rate_detectable": (tails.rate_detectable, {"n": large, "bound": unit, "alpha": level, "power": inner}),
    "rate_samples": (tails.rate_samples, {"bound": unit, "rate": unit, "alpha": level, "power": inner}),
    "binomial_p": (tails.binomial_p, COUNTS | {"bound": unit, "side": side}),
    "clopper_pearson": (tails.clopper_pearson, COUNTS | {"alpha": level, "side": side}),
    "binomial_power": (
        tails.binomial_power,
        {"n": size, "bound": unit, "rate": unit, "alpha": level},
    ),
    "binomial_detectable": (
        tails.binomial_detectable,
        {"n": size, "bound": unit, "alpha": level, "power": inner},
    ),
    "binomial_samples": (
        tails.binomial_samples,
        {"bound": unit, "rate": unit, "alpha": level, "power": inner},
    ),
    "quantile_interval": (
        quantiles.quantile_interval,
        {"x": vector, "q": inner, "alpha": level, "side": side},
    ),
    "quantile_detectable": (
        quantiles.quantile_detectable,
        {"n": size, "q": inner, "alpha": level, "power": inner, "side": side},
    ),
    "quantile_samples": (
        quantiles.quantile_samples,
        {"q": inner, "alpha": level, "side": side, "within": unit},
    ),
    "mean_interval": (
        quantiles.mean_interval,
        {"x": vector, "low": st.floats(-1, 0), "high": st.floats(1, 2), "alpha": level},
    ),
    "mean_detectable": (
        quantiles.mean_detectable,
        {"n": size, "low": st.floats(-1, 0), "high": st.floats(1, 2), "alpha": level, "power": inner}
        | {"std": st.none() | unit},
    ),
    "mean_samples": (
        quantiles.mean_samples,
        {"distance": inner, "low": st.floats(-1, 0), "high": st.floats(1, 2), "alpha": level}
        | {"power": inner, "std": st.none() | unit},
    ),
    "ks_one_sample": (samples.ks_one_sample, {"x": vector, "cdf": st.just(lambda x: np.clip(x, 0, 1))}),
    "ks_one_detectable": (samples.ks_one_detectable, {"n": size, "alpha": level, "power": inner}),
    "ks_one_samples": (samples.ks_one_samples, {"distance": inner, "alpha": level, "power": inner}),
    "ks_two_sample": (samples.ks_two_sample, {"x": vector, "y": vector}),
    "ks_two_detectable": (
        samples.ks_two_detectable,
        {"n": size, "m": size, "alpha": level, "power": inner},
    ),
    "ks_two_samples": (samples.ks_two_samples, {"distance": inner, "alpha": level, "power": inner}),
    "two_proportions": (
        samples.two_proportions,
        {"s1": count, "n1": size, "s2": count, "n2": size, "side": side},
    ),
    "proportions_detectable": (
        samples.proportions_detectable,
        {"n1": size, "n2": size, "alpha": level, "power": inner, "cells": size},
    ),
    "proportions_samples": (
        samples.proportions_samples,
        {"distance": inner, "alpha": level, "power": inner, "cells": size},
    ),
    "same_discrete_law": (samples.same_discrete_law, {"x": vector, "y": vector}),
    "slope": (
        scaling.slope,
        {"x": points, "y": table, "alpha": level, "shared": flag, "log_factor": real, "free_log": flag},
    ),
    "local_slopes": (scaling.local_slopes, {"x": points, "y": table, "alpha": level, "shared": flag}),
    "slope_bounded": (
        scaling.slope_bounded,
        {"x": points, "y": table, "ceiling": positive, "alpha": level, "shared": flag, "log_factor": real},
    ),
    "slope_detectable": (scaling.slope_detectable, {"fit": fit, "power": inner}),
    "slope_samples": (scaling.slope_samples, {"fit": fit, "distance": positive, "power": inner}),
    "laplace_sum_log_tail": (
        chernoff.laplace_sum_log_tail,
        {"n": positive, "b": positive, "t": positive, "two_sided": flag},
    ),
    "laplace_sum_deviation": (
        chernoff.laplace_sum_deviation,
        {"n": positive, "b": positive, "log_delta": st.floats(-900, -1e-3), "two_sided": flag},
    ),
    "binomial_log_tail": (
        chernoff.binomial_log_tail,
        {"n": positive, "p": unit, "t": positive, "side": side},
    ),
    "kl_shift": (chernoff.kl_shift, {"p": unit, "shift": st.floats(-1, 1)}),
    "laplace_sum_rare": (
        rare.laplace_sum_rare,
        {"n": size, "b": positive, "t": positive, "samples": size, "rng": rng, "alpha": level}
        | {"two_sided": flag},
    ),
    "binomial_rare": (
        rare.binomial_rare,
        {"n": size, "p": inner, "k": count, "samples": size, "rng": rng, "alpha": level},
    ),
    "binomial_log_sf": (rare.binomial_log_sf, {"n": size, "p": inner, "k": count}),
    "rare_detectable": (
        rare.rare_detectable,
        {"samples": size, "log_chernoff": st.floats(-90, -1), "log_claimed": st.floats(-90, -1)}
        | {"alpha": level, "power": inner},
    ),
    "rare_samples": (
        rare.rare_samples,
        {"log_chernoff": st.floats(-90, -1), "log_claimed": st.floats(-90, -1), "log_p": st.floats(-90, -1)}
        | {"alpha": level, "power": inner},
    ),
}
ARRAYS = {"x", "y", "ceiling", "batches"}


@pytest.mark.parametrize("name", FUNCTIONS)
@cases(15, 2000)
@given(data=st.data())
def test_odd_arguments_give_a_number_or_are_named(name: str, data: st.DataObject) -> None:
    function, good = FUNCTIONS[name]
    chosen = {key: mostly(s, odd_arrays) if key in ARRAYS else mostly(s) for key, s in good.items()}
    total(function, data.draw(st.fixed_dictionaries(chosen)))


EVENTS = st.builds(lambda a, n, b, m: Counts(min(a, n), n, min(b, m), m), count, size, count, size)


@pytest.mark.parametrize("function", [epsilon_low, delta_low, refutes], ids=lambda f: f.__name__)
@cases(8, 500)
@given(data=st.data())
def test_odd_levels_of_the_exact_test_are_named(function: Callable[..., Any], data: st.DataObject) -> None:
    known = {"alpha": level, "delta": st.floats(0, 0.9), "epsilon": st.floats(0, 3)}
    wanted = set(function.__annotations__) & set(known)
    given_ = data.draw(st.fixed_dictionaries({name: mostly(known[name]) for name in sorted(wanted)}))
    total(function, {"counts": data.draw(EVENTS)} | given_)


@cases(20, 2000)
@given(arguments(k1=count, n1=size, k2=count, n2=size))
def test_odd_counts_are_named(given: dict[str, Any]) -> None:
    total(Counts, given, ["counts"])


@cases(5, 200)
@given(
    arguments(
        n1=size, n2=size, q=inner, epsilon=st.floats(0, 3), delta=st.floats(0, 0.9), alpha=level, power=inner
    )
)
def test_odd_arguments_of_what_is_detectable_are_named(given: dict[str, Any]) -> None:
    total(detectable, given)
