"""The regret study's tables and figure, from curves that are made up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verification.experiments.overtaking import log_regret, overtakes, overtakes_simulated
from verification.report import regret


def curve(group: str, name: str, power: float, **rest: Any) -> dict[str, Any]:
    T = np.array([1e12, 1e14, 1e16, 1e18])
    noise = np.random.default_rng(0).normal(1, 0.01, (10, 4))
    values = {"horizon": T.tolist(), "regret": (T**power * noise).tolist(), "interior": [True] * 4}
    return {"group": group, "name": name, **values, **rest}


@pytest.fixture
def curves() -> list[dict[str, Any]]:
    lost = curve("paper", "d=2 printed, best actions lost", 0.98)
    del lost["interior"]
    predicted = (np.array([1e12, 1e14, 1e16, 1e18]) ** 0.6).tolist()
    return [
        lost,
        curve("repaired", "d=2 scaled", 0.53),
        curve("repaired", "d=2 pairs scaled, pairs of levels", 0.6, predicted=predicted),
        curve("baseline", "private_statistics", 0.75, expected=0.75, why=""),
        curve("baseline", "linucb_doubling", 0.5, expected=0.5, interior=[True, False, True, True]),
    ]


def test_tables_say_what_the_curves_hold(curves: list[dict[str, Any]]) -> None:
    rows = {row[0]: row for row in regret.exponent_table(curves).rows}
    assert float(rows["private_statistics"][2]) == pytest.approx(0.75, abs=0.01)
    assert rows["linucb_doubling"][8] == "no"
    assert rows["as printed, d=2 printed, best actions lost"][8] == "no grid"
    plain, one, three = (float(rows["repaired, d=2 scaled"][j]) for j in (2, 5, 6))
    assert plain - one == pytest.approx((plain - three) / 3, rel=0.1)
    whole = rows["repaired, d=2 scaled, whole envelope"]
    assert float(whole[2]) == pytest.approx(0.6, abs=0.01)
    levels = regret.levels_table(curves).rows
    assert len(levels) == 4
    assert all(float(row[4]) == pytest.approx(1, abs=0.05) for row in levels)
    (row,) = regret.overtaking_table(curves).rows
    assert (row[0], float(row[3])) == ("private_statistics", 1e12)


def test_baselines_are_shown_at_their_worst_family(curves: list[dict[str, Any]]) -> None:
    worse = curve("elsewhere", "private_statistics", 0.8, place="line", interior=[True, True, False, True])
    better = curve("elsewhere", "private_statistics", 0.6, place="rare")
    both = [*curves, worse, better]
    (row,) = regret.elsewhere_table(both).rows
    assert row[0] == "private_statistics"
    assert float(row[1]) == pytest.approx(1e18**0.05, rel=0.05)
    assert float(row[2]) == pytest.approx(1e12**-0.15, rel=0.05)
    shown = {row[0]: row for row in regret.exponent_table(regret.with_elsewhere(both)).rows}
    assert len(shown) == len(regret.exponent_table(curves).rows)
    assert float(shown["private_statistics"][2]) == pytest.approx(0.8, abs=0.01)
    assert shown["private_statistics"][8] == "no"
    assert regret.with_elsewhere([*curves, better]) == curves
    start = curve("bend", "ldp_linucb_doubling", 0.8)
    bend = start | {"horizon": [start["horizon"]], "size": [[0.8, 0.4, 0.2, 0.1]]}
    text = regret.markdown([*both, bend])
    assert "## Baselines elsewhere" in text
    table = text.split("## Locally private LinUCB from the start")[1].split("##")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| 1.0e+")]
    slopes = [float(row[-2]) for row in rows[1:]]
    assert slopes == pytest.approx([0.8] * 3, abs=0.01)
    assert regret.svg([*both, bend]) == regret.svg(regret.with_elsewhere(both))


def test_the_same_curves_give_the_same_bytes(curves: list[dict[str, Any]]) -> None:
    drawn = regret.svg(curves)
    assert drawn == regret.svg(curves)
    assert all(regret.label(c) in drawn for c in curves)
    text = regret.markdown(curves)
    assert text == regret.markdown(curves)
    for title in (
        "Exponents",
        "What else is going on",
        "Slopes far out, by formula",
        "Overtaking",
        "When something happens, as printed",
        "Where the width comes from",
    ):
        assert f"## {title}" in text


def test_overtaking_is_where_the_two_regrets_meet() -> None:
    T = np.array([1e12, 1e18])
    where = overtakes(T, np.array([30 * T**0.75]), 1e-4)
    assert np.exp(log_regret(np.log(where), 1e-4)) == pytest.approx(30 * where**0.75, rel=0.05)


def test_overtaking_simulated_is_the_last_crossing() -> None:
    T = np.array([1e10, 1e12, 1e14, 1e16])
    theirs = (T, T**0.75)
    assert overtakes_simulated((T, 1e3 * T**0.5), theirs) == pytest.approx(1e12, rel=0.02)
    again = np.array([1e6, 1e11, 1e9, 1e11])  # below, above, then below for good
    assert 1e12 < overtakes_simulated((T, again), theirs) < 1e14
    assert overtakes_simulated((T, 2 * T**0.75), theirs) == np.inf
    assert overtakes_simulated((T, T**0.5), (T[1:], T[1:] ** 0.75)) == 1e12
    with pytest.raises(ValueError, match="no horizons in common"):
        overtakes_simulated((T[:2], T[:2]), (T[2:], T[2:]))
