"""``lpcb audit`` on a user's own file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.support.command import lpcb
from verification.cli import app

SOURCE = """
import numpy as np


def randomizer(value, rng, size):
    return value + rng.laplace(scale=0.8, size=(size, *np.shape(value)))


def answer(value, rng, size):
    return np.where(rng.random(size) < 0.7, value, "no")


class Mechanism:
    def release(self, value, rng, size):
        return value + rng.laplace(size=size)

    def log_density(self, output, value):
        return -np.abs(output - value) - np.log(2)

    def loss(self, value, other):
        return abs(value - other)


mechanism = Mechanism()
broken = lambda value, rng, size: 1 / 0
nothing_at_all = lambda value, rng, size: np.full(size, np.nan)


def sometimes(value, rng, size):
    return np.where(rng.random(size) < 0.01, np.nan, value + rng.laplace(size=size))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mypkg").mkdir()
    (tmp_path / "mypkg" / "mod.py").write_text(SOURCE)
    return tmp_path / "mypkg" / "mod.py"


def run(*words: object) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["audit", *map(str, words)])


def test_a_module_in_the_current_folder(file: Path) -> None:
    """As a user types it, in a process of its own."""
    words = ["audit", "mypkg.mod:randomizer", "--epsilon", "1", "--pair", "0", "1", "--confidence", "0.99"]
    done = lpcb(*words, "--samples", "1e5", "--json", "out.json", cwd=file.parents[1])
    assert done.returncode == 1, done.stderr
    assert "REFUTED" in done.stdout
    assert "The claim is wrong: samples show ε ≥ 1.2" in done.stdout
    table = done.stdout.split("The claim")[0]
    assert max(map(len, table.splitlines())) <= 80
    result = json.loads((file.parents[1] / "out.json").read_text())
    assert result["verdict"] == "REFUTED"
    assert 1.0 < result["epsilon_low"] <= 1.25
    assert (result["pair"], result["seed"], result["confidence"]) == ([0, 1], 0, 0.99)


def test_a_true_claim_is_not_refuted(file: Path) -> None:
    """Refuted wrongly once in 10^9 runs."""
    done = run(
        f"{file}:randomizer", "--epsilon", 1.25, "--pair", 0, 1, "--confidence", 1 - 1e-9, "--samples", "2e4"
    )
    assert done.exit_code == 0
    assert "does not prove it" in done.output
    exact = run(f"{file}:mechanism", "--epsilon", 1, "--domain", "[0, 0.5, 1]", "--samples", 5000)
    assert exact.exit_code == 0
    assert "The claim holds for all pairs of 3 inputs" in exact.output


def test_inputs_of_all_kinds(file: Path) -> None:
    assert run(f"{file}:answer", "--epsilon", 1, "--pair", "yes", "no", "--samples", 5000).exit_code == 1
    vectors = ("--pair", "[0, 0]", "[2, 2]")
    assert run(f"{file}:randomizer", "--epsilon", 1, *vectors, "--samples", 5000).exit_code == 1
    pairs = ("--pairs", "[[0, 0.1], [-1, 3]]")
    assert run(f"{file}:randomizer", "--epsilon", 1, *pairs, "--samples", 10000).exit_code == 1
    box = ("--domain", '{"low": [0, 0], "high": [3, 3]}')
    assert run(f"{file}:randomizer", "--epsilon", 1, *box, "--samples", 10000).exit_code == 1
    negative = ("--pair", "-1", "-4")
    assert (
        run(f"{file}:randomizer", "--epsilon", 1, *negative, "--delta", 0.1, "--samples", 5000).exit_code == 1
    )


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("randomizer", ["--pair", "0", "1"], "MODULE:OBJECT"),
        ("nowhere.mod:randomizer", ["--pair", "0", "1"], "cannot be imported"),
        ("nowhere.py:randomizer", ["--pair", "0", "1"], "there is no file"),
        ("{file}:nothing", ["--pair", "0", "1"], "no 'nothing'"),
        ("{file}:Mechanism", ["--pair", "0", "1"], "is a class"),
        ("{file}:broken", ["--pair", "0", "1"], "ZeroDivisionError"),
        ("{file}:nothing_at_all", ["--pair", "0", "1"], "NaN"),
        ("{file}:sometimes", ["--pair", "0", "1"], "NaN"),
        ("{file}:randomizer", [], "exactly one of pair"),
        ("{file}:randomizer", ["--domain", "[1"], "domain is JSON"),
        ("{file}:randomizer", ["--domain", "7"], "domain is a list"),
        ("{file}:randomizer", ["--domain", '{"low": 1, "high": 0}'], "low < high"),
        ("{file}:randomizer", ["--pairs", "[1, 2]"], "pairs is a list"),
        ("{file}:randomizer", ["--pair", "0", "1", "--samples", "many"], "samples"),
        ("{file}:randomizer", ["--pair", "0", "1", "--delta", "2"], "delta"),
        ("{file}:randomizer", ["--pair", "0", "1", "--json", "no/such/folder.json"], "does not exist"),
    ],
)
def test_bad_input_is_named_and_ends_with_2(file: Path, target: str, options: list[str], words: str) -> None:
    done = run(target.format(file=file), "--epsilon", 1, *options)
    assert done.exit_code == 2
    assert words in done.output


@pytest.mark.parametrize("file_or_module", ["ending_now.py", "ending_now"])
def test_a_module_that_ends_the_process_is_bad_input(
    file_or_module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ending_now.py").write_text("import os\nos._exit(0)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    done = run(f"{file_or_module}:randomizer", "--epsilon", 1, "--pair", 0, 1)
    assert done.exit_code == 2
    assert "os._exit(0)" in done.output


def test_help_shows_an_example() -> None:
    assert "lpcb audit mypkg.mod:randomizer" in " ".join(run("--help").output.split())
