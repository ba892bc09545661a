"""lpcb replay and lpcb diff: what was recorded against what is found, and files that are no reports."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.command import SYNTHETIC, TOYS, report_in
from verification.cli import app
from verification.diff import ABSENT, Difference, diff
from verification.runner import verify
from verification.verdict import VARIANTS

RUNNER = CliRunner(env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("replay")
    verify(TOYS, VARIANTS, "quick", 0, out, modules=[SYNTHETIC])
    return out / "report.json"


def replay(target: str, report: Path) -> tuple[int, str]:
    result = RUNNER.invoke(app, ["replay", target, "--report", str(report), "--claims", SYNTHETIC])
    return result.exit_code, result.stdout + result.stderr


def altered(report: Path, folder: Path, old: str, new: str) -> Path:
    text = report.read_text()
    assert old in text
    path = folder / "altered.json"
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize(
    "target", ["toy-largest:paper", "toy-largest:repaired", "toy-mean:paper", "toy-gram"]
)
def test_what_was_recorded_comes_out_the_same(report: Path, target: str) -> None:
    code, shown = replay(target, report)
    assert code == 0, shown
    assert "It comes out the same." in shown


def test_a_recorded_value_that_was_altered_is_noticed(report: Path, tmp_path: Path) -> None:
    example = report_in(report.parent)["rows"][3]["counterexample"]["input"]["draw"][0]
    code, shown = replay("toy-largest:paper", altered(report, tmp_path, repr(example), "1.5"))
    assert code == 1
    assert "It does not come out the same." in shown
    code, shown = replay("toy-gram", altered(report, tmp_path, "three shards", "four shards"))
    assert code == 1


def test_a_counterexample_in_a_file_is_replayed(report: Path, tmp_path: Path) -> None:
    example = report_in(report.parent)["rows"][3]["counterexample"]
    path = tmp_path / "example.json"
    path.write_text(json.dumps(example))
    assert replay(str(path), report)[0] == 0
    path.write_text(json.dumps(example | {"seed": 1}))
    assert replay(str(path), report)[0] == 1
    off = {"variant": "repaired", "without": ["width-cap"]}
    path.write_text(json.dumps(example | off))
    assert replay(str(path), report)[0] == 1, "another draw refutes there"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claim": "toy-larges"}, "unknown claim"),
        ({"check": "nothing"}, "has no check 'nothing'; it has largest"),
        ({"variant": "printed"}, "has no variant 'printed'"),
        ({"profile": "slow"}, "profile is one of"),
        ({"seed": "zero"}, "seed is a whole number"),
        ({"more": 1}, "holds no counterexample"),
    ],
)
def test_a_foreign_counterexample_ends_with_2(
    report: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    example = report_in(report.parent)["rows"][3]["counterexample"]
    path = tmp_path / "example.json"
    path.write_text(json.dumps(example | change))
    code, shown = replay(str(path), report)
    assert code == 2
    assert message in shown


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("toy-mean", "it could be toy-mean:paper or toy-mean:repaired"),
        ("toy-nothing", "the report has toy-mean:paper"),
        ("nowhere.json", "there is no such file"),
    ],
)
def test_a_row_that_is_not_there_ends_with_2(report: Path, target: str, message: str) -> None:
    code, shown = replay(target, report)
    assert code == 2
    assert message in shown


@pytest.mark.parametrize(
    "content",
    [lambda text: text[: len(text) // 2], lambda text: "", lambda text: "{}", lambda text: "<html>"],
)
def test_a_truncated_or_foreign_report_ends_with_2(report: Path, tmp_path: Path, content: Any) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(content(report.read_text()))
    for words in (
        ["diff", str(report), str(bad)],
        ["replay", "toy-gram", "--report", str(bad), "--claims", SYNTHETIC],
        ["gate", "--report", str(bad)],
        ["explain", "toy-gram", "--report", str(bad), "--claims", SYNTHETIC],
    ):
        result = RUNNER.invoke(app, words)
        assert result.exit_code == 2, words
        assert result.stderr.startswith("Error: ")
        assert "bad.json" in result.stderr


def test_equal_reports_do_not_differ(report: Path) -> None:
    result = RUNNER.invoke(app, ["diff", str(report), str(report)])
    assert (result.exit_code, result.stdout) == (0, "0 differences.\n")


def test_differences_are_shown_value_by_value(report: Path, tmp_path: Path) -> None:
    other = altered(report, tmp_path, '"samples": 900', '"samples": 901')
    result = RUNNER.invoke(app, ["diff", str(report), str(other)])
    assert result.exit_code == 1
    assert "evidence.mean.samples" in result.stdout
    assert "2 differences." in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_missing_rows_evidence_and_repairs_are_differences(report: Path) -> None:
    left, right = report_in(report.parent), report_in(report.parent)
    right["complete"] = False
    del right["rows"][0]
    right["rows"][0]["evidence"].pop(0)
    right["rows"][2]["counterexample"]["input"] = {}
    right["repairs"] = []
    found = diff(left, right)
    assert found[0] == Difference("run", "complete", "True", "False")
    assert Difference("toy-mean:paper", "row", "present", ABSENT) in found
    assert Difference("toy-mean:repaired", "evidence.mean.verdict", "HOLDS", ABSENT) in found
    assert Difference("toy-largest:paper", "counterexample", "one", "another") in found
    assert Difference("toy-largest without width-cap", "row", "present", ABSENT) in found
