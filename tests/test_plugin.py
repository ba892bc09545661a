"""Rows as pytest items: the same rows as lpcb verify, and none that goes missing unnoticed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import HOSTILE, SYNTHETIC, TOYS, environment, report_in
from verification import baseline
from verification.registry import load
from verification.row import run_row
from verification.runner import verify
from verification.serialise import canonical_json
from verification.verdict import VARIANTS

TESTS = "def test_row(lpcb_row): lpcb_row()\ndef test_repair(lpcb_repair): lpcb_repair()\n"


def pytest_in(folder: Path, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_mine.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "verification.pytest_plugin", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(**extra),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a baseline that expects what the toys say, and lpcb verify's report beside it."""
    folder = tmp_path_factory.mktemp("toys")
    registry = load((SYNTHETIC,))
    made = verify(TOYS, VARIANTS, "quick", 0, folder / "unjudged", modules=[SYNTHETIC])
    expected = baseline.updated({}, made.report, registry)
    baseline.write(folder / "b.json", expected)
    expected = baseline.expectations(folder / "b.json")
    verify(TOYS, VARIANTS, "quick", 0, folder / "verify", modules=[SYNTHETIC], expectations=expected)
    return folder


def test_pytest_writes_the_report_that_verify_writes(toys: Path) -> None:
    words = [
        f"--lpcb-claims={SYNTHETIC}",
        "--lpcb-baseline",
        "b.json",
        "--lpcb-report",
        "pytest",
        "-k",
        "toy-",
    ]
    result = pytest_in(toys, *words, "-n", "2")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "6 passed" in result.stdout
    for name in ("report.json", "report.md", "report.html", "junit.xml"):
        assert (toys / "pytest" / name).read_bytes() == (toys / "verify" / name).read_bytes(), name


def test_items_have_the_names_of_rows_in_their_order(toys: Path) -> None:
    words = [f"--lpcb-claims={SYNTHETIC}", "--collect-only", "-q", "-k", "toy-"]
    result = pytest_in(toys, *words)
    assert result.returncode == 0, result.stdout
    assert re.findall(r"test_mine\.py::(\S+)", result.stdout) == [
        "test_row[toy-mean-paper]",
        "test_row[toy-mean-repaired]",
        "test_row[toy-gram-paper]",
        "test_row[toy-largest-paper]",
        "test_row[toy-largest-repaired]",
        "test_repair[toy-largest-repaired-without-width-cap]",
    ]


def test_a_failing_row_reads_like_a_sentence(toys: Path) -> None:
    other = json.loads((toys / "b.json").read_text())
    other["rows"]["toy-largest"]["paper"]["quick"]["verdict"] = "HOLDS"
    (toys / "other.json").write_text(json.dumps(other))
    words = [f"--lpcb-claims={SYNTHETIC}", "--lpcb-baseline", "other.json", "-k", "toy-largest-paper"]
    result = pytest_in(toys, *words, "--lpcb-report", "selected")
    assert result.returncode == 1
    assert "Toy largest (toy-largest, paper, quick, seed 0) is REFUTED: largest: drew 1." in result.stdout
    assert "Expected verdict: HOLDS; found REFUTED." in result.stdout
    assert "allowed 1; chance plays no part in it." in result.stdout
    assert "See it again: lpcb replay toy-largest:paper --report selected/report.json" in result.stdout
    assert "pytest_plugin.py" not in result.stdout
    report = report_in(toys / "selected")
    assert report["complete"] is True
    assert [(row["id"], row["variant"]) for row in report["rows"]] == [("toy-largest", "paper")]


def test_a_worker_that_dies_is_noticed_and_its_row_named(tmp_path: Path) -> None:
    words = ["-n", "2", f"--lpcb-claims={HOSTILE}", "-k", "bad-fine or bad-die-once or bad-exception"]
    report = ["--lpcb-report", "out"]
    result = pytest_in(tmp_path, *words, *report, LPCB_TEST_MARKER=str(tmp_path / "marker"))
    assert result.returncode == 1, result.stdout
    assert "no result arrived for test_mine.py::test_row[bad-die-once-paper]" in result.stdout
    assert "no result arrived for test_mine.py::test_row[bad-fine-paper]" not in result.stdout
    assert report_in(tmp_path / "out")["complete"] is False
    assert [row["id"] for row in report_in(tmp_path / "out")["rows"]] == ["bad-fine", "bad-exception"]


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_a_row_whose_result_is_lost_fails_the_session(tmp_path: Path, workers: list[str]) -> None:
    """A test that passes without having run its row: pytest alone would call it a success."""
    (tmp_path / "conftest.py").write_text(
        "import pytest\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_pyfunc_call(pyfuncitem):\n"
        "    return True if 'bad-fine' in pyfuncitem.nodeid else None\n"
    )
    result = pytest_in(tmp_path, *workers, f"--lpcb-claims={HOSTILE}", "-k", "bad-fine")
    assert "1 passed" in result.stdout
    assert "no result arrived for test_mine.py::test_row[bad-fine-paper]" in result.stdout
    assert result.returncode == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lpcb-profile", "slow"], "profile is one of quick, standard, thorough, not 'slow'"),
        (["--lpcb-variant", "both"], "variant is one of all, paper, repaired, not 'both'"),
        (["--lpcb-claims", "nowhere.py"], "there is no such file"),
    ],
)
def test_wrong_options_are_usage_errors(tmp_path: Path, words: list[str], message: str) -> None:
    result = pytest_in(tmp_path, *words)
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr


def test_one_row_is_the_same_json_from_pytest_and_from_verify(toys: Path) -> None:
    stored = {canonical_json(row) for row in report_in(toys / "verify")["rows"]}
    row = load((SYNTHETIC,)).claim("toy-mean")
    judged = baseline.judge(run_row(row, "paper", "quick", 0), "quick", baseline.read(toys / "b.json"))
    assert canonical_json(judged) in stored
