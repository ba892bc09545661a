"""Rows as pytest items: the same rows as lpcb verify, and none that goes missing unnoticed."""

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import HOSTILE, SYNTHETIC, TOYS, environment, report_in
from verification import baseline
from verification.pytest_plugin import ids_in
from verification.registry import load
from verification.row import run_row
from verification.runner import verify
from verification.serialise import canonical_json
from verification.verdict import VARIANTS

TESTS = "def test_row(lpcb_row): lpcb_row()\ndef test_repair(lpcb_repair): lpcb_repair()\n"


def pytest_in(
    folder: Path, *words: str, tests: str = TESTS, **extra: str
) -> subprocess.CompletedProcess[str]:
    (folder / "test_mine.py").write_text(tests)
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


def pytest_here(folder: Path, *words: str, tests: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, which has loaded all claims already."""
    (folder / "test_mine.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    sys.modules.pop("test_mine", None)  # of an earlier session here
    said = io.StringIO()
    # Plugins that would take from the session around this one what belongs to the process.
    without = [f"-pno:{name}" for name in ("cacheprovider", "faulthandler", "xdist", "randomly")]
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = pytest.main(["-pverification.pytest_plugin", "--import-mode=importlib", *without, *words])
    return subprocess.CompletedProcess([], code, said.getvalue(), "")


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


TWICE = """
import pytest
@pytest.mark.parametrize("x", ["toy", 2])
def test_row(lpcb_row, x):
    if x == 2:
        lpcb_row()
def test_repair(lpcb_repair): lpcb_repair()
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_rows_are_counted_however_else_their_tests_are_parametrised(
    toys: Path, tmp_path: Path, workers: list[str]
) -> None:
    """Each is run in one of two items; the other one's is missed, and the report has all."""
    words = [*workers, f"--lpcb-claims={SYNTHETIC}", f"--lpcb-baseline={toys / 'b.json'}"]
    chosen = ["-k", "toy-mean or toy-gram or toy-largest", "--lpcb-report", "out"]
    result = (pytest_in if workers else pytest_here)(tmp_path, *words, *chosen, tests=TWICE)
    assert "11 passed" in result.stdout
    rows = ["mean:paper", "mean:repaired", "gram:paper", "largest:paper", "largest:repaired"]
    assert sorted(re.findall("no result arrived for (.*)", result.stdout)) == sorted(
        f"test_mine.py::test_row[toy-{row.replace(':', '-')}-toy]: toy-{row}" for row in rows
    )
    assert result.returncode == 1
    assert report_in(tmp_path / "out") == report_in(toys / "verify")


def test_names_tell_the_rows_of_an_item() -> None:
    ids = ["mean-paper", "toy-mean-paper", "toy-mean-repaired", "toy-mean-repaired-without-width-cap"]
    for item, found in {
        "test_it.py::test[toy-mean-paper]": ["toy-mean-paper"],
        "toy-mean-paper/test_it.py::test[mean-paper-x[1]-2]@group": ["mean-paper"],
        "test_it.py::test[1-toy-mean-repaired-without-width-cap]": ["toy-mean-repaired-without-width-cap"],
        "test_it.py::test[toy-mean-paper-toy-mean-repaired]": ["toy-mean-paper", "toy-mean-repaired"],
        "test_it.py::test[toy-mean-papers]": [],
        "test_it.py::toy-mean-paper": [],
    }.items():
        assert ids_in([item], ids).get(item, []) == found
    assert ids_in(["test_it.py::test[]"], []) == {}


def test_a_report_that_nobody_filled_is_missed(tmp_path: Path) -> None:
    result = pytest_here(tmp_path, "--lpcb-report", "out", tests="def test_other(): pass\n")
    assert "1 passed" in result.stdout
    assert "none was written to out: no test that was chosen asks for a row" in result.stdout
    assert result.returncode == 1
    assert not (tmp_path / "out").exists()


def test_a_report_that_cannot_be_written_is_a_line_and_no_success(tmp_path: Path) -> None:
    """Here a file takes the folder's place while the rows run."""
    tests = "def test_row(lpcb_row): open('out', 'w').close()\n"
    words = [f"--lpcb-claims={HOSTILE}", "-k", "bad-fine", "--lpcb-report", "out"]
    result = pytest_here(tmp_path, *words, tests=tests)
    assert (
        "it could not be written to out (File exists); what lies there is of an earlier run" in result.stdout
    )
    assert result.returncode == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lpcb-report", "test_mine.py"], "lpcb-report is a directory to write to"),
        (["--lpcb-report", "test_mine.py/out"], "test_mine.py' is none"),
        (["--lpcb-report", "x" * 300], "cannot be written (File name too long)"),
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
