"""The search finds a planted weak spot, keeps its budget, and ends where intervals are known to be worst."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

from verification.claim import Setting
from verification.evidence.search import maximise
from verification.experiments.interval_cases import DELTA, HORIZON, N, case, inner_edges
from verification.experiments.interval_found import FOUND, found_by_search
from verification.experiments.interval_search import Family, margins, search

REPAIRED = Setting("repaired", "quick")


def spike(x: np.ndarray) -> float:
    """A gentle slope leads away from a narrow, high spot in a corner of the cube."""
    distance = float(np.linalg.norm(x - np.array([0.83, 0.12, 0.4])))
    return 5 * max(0.0, 1 - distance / 0.3) - x[0]


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_weak_spot_is_found(seed: int) -> None:
    found = maximise(spike, 3, 600, np.random.default_rng(seed))
    assert found.value > 3.9
    assert found.evaluations == 600
    assert found.value == spike(np.array(found.point))
    assert found == maximise(spike, 3, 600, np.random.default_rng(seed))


@pytest.mark.parametrize("budget", [1, 2, 5, 17, 40])
def test_small_budgets_are_kept(budget: int) -> None:
    asked = []

    def objective(x: np.ndarray) -> float:
        assert ((x >= 0) & (x <= 1)).all()
        asked.append(x)
        return float(x.sum())

    assert maximise(objective, 4, budget, np.random.default_rng(0)).evaluations == len(asked) == budget


def test_starts_infinities_and_mistakes() -> None:
    rng = np.random.default_rng(0)
    start = [0.25, 0.75]
    found = maximise(lambda x: -np.abs(x - start).sum(), 2, 3, rng, [start])
    assert (found.value, found.step) == (0.0, "start")
    nothing = maximise(lambda x: -math.inf, 2, 60, rng)
    assert (nothing.value, nothing.evaluations) == (-math.inf, 60)
    everything = maximise(lambda x: math.inf if x[0] > 0.5 else 0.0, 2, 60, rng)
    assert everything.value == math.inf
    with pytest.raises(ValueError, match="NaN at"):
        maximise(lambda x: math.nan, 1, 5, rng)
    with pytest.raises(ValueError, match="at least 1"):
        maximise(lambda x: 0.0, 0, 5, rng)


@given(st.lists(st.floats(0, 1), min_size=22 + 5 + 1, max_size=22 + 5 + 1))
@settings(max_examples=25, deadline=None)
def test_every_point_of_the_cube_is_a_design(point: list[float]) -> None:
    """And what hypothesis can do to the margin stays far below the printed widths."""
    family = Family(1)
    one = family.case(np.array(point[: family.dimension]))
    assert np.linalg.norm(one.problem.features, axis=2).max() <= 1
    worst = float(margins(REPAIRED, one, 20, 3).max())
    target(worst)
    assert worst < 0.05


def test_the_search_breaks_the_printed_intervals_by_itself() -> None:
    """d = 2, where an inactive bin forgets the error above it: a few designs are enough."""
    paper = Setting("paper", "quick")
    one, found = search(paper, 2, 10, 1)
    assert found.value > 0
    assert float(np.quantile(margins(paper, one, 50, 77), 0.05)) > 0


@pytest.mark.parametrize("d", sorted(FOUND))
def test_the_designs_kept_need_as_much_as_the_one_made_by_hand(d: int) -> None:
    """Medians of 400 fits; they differ by chance by far less than the quarter that is allowed."""
    kept, made = (
        float(np.median(margins(REPAIRED, one, 400, 5)))
        for one in (found_by_search(d, N, DELTA, HORIZON), case(inner_edges, d, 1.0))
    )
    assert 0.6 < kept / made < 1.5
