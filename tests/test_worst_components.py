"""A guided search for bins and errors that bring Lemma 4.3, repaired, closest to its bounds; it supports."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings, target
from hypothesis import strategies as st

from lpcb.spec import REPAIRED
from tests.data_worst_components import WORST, Instance, ratios
from verification.experiments.components import worst_inside

UNIT, SIGNED = st.floats(0, 1), st.floats(-1, 1)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    d = draw(st.integers(1, 4))

    def numbers(one: st.SearchStrategy[float]) -> tuple[float, ...]:
        return tuple(draw(st.lists(one, min_size=d, max_size=d)))

    return Instance(
        draw(st.sampled_from([0.1, 0.5, 1.0])),
        draw(st.booleans()),
        numbers(UNIT),
        numbers(UNIT),
        numbers(SIGNED),
        numbers(SIGNED),
        numbers(SIGNED),
    )


@pytest.mark.parametrize("which", [0, 1], ids=["eigenvalue", "omega"])
def test_nothing_found_inside_the_event_passes_the_bounds(which: int) -> None:
    @given(instances())
    @settings(
        max_examples=400,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate, Phase.target],
    )
    def search(one: Instance) -> None:
        found = ratios(one)[which]
        target(found, label="ratio to the bound")
        assert found <= 1, one

    search()


@pytest.mark.parametrize("index", range(len(WORST)))
def test_the_worst_bins_found_stay_where_they_were(index: int) -> None:
    """And the worst noise in closed form, along an identity matrix, is at least as bad in its dimension."""
    one, inverse, omega = WORST[index]
    assert ratios(one) == pytest.approx((inverse, omega), rel=1e-6)
    spec = REPAIRED(d=len(one.lengths), actions=1, horizon=10**6, alpha=one.alpha)
    closed = worst_inside(spec, spec.M - 1 if one.deep else 0, printed=False)
    assert inverse <= closed.inverse_over_bound * (1 + 1e-6)
    assert omega <= closed.omega_over_bound * (1 + 1e-6)
