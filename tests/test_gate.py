"""Expectations: what passes, what the gate notices, and what may be written down."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import HOSTILE, SYNTHETIC
from verification import baseline
from verification.gate import Change, compare
from verification.registry import Registry, load
from verification.row import run_row
from verification.runner import assemble, make_orders, passed

REGISTRY = load((SYNTHETIC, HOSTILE))


def report(*names: str, **changed: Any) -> dict[str, Any]:
    """A complete quick report on the named rows, each changed as asked."""
    orders = make_orders((SYNTHETIC, HOSTILE), "quick", 0, 60)
    rows = [row for row in REGISTRY.rows() if row.name in names]
    found = {
        row: run_row(REGISTRY.claim(row.claim), row.variant, "quick", 0, without=row.without) | changed
        for row in [*rows, *REGISTRY.repair_rows(rows)]
    }
    return assemble(rows, REGISTRY.repair_rows(rows), found, orders, {})


def expecting(verdict: str, **measures: list[Any]) -> dict[str, Any]:
    return {"verdict": verdict, "measures": measures}


def test_a_row_passes_only_when_it_is_as_expected() -> None:
    (row,) = report("toy-largest:paper")["rows"]
    for expectation, outcome in (
        ({}, (None, False)),
        ({"toy-largest": {"paper": {"quick": expecting("REFUTED")}}}, ("REFUTED", True)),
        ({"toy-largest": {"paper": {"quick": expecting("HOLDS")}}}, ("HOLDS", False)),
        ({"toy-largest": {"paper": {"standard": expecting("REFUTED")}}}, (None, False)),
        ({"toy-largest": {"repaired": {"quick": expecting("REFUTED")}}}, (None, False)),
    ):
        judged = baseline.judge(row, "quick", expectation)
        assert (judged["expected"], judged["passed"]) == outcome


@pytest.mark.parametrize(
    ("interval", "inside"),
    [([0.0, 1.0], True), ([0.055, "inf"], True), (["-inf", 0.0], False), ([1.0, 2.0], False)],
)
def test_a_measure_that_leaves_its_interval_fails_the_row(interval: list[Any], inside: bool) -> None:
    """Two intervals for one truth must overlap."""
    (row,) = report("toy-mean:paper")["rows"]
    row["measures"]["mean"]["interval"] = [0.04, 0.06]
    expectation = {"toy-mean": {"paper": {"quick": expecting("HOLDS", mean=interval)}}}
    assert baseline.judge(row, "quick", expectation)["passed"] is inside


def test_a_measure_that_is_gone_fails_the_row() -> None:
    (row,) = report("toy-gram:paper")["rows"]
    expectation = {"toy-gram": {"paper": {"quick": expecting("HOLDS", onset=[0, 1])}}}
    assert not baseline.judge(row, "quick", expectation)["passed"]


def test_a_crash_does_not_pass_for_an_expected_undecided() -> None:
    (row,) = report("bad-exception:paper")["rows"]
    expectation = {"bad-exception": {"paper": {"quick": expecting("UNDECIDED")}}}
    assert row["verdict"] == "UNDECIDED"
    assert not baseline.judge(row, "quick", expectation)["passed"]


def test_the_gate_names_every_change() -> None:
    found = report("toy-mean:paper", "toy-largest:paper", "toy-largest:repaired")
    found["repairs"][0]["verdict"] = "HOLDS"
    expected = {
        "toy-mean": {"paper": {"quick": expecting("HOLDS", mean=[-6.0, -5.0])}},
        "toy-largest": {"paper": {"quick": expecting("HOLDS")}},
        "toy-gone": {"paper": {"quick": expecting("HOLDS")}},
        "toy-gram": {"paper": {"quick": expecting("HOLDS")}},
    }
    mean = found["rows"][0]["measures"]["mean"]
    assert compare(found, expected, REGISTRY, ["toy-mean", "toy-largest"]) == [
        Change("toy-mean:paper", "mean", "[-6.0, -5.0]", f"{mean['value']} in {mean['interval']}"),
        Change("toy-largest:paper", "verdict", "HOLDS", "REFUTED"),
        Change("toy-largest:repaired", "verdict", "nothing", "HOLDS"),
        Change("toy-largest:repaired", "without width-cap", "REFUTED", "HOLDS"),
        Change("toy-mean:repaired", "row", "in the report", "missing"),
        Change("toy-gone:paper", "row", "registered", "no such row"),
    ]


def accepted(*names: str) -> tuple[dict[str, Any], baseline.Expectations]:
    """A report, and the baseline that accepts it."""
    found = report(*names)
    return found, baseline.updated({}, found, REGISTRY)


LARGEST = ("toy-largest:paper", "toy-largest:repaired")


def test_what_a_report_lacks_is_a_change() -> None:
    """Each row and each repair of the claims that are asked for; of all claims, if none is."""
    found, expected = accepted(*LARGEST)
    assert compare(found, expected, REGISTRY, ["toy-largest"]) == []
    missing = {c.row for c in compare(found, expected, REGISTRY) if c.found == "missing"}
    assert missing == {row.name for row in REGISTRY.rows()} - set(LARGEST)
    without_repair = found | {"repairs": []}
    assert compare(without_repair, expected, REGISTRY, ["toy-largest"]) == [
        Change("toy-largest:repaired", "without width-cap", "REFUTED", "missing")
    ]
    without_row = found | {"rows": found["rows"][:1]}
    assert compare(without_row, expected, REGISTRY, ["toy-largest"]) == [
        Change("toy-largest:repaired", "row", "in the report", "missing")
    ]
    with pytest.raises(ValueError, match="unknown claim 'toy-largets'"):
        compare(found, expected, REGISTRY, ["toy-largets"])


def test_a_claim_that_looks_at_less_is_a_change() -> None:
    """A repair that it no longer guards, deciding evidence that it no longer has, a measure it now keeps."""
    found, expected = accepted(*LARGEST)
    claim = replace(REGISTRY.claim("toy-largest"), guards=frozenset())
    idle = Registry(REGISTRY.claims | {"toy-largest": claim})
    assert compare(found | {"repairs": []}, expected, idle, ["toy-largest"]) == [
        Change("toy-largest:repaired", "without width-cap", "REFUTED", "not guarded")
    ]
    held = next(row for row in found["rows"] if row["verdict"] == "HOLDS")
    held["evidence"] = [e | {"check": "another"} for e in held["evidence"]]
    assert compare(found, expected, REGISTRY, ["toy-largest"]) == [
        Change("toy-largest:repaired", "largest", "decides", "missing")
    ]
    found, expected = accepted("toy-mean:paper", "toy-mean:repaired")
    expected["toy-mean"]["paper"]["quick"]["measures"] = {}
    assert compare(found, expected, REGISTRY, ["toy-mean"]) == [
        Change("toy-mean:paper", "mean", "nothing", str(found["rows"][0]["measures"]["mean"]["interval"]))
    ]


@pytest.mark.parametrize(("low", "high"), [("-inf", 0.2), (0.0, "inf"), ("-inf", "inf")])
def test_a_measure_that_no_longer_says_anything_fails_the_row(low: Any, high: Any) -> None:
    (row,) = report("toy-mean:paper")["rows"]
    row["measures"]["mean"]["interval"] = [low, high]
    expectation = {"toy-mean": {"paper": {"quick": expecting("HOLDS", mean=[0.0, 0.2])}}}
    assert not baseline.judge(row, "quick", expectation)["passed"]
    expectation["toy-mean"]["paper"]["quick"]["measures"]["mean"] = [low, high]
    assert baseline.judge(row, "quick", expectation)["passed"]


def test_a_repair_that_nothing_shows_to_be_necessary_fails_the_run() -> None:
    found = report("toy-largest:repaired")
    for row in found["rows"]:
        row["passed"] = True
    assert passed(found)
    found["repairs"][0]["verdict"] = "UNDECIDED"
    assert not passed(found)


def test_updating_accepts_what_was_found_and_forgets_what_is_gone(tmp_path: Path) -> None:
    found = report("toy-mean:paper", "toy-largest:paper", "bad-exception:paper")
    old = {
        "toy-gone": {"paper": {"quick": expecting("HOLDS")}},
        "toy-gram": {"repaired": {"quick": expecting("HOLDS")}},
        "toy-largest": {"paper": {"quick": expecting("HOLDS"), "standard": expecting("HOLDS")}},
    }
    new = baseline.updated(old, found, REGISTRY)
    held = expecting("HOLDS", mean=[0.0, "inf"]) | {"deciding": ["gram", "mean"]}
    assert new == {
        "toy-largest": {"paper": {"quick": expecting("REFUTED"), "standard": expecting("HOLDS")}},
        "toy-mean": {"paper": {"quick": held}},
    }
    baseline.write(tmp_path / "baseline.json", new)
    assert baseline.read(tmp_path / "baseline.json") == new
    names = ["toy-mean", "toy-largest", "bad-exception"]
    changes = [c for c in compare(found, new, REGISTRY, names) if c.found != "missing"]
    assert [c.what for c in changes] == ["verdict"]  # the crash stays unexpected


def test_the_file_is_sorted_and_has_one_line_for_each_measure(tmp_path: Path) -> None:
    rows = {name: {"paper": {"quick": expecting("HOLDS", b=[0.5, "inf"], a=[1, 2])}} for name in ("z", "a")}
    baseline.write(tmp_path / "b.json", rows)
    lines = (tmp_path / "b.json").read_text().splitlines()
    assert [line.strip() for line in lines if "[" in line] == ['"a": [1, 2],', '"b": [0.5, "inf"]'] * 2
    assert lines.index('    "a": {') < lines.index('    "z": {')


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"schema": 1, "ro',
        "[]",
        '{"schema": 2, "rows": {}}',
        '{"schema": 1}',
        '{"schema": 1, "rows": {"a": {"paper": {"quick": {"verdict": "YES", "measures": {}}}}}}',
        '{"schema": 1, "rows": {"a": {"print": {"quick": {"verdict": "HOLDS", "measures": {}}}}}}',
        '{"schema": 1, "rows": {"a": {"paper": {"quick": {"verdict": "HOLDS"}}}}}',
        '{"schema": 1, "rows": {"a": {"paper": {"quick": {"verdict": "HOLDS", "measures": {"m": [2, 1]}}}}}}',
        '{"schema": 1, "rows": {"a": {"paper": {"quick": {"verdict": "HOLDS", "measures": {"m": [1]}}}}}}',
        '{"schema": 1, "rows": {"a": {}, "a": {}}}',
        '{"schema": 1, "rows": {"a": {"paper": {"quick": {"verdict": "HOLDS", "verdict": "REFUTED"}}}}}',
        "[" * 100_000,
        f'{{"schema": 1{"0" * 400}, "rows": {{}}}}',
        json.dumps({"schema": 1, "rows": {"a": {"paper": {"quick": expecting("HOLDS") | {"guards": 1}}}}}),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "b.json").write_text(content)
    with pytest.raises(ValueError, match=r"b\.json' is not a baseline"):
        baseline.read(tmp_path / "b.json")


def test_the_committed_baseline_is_as_the_gate_would_write_it(tmp_path: Path) -> None:
    baseline.write(tmp_path / "b.json", baseline.read(baseline.BASELINE))
    assert (tmp_path / "b.json").read_text() == baseline.BASELINE.read_text()


def test_a_users_expectations_lie_over_the_committed_ones(tmp_path: Path) -> None:
    mine = {"toy-mean": {"paper": {"quick": expecting("HOLDS")}}}
    (tmp_path / "b.json").write_text(json.dumps({"schema": 1, "rows": mine}))
    assert baseline.expectations(tmp_path / "b.json") == baseline.read(baseline.BASELINE) | mine
