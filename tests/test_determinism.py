"""Real rows give the same bytes with one job, two jobs and a Dask cluster, in any company and order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import report_in
from verification.registry import load
from verification.row import run_row
from verification.runner import verify
from verification.verdict import VARIANTS

ROWS = (
    "lemma-4.2-psi",
    "lemma-4.3-omega",
    "lemma-4.3-eigenvalue",
    "lemma-A.1",
    "fig-2-residual",
)
"""Cheap, and of all kinds: two share an experiment, some rest on samples, some guard repairs."""
FILES = ("report.json", "report.md", "report.html", "junit.xml")


def run(out: Path, claims: tuple[str, ...] = ROWS, **how: Any) -> Path:
    assert verify(claims, VARIANTS, "quick", 3, out, **how).trouble is None
    return out


@pytest.fixture(scope="module")
def one_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as found:
        yield found.scheduler_address.replace("tcp", "dask")


def test_the_rows_are_of_all_kinds() -> None:
    claims = [load().claim(name) for name in ROWS]
    shared = [e.name for claim in claims for e in claim.experiments]
    assert len(set(shared)) < len(shared)
    assert any(claim.guards for claim in claims)
    assert {check.random for claim in claims for check in claim.checks} == {True, False}


def test_two_jobs_write_the_same_bytes(one_job: Path, tmp_path: Path) -> None:
    run(tmp_path, jobs=2)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (one_job / name).read_bytes(), name


def test_two_dask_workers_write_the_same_bytes(one_job: Path, tmp_path: Path, cluster: str) -> None:
    run(tmp_path, executor=cluster)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (one_job / name).read_bytes(), name


def test_the_order_of_the_claims_does_not_matter(one_job: Path, tmp_path: Path) -> None:
    run(tmp_path, tuple(reversed(ROWS)))
    assert (tmp_path / "report.json").read_bytes() == (one_job / "report.json").read_bytes()


@pytest.mark.parametrize("subset", [("lemma-4.3-omega",), ("lemma-A.1", "lemma-4.2-psi")])
def test_rows_do_not_depend_on_their_company(one_job: Path, tmp_path: Path, subset: tuple[str, ...]) -> None:
    run(tmp_path, subset)
    whole, part = report_in(one_job), report_in(tmp_path)
    for key in ("rows", "repairs"):
        assert part[key] == [entry for entry in whole[key] if entry["id"] in subset]


def test_a_row_run_alone_without_the_runner_is_the_same(one_job: Path) -> None:
    """Experiments computed in the check itself, in reverse order, against those of the runner's shards."""
    written = {(row["id"], row["variant"]): row for row in report_in(one_job)["rows"]}
    for name in ("lemma-4.3-eigenvalue", "lemma-4.3-omega"):
        for variant in reversed(VARIANTS):
            row = run_row(load().claim(name), variant, "quick", 3)
            assert row == {key: written[name, variant][key] for key in row}
