"""The privacy rows: what they say, and that a slightly wrong mechanism does not get past them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lpcb import problem as problems
from lpcb.lplr import update
from lpcb.mechanisms import Laplace
from lpcb.spec import PAPER, REPAIRED
from verification.claims import proposition_4_1
from verification.claims.theorem_3_2 import PRIVACY
from verification.experiments.views import view_after, worst_interval, worst_update
from verification.row import run_row

COUNT = proposition_4_1.CLAIMS[0]


def spec_at(make: Any, d: int, actions: int) -> Any:
    return make(d=d, actions=actions, horizon=700, delta=0.5, activation=1e-2)


@pytest.mark.parametrize("actions", [1, 2, 8])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_upper_bound_and_worst_pair_meet_on_the_first_layer(d: int, actions: int) -> None:
    """Two ways to one number: the triangle inequality from above, a pair of users from below."""
    for make, statistic, expected in (
        (REPAIRED, "joint", 1.0),
        (REPAIRED, "count", 1 / 3),
        (PAPER, "count", 2 / 3 if actions == 1 else 4 / 3),
        (PAPER, "vector", 2 / 3),
        (PAPER, "matrix", math.inf),
    ):
        view = view_after(
            spec_at(make, d, actions), problems.random(d, actions, 4), 0, np.random.default_rng(0)
        )
        worst = worst_update(view, statistic, np.random.default_rng(1))
        assert worst.upper == pytest.approx(expected)
        assert worst.attained == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_no_view_has_a_pair_above_the_upper_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for batches in range(4):
        view = view_after(spec_at(REPAIRED, 2, 2), problems.random(2, 2, 4, seed), batches, rng)
        found = worst_interval(view, rng) if batches % 2 else worst_update(view, "joint", rng)
        assert found.attained <= found.upper * (1 + 1e-9)
        assert found.upper <= 1 + 1e-9


@pytest.mark.parametrize(("factor", "verdict"), [(0.95, "REFUTED"), (1.05, "HOLDS")])
def test_five_percent_of_noise_is_noticed(
    monkeypatch: pytest.MonkeyPatch, factor: float, verdict: str
) -> None:
    """Too little noise refutes the row; too much leaves it true and moves its baselined measure."""
    original = update.mechanisms

    def wrong(*arguments: Any) -> Any:
        made = original(*arguments)
        count = Laplace(made.count.unit, factor * made.count.sensitivity, made.count.epsilon)
        return update.UpdateMechanisms(count, made.vector, made.matrix)

    monkeypatch.setattr("lpcb.protocol.mechanisms", wrong)
    row = run_row(COUNT, "repaired", "quick", 0)
    assert row["verdict"] == verdict
    measure = row["measures"]["loss / budget of the count, first layer"]
    assert measure["value"] == pytest.approx(1 / factor)
    low, high = measure["interval"]
    assert not low <= 1 <= high


def test_replayable_counterexample_names_the_pair() -> None:
    row = run_row(PRIVACY, "paper", "quick", 0)
    assert row["verdict"] == "REFUTED"
    example = row["counterexample"]["input"]
    assert {"one", "two", "loss", "place"} <= set(example)
    assert set(example["one"]) == {"phi", "action", "y"}
