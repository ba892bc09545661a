"""``lpcb simulate``: what it writes, and what it says to bad input."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from verification.cli import app


def lpcb(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *arguments])


def test_json_holds_regret_coverage_parameters_and_onset(tmp_path: Path) -> None:
    out, plot = tmp_path / "out.json", tmp_path / "out.svg"
    size = "--problem random --d 2 --actions 2 --contexts 16 --horizon 1e18 --engine aggregate"
    result = lpcb(
        *size.split(), "--variant", "repaired", "--seeds", "5", "--json", str(out), "--plot", str(plot)
    )
    assert result.exit_code == 0, result.output
    data = json.loads(out.read_text())
    epochs = len(data["rounds"])
    assert sum(data["rounds"]) == data["elapsed"][-1] == 10**18
    for name in ("regret", "covered", "mean_interval", "active_bins"):
        assert len(data[name]) == 5
        assert all(len(row) == epochs for row in data[name])
    assert data["parameters"]["horizon"] == 10**18
    assert data["parameters"]["kappa3"] == pytest.approx(300 * math.log(96 * math.log(1e18) * 1e36))
    assert all(all(row) for row in data["covered"])
    onset = data["onset"]
    assert all(0 < t < 10**18 for t in onset["first_active_bin"])
    assert onset["regret_half_of_uniform"] == [None] * 5, "two dimensions are not learned by 10^18"
    assert plot.read_text().count("<svg") == 1
    assert "NaN" not in out.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "out.svg"]


def test_same_seed_same_file(tmp_path: Path) -> None:
    texts = []
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        file = tmp_path / name
        arguments = ("--d", "1", "--horizon", "1e16", "--seeds", "2", "--seed", seed, "--json", str(file))
        assert lpcb(*arguments).exit_code == 0
        texts.append(file.read_text())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_engines_and_variants_run(variant: str) -> None:
    result = lpcb("--engine", "stream", "--variant", variant, "--horizon", "3000", "--seeds", "1")
    assert result.exit_code == 0, result.output
    assert "regret" in result.output


def test_own_contexts_and_switched_off_repair(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("context,action,f1\na,0,0.5\na,1,-0.5\nb,0,0.1\nb,1,0.9\n")
    out = tmp_path / "o.json"
    result = lpcb("--problem", str(file), "--without", "dummy-width", "--seeds", "1", "--json", str(out))
    assert result.exit_code == 0, result.output
    data = json.loads(out.read_text())
    assert data["problem"]["name"] == "mine"
    assert "dummy-width" not in data["parameters"]["repairs"]


@pytest.mark.parametrize("compare", [(), ("--compare",)])
def test_theta_of_own_contexts_is_said_and_can_be_set(compare: tuple[str, ...], tmp_path: Path) -> None:
    file, out = tmp_path / "mine.csv", tmp_path / "o.json"
    file.write_text("context,action,f1,f2\na,0,0.5,0\na,1,-0.5,0\nb,0,0.1,0\nb,1,0.9,0\n")
    options = (*compare, "--problem", str(file), "--seeds", "1", "--json", str(out))
    drawn = lpcb(*options, "--seed", "7")
    assert drawn.exit_code == 0, drawn.output
    assert "drawn at random with seed 7" in " ".join(drawn.output.split())
    given = lpcb(*options, "--theta", "-0.6,0.25")
    assert "theta = (-0.6, 0.25), as given" in given.output
    assert json.loads(out.read_text())["problem"]["theta"] == [-0.6, 0.25]


@pytest.mark.parametrize("name", ["f", "line", "theorem-2.1", "theorem-2.2", "case-1", "case-2"])
def test_every_named_problem_runs(name: str) -> None:
    assert lpcb("--problem", name, "--seeds", "1", "--horizon", "1e9").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--alpha 0", "alpha"),
        ("--alpha 2", "alpha"),
        ("--horizon 50", "first epoch"),
        ("--horizon 1e30", "horizon"),
        ("--horizon 1.5", "horizon"),
        ("--horizon soon", "horizon"),
        ("--problem nope", "nope"),
        ("--problem nope.csv", "nope.csv"),
        ("--problem f --d 5", "d=2"),
        ("--without nothing", "nothing"),
        ("--seeds 0", "seeds"),
        ("--d 0", "d"),
        ("--beta 0.9", "beta"),
        ("--engine stream --horizon 1e18", "horizon"),
        ("--theta 0.1", "theta"),
        ("--theta 0.1,0.2,0.3", "theta"),
        ("--theta 0.9,0.9", "theta"),
        ("--theta nan,0", "theta"),
        ("--theta 0.1,x", "theta"),
        ("--problem f --theta 0.1,0.2", "theta"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(arguments: str, named: str) -> None:
    result = lpcb(*arguments.split())
    assert result.exit_code == 2
    assert named in result.output
    assert "Traceback" not in result.output


def test_missing_folder_is_bad_input(tmp_path: Path) -> None:
    result = lpcb("--d", "1", "--seeds", "1", "--json", str(tmp_path / "nowhere" / "out.json"))
    assert result.exit_code == 2
    assert "nowhere" in result.output
