"""``--json -``: standard output is JSON and nothing else, for every command that has the option."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tests.support.command import SYNTHETIC
from verification.cli import app

RUNNER = CliRunner(env={"COLUMNS": "80"})
QUICK = ("--claims", SYNTHETIC, "--jobs", "1")
MINE = """def quiet(value, rng, size):
    return value + rng.laplace(scale=0.5, size=size)
"""
WORDS = {
    "verify": ["verify", "toy-mean", *QUICK],
    "verify --list": ["verify", "--list"],
    "gate": ["gate", "toy-mean", *QUICK],
    "replay": ["replay", "toy-mean:paper", "--claims", SYNTHETIC],
    "explain": ["explain", "toy-mean", "--claims", SYNTHETIC],
    "diff": ["diff", "reports/partial/report.json", "reports/partial/report.json"],
    "audit": ["audit", "mine.py:quiet", "--epsilon", "1", "--pair", "0", "1", "--samples", "5000"],
    "simulate": ["simulate", "--d", "1", "--horizon", "1e12", "--seeds", "1", "--plot", "s.svg"],
    "plan": ["plan", "--problem", "f", "--seeds", "1", "--plot", "p.svg"],
    "mutants": ["mutants", "greedy-policy", "--jobs", "1"],
    "mutants --list": ["mutants", "--list"],
}


def options(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """(command, its options), for all commands and their commands."""
    for name, one in getattr(command, "commands", {}).items():
        yield " ".join((*path, name)), {option for p in one.params for option in p.opts}
        yield from options(one, (*path, name))


def test_every_command_with_the_option_is_run_below() -> None:
    having = {name for name, found in options(typer.main.get_command(app)) if "--json" in found}
    assert {name.split(" --")[0] for name in WORDS} == having


@pytest.mark.parametrize("name", WORDS)
def test_standard_output_is_json_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    if name in ("replay", "diff"):
        RUNNER.invoke(app, [*WORDS["verify"], "--quiet"])
    result = RUNNER.invoke(app, [*WORDS[name], "--json", "-"])
    assert result.exit_code in (0, 1), result.output
    assert json.loads(result.stdout)["schema"] == 1
    assert not (tmp_path / "-").exists()


def test_a_matrix_cannot_go_on_with_standard_output() -> None:
    result = RUNNER.invoke(app, ["mutants", "greedy-policy", "--full", "--json", "-"])
    assert result.exit_code == 2
    assert "needs a file to go on with" in result.stderr


def test_help_has_exit_codes_and_whole_sentences() -> None:
    for name, _ in options(typer.main.get_command(app)):
        shown = RUNNER.invoke(app, [*name.split(), "--help"]).stdout
        assert "<bool>" not in shown, name
        if name != "alarms":
            assert "Exit codes: 0" in shown, name
    assert "Show the version." in RUNNER.invoke(app, ["--help"]).stdout
    plan = RUNNER.invoke(app, ["plan", "--help"]).stdout
    assert "can reach is extrapolated from the formulas" in " ".join(plan.split())
    assert "reach is extrapolated   " not in plan
