"""The sample workflow parses, and every lpcb command in it exists with those options."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from verification.cli import app
from verification.report.files import NAMES

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "examples/lpcb-gate.yml"


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    workflow = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    return list(job["steps"])


def commands(steps: list[dict[str, Any]]) -> list[list[str]]:
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("lpcb ")]


def parse(words: list[str]) -> None:
    """Arguments are read as the command reads them; nothing is run."""
    commands: dict[str, Any] = typer.main.get_command(app).commands
    commands[words[0]].make_context(words[0], list(words[1:]))


def test_every_command_exists_with_its_options(steps: list[dict[str, Any]]) -> None:
    found = commands(steps)
    assert [words[0] for words in found] == ["verify", "gate"]
    for words in found:
        parse(words)
    with pytest.raises(Exception, match="No such option"):
        parse([*found[0], "--no-such-option"])


def test_the_gate_judges_the_report_that_was_written(steps: list[dict[str, Any]]) -> None:
    verify, gate = commands(steps)
    out = verify[verify.index("--out") + 1]
    assert gate[gate.index("--report") + 1] == f"{out}/report.json"
    assert gate[gate.index("--profile") + 1] == verify[verify.index("--profile") + 1]


def test_every_report_is_uploaded_even_when_the_gate_fails(steps: list[dict[str, Any]]) -> None:
    (upload,) = [step for step in steps if "upload-artifact" in step.get("uses", "")]
    assert upload["if"] == "${{ always() }}"
    kept = {Path(line).name for line in upload["with"]["path"].splitlines()}
    assert kept == {*NAMES, "timings.json"}


def test_what_it_installs_is_there() -> None:
    assert (ROOT / "constraints.txt").exists()


def test_the_commands_for_a_package_of_ones_own_exist_with_their_options() -> None:
    """They stand in comments, which nothing else reads."""
    said = [line.partition("lpcb ")[2] for line in FILE.read_text(encoding="utf-8").splitlines()]
    own = [shlex.split(text.rstrip("…")) for text in said if "--claims" in text]
    assert [words[0] for words in own] == ["verify", "gate", "gate"]
    for words in own:
        parse([*words, "report.json"] if words[-1] == "--report" else words)
        assert {"--claims", "--baseline"} <= set(words)
