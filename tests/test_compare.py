"""``lpcb simulate --compare``: what it writes, what it leaves out, and what it says to bad input."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from lpcb import problem as problems
from lpcb.baselines import BASELINES
from lpcb.compare import STREAMED_SEEDS, checkpoints, compare, scaled_factors
from lpcb.plots import comparison_svg, last_exponent
from lpcb.spec import REPAIRED
from verification.cli import app

MINE = "context,action,f1,f2\na,0,0.5,0.2\na,1,-0.5,0.1\nb,0,0.1,-0.3\nb,1,0.9,0.2\n"


def lpcb(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["simulate", "--compare", *arguments])


def test_own_problem_gets_json_and_plot(tmp_path: Path) -> None:
    file, out, plot = tmp_path / "mine.csv", tmp_path / "out.json", tmp_path / "out.svg"
    file.write_text(MINE)
    options = ("--horizon", "1e12", "--seeds", "3", "--json", str(out), "--plot", str(plot))
    result = lpcb("--problem", str(file), *options)
    assert result.exit_code == 0, result.output
    data = json.loads(out.read_text())
    names = [one["name"] for one in data["algorithms"]]
    assert set(names) | set(data["left_out"]) == {"paper", "repaired", "scaled", *BASELINES}
    assert {"paper", "repaired", "scaled", "uniform", "private_statistics"} <= set(names)
    assert data["problem"]["name"] == "mine"
    for one in data["algorithms"]:
        regret = np.array(one["regret"])
        assert regret.shape == (3, len(one["rounds"]))
        assert one["rounds"][-1] == data["horizon"] == 10**12
        assert (np.diff(regret, axis=1) >= 0).all(), "regret accumulates"
        assert one["total_regret"] == regret[:, -1].tolist()
    text = plot.read_text()
    assert text.count("<svg") == 1
    assert all(name in text for name in names), "every curve is in the legend"
    assert "NaN" not in out.read_text()


def test_uniform_is_exact_and_scaled_learns() -> None:
    """Printed constants have learned nothing by 1e12; the scaled ones have, in every run."""
    found = compare(problems.family_f(0.5), 10**12, seeds=4)
    by_name = {one.name: one for one in found.competitors}
    uniform = found.problem.uniform_regret * 10**12
    np.testing.assert_allclose(by_name["uniform"].total, uniform)
    np.testing.assert_allclose(by_name["repaired"].total, uniform)
    assert by_name["scaled"].total.max() < 0.2 * uniform
    assert by_name["scaled"].covered == 1


def test_same_seed_same_numbers_and_seeds_matter() -> None:
    first, again, other = (
        compare(problems.family_f(0.3), 10**10, seeds=2, seed=s).as_dict() for s in (1, 1, 2)
    )
    assert first == again
    assert first["algorithms"] != other["algorithms"]


def test_factors_of_the_scaled_algorithm() -> None:
    chosen = compare(problems.family_f(0.3), 10**9, scale=(0.5, 0.25), seeds=1)
    parameters = {one.name: one.parameters for one in chosen.competitors}
    scaled, repaired = parameters["scaled"], parameters["repaired"]
    assert scaled is not None
    assert repaired is not None
    assert (scaled["activation"], scaled["width"]) == (0.5, 0.25)
    assert (repaired["activation"], repaired["width"]) == (1.0, 1.0)
    assert repaired["kappa3"] == REPAIRED(d=2, actions=2, horizon=10**9).kappa3
    assert all(0 < factor < 1 for d in (1, 2, 3, 5) for factor in scaled_factors(d))


def test_what_cannot_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ArithmeticError("divides by zero")

    monkeypatch.setattr("lpcb.compare.aggregate.run", broken)
    found = compare(problems.family_f(0.3), 10**9, seeds=1)
    assert found.left_out["paper"] == "divides by zero"
    assert "round by round" in found.left_out["ldp_linucb"]
    assert all(one.name in BASELINES for one in found.competitors)


def test_everything_runs_where_rounds_can_be_played() -> None:
    found = compare(problems.family_f(0.3), 3000, seeds=2)
    assert {one.name for one in found.competitors} == {"paper", "repaired", "scaled", *BASELINES}
    assert not found.left_out
    assert all(one.form for one in found.competitors)


def test_dashed_curves_are_drawn_dashed() -> None:
    """What is not private, and what only claims to be, is dashed and has a legend of its own."""
    found = compare(problems.family_f(0.3), 2 * 10**6, seeds=1)
    curves = found.curves()
    dashed = {c.label for c in curves if c.dashed}
    assert dashed == {"paper, claimed private", "linucb_doubling", "elimination_ls"}
    text = comparison_svg(curves, "title")
    assert "stroke-dasharray" in text
    assert "not private" in text
    assert all(guide in text for guide in ("T^3/4", "T^1/2"))
    assert text == comparison_svg(curves, "title"), "the same text every time"


def test_legend_shows_fitted_exponents() -> None:
    found = compare(problems.family_f(0.3), 10**9, seeds=1)
    assert re.search(r"uniform +1\.00", comparison_svg(found.curves(), "title"))
    rounds = np.logspace(1, 8, 8, dtype=np.float64)
    bent = np.where(rounds <= 1e5, rounds, 1e5 * (rounds / 1e5) ** 0.5)
    assert last_exponent(rounds, bent) == pytest.approx(0.5), "the last decades only"
    assert last_exponent(rounds, np.zeros(8)) is None


def test_table_shows_coverage_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = lpcb("--horizon", "1e15", "--seeds", "2")
    assert result.exit_code == 0, result.output
    (repaired,) = (line for line in result.output.splitlines() if line.lstrip().startswith("repaired "))
    assert repaired.split()[:4] == ["repaired", "LDP", "100%", "2"]
    assert re.fullmatch(r"\S+–\S+", repaired.split()[-1]), "regret and its range, unbroken"
    assert max(len(line) for line in result.output.splitlines()) <= 80


def test_what_acts_round_by_round_is_limited_in_rounds_and_seeds() -> None:
    problem, many = problems.family_f(0.3), STREAMED_SEEDS + 5
    found = {one.name: one for one in compare(problem, 1000, seeds=many).competitors}
    assert found["linucb"].seeds == found["ldp_linucb"].seeds == STREAMED_SEEDS
    assert found["linucb_doubling"].seeds == found["scaled"].seeds == many
    short = compare(problem, 1000, seeds=1, streamed=999)
    assert set(short.left_out) == {"linucb", "ldp_linucb"}
    with pytest.raises(ValueError, match="streamed"):
        compare(problem, 1000, streamed=10**7)


def test_progress_names_what_is_run() -> None:
    told: list[tuple[str, int, int]] = []
    compare(problems.family_f(0.3), 10**9, seeds=1, progress=lambda *now: told.append(now))
    assert [name for name, _, _ in told] == ["paper", "repaired", "scaled", *BASELINES]
    assert [number for _, number, _ in told] == list(range(1, len(told) + 1))


@pytest.mark.parametrize("horizon", [64, 65, 1000, 2**40, 10**18])
def test_checkpoints_increase_to_the_horizon(horizon: int) -> None:
    marks = checkpoints(horizon)
    assert marks[-1] == horizon
    assert all(b > a for a, b in pairwise(marks))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--engine stream", "engine"),
        ("--without dummy-width", "without"),
        ("--alpha 2", "alpha"),
        ("--seeds 0", "seeds"),
        ("--horizon 100", "horizon"),
        ("--problem nothing.csv", "nothing.csv"),
        ("--streamed 1e7", "streamed"),
        ("--streamed often", "streamed"),
    ],
)
def test_bad_input(arguments: str, named: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = lpcb(*arguments.split(), "--json", str(out))
    assert result.exit_code == 2, result.output
    assert named in result.output
    assert not out.exists()
