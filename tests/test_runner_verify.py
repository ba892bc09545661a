"""Whole runs: the same bytes however the work is spread, stopped and resumed."""

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import HOSTILE, SYNTHETIC, TOYS, environment, finish, lpcb, report_in, start
from verification.runner import Event, Run, verify
from verification.verdict import VARIANTS

BAD = [f"bad-{name}" for name in ("fine", "exception", "nan", "experiment", "hang")]


def run(out: Path, **options: Any) -> Run:
    defaults: dict[str, Any] = {"claims": TOYS, "variants": VARIANTS, "profile": "quick", "seed": 0}
    return verify(out=out, **(defaults | {"modules": [SYNTHETIC]} | options))


@pytest.fixture(scope="module")
def one_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one worker, to which all others are compared."""
    out = tmp_path_factory.mktemp("one")
    assert run(out).trouble is None
    return out


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two worker processes, and a scheduler that gives a task up when its worker dies once."""
    import dask
    from distributed import LocalCluster

    with (
        pytest.MonkeyPatch.context() as patch,
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
    ):
        patch.setenv("LPCB_TEST_MARKER", str(tmp_path_factory.mktemp("dask") / "marker"))
        with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as found:
            yield found.scheduler_address.replace("tcp", "dask")


def test_the_report_says_everything(one_job: Path) -> None:
    report = report_in(one_job)
    assert set(report) == {"schema", "seed", "profile", "complete", "versions", "rows", "repairs"}
    assert report["complete"] is True
    assert [(row["id"], row["variant"], row["verdict"]) for row in report["rows"]] == [
        ("toy-mean", "paper", "HOLDS"),
        ("toy-mean", "repaired", "HOLDS"),
        ("toy-gram", "paper", "HOLDS"),
        ("toy-largest", "paper", "REFUTED"),
        ("toy-largest", "repaired", "HOLDS"),
    ]
    assert [(r["repair"], r["id"], r["verdict"]) for r in report["repairs"]] == [
        ("width-cap", "toy-largest", "REFUTED")
    ]
    assert all(row["expected"] is None and not row["passed"] for row in report["rows"])
    files = {"report.json", "report.md", "report.html", "junit.xml", "timings.json", ".work"}
    assert {path.name for path in one_job.iterdir()} == files


@pytest.mark.parametrize("how", [{"jobs": 2}, {"executor": "in-process"}], ids=["two", "here"])
def test_the_bytes_do_not_depend_on_the_workers(one_job: Path, tmp_path: Path, how: dict[str, Any]) -> None:
    run(tmp_path, **how)
    for name in ("report.json", "report.md", "report.html", "junit.xml"):
        assert (tmp_path / name).read_bytes() == (one_job / name).read_bytes(), name


def test_a_dask_cluster_writes_the_same_bytes(one_job: Path, tmp_path: Path, cluster: str) -> None:
    run(tmp_path, executor=cluster)
    assert (tmp_path / "report.json").read_bytes() == (one_job / "report.json").read_bytes()


def test_what_goes_wrong_is_the_same_everywhere(tmp_path: Path, cluster: str) -> None:
    reports = []
    ways: dict[str, dict[str, Any]] = {
        "here": {"executor": "in-process"},
        "one": {},
        "two": {"jobs": 2},
        "dask": {"executor": cluster},
    }
    for name, how in ways.items():
        assert run(tmp_path / name, claims=BAD, modules=[HOSTILE], row_timeout=0.5, **how).trouble is None
        reports.append((tmp_path / name / "report.json").read_bytes())
    assert reports == [reports[0]] * 4
    stored = {path.parent.name for path in (tmp_path / "here").rglob("rows/*/paper.json")}
    assert stored == set(BAD) - {"bad-hang"}, "what ran out of time is tried again by --resume"
    verdicts = {row["id"]: row["verdict"] for row in report_in(tmp_path / "here")["rows"]}
    assert verdicts == {id: "HOLDS" if id == "bad-fine" else "UNDECIDED" for id in BAD}


def test_a_lost_dask_worker_leaves_an_incomplete_report_that_resume_completes(
    tmp_path: Path, cluster: str
) -> None:
    options = {"claims": ["bad-fine", "bad-die-once"], "modules": [HOSTILE], "executor": cluster}
    first = run(tmp_path, **options)
    assert "the Dask cluster lost a worker" in str(first.trouble)
    assert first.report["complete"] is False
    second = run(tmp_path, resume=True, **options)
    assert second.trouble is None
    assert [row["verdict"] for row in second.report["rows"]] == ["HOLDS", "HOLDS"]


def test_workers_with_other_code_are_refused(
    tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a cluster was started before an edit: the hash here is no longer the hash there."""
    monkeypatch.setattr("verification.fingerprint.code_hash", lambda modules: "edited")
    with pytest.raises(ValueError, match="the workers run other code"):
        run(tmp_path, executor=cluster)


def test_an_address_without_a_scheduler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verification.execute.CONNECT_SECONDS", 0.2)
    with pytest.raises(ValueError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        run(tmp_path, executor="dask://127.0.0.1:1")


def test_without_dask_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"lpcb\[dask\]"):
        run(tmp_path, executor="dask://127.0.0.1:1")


def test_a_row_does_not_depend_on_its_company(one_job: Path, tmp_path: Path) -> None:
    run(tmp_path, claims=["toy-gram"], variants=["paper"])
    alone = report_in(tmp_path)["rows"]
    assert alone == [row for row in report_in(one_job)["rows"] if row["id"] == "toy-gram"]


def test_another_seed_gives_other_numbers(one_job: Path, tmp_path: Path) -> None:
    run(tmp_path, seed=1)
    assert report_in(tmp_path)["rows"] != report_in(one_job)["rows"]


def test_experiments_are_computed_once_for_all_claims(one_job: Path) -> None:
    shards = sorted(path.relative_to(one_job / ".work").parts[2:] for path in one_job.rglob("*.npz"))
    expected = [("walk", f"{variant}-quick", f"{i}.npz") for variant in VARIANTS for i in range(3)]
    assert shards == expected


def test_resuming_computes_nothing_twice(one_job: Path, tmp_path: Path) -> None:
    run(tmp_path)
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.label")}
    assert len(stored) == 12
    removed = [path for path in stored if "toy-largest" in str(path) or path.name.startswith("1.npz")]
    for path in removed:
        path.unlink()
    events: list[Event] = []
    run(tmp_path, resume=True, progress=events.append)
    assert (tmp_path / "report.json").read_bytes() == (one_job / "report.json").read_bytes()
    assert {path for path, when in stored.items() if path.stat().st_mtime_ns != when} == set(removed)
    assert (events[-1].done, events[-1].total) == (12, 12)


def test_a_damaged_result_is_computed_again(one_job: Path, tmp_path: Path) -> None:
    run(tmp_path)
    for path in (*tmp_path.rglob("0.npz"), *tmp_path.rglob("paper.json")):
        path.write_bytes(path.read_bytes()[:40])
    run(tmp_path, resume=True)
    assert (tmp_path / "report.json").read_bytes() == (one_job / "report.json").read_bytes()


def test_without_resume_a_run_starts_anew(tmp_path: Path) -> None:
    run(tmp_path, claims=["toy-largest"])
    (stored,) = tmp_path.rglob("paper.json")
    forged = stored.read_bytes().replace(b"Toy largest", b"Forged")
    stored.write_bytes(forged)
    label = {"seconds": 0.0, "sha256": hashlib.sha256(forged).hexdigest()}
    stored.with_name("paper.json.label").write_text(json.dumps(label))
    run(tmp_path, claims=["toy-largest"], resume=True)
    assert report_in(tmp_path)["rows"][0]["title"] == "Forged"
    run(tmp_path, claims=["toy-largest"])
    assert report_in(tmp_path)["rows"][0]["title"] == "Toy largest"


def test_resuming_never_takes_results_of_other_code_seeds_or_profiles(tmp_path: Path) -> None:
    found = []
    for title, seed, profile in (
        ("A", 0, "quick"),
        ("B", 0, "quick"),
        ("B", 1, "quick"),
        ("B", 0, "standard"),
    ):
        mine = tmp_path / f"{title}.py"
        mine.write_text(Path(SYNTHETIC).read_text().replace("Toy largest", title))
        options = {"claims": ["toy-largest"], "seed": seed, "profile": profile, "modules": [str(mine)]}
        report = run(tmp_path / "out", resume=True, executor="in-process", **options).report
        found.append((report["rows"][0]["title"], report["rows"][0]["evidence"][0]["value"]))
    assert [title for title, _ in found] == ["A", "B", "B", "B"]
    assert len({value for _, value in found}) == 3  # the two modules draw the same numbers
    assert len(list((tmp_path / "out/.work").glob("*/"))) == 4


def test_a_killed_worker_leaves_an_incomplete_report_that_resume_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = ["bad-fine", "bad-die-once", "bad-exception"]
    words = ["verify", *claims, "--claims", HOSTILE, "--jobs", "2", "--out", tmp_path / "out"]
    marker = str(tmp_path / "marker")
    first = lpcb(*words, LPCB_TEST_MARKER=marker)
    assert first.returncode == 3, first.stderr
    assert "Incomplete: a worker process died" in first.stderr
    report = report_in(tmp_path / "out")
    assert report["complete"] is False
    assert "bad-die-once" not in [row["id"] for row in report["rows"]]
    second = lpcb(*words, "--resume", LPCB_TEST_MARKER=marker)
    assert second.returncode == 1, second.stderr
    assert report_in(tmp_path / "out")["complete"] is True
    monkeypatch.setenv("LPCB_TEST_MARKER", marker)
    run(tmp_path / "whole", claims=claims, modules=[HOSTILE])
    assert (tmp_path / "out/report.json").read_bytes() == (tmp_path / "whole/report.json").read_bytes()


@pytest.mark.parametrize(("number", "jobs", "group"), [(signal.SIGTERM, 1, False), (signal.SIGINT, 2, True)])
def test_a_signal_leaves_an_incomplete_report(
    tmp_path: Path, number: signal.Signals, jobs: int, group: bool
) -> None:
    """SIGTERM to the process alone, as a supervisor sends it; SIGINT to its group, as a terminal does."""
    marker, out = tmp_path / "marker", tmp_path / "out"
    words = ["verify", "bad-fine", "bad-interrupted", "--claims", HOSTILE, "--jobs", str(jobs), "--out", out]
    process = start(*words, LPCB_TEST_MARKER=str(marker))
    _wait_for(marker, process)
    with pytest.raises(ValueError, match=f"in use by another run, process {process.pid}"):
        run(out)
    (os.killpg if group else os.kill)(process.pid, number)
    done = finish(process)
    assert done.returncode == 3, done.stderr
    assert "Incomplete: it was interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    assert "bad-interrupted" not in [row["id"] for row in report_in(out)["rows"]]
    assert report_in(out)["complete"] is False


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    lock, marker = tmp_path / ".work/lock", tmp_path / "marker"
    hold = (
        "import pathlib, sys, time\n"
        "from verification.store import open_store\n"
        "with open_store(pathlib.Path(sys.argv[1]), 'f', False):\n"
        "    pathlib.Path(sys.argv[2]).touch()\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", hold, tmp_path, marker], env=environment())
    _wait_for(marker, process)
    with pytest.raises(ValueError, match="in use by another run"):
        run(tmp_path, claims=["toy-largest"])
    process.kill()
    process.wait()
    assert lock.read_text() == f"{process.pid}\n"
    run(tmp_path, claims=["toy-largest"])
    assert lock.read_text() == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"claims": ["nowhere"]}, "unknown claim 'nowhere'"),
        ({"claims": ["toy-gram"], "variants": ["repaired"]}, "no claim of"),
        ({"profile": "slow"}, "profile is one of quick, standard, thorough, not 'slow'"),
        ({"seed": -1}, "seed is a whole number from 0, not -1"),
        ({"jobs": 0}, "jobs is at least 1"),
        *(
            ({"row_timeout": seconds}, "row-timeout is a positive number of seconds up to 604800, not")
            for seconds in (0.0, -1.0, math.nan, math.inf, 1e30, 1e7)
        ),
        *(
            ({"executor": name}, f"executor is 'local', 'in-process' or 'dask://HOST:PORT', not {name!r}")
            for name in (
                "cloud",
                "dask://",
                "dask://x",
                "dask://x:y:z",
                "dask://x:99999",
                "dask://:8786",
                "dask://x:8786/y",
            )
        ),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_out_must_be_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="not a directory"):
        run(tmp_path / "file")


def test_an_overlong_out_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"out '.*xxx' cannot be written to: File name too long"):
        run(tmp_path / ("x" * 300))


def _wait_for(path: Path, process: subprocess.Popen[Any]) -> None:
    limit = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, "the process ended early"
        assert time.monotonic() < limit, f"{path} did not appear"
        time.sleep(0.02)
