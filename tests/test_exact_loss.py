"""Exact worst-case loss of a user's whole report: at most alpha when repaired, and attained."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lpcb.protocol import Client, View
from lpcb.spec import REPAIRS
from tests.runs import small_problem, small_spec, view_after

Data = tuple[list[float], int, float]


@cache
def view_at(batches: int, d: int, actions: int, repairs: frozenset[str], alpha: float = 1.0) -> View:
    """With the printed widths parent intervals reach their cap: the worst case for Algorithm 5."""
    spec = small_spec(d=d, actions=actions, repairs=repairs, alpha=alpha, width=1.0)
    view = view_after(spec, small_problem(d, actions), batches, seed=d)
    assert all(layer.active.any() for layer in view.layers)
    return view


def loss(view: View, one: Data, two: Data) -> float:
    client = Client(0, view.spec)
    if view.phase == "update":
        return view.update.loss(client.statistics(view, *one), client.statistics(view, *two))
    return view.interval.loss(client.errors(view, *one), client.errors(view, *two))


def user(d: int, actions: int, seed: int) -> Data:
    """Extreme users are the interesting ones: corners of the cube, full norm, |y| = 1."""
    rng = np.random.default_rng(seed)
    corner = rng.choice([-1.0, 1.0], d) if rng.random() < 0.5 else rng.standard_normal(d)
    norm = 1.0 if rng.random() < 0.5 else math.exp(-6 * rng.random())
    phi = corner / np.linalg.norm(corner) * norm * (1 - 1e-15)
    y = float(rng.choice([-1.0, 1.0, rng.uniform(-1, 1)]))
    return phi.tolist(), int(rng.integers(actions)), y


@pytest.mark.parametrize("actions", [1, 3])
@pytest.mark.parametrize("d", [1, 2, 3])
@settings(max_examples=150, deadline=None)
@given(seeds=st.tuples(st.integers(0, 2**32), st.integers(0, 2**32)))
def test_repaired_reports_never_lose_more_than_alpha(d: int, actions: int, seeds: tuple[int, int]) -> None:
    one, two = (user(d, actions, seed) for seed in seeds)
    for batches in range(2 * d):
        view = view_at(batches, d, actions, REPAIRS)
        assert (view.layer, view.phase) == (batches // 2 + 1, ("update", "interval")[batches % 2])
        assert loss(view, one, two) <= view.spec.alpha * (1 + 1e-9)


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("actions", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_repaired_reports_lose_exactly_alpha_on_the_first_layer(d: int, actions: int, alpha: float) -> None:
    view = view_at(0, d, actions, REPAIRS, alpha)
    phi = np.full(d, (1 - 1e-15) / math.sqrt(d))
    one: Data = (phi.tolist(), 0, 1.0)
    # With one action the second user's bin is another level, reached at its outer edge.
    two: Data = (phi.tolist(), 1, 1.0) if actions > 1 else ((phi / view.spec.gamma).tolist(), 0, 1.0)
    assert loss(view, one, two) == pytest.approx(alpha, rel=1e-9)


EVEN = np.full(2, (1 - 1e-15) / math.sqrt(2))
PAIRS: dict[str, tuple[Data, Data]] = {
    "bins": ((EVEN.tolist(), 0, 1.0), ((EVEN / math.e).tolist(), 0, 1.0)),
    "actions": ((EVEN.tolist(), 0, 1.0), (EVEN.tolist(), 1, 1.0)),
}


@pytest.mark.parametrize(
    ("off", "pair", "expected"),
    [
        ("symmetric-noise", "actions", math.inf),
        ("replacement-sensitivity", "bins", 2.0),
        ("joint-actions", "actions", 4 / 3),
    ],
)
def test_each_privacy_repair_is_needed_on_the_first_layer(off: str, pair: str, expected: float) -> None:
    view = view_at(0, 2, 2, REPAIRS - {off})
    assert loss(view, *PAIRS[pair]) == pytest.approx(expected)


def test_residual_range_is_needed_below_the_first_layer() -> None:
    """Privacy must hold after every transcript: here one whose theta_hat is 3, so |y_2| is up to 4."""
    pairs = [(user(2, 2, seed), user(2, 2, seed + 10**6)) for seed in range(400)]
    worst = {}
    for repairs in (REPAIRS, REPAIRS - {"residual-range"}):
        view = view_at(2, 2, 2, repairs)
        wrong = replace(view, layers=tuple(replace(bins, theta=3 * bins.u) for bins in view.layers))
        worst[repairs] = max(loss(wrong, *pair) for pair in pairs)
    assert worst[REPAIRS] <= 1 + 1e-9
    assert worst[REPAIRS - {"residual-range"}] > 1.5


def test_printed_reports_lose_what_the_closed_forms_say() -> None:
    """Count: two cells in each of two oracles, 4 alpha/3. Vector: two cells, 2 alpha/3. Matrix: infinite."""
    view = view_at(0, 2, 2, frozenset())
    one, two = (Client(0, view.spec).statistics(view, *data) for data in PAIRS["actions"])
    assert view.update.count.loss(one.count, two.count) == pytest.approx(4 / 3)
    assert view.update.vector.loss(one.vector, two.vector) == pytest.approx(2 / 3)
    assert view.update.matrix.loss(one.matrix, two.matrix) == math.inf


def test_interval_release_costs_two_alpha_as_printed() -> None:
    """Two users in two active bins, each filling its cell: Algorithm 5's noise covers one of them."""
    losses = {}
    for repairs in (REPAIRS, REPAIRS - {"replacement-sensitivity"}):
        view = view_at(3, 2, 2, repairs)
        users = [user(2, 2, seed) for seed in range(300)]
        tables = [Client(0, view.spec).errors(view, *data) for data in users]
        losses[repairs] = max(view.interval.loss(a, b) for a in tables for b in tables[:40])
    assert 0.5 < losses[REPAIRS] <= 1 + 1e-9
    assert losses[REPAIRS - {"replacement-sensitivity"}] == pytest.approx(2 * losses[REPAIRS], rel=0.02)


@example(0)
@given(st.integers(0, 2**32))
def test_loss_is_a_distance_when_repaired(seed: int) -> None:
    view = view_at(0, 2, 2, REPAIRS)
    a, b, c = (user(2, 2, seed + i) for i in range(3))
    assert loss(view, a, a) == 0
    assert loss(view, a, b) == pytest.approx(loss(view, b, a))
    assert loss(view, a, c) <= loss(view, a, b) + loss(view, b, c) + 1e-12
