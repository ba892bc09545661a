"""Looking for a bad pair: in a list, in a box, by hypothesis; and what may be said afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from lpcb.mechanisms import Laplace
from tests.support.zoo import laplace
from verification import audit
from verification.evidence.privacy import Box


def trap(value: int, rng: np.random.Generator, size: int) -> np.ndarray:
    """Only inputs other than 7 look alike."""
    return rng.laplace(size=size) + 2.0 * (value == 7)


def test_the_bad_input_of_a_list_is_found() -> None:
    result = audit(trap, 1.0, domain=list(range(12)), samples=60_000, confidence=1 - 1e-6)
    assert result.refuted
    assert 7 in result.pair
    assert result.samples <= 60_000


def test_the_worst_of_given_pairs_is_found() -> None:
    pairs = [(0.0, 0.2), (0.5, 1.5), (0.0, 0.1), (1.0, 1.3)]
    result = audit(laplace(2.0), 1.5, pairs=pairs, samples=60_000, confidence=1 - 1e-6)
    assert result.pair == (0.5, 1.5)
    assert result.refuted


def test_opposite_corners_of_a_box_are_found() -> None:
    result = audit(
        laplace(1.0), 1.5, domain=Box(np.zeros(2), np.ones(2)), samples=100_000, confidence=1 - 1e-6
    )
    assert result.refuted
    assert np.abs(result.pair[0] - result.pair[1]).sum() > 1.7


def test_a_hole_in_a_box_is_found_by_its_loss() -> None:
    """The loss is largest at (0.3, 0.9), away from corners, and only the closed form knows it."""

    class Hill:
        release = staticmethod(laplace(1.0))

        def loss(self, value: float, other: float) -> float:
            return 2 - abs(value - 0.3) - abs(other - 0.9)

    result = audit(Hill(), 1.9, domain=Box(0.0, 1.0), samples=5000)
    assert (result.verdict, result.decided_by) == ("REFUTED", "closed form")
    assert sorted(result.pair) == pytest.approx([0.3, 0.9], abs=0.05)


def test_a_density_leads_the_search() -> None:
    class Bare:
        release = staticmethod(Laplace(np.ones(2), 1.0, 1.0).release)
        log_density = staticmethod(Laplace(np.ones(2), 1.0, 1.0).log_density)

    result = audit(Bare(), 1.99, domain=Box(np.zeros(2), np.ones(2)), samples=40_000)
    assert (result.verdict, result.decided_by) == ("REFUTED", "log-density")
    assert result.samples <= 40_000


def test_hypothesis_finds_a_pair() -> None:
    def square(value: int, rng: np.random.Generator, size: int) -> np.ndarray:
        return value**2 + rng.laplace(size=size)

    result = audit(square, 3.0, domain=st.integers(-4, 4), samples=60_000, confidence=1 - 1e-6)
    assert result.refuted
    assert abs(result.pair[0] ** 2 - result.pair[1] ** 2) > 3


@pytest.mark.parametrize(
    ("where", "verdict"),
    [
        ({"domain": [0.0, 0.5, 1.0]}, "HOLDS"),
        ({"pairs": [(0.0, 1.0), (0.0, 0.5)]}, "HOLDS"),
        ({"domain": Box(0.0, 1.0)}, "UNDECIDED"),
    ],
)
def test_only_a_complete_look_approves(where: dict[str, Any], verdict: str) -> None:
    """A box has more pairs than were looked at, even if none of them exceeds the claim."""
    mechanism = Laplace(np.array(1.0), 1.0, 1.0)
    result = audit(mechanism, 1.0, samples=20_000, confidence=1 - 1e-9, **where)
    assert result.verdict == verdict
    assert set(result.pair) == {0.0, 1.0}


def test_searches_can_be_repeated() -> None:
    one, two = (
        audit(laplace(1.0), 1.0, domain=Box(np.zeros(2), np.ones(2)), samples=10_000, seed=5).to_dict()
        for _ in range(2)
    )
    assert one == two


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (1.0, 0.0), (0.0, np.inf), ([0.0], [1.0, 2.0])])
def test_bad_boxes(low: Any, high: Any) -> None:
    with pytest.raises(ValueError, match="domain"):
        Box(low, high)
