"""Rates against what is claimed: the worst of several, and a figure whose bands hold at edge counts."""

from __future__ import annotations

import numpy as np
import pytest

from verification.evidence.rate_curves import DELTAS, Point, rate_figure, rate_of_fits, worst
from verification.evidence.tails import FailureRate
from verification.report.drawing import draw
from verification.serialise import plain


def failing(rate: float, n: int) -> FailureRate:
    """Exactly ``rate`` of n fail, evenly spread; claimed 0.05."""
    failed = np.floor(rate * np.arange(1, n + 1)) > np.floor(rate * np.arange(n))
    return rate_of_fits(failed, 0.05, 1e-9)


def test_the_worst_of_several_rates_decides() -> None:
    fine, broken, few = failing(0.0, 2000), failing(0.5, 200), failing(0.0, 20)
    assert [r.verdict for r in (fine, broken, few)] == ["HOLDS", "REFUTED", "UNDECIDED"]
    assert worst([fine, few]) == (0, "UNDECIDED")
    assert worst([fine, few, broken]) == (2, "REFUTED")
    # A larger rate of a test that has not decided does not hide the refuted one.
    assert worst([failing(0.6, 3), broken]) == (1, "REFUTED")


@pytest.mark.parametrize("n", [1, 2, 7])
def test_tiny_samples_are_undecided_and_drawn(n: int) -> None:
    """Fewer fits than looks; all or none of them fail."""
    for failed in (np.zeros(n, dtype=bool), np.ones(n, dtype=bool)):
        assert rate_of_fits(failed, 0.5, 1e-9).verdict == "UNDECIDED"
        figure = rate_figure({"x": [Point(0.5, int(failed.sum()), n)]}, "a failure")
        low, high = figure.series[0].low, figure.series[0].high
        assert low is not None
        assert high is not None
        assert low[0] <= figure.series[0].y[0] <= high[0]


def test_a_rate_at_the_bound_is_neither_refuted_nor_shown() -> None:
    """The null itself, 400 times: at level 0.01 a side, at most a few wrong verdicts; chance below 1e-9."""
    rng = np.random.default_rng(5)
    verdicts = [rate_of_fits(rng.random(400) < 0.2, 0.2, 0.02).verdict for _ in range(400)]
    assert verdicts.count("REFUTED") <= 20
    assert verdicts.count("HOLDS") <= 20


def test_the_figure_has_bands_and_the_diagonal_and_can_be_drawn() -> None:
    points = [Point(delta, round(1000 * delta / 2) if delta > 0.01 else 0, 1000) for delta in DELTAS]
    figure = rate_figure({"some": points}, "a failure")
    curve, diagonal = figure.series
    assert list(curve.x) == sorted(DELTAS)
    assert diagonal.x == diagonal.y
    assert curve.y[0] == 0.0005
    assert curve.low is not None
    assert curve.high is not None
    assert all(low <= y <= high for low, y, high in zip(curve.low, curve.y, curve.high, strict=True))
    assert draw(plain(figure), "f") is not None
