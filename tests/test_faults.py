"""What can go wrong around a run: no report is lost or half written, nothing passes by accident."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.command import HOSTILE, SYNTHETIC, TOYS, environment, finish, lpcb, report_in, start
from verification import __main__ as entry
from verification import reportfile, runner
from verification.cli import app
from verification.mutants import observe
from verification.mutants.kill import traced
from verification.report import studies
from verification.reportfile import read_report
from verification.runner import IncompleteError, Run, verify
from verification.verdict import VARIANTS

RUNNER = CliRunner(env={"COLUMNS": "80"})
REPORTS = {"report.json", "report.md", "report.html", "junit.xml", "timings.json", ".work"}
LEAVING = ["bad-exit", "bad-exit-at-once", "bad-interrupt", "bad-skip", "bad-generator", "bad-leaving-shard"]


def run(out: Path, *claims: str, **options: Any) -> Run:
    defaults: dict[str, Any] = {"variants": VARIANTS, "profile": "quick", "seed": 0, "modules": [HOSTILE]}
    return verify(claims=claims, out=out, **(defaults | options))


# A check that leaves


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("left")
    assert run(out, "bad-fine", *LEAVING).trouble is None
    return out


def test_a_check_that_leaves_is_undecided_and_the_others_go_on(left: Path) -> None:
    rows = report_in(left)["rows"]
    assert [(row["id"], row["verdict"]) for row in rows] == [
        ("bad-fine", "HOLDS"),
        *((name, "UNDECIDED") for name in LEAVING),
    ]
    reasons = [row["reason"] for row in rows[1:]]
    assert "it left by SystemExit: 0" in reasons[0]
    assert "it called os._exit(0)" in reasons[1]
    assert reasons[2] == "a check raised KeyboardInterrupt"
    assert "it left by Skipped" in reasons[3]
    assert "it left by GeneratorExit" in reasons[4]
    assert "it called os._exit(0)" in reasons[5]
    assert all(row["error"] and not row["passed"] for row in rows[1:])


@pytest.mark.parametrize("how", [{"jobs": 2}, {"executor": "in-process"}], ids=["two", "here"])
def test_the_same_is_said_of_checks_that_leave_everywhere(
    left: Path, tmp_path: Path, how: dict[str, Any]
) -> None:
    assert run(tmp_path, "bad-fine", *LEAVING, **how).trouble is None
    assert (tmp_path / "report.json").read_bytes() == (left / "report.json").read_bytes()


@pytest.mark.parametrize("claim", ["bad-exit", "bad-exit-at-once"])
def test_a_check_that_ends_the_process_with_0_does_not_pass(claim: str, tmp_path: Path) -> None:
    """For verify, and as a pytest item: neither may end with 0."""
    done = lpcb("verify", claim, "--claims", HOSTILE, "--jobs", "1", "--out", tmp_path / "out")
    assert done.returncode == 1, done.stderr
    (tmp_path / "test_it.py").write_text("def test_row(lpcb_row):\n    lpcb_row()\n")
    words = ["-p", "verification.pytest_plugin", f"--lpcb-claims={HOSTILE}", "-p", "no:cacheprovider", "-q"]
    words += [f"--rootdir={tmp_path}", "-k", f"{claim}-paper"]
    command = [sys.executable, "-m", "pytest", *words, str(tmp_path / "test_it.py")]
    items = subprocess.run(command, env=environment(), cwd=tmp_path, capture_output=True, text=True)
    assert items.returncode == 1, items.stdout
    assert "1 failed" in items.stdout


def test_a_forked_child_may_end_itself() -> None:
    from verification.leaving import LeftError, staying

    before = os._exit
    with staying():
        child = os.fork()
        if child == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        with pytest.raises(LeftError):
            os._exit(0)
    assert os._exit is before


# A check that hangs, a worker that dies


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_call_into_c_that_never_ends_is_killed_with_its_worker(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verification.execute.GRACE", 2.0)
    done = run(tmp_path, "bad-fine", "bad-deaf", jobs=jobs, row_timeout=0.5)
    assert done.trouble is None
    rows = done.report["rows"]
    assert [row["verdict"] for row in rows] == ["HOLDS", "UNDECIDED"]
    assert rows[1]["reason"] == "no answer within the time limit of 0.5 s"
    assert not rows[1]["passed"]
    assert [path.parent.name for path in tmp_path.rglob("rows/*/paper.json")] == ["bad-fine"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_worker_that_always_dies_is_named_and_the_others_finish(jobs: str, tmp_path: Path) -> None:
    words = ["verify", "bad-fine", "bad-killed", "bad-exception", "--claims", HOSTILE, "--jobs", jobs]
    done = lpcb(*words, "--out", tmp_path)
    assert done.returncode == 3, done.stderr
    said = "a worker process died while it worked on bad-killed:paper (killed by SIGKILL)"
    assert f"Incomplete: {said}" in done.stderr
    assert [row["id"] for row in report_in(tmp_path)["rows"]] == ["bad-fine", "bad-exception"]
    assert report_in(tmp_path)["complete"] is False


def test_one_job_that_is_deaf_can_be_interrupted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start("verify", "bad-fine", "bad-deaf", "--claims", HOSTILE, "--jobs", "1", "--out", out)
    while not list(out.rglob("bad-fine/paper.json")):  # the next one is the deaf one
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGTERM)
    done = finish(process)
    assert done.returncode == 3, done.stderr
    assert "Incomplete: it was interrupted" in done.stderr
    assert [row["id"] for row in report_in(out)["rows"]] == ["bad-fine"]


def test_rows_that_never_answer_are_lost_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that traces which functions a row calls has a time limit too."""
    (tmp_path / "sleep.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setattr(observe, "__file__", str(tmp_path / "sleep.py"))
    (seen,) = traced(["lemma-4.2-psi:paper"], 0, -59.5)  # a minute is granted on top of it
    assert seen.error == "no answer within 0.5 s"
    assert seen.changes


def test_a_lost_shard_is_named_and_its_name_does_not_leave_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "a/b/c"
    done = run(out, "bad-killed-shard", jobs=2)
    assert "experiment '../../killed shard', shard 0 (killed by SIGKILL)" in str(done.trouble)
    assert done.report["complete"] is False
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert {path.name for path in out.iterdir()} == REPORTS


# A study that is damaged


def test_a_damaged_study_is_named_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "levels.json").write_text('{"schema": 2}')
    monkeypatch.setattr(studies, "STUDIES", tmp_path)
    with pytest.raises(ValueError, match=r"levels\.json: not a study of schema 1.* counts as not made"):
        run(tmp_path / "out", "bad-fine")
    assert not (tmp_path / "out").exists()


def test_a_study_that_is_damaged_during_a_run_does_not_cost_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "STUDIES", tmp_path)
    done = run(tmp_path / "out", "bad-fine", progress=lambda event: _damage(tmp_path / "levels.json"))
    assert done.trouble is None
    assert "The study of levels was not made" in (tmp_path / "out/report.md").read_text()
    with pytest.raises(ValueError, match=r"levels\.json"):
        studies.read_all()


def _damage(path: Path) -> None:
    path.write_text("{")


# A run that is interrupted, or done twice


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_interrupted_resumes_to_the_same_bytes(tmp_path: Path, number: signal.Signals) -> None:
    marker, out = tmp_path / "marker", tmp_path / "out"
    words = ["verify", "bad-fine", "bad-interrupted", "--claims", HOSTILE, "--jobs", "1"]
    process = start(*words, "--out", out, LPCB_TEST_MARKER=str(marker))
    assert process.stderr is not None
    while not marker.exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, number)
    assert finish(process).returncode == 3
    assert report_in(out)["complete"] is False
    for folder, more in ((out, ["--resume"]), (tmp_path / "whole", [])):
        marker.unlink(missing_ok=True)
        process = start(*words, *more, "--out", folder, LPCB_TEST_MARKER=str(marker))
        while not marker.exists():
            assert process.poll() is None
            time.sleep(0.02)
        marker.unlink()
        assert finish(process).returncode == 1
    for name in ("report.json", "report.md", "report.html", "junit.xml"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def stopped(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Somebody asks to stop while the reports are written."""

    def write(report: dict[str, Any], out: Path) -> None:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.05)
        reportfile.write_report(report, out)

    monkeypatch.setattr(runner, "write_report", write)


def test_one_who_stops_a_run_that_is_being_written_down_gets_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(monkeypatch, 1)
    assert run(tmp_path, "bad-fine", executor="in-process").trouble is None
    assert {path.name for path in tmp_path.iterdir()} == REPORTS
    stopped(monkeypatch, 2)
    with pytest.raises(IncompleteError, match="it was interrupted again before"):
        run(tmp_path, "bad-fine", executor="in-process")


def test_of_two_runs_into_one_folder_one_writes_and_one_says_why_not(tmp_path: Path) -> None:
    """Both at once and without waiting for each other; neither harms what the other does."""
    out = tmp_path / "out"
    words = ["verify", *TOYS, "--claims", SYNTHETIC, "--jobs", "1", "--out", out]
    done = [finish(process) for process in [start(*words) for _ in range(3)]]
    refused = [one for one in done if one.returncode == 2]
    assert {one.returncode for one in done} <= {1, 2}
    assert len(refused) < 3
    assert all("is in use by another run, process" in one.stderr for one in refused)
    verify(TOYS, VARIANTS, "quick", 0, tmp_path / "alone", modules=[SYNTHETIC])
    assert (out / "report.json").read_bytes() == (tmp_path / "alone/report.json").read_bytes()


# Results that were damaged


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other", "label", "folder"])
def test_a_stored_result_that_was_damaged_is_computed_again(damage: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"modules": [SYNTHETIC], "executor": "in-process"}
    run(tmp_path, *TOYS, **options)
    before = (tmp_path / "report.json").read_bytes()
    stored = [*tmp_path.rglob("*.npz"), *tmp_path.rglob("rows/*/*.json")]
    assert len(stored) == 12
    for path in stored:
        label, content = path.with_name(f"{path.name}.label"), path.read_bytes()
        match damage:
            case "cut":
                path.write_bytes(content[:-1])
            case "flip":  # in the middle of the numbers: still a file of its kind
                middle = len(content) // 2
                path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
            case "empty":
                path.write_bytes(b"")
            case "other":
                path.write_text("null")
            case "label":
                label.write_text("[]")
            case "folder":
                label.unlink()
                label.mkdir()
                label.rmdir()
    assert run(tmp_path, *TOYS, resume=True, **options).trouble is None
    assert (tmp_path / "report.json").read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"\xff\xfe\x00", b"[1, 2]", b'{"schema": 1}', b"NaN"]
)
def test_a_report_that_is_none_is_named_by_every_command_that_reads_one(
    content: bytes, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    for words in (
        ["diff", str(bad), str(bad)],
        ["replay", "toy-gram", "--report", str(bad), "--claims", SYNTHETIC],
        ["replay", str(bad), "--claims", SYNTHETIC],
        ["gate", "--report", str(bad)],
        ["gate", "--report", str(bad), "--update-baseline", "--baseline", str(tmp_path / "new.json")],
        ["explain", "toy-gram", "--report", str(bad), "--claims", SYNTHETIC],
        ["verify", "toy-gram", "--claims", SYNTHETIC, "--baseline", str(bad), "--out", str(tmp_path / "out")],
    ):
        result = RUNNER.invoke(app, words)
        assert result.exit_code == 2, (words, result.output)
        assert result.stderr.startswith("Error: ")
        assert "bad.json" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


@pytest.mark.parametrize("path", ["/dev/zero", "/", "/nowhere/report.json", "x" * 300])
def test_a_report_that_is_no_regular_file_is_refused_at_once(path: str) -> None:
    for words in (["gate", "--report", path], ["diff", path, path], ["replay", "toy-gram", "--report", path]):
        result = RUNNER.invoke(app, words)
        assert result.exit_code == 2, (words, result.output)
        assert result.stderr.startswith(f"Error: report {path!r} ")


def test_a_report_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "report.json").open("wb") as file:
        file.truncate(2**30 + 1)  # a hole, which takes no room
    with pytest.raises(ValueError, match=r"has 1073741825 bytes; at most 1073741824 are read"):
        read_report(tmp_path / "report.json")


def test_a_report_that_was_cut_off_does_not_hinder_resuming(tmp_path: Path) -> None:
    """What is resumed is the work, not the report."""
    options: dict[str, Any] = {"modules": [SYNTHETIC], "executor": "in-process"}
    run(tmp_path, "toy-gram", **options)
    before = (tmp_path / "report.json").read_bytes()
    (tmp_path / "report.json").write_bytes(before[:99])
    run(tmp_path, "toy-gram", resume=True, **options)
    assert (tmp_path / "report.json").read_bytes() == before


# No room


def require_mount(result: subprocess.CompletedProcess[str], environ: Mapping[str, str]) -> None:
    """Fails where tests must run, skips where nobody may mount."""
    if result.returncode:
        reason = f"a small file system cannot be mounted: {result.stderr.strip()}"
        pytest.fail(reason) if environ.get("CI") == "true" else pytest.skip(reason)


def test_a_mount_that_fails_is_loud_in_continuous_integration() -> None:
    refused = subprocess.CompletedProcess("mount", 1, "", "must be superuser")
    with pytest.raises(pytest.fail.Exception, match="must be superuser"):
        require_mount(refused, {"CI": "true"})
    with pytest.raises(pytest.skip.Exception, match="must be superuser"):
        require_mount(refused, {})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a few results, but not for a report."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "lpcb-test", str(folder)]
    require_mount(subprocess.run(command, capture_output=True, text=True), os.environ)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_old_report_and_resumes_when_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    (small_disk / "report.json").write_text("the report of an earlier run")
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(4096 * (os.statvfs(small_disk).f_bavail - 12)))
    words = ["verify", *TOYS, "--claims", SYNTHETIC, "--jobs", "1", "--out", small_disk]
    full = lpcb(*words)
    assert full.returncode == 3, full.stderr
    assert "Incomplete: the reports could not be written" in full.stderr
    assert "No space left on device" in full.stderr
    assert "what lies there is of an earlier run" in full.stderr
    assert "Traceback" not in full.stderr
    assert (small_disk / "report.json").read_text() == "the report of an earlier run"
    assert {path.name for path in small_disk.iterdir()} == {"report.json", "ballast", ".work"}
    assert [path.name for path in small_disk.rglob(".*") if path.name != ".work"] == [], "half-written files"
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    again = lpcb(*words, "--resume")
    assert again.returncode == 1, again.stderr
    verify(TOYS, VARIANTS, "quick", 0, tmp_path / "alone", modules=[SYNTHETIC])
    assert (small_disk / "report.json").read_bytes() == (tmp_path / "alone/report.json").read_bytes()


def test_a_read_only_folder_is_named(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    target = str(small_disk / "out")
    for words, name in (
        (["verify", "toy-gram", "--claims", SYNTHETIC, "--jobs", "1", "--out", target], "out"),
        (["simulate", "--horizon", "1e6", "--seeds", "1", "--json", target], "json"),
        (["simulate", "--horizon", "1e6", "--seeds", "1", "--plot", target], "plot"),
        (["audit", f"{HOSTILE}:FINE", "--epsilon", "1", "--pair", "0", "1", "--json", target], "json"),
    ):
        result = RUNNER.invoke(app, words)
        assert result.exit_code == 2, (words, result.output)
        assert f"Error: {name}" in result.stderr
        assert "Read-only file system" in result.stderr or "not writable" in result.stderr
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize("target", ["nowhere/out.json", "."])
@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "--horizon", "1e6", "--seeds", "1", "--json"],
        ["simulate", "--horizon", "1e6", "--seeds", "1", "--plot"],
        ["simulate", "--horizon", "1e6", "--seeds", "1", "--compare", "--json"],
        ["audit", "math:sqrt", "--epsilon", "1", "--pair", "0", "1", "--json"],
        ["verify", "toy-gram", "--claims", SYNTHETIC, "--out", "/dev/null/never", "--json"],
        ["gate", "toy-gram", "--claims", SYNTHETIC, "--json"],
        ["replay", "lemma-4.2-psi:paper", "--report", "/never", "--json"],
        ["explain", "lemma-4.2-psi", "--json"],
        ["diff", "/never", "/never", "--json"],
        ["mutants", "level-off-by-one", "--json"],
        ["plan", "--problem", "random", "--d", "1", "--json"],
        ["gate", "toy-gram", "--claims", SYNTHETIC, "--jobs", "1", "--update-baseline", "--baseline"],
    ],
)
def test_a_target_that_cannot_be_written_is_named_before_anything_is_computed(
    words: list[str], target: str, tmp_path: Path
) -> None:
    result = RUNNER.invoke(app, [*words, str(tmp_path / target)])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"Error: {words[-1].removeprefix('--')}")
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify", "--claims", ".."], "Error: module '..' cannot be imported: "),
        (["verify", "--claims", ""], "Error: module '' cannot be imported: "),
        (["mutants", "--mutants", ".."], "Error: module '..' cannot be imported: "),
        (["verify", "--row-timeout", "inf"], "Error: row-timeout is a positive number of seconds up to"),
        (["verify", "--row-timeout", "1e30"], "Error: row-timeout is a positive number of seconds up to"),
        (["verify", "--executor", "dask://x:y:z"], "Error: executor is 'local', 'in-process' or"),
        (["verify", "--out", ""], "it names a folder, and cannot be empty"),
        (["verify", "--out", "x" * 300], "File name too long"),
        (["alarms", "levels", "--jobs", "0"], "Error: jobs is at least 1, or -1 for one per core, not 0"),
        (["mutants", "--jobs", "0"], "Error: jobs is at least 1, or -1 for one per core, not 0"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_an_argument_that_cannot_be_is_named_at_once(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = RUNNER.invoke(app, words)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_command_says_so_and_a_failing_worker_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(error: BaseException) -> Any:
        raise error

    monkeypatch.setattr("verification.cli.load", lambda modules: fail(KeyboardInterrupt()))
    result = RUNNER.invoke(app, ["explain", "lemma-4.2-psi"])
    assert (result.exit_code, result.stderr) == (3, "Incomplete: it was interrupted.\n")
    monkeypatch.setattr("verification.alarms_cli.measure_levels", lambda *words: fail(RuntimeError("killed")))
    result = RUNNER.invoke(app, ["alarms", "levels"])
    assert (result.exit_code, result.stderr) == (3, "Incomplete: killed. The same command goes on.\n")


def test_ctrl_c_before_the_command_is_there_is_an_interruption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Raised by what takes the place of the module that is being imported."""

    class Ended(Exception):
        pass

    def end(code: int) -> None:
        raise Ended(code)

    class Importing:
        @property
        def app(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "verification.cli", Importing())
    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(Ended, match="3"):
        entry.main()
    assert capsys.readouterr().err == "Incomplete: it was interrupted.\n"


def test_the_exit_code_is_ours_whatever_the_claims_leave_behind(tmp_path: Path) -> None:
    """On a terminal that lacks the signs of tables, with a thread that stays and a last word of theirs."""
    text = (
        "import atexit, os, threading, time\n"
        "from tests.support.hostile import CLAIMS\n"
        "end = __import__('posix')._exit\n"
        "atexit.register(lambda: end(0))\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
    )
    (tmp_path / "leaving.py").write_text(text)
    words = ["verify", "bad-fine", "bad-exception", "--claims", tmp_path / "leaving.py"]
    words += ["--executor", "in-process", "--out", tmp_path / "out"]
    done = lpcb(*words, PYTHONIOENCODING="ascii")
    assert done.returncode == 1, done.stderr
    assert "\\u2717" in done.stdout
    assert done.stdout.rstrip().endswith("report.json"), "all that was said has arrived"


def test_an_interrupted_gate_does_not_speak_of_changes(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    words = ["gate", "bad-fine", "bad-interrupted", "--claims", HOSTILE, "--jobs", "1"]
    process = start(*words, LPCB_TEST_MARKER=str(marker))
    while not marker.exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGTERM)
    done = finish(process)
    assert done.returncode == 3, done.stderr
    assert "Incomplete: it was interrupted" in done.stderr
    assert "change" not in done.stdout


def test_files_that_may_not_grow_leave_the_old_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same fault without a mount: the limit on a file's size is reached while the report is written."""
    run(tmp_path, "bad-fine")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(IncompleteError, match=r"could not be written to .* \(File too large\)"):
            run(tmp_path, "bad-fine", "bad-exception")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    run(tmp_path, "bad-fine", "bad-exception", resume=True)
    assert [row["id"] for row in report_in(tmp_path)["rows"]] == ["bad-fine", "bad-exception"]
