"""The lpcb command's manners: exit codes, one clean line for bad input, tables that fit 80 columns."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from tests.support.command import HOSTILE, SYNTHETIC, TOYS, lpcb, report_in
from verification import baseline
from verification.claim import Setting
from verification.cli import app
from verification.console import Lines
from verification.execute import ShardTask
from verification.registry import Registry, load
from verification.runner import Event

RUNNER = CliRunner(env={"COLUMNS": "80", "NO_COLOR": None, "FORCE_COLOR": None})
TOY = ("--claims", SYNTHETIC, "--jobs", "1", "--quiet")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline that expects what the toys say, written by the gate itself."""
    path = tmp_path_factory.mktemp("baseline") / "toys.json"
    words = ["gate", *TOYS, *TOY, "--baseline", str(path), "--update-baseline"]
    result = RUNNER.invoke(app, words)
    assert result.exit_code == 0, result.output
    return path


def narrow(text: str) -> bool:
    return all(len(line) <= 80 for line in text.splitlines() if "─" in line or line.startswith(" "))


def test_a_run_as_expected_ends_with_0(tmp_path: Path, expected: Path) -> None:
    result = RUNNER.invoke(app, ["verify", *TOYS, *TOY, "--out", str(tmp_path), "--baseline", str(expected)])
    assert result.exit_code == 0, result.output
    assert all(row["passed"] for row in report_in(tmp_path)["rows"])
    assert narrow(result.stdout)
    assert "toy-largest:paper" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


def test_an_unexpected_row_ends_with_1_and_a_sentence(tmp_path: Path, expected: Path) -> None:
    changed = tmp_path / "changed.json"
    changed.write_text(expected.read_text().replace('"REFUTED"', '"HOLDS"'))
    out = tmp_path / "out"
    result = RUNNER.invoke(app, ["verify", *TOYS, *TOY, "--out", str(out), "--baseline", str(changed)])
    assert result.exit_code == 1
    message = result.stdout[result.stdout.index("Toy largest") :]
    assert message.startswith("Toy largest (toy-largest, paper, quick, seed 0) is REFUTED: largest: drew 1.")
    assert "Expected verdict: HOLDS; found REFUTED." in message
    assert re.search(r"Check 'largest' \(one draw\) says REFUTED: saw 1\.\d+, .* allowed 1;", message)
    command = re.search(r"See it again: lpcb (.*)", message)
    assert command is not None
    assert RUNNER.invoke(app, command[1].split()).exit_code == 0


def test_rows_without_an_expectation_fail(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["verify", "toy-gram", *TOY, "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "The baseline expects nothing of this row" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify", "toy-lagest", *TOY], "unknown claim 'toy-lagest'; the nearest are toy-largest"),
        (["verify", *TOY, "--profile", "slow"], "profile is one of quick, standard, thorough, not 'slow'"),
        (["verify", *TOY, "--variant", "both"], "variant is one of all, paper, repaired, not 'both'"),
        (["verify", "--claims", "nowhere.py"], "nowhere.py': there is no such file"),
        (["verify", "toy-gram", *TOY, "--executor", "cloud"], "executor is 'local'"),
        (["verify", "toy-gram", *TOY, "--seed", "-1"], "seed is a whole number from 0, not -1"),
        (["verify", "toy-gram", *TOY, "--baseline", "nowhere.json"], "there is no such file"),
        (["gate", "--report", "nowhere.json"], "nowhere.json"),
        (["explain", "toy-nothing", "--claims", SYNTHETIC], "unknown claim 'toy-nothing'"),
        (["simulate", "--horizon", "soon"], "horizon is a whole number"),
    ],
)
def test_bad_input_ends_with_2_and_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    if words[0] == "verify":
        words = [*words, "--out", str(tmp_path / "out")]
    result = RUNNER.invoke(app, words)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_list_names_every_claim() -> None:
    result = RUNNER.invoke(app, ["verify", "--list", "--claims", SYNTHETIC])
    assert result.exit_code == 0
    for claim in load((SYNTHETIC,)).claims.values():
        assert claim.id in result.stdout
    assert narrow(result.stdout)


def test_without_a_terminal_every_finished_row_is_a_line(tmp_path: Path) -> None:
    """And the command works from another directory, with a claims module that is found there."""
    (tmp_path / "my_claims.py").write_text(Path(SYNTHETIC).read_text())
    words = ["verify", "toy-largest", "--claims", "my_claims", "--jobs", "2", "--out", "out"]
    result = lpcb(*words, cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    # A slow machine is told how long it takes, too.
    first, *lines = re.sub(r", about .* left$", "", result.stderr, flags=re.MULTILINE).splitlines()
    assert first == "3 rows to check, and what is simulated for them …"
    assert sorted(line.split(" ", 1)[1] for line in lines) == [
        "toy-largest:paper REFUTED",
        "toy-largest:repaired HOLDS",
        "toy-largest:repaired-without-width-cap REFUTED",
    ]
    assert [line.split(" ", 1)[0] for line in lines] == ["1/3", "2/3", "3/3"]
    assert "\x1b" not in result.stdout + result.stderr


def test_a_finished_run_can_be_gated(tmp_path: Path, expected: Path) -> None:
    RUNNER.invoke(app, ["verify", *TOYS, *TOY, "--out", str(tmp_path)])
    words = ["gate", *TOYS, "--claims", SYNTHETIC, "--report", str(tmp_path / "report.json")]
    same = RUNNER.invoke(app, [*words, "--baseline", str(expected)])
    assert (same.exit_code, same.stdout) == (0, "0 changes from the baseline.\n")
    changed = tmp_path / "changed.json"
    changed.write_text(expected.read_text().replace('[0.0, "inf"]', "[-6, -5]"))
    other = RUNNER.invoke(app, [*words, "--baseline", str(changed)])
    assert other.exit_code == 1
    assert "toy-mean:paper" in other.stdout
    assert "[-6, -5]" in other.stdout
    assert narrow(other.stdout)
    wrong = RUNNER.invoke(app, [*words, "--profile", "standard"])
    assert wrong.exit_code == 2
    assert "is of profile quick, not standard" in wrong.stderr


def test_a_report_on_some_claims_does_not_pass_for_all(tmp_path: Path, expected: Path) -> None:
    """And a claim that is misspelt is not passed over; nor are other versions."""
    RUNNER.invoke(app, ["verify", "toy-gram", *TOY, "--out", str(tmp_path)])
    file = tmp_path / "report.json"
    words = ["gate", "--claims", SYNTHETIC, "--baseline", str(expected), "--report", str(file), "--json", "-"]
    named = RUNNER.invoke(app, [*words, "toy-gram"])
    assert (named.exit_code, json.loads(named.stdout)["passed"]) == (0, True)
    whole = RUNNER.invoke(app, words)
    said = json.loads(whole.stdout)
    assert (whole.exit_code, said["passed"]) == (1, False)
    assert {"row": "toy-mean:paper", "what": "row", "expected": "in the report", "found": "missing"} in said[
        "changes"
    ]
    assert RUNNER.invoke(app, [*words, "toy-garm"]).exit_code == 2
    report = report_in(tmp_path)
    file.write_text(json.dumps(report | {"versions": report["versions"] | {"numpy": "0.1"}}))
    assert "The report was made with numpy 0.1, not" in RUNNER.invoke(app, [*words, "toy-gram"]).stderr


def test_what_the_gate_says_as_json_agrees_with_its_exit_code(tmp_path: Path, expected: Path) -> None:
    """``updated`` only when it was, ``passed`` only when everything was there and as expected."""
    RUNNER.invoke(app, ["verify", *TOYS, *TOY, "--out", str(tmp_path)])
    file, mine = tmp_path / "report.json", tmp_path / "mine.json"
    words = ["gate", *TOYS, "--claims", SYNTHETIC, "--report", str(file), "--json", "-"]
    known = json.loads(RUNNER.invoke(app, [*words, "--baseline", str(expected)]).stdout)
    assert (known["passed"], known["updated"], known["changes"]) == (True, False, [])
    assert all(row["passed"] for row in known["rows"])
    accepted = json.loads(RUNNER.invoke(app, [*words, "--baseline", str(mine), "--update-baseline"]).stdout)
    assert (accepted["passed"], accepted["updated"]) == (True, True)
    assert len(accepted["changes"]) == 5
    mine.unlink()
    file.write_text(json.dumps(report_in(tmp_path) | {"complete": False}))
    half = RUNNER.invoke(app, [*words, "--baseline", str(mine), "--update-baseline"])
    said = json.loads(half.stdout)
    assert (half.exit_code, said["passed"], said["updated"]) == (3, False, False)
    assert not mine.exists()


def test_a_damaged_baseline_is_named_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b.json").write_text("{")
    monkeypatch.setattr("verification.cli.run_rows", lambda *_, **__: pytest.fail("it was run"))
    for more in ([], ["--update-baseline"]):
        words = ["gate", "toy-gram", *TOY, "--baseline", str(tmp_path / "b.json"), *more]
        assert RUNNER.invoke(app, words).exit_code == 2


def test_a_run_of_everything_misses_claims_that_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """verify compares the baseline with the claims that there are, as the gate does."""
    few = Registry({"toy-gram": load((SYNTHETIC,)).claim("toy-gram")})
    monkeypatch.setattr("verification.cli.load", lambda modules: few)
    monkeypatch.setattr("verification.runner.load", lambda modules: few)
    made = ["gate", *TOY, "--baseline", str(tmp_path / "b.json"), "--update-baseline"]
    monkeypatch.setattr(baseline, "BASELINE", tmp_path / "b.json")
    (tmp_path / "b.json").write_text('{"schema": 1, "rows": {}}')
    assert RUNNER.invoke(app, made).exit_code == 0
    words = ["verify", *TOY, "--out", str(tmp_path / "out")]
    assert RUNNER.invoke(app, words).exit_code == 0
    found = json.loads((tmp_path / "b.json").read_text())
    found["rows"]["toy-gone"] = found["rows"]["toy-gram"]
    (tmp_path / "b.json").write_text(json.dumps(found))
    gone = RUNNER.invoke(app, words)
    assert gone.exit_code == 1
    assert "The baseline expects rows that no claim has any more: toy-gone:paper." in gone.stderr


def test_an_incomplete_report_is_neither_passed_nor_accepted(tmp_path: Path, expected: Path) -> None:
    RUNNER.invoke(app, ["verify", *TOYS, *TOY, "--out", str(tmp_path)])
    report = report_in(tmp_path)
    del report["rows"][0]
    (tmp_path / "part.json").write_text(json.dumps(report | {"complete": False}))
    before = expected.read_text()
    words = ["gate", "--claims", SYNTHETIC, "--report", str(tmp_path / "part.json")]
    result = RUNNER.invoke(app, [*words, "--baseline", str(expected), "--update-baseline"])
    assert result.exit_code == 3
    assert "Incomplete: the report is incomplete" in result.stderr
    assert expected.read_text() == before


def test_a_crash_cannot_be_accepted(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    words = ["gate", "bad-fine", "bad-exception", "--claims", HOSTILE, "--jobs", "1", "--quiet"]
    result = RUNNER.invoke(app, [*words, "--baseline", str(path), "--update-baseline"])
    assert result.exit_code == 1
    assert list(json.loads(path.read_text())["rows"]) == ["bad-fine"]


def test_explain_says_what_is_claimed_and_what_came_of_it(tmp_path: Path) -> None:
    words = ["explain", "toy-largest", "--claims", SYNTHETIC, "--report", str(tmp_path / "report.json")]
    before = RUNNER.invoke(app, words)
    assert before.exit_code == 0
    assert "Claim as repaired\n  max x ≤ 1, capped\n" in before.stdout
    assert "No verdict yet\n  Find out with: lpcb verify toy-largest" in before.stdout
    RUNNER.invoke(app, ["verify", "toy-largest", *TOY, "--out", str(tmp_path)])
    after = RUNNER.invoke(app, words)
    assert "REFUTED as printed, expected None" in after.stdout
    assert "What is wrong:\n    - largest (" in after.stdout
    assert f"lpcb replay toy-largest:paper --report {tmp_path / 'report.json'}" in after.stdout


def test_explain_falls_back_on_the_baseline(tmp_path: Path) -> None:
    words = ["explain", "prop-4.1-matrix", "--report", str(tmp_path / "report.json")]
    shown = RUNNER.invoke(app, words, env={"COLUMNS": "60"}).stdout
    assert "REFUTED as printed" in shown
    assert "HOLDS as repaired" in shown
    assert "there is no report" in " ".join(shown.split())
    assert "loss / budget of the matrix, first layer = ∞" in shown
    commands = [line for line in shown.splitlines() if "lpcb" in line]
    assert len(commands) == 2
    assert all(len(line) <= 60 for line in shown.splitlines() if line not in commands)
    found = json.loads(RUNNER.invoke(app, [*words, "--json", "-"]).stdout)
    assert {v: r["verdict"] for v, r in found["verdicts"].items()} == {
        "paper": "REFUTED",
        "repaired": "HOLDS",
    }
    assert found["guards"] == ["replacement-sensitivity", "symmetric-noise"]


def test_a_run_of_named_claims_leaves_the_whole_report_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    latest = tmp_path / "reports/latest"
    RUNNER.invoke(app, ["verify", *TOYS, *TOY, "--out", str(latest)])
    before = (latest / "report.json").read_bytes()
    RUNNER.invoke(app, ["verify", "toy-gram", *TOY, "--seed", "7"])
    assert (latest / "report.json").read_bytes() == before
    assert report_in(tmp_path / "reports/partial")["seed"] == 7
    sources = {}
    for id in ("toy-gram", "toy-mean"):
        words = ["explain", id, "--claims", SYNTHETIC, "--json", "-"]
        sources[id] = json.loads(RUNNER.invoke(app, words).stdout)["source"]["file"]
    assert sources == {"toy-gram": "reports/partial/report.json", "toy-mean": "reports/latest/report.json"}
    for row in ("toy-gram:paper", "toy-mean:paper"):
        assert RUNNER.invoke(app, ["replay", row, "--claims", SYNTHETIC]).exit_code == 0
    shown = RUNNER.invoke(app, ["explain", "prop-4.1-count"]).stdout
    lacking = "the report reports/partial/report.json does not have this claim"
    assert lacking in " ".join(shown.split())


def test_explain_says_why_a_row_is_undecided(tmp_path: Path) -> None:
    nowhere = ["--report", str(tmp_path / "none.json")]
    fresh = RUNNER.invoke(app, ["explain", "thm-4.6-bound", *nowhere]).stdout
    assert "Why: The printed bound is larger than 2T" in fresh
    wrong = RUNNER.invoke(app, ["explain", "lemma-A.2-gap", *nowhere]).stdout
    assert "What is wrong: The second inequality is false" in wrong


def test_explain_gives_numbers_as_numbers(tmp_path: Path) -> None:
    RUNNER.invoke(app, ["verify", *TOYS, *TOY, "--out", str(tmp_path)])
    report = str(tmp_path / "report.json")
    words = ["explain", "toy-mean", "--claims", SYNTHETIC, "--report", report, "--json", "-"]
    found = json.loads(RUNNER.invoke(app, words).stdout)["verdicts"]
    rows = {row["variant"]: row for row in report_in(tmp_path)["rows"] if row["id"] == "toy-mean"}
    for variant, verdict in found.items():
        assert verdict["measures"] == rows[variant]["measures"]
        for evidence in verdict["evidence"]:
            assert isinstance(evidence["value"], int | float)


def test_lines_tell_the_time_left() -> None:
    now = [0.0]
    console = Console(file=io.StringIO(), width=80)
    lines = Lines(console, lambda: now[0])
    task = ShardTask("toy-mean", "e", Setting("paper", "quick"), 0)
    for done in (1, 2, 3):
        now[0] += 8.0
        lines.tell(Event(task, done, 12, None))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "2/12, about 80 s left\n"


def test_every_claim_can_be_explained_without_latex() -> None:
    for id in load().claims:
        shown = RUNNER.invoke(app, ["explain", id, "--report", "none.json"], env={"COLUMNS": "80"})
        assert shown.exit_code == 0
        assert "\\" not in shown.stdout, id
        assert "$" not in shown.stdout, id
        assert max(cell_len(line) for line in shown.stdout.splitlines()) <= 80, id


def test_json_on_standard_output_stands_alone(tmp_path: Path) -> None:
    listed = json.loads(RUNNER.invoke(app, ["verify", "--list", "--json", "-"]).stdout)
    assert [claim["id"] for claim in listed["claims"]] == list(load().claims)
    words = ["toy-mean", *TOY, "--quiet", "--json", "-"]
    ran = json.loads(RUNNER.invoke(app, ["verify", *words, "--out", str(tmp_path)]).stdout)
    assert ran["complete"]
    assert [row["id"] for row in ran["rows"]] == ["toy-mean"] * len(ran["rows"])
    judged = RUNNER.invoke(app, ["gate", *words])
    found = json.loads(judged.stdout)
    assert {change["row"] for change in found["changes"]} >= {"toy-mean:paper"}
    assert judged.exit_code == 1
    report = str(tmp_path / "report.json")
    assert json.loads(RUNNER.invoke(app, ["diff", report, report, "--json", "-"]).stdout)["differences"] == []
    again = RUNNER.invoke(
        app, ["replay", "toy-mean:paper", "--claims", SYNTHETIC, "--report", report, "--json", "-"]
    )
    assert json.loads(again.stdout)["agrees"]


def test_version_and_help() -> None:
    assert re.fullmatch(r"lpcb \S.*\n", RUNNER.invoke(app, ["--version"]).stdout)
    shown = RUNNER.invoke(app, ["--help"]).stdout
    for command in ("verify", "gate", "replay", "explain", "diff", "simulate", "plan", "audit"):
        assert command in shown
        assert "xample" in RUNNER.invoke(app, [command, "--help"]).stdout
