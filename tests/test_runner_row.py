"""One row: what it holds, and that nothing which goes wrong in a check can pass."""

import json
import re
import time
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tests.support.command import HOSTILE, SYNTHETIC
from verification import Check, Claim, Context, Experiment, Finding
from verification.deadline import DeadlineError, deadline
from verification.execute import Orders, timed_row
from verification.registry import Row, load
from verification.row import run_row
from verification.serialise import canonical_json, plain

KEYS = {"id", "variant", "title", "statement", "method", "verdict", "reason", "counterexample"}
KEYS |= {"measures", "evidence", "figures", "tables", "error"}


def row_of(module: str, id: str, variant: Any = "paper", **options: Any) -> dict[str, Any]:
    return run_row(load((module,)).claim(id), variant, "quick", 0, **options)


def test_a_row_is_plain_data_and_repeats_itself() -> None:
    row = row_of(SYNTHETIC, "toy-mean")
    assert set(row) == KEYS
    assert json.loads(canonical_json(row)) == row
    assert canonical_json(row) == canonical_json(row_of(SYNTHETIC, "toy-mean"))
    assert row["figures"][0]["series"][0]["y"] == [0.0, "inf"]
    assert row["measures"]["mean"]["interval"] == [0.0, "inf"]
    assert type(row["evidence"][0]["samples"]) is int


def test_variants_seeds_and_missing_repairs_have_their_own_randomness() -> None:
    claim = load((SYNTHETIC,)).claim("toy-largest")
    rows = [
        run_row(claim, "paper", "quick", 0),
        run_row(claim, "paper", "quick", 1),
        run_row(claim, "paper", "standard", 0),
        run_row(claim, "repaired", "quick", 0),
        run_row(claim, "repaired", "quick", 0, without=frozenset({"width-cap"})),
    ]
    draws = [row["evidence"][0]["value"] % 1 for row in rows]
    assert len(set(draws)) == len(draws)


def test_a_counterexample_carries_what_replaying_needs() -> None:
    row = row_of(SYNTHETIC, "toy-largest", "repaired", without=frozenset({"width-cap"}))
    example = row["counterexample"]
    assert row["verdict"] == "REFUTED"
    assert example.pop("input") == {"draw": [row["evidence"][0]["value"]]}
    assert example == {
        "claim": "toy-largest",
        "variant": "repaired",
        "profile": "quick",
        "seed": 0,
        "without": ["width-cap"],
        "check": "largest",
        "evidence": "largest",
    }


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("exception", "raised OwnError"),
        ("nan", "contains NaN"),
        ("nan-inside", "NaN cannot be written"),
        ("no-evidence", "no evidence"),
        ("wrong-type", "it returned bool, not a Finding"),
        ("misspelt", "verdict is one of"),
        ("no-example", "REFUTED without a counterexample"),
        ("unstated", "must spend a false alarm rate"),
        ("overspent", "not 2e-09"),
        ("undeclared", "not declared random"),
        ("twice", "are called 'fine'"),
        ("experiment", "raised OwnError"),
    ],
)
def test_what_goes_wrong_is_undecided(claim: str, reason: str) -> None:
    row = row_of(HOSTILE, f"bad-{claim}")
    assert row["verdict"] == "UNDECIDED"
    assert reason in row["reason"]
    assert "\n" not in row["reason"]
    assert row["error"].startswith("Traceback")


def test_supporting_evidence_does_not_decide() -> None:
    row = row_of(HOSTILE, "bad-only-supports")
    assert (row["verdict"], row["error"]) == ("UNDECIDED", None)


def test_a_traceback_does_not_know_the_machine() -> None:
    error = row_of(HOSTILE, "bad-exception")["error"]
    assert "hostile.OwnError: cannot open hostile.py" in error
    assert not re.search(r"(^|[\s\"'])/", error), error
    assert not re.search(r"0x[0-9a-f]{4}", error)


def test_findings_before_a_failure_are_kept() -> None:
    good, bad = (load((HOSTILE,)).claim(f"bad-{name}").checks[0] for name in ("fine", "exception"))
    row = run_row(Claim("both", "both", "$1$", None, "by hand", (good, bad)), "paper", "quick", 0)
    assert [e["check"] for e in row["evidence"]] == ["fine"]
    assert row["verdict"] == "UNDECIDED"


def test_a_row_that_takes_too_long_is_undecided() -> None:
    result = timed_row(Row("bad-hang", "paper"), Orders((HOSTILE,), "quick", 0, 0.2))
    assert result["row"]["verdict"] == "UNDECIDED"
    assert "time limit of 0.2 s" in result["row"]["reason"]
    assert result["row"]["error"] is not None
    assert not result["final"]


def test_the_deadline_also_rings_outside_the_main_thread() -> None:
    from concurrent.futures import ThreadPoolExecutor

    limit = time.monotonic() + 30

    def work() -> str:
        try:
            with deadline(0.05):
                while time.monotonic() < limit:
                    pass
            return "not stopped"
        except DeadlineError:
            return "stopped"

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == "stopped"


def test_checks_cannot_change_what_they_share() -> None:
    walk = Experiment("shared", lambda setting, rng: {"x": rng.random(3)}, {"quick": 2})

    def spoil(context: Context) -> Finding:
        context.result(walk)["x"][0] = 7.0
        return Finding(())

    claim = Claim("spoil", "spoil", "$1$", None, "by hand", (Check("spoil", spoil, False),), (walk,))
    assert "read-only" in run_row(claim, "paper", "quick", 0)["reason"]


def test_shards_are_plain_arrays() -> None:
    odd = Experiment("odd", lambda setting, rng: {"x": np.array([object()])}, {"quick": 1})
    check = Check("look", lambda context: context.result(odd) and Finding(()), False)
    claim = Claim("odd", "odd", "$1$", None, "by hand", (check,), (odd,))
    assert "not plain arrays" in run_row(claim, "paper", "quick", 0)["reason"]


def test_a_row_is_computed_with_one_thread() -> None:
    """With more, BLAS would split its sums by the number of cores."""
    with threadpool_limits(2):
        row_of(SYNTHETIC, "toy-gram")
        assert {library["num_threads"] for library in threadpool_info()} == {1}


def test_what_cannot_be_written_is_refused() -> None:
    assert plain((np.float32(0.5), np.bool_(True), float("-inf"))) == [0.5, True, "-inf"]
    with pytest.raises(ValueError, match="NaN"):
        plain({"x": np.array([1.0, np.nan])})
    with pytest.raises(TypeError, match="object"):
        plain(object())
    with pytest.raises(TypeError, match="keys are strings"):
        plain({1: 2})


def test_numbers_survive_being_written() -> None:
    values = {"a": [0.1, 1e-300, 1e300, -0.0, 3], "b": [[1.5], ["inf"]], "c": "[\n  1\n]", "d": [None, True]}
    assert json.loads(canonical_json(values)) == values
    assert '"a": [0.1, 1e-300, 1e+300, -0.0, 3]' in canonical_json(values)
