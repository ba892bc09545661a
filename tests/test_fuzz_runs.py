"""Odd arguments to what runs and compares algorithms: baselines, compare, plan, widths and plots; and sound
values of every size to the steps of a fit. A result without NaN, or a ValueError that names an argument."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpcb import cli, compare, plan, plan_cli, plan_search, plan_text, plots, problem, widths
from lpcb.baselines import BASELINES, input_perturbation, ldp_linucb, private_statistics
from lpcb.engines import aggregate
from lpcb.engines import run as engine
from lpcb.plots import RegretCurve
from lpcb.problem import Problem
from lpcb.spec import REPAIRS, Spec
from tests.runs import small_problem
from tests.support.fuzz import cases, mostly, odd_arrays, odd_numbers, total

PROBLEM = small_problem()
ONE_ACTION = problem.random(1, 1, 2)
"""Nothing to learn, so that a plan takes no time."""
ZERO = Problem(np.zeros((2, 2, 2)), np.full(2, 0.5), np.zeros(2))
SOME_NEVER = Problem(PROBLEM.features, np.array([0.5, 0, 0.5, 0]), PROBLEM.theta)
SMALL = Problem(PROBLEM.features * 1e-200, PROBLEM.weights, PROBLEM.theta)
NOISELESS = problem.random(3, 2, 3, reward="noiseless")
BETA = problem.random(1, 2, 2, reward="beta")
CURVE = RegretCurve("a curve", np.array([1, 10, 100]), np.array([[0.0, 1.0, 3.0], [1.0, 2.0, 4.0]]))

Strategies = dict[str, st.SearchStrategy[Any]]
unit = st.floats(0, 1)
alpha: st.SearchStrategy[Any] = st.sampled_from([1.0, 0.3, 1e-6, 1e-20, 1e-40, np.float32(0.25)])
size = st.integers(1, 12)
seed = st.integers(0, 9)
rng = seed.map(np.random.default_rng)
problems = st.sampled_from([PROBLEM, ONE_ACTION, ZERO, SOME_NEVER, SMALL, NOISELESS, BETA])
scale = st.none() | st.tuples(unit, unit) | st.just((1e8, 1e-320))
horizon = st.sampled_from([3000, 10**6, 10**18, 2**62])
text = st.text("ab $^_{}\\%<&\x00\n\té", max_size=8)
label = text.map("a{}".format)
curves = st.lists(st.builds(RegretCurve, label, st.just(CURVE.rounds), st.just(CURVE.regret)), max_size=3)
odd_scale = st.sampled_from([(1, 2, 3), (1,), (None, 1.0), (math.nan, 1.0), (1.0, "x"), (-1.0, 1.0)])
odd_marks = st.sampled_from([[], [5, 5], [0], [1.5], [True], [10**400], "12", {3: 1}, {1, 2}, iter([1])])
odd_curves = st.sampled_from([[None], [CURVE, "x"], CURVE, (CURVE,)])
odd_problems = st.sampled_from([[], [None], [ONE_ACTION, PROBLEM], [ZERO], ONE_ACTION, (ONE_ACTION,)])

ODD = {
    "scale": odd_numbers | odd_scale,
    "checkpoints": odd_arrays | odd_marks,
    "curves": odd_arrays | odd_curves,
}
ODD |= {"problems": odd_arrays | odd_problems, "rounds": odd_arrays, "regret": odd_arrays}
WORDS = ["activation", "width", "reward", "d"]
"""What a message may name in place of the argument that it is a part of."""


def asked(longest: int) -> Strategies:
    """What every baseline is asked for, over horizons that take no time."""
    marks = st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True).map(sorted)
    ends = st.sampled_from([8, 64, 200, np.int8(100), np.int64(longest), longest])
    return {"problem": problems, "horizon": ends, "alpha": alpha, "seeds": st.integers(1, 2), "rng": rng} | {
        "checkpoints": marks | marks.map(np.array) | marks.map(tuple)
    }


RUNS: dict[str, tuple[Callable[..., Any], Strategies]] = {
    f"lpcb.baselines.{name}.{form}": (run, asked(longest))
    for name, one in BASELINES.items()
    for form, run, longest in (("stream", one.stream, 300), ("aggregate", one.aggregate, 2**62))
    if run is not None
}
BOUNDS: Strategies = {
    "n": st.integers(1, 2**62),
    "d": size,
    "b": st.floats(1e-3, 1e60),
    "p": st.floats(1e-300, 1),
}
FUNCTIONS: dict[str, tuple[Callable[..., Any], Strategies]] = {
    "lpcb.baselines.input_perturbation.l1_sensitivity": (input_perturbation.l1_sensitivity, {"d": size}),
    "lpcb.baselines.input_perturbation.bounds": (input_perturbation.bounds, BOUNDS),
    "lpcb.baselines.private_statistics.l1_sensitivity": (private_statistics.l1_sensitivity, {"d": size}),
    "lpcb.baselines.private_statistics.bounds": (private_statistics.bounds, BOUNDS),
    "lpcb.baselines.ldp_linucb.l2_sensitivity": (ldp_linucb.l2_sensitivity, {"d": size}),
    "lpcb.baselines.ldp_linucb.noise_scale": (
        ldp_linucb.noise_scale,
        {"d": size, "alpha": alpha, "horizon": horizon},
    ),
    "lpcb.cli.horizon_of": (lambda text: cli.horizon_of(text, "text"), {"text": text | horizon.map(str)}),
    "lpcb.compare.factors_of": (lambda scale: compare.factors_of(scale, 2), {"scale": scale}),
    "lpcb.plan.algorithms": (plan.algorithms, {"problem": problems, "alpha": alpha, "scale": scale}),
    "lpcb.plan_cli.candidates": (
        plan_cli.candidates,
        {"base": problems, "theta": st.none() | text | st.just("0.6,-0.8")}
        | {"draws": st.none() | st.integers(1, 3), "seed": seed},
    ),
    "lpcb.plan_search.moved": (plan_search.moved, {"d": size, "x": st.floats(1, 1000)}),
    "lpcb.plan_search.crossing": (
        plan_search.crossing,
        {"reached": st.sampled_from([lambda x: x > 3, lambda x: True, lambda x: False])}
        | {"guess": st.floats(0, 10), "low": st.floats(-10, 0), "high": st.floats(10, 20)}
        | {"step": st.floats(0.01, 30)},
    ),
    "lpcb.plan_text.amount": (plan_text.amount, {"x": st.floats(0, 1e300)}),
    "lpcb.plots.RegretCurve": (
        RegretCurve,
        {"label": text, "rounds": st.just(CURVE.rounds), "regret": st.just(CURVE.regret)}
        | {"dashed": st.booleans()},
    ),
    "lpcb.plots.last_exponent": (
        plots.last_exponent,
        {"rounds": st.just(CURVE.rounds), "regret": st.lists(unit, min_size=3, max_size=3).map(np.array)},
    ),
    "lpcb.widths.shares": (widths.shares, {"problem": problems, "horizon": horizon, "alpha": alpha}),
    "lpcb.widths.split": (widths.split, {"problem": problems, "horizon": horizon, "alpha": alpha}),
}
DRAWINGS: dict[str, tuple[Callable[..., Any], Strategies]] = {
    "lpcb.plots.comparison_svg": (plots.comparison_svg, {"curves": curves, "title": text}),
    "lpcb.plots.regret_svg": (plots.regret_svg, {"curves": curves, "title": text}),
    "lpcb.plots.share_svg": (plots.share_svg, {"curves": curves, "target": unit, "title": text}),
}
CALLED = {*RUNS, *FUNCTIONS, *DRAWINGS, "lpcb.compare.compare", "lpcb.plan.plan"}


def call(function: Callable[..., Any], good: Strategies, data: st.DataObject) -> tuple[dict[str, Any], Any]:
    """One call with each argument odd now and then: the arguments, and what came of them."""
    chosen = {name: mostly(strategy, ODD.get(name, odd_numbers)) for name, strategy in good.items()}
    words = data.draw(st.fixed_dictionaries(chosen))
    return words, total(function, words, WORDS)


@pytest.mark.parametrize("name", RUNS)
@cases(8, 500)
@given(data=st.data())
def test_odd_requests_to_baselines(name: str, data: st.DataObject) -> None:
    words, curve = call(*RUNS[name], data)
    if curve is not None:
        most = words["problem"].gaps.max() * np.array(curve.checkpoints, dtype=np.float64)
        assert (curve.regret >= 0).all()
        assert (curve.regret <= most * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", FUNCTIONS)
@cases(8, 500)
@given(data=st.data())
def test_odd_arguments_give_a_result_or_are_named(name: str, data: st.DataObject) -> None:
    call(*FUNCTIONS[name], data)


@pytest.mark.parametrize("name", DRAWINGS)
@cases(4, 200)
@given(data=st.data())
def test_odd_curves_and_titles_are_drawn_as_svg(name: str, data: st.DataObject) -> None:
    _, drawn = call(*DRAWINGS[name], data)
    if drawn is not None:
        assert ElementTree.fromstring(drawn).tag.endswith("svg")


@cases(3, 300)
@given(data=st.data())
def test_odd_comparisons(data: st.DataObject) -> None:
    words: Strategies = {"problem": problems, "horizon": horizon, "alpha": alpha, "scale": scale}
    words |= {"beta": st.none() | st.floats(0.05, 0.5), "seeds": st.just(1), "seed": seed}
    words |= {"progress": st.none(), "streamed": st.integers(1, 400)}
    _, found = call(compare.compare, words, data)
    assert found is None or all(np.isfinite(one.regret).all() for one in found.competitors)


@cases(10, 300)
@given(data=st.data())
def test_odd_plans(data: st.DataObject) -> None:
    words: Strategies = {
        "problems": st.sampled_from([[ONE_ACTION], (ONE_ACTION, ONE_ACTION)]),
        "alpha": alpha,
    }
    words |= {
        "target": st.floats(0.01, 0.99),
        "seeds": st.integers(1, 3),
        "seed": seed,
        "scale": scale,
        "progress": st.none(),
    }
    call(plan.plan, words, data)


@cases(1, 20)
@given(target=st.floats(1e-6, 1 - 1e-6), alpha=alpha, scale=scale, data=st.data())
def test_plans_of_every_size(target: float, alpha: float, scale: Any, data: st.DataObject) -> None:
    """What is found, not found or extrapolated has numbers, whatever the target."""
    one = data.draw(st.sampled_from([problem.family_f(0.5, 1), SOME_NEVER]))
    found = total(
        plan.plan, {"problems": [one], "alpha": alpha, "target": target, "seeds": 1, "scale": scale}
    )
    assert plan_text.as_dict(found)["width"]["factors"]
    assert plots.share_svg(plan_text.curves(found), target, plan_text.plot_title(found))


factor = st.sampled_from([0.0, 1e-320, 1e-6, 1e-3, 1.0, 1e100])


@cases(20, 2000)
@given(data=st.data())
def test_a_fit_of_sound_values_of_every_size(data: st.DataObject) -> None:
    """Algorithms 2 to 6 from end to end: whatever the sizes, an estimate and an interval without NaN."""
    d, actions = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    one = problem.random(d, actions, data.draw(st.integers(1, 4)), data.draw(seed))
    one = Problem(one.features * data.draw(st.sampled_from([0.0, 1e-200, 1e-9, 1.0])), one.weights, one.theta)
    left_out = data.draw(st.sets(st.sampled_from(sorted(REPAIRS - {"eigenvalue-guard", "width-cap"}))))
    factors = data.draw(factor), data.draw(factor)
    repairs = REPAIRS - left_out
    spec = Spec(
        d,
        actions,
        data.draw(horizon),
        float(data.draw(alpha)),
        activation=factors[0],
        width=factors[1],
        repairs=repairs,
    )
    policy = data.draw(st.lists(st.floats(0.01, 1), min_size=actions, max_size=actions).map(np.array))
    policies = np.broadcast_to(policy / policy.sum(), (2, one.contexts, actions))
    n = data.draw(st.integers(1, 100) | st.integers(1, 10**17))
    oracle = aggregate.fit(one, spec, policies, n, data.draw(rng))
    f_hat, delta = oracle(*engine.points(one, 2))
    assert np.isfinite(f_hat).all()
    assert ((delta >= 0) & (delta <= 2)).all()


def linucb(**odd: Any) -> Any:
    good = {"problem": PROBLEM, "horizon": 100, "alpha": 0.5, "seeds": 1, "rng": np.random.default_rng(0)}
    return BASELINES["linucb"].stream(*(good | {"checkpoints": [100]} | odd).values())


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: linucb(checkpoints=None), "checkpoints"),
        (lambda: linucb(problem=None), "problem"),
        (lambda: linucb(rng=0), "rng"),
        (lambda: linucb(alpha="x"), "alpha"),
        (lambda: linucb(alpha=1e-100), "alpha"),
        (lambda: linucb(seeds=10**6, horizon=10**6), "seeds"),
        (lambda: compare.compare(PROBLEM, 10**6, scale=[]), "scale"),
        (lambda: plan.plan([ZERO]), "features"),
        (lambda: plan.plan([ONE_ACTION], seeds=math.nan), "seeds"),
        (lambda: plan_cli.candidates(PROBLEM, None, 99999999999, 0), "draws"),
        (lambda: plan_search.crossing(lambda x: True, 5.0, 0.0, 10.0, 0.0), "step"),
    ],
)
def test_what_was_no_error_of_a_name_once_is_one(call: Callable[[], Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call()


def test_contexts_that_never_occur_have_no_width() -> None:
    """Their bins are empty: 0 times infinity was NaN."""
    found = widths.split(SOME_NEVER, 10**6)
    assert all(0 < width < math.inf for width in found.values())
