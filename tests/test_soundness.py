"""A row that is odd is UNDECIDED and says why; it costs neither the report nor the rows after it."""

from __future__ import annotations

import os
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command import ROOT, SYNTHETIC, report_in
from tests.support.odd import DRAWN, SAID
from verification.execute import Orders, timed_row
from verification.registry import Row, load
from verification.row import run_row
from verification.runner import verify
from verification.serialise import canonical_json
from verification.soundness import powerless, sound
from verification.verdict import VARIANTS

ODD = str(ROOT / "tests/support/odd.py")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run of all odd claims, which is written to the end."""
    out = tmp_path_factory.mktemp("odd")
    ids = [f"odd-{name}" for name in (*SAID, *DRAWN)]
    done = verify(ids, VARIANTS, "quick", 0, out, modules=[ODD], executor="in-process")
    assert done.trouble is None
    return out


@pytest.mark.parametrize("name", SAID)
def test_a_row_that_no_report_can_hold_says_why(name: str, told: Path) -> None:
    (row,) = (row for row in report_in(told)["rows"] if row["id"] == f"odd-{name}")
    assert row["verdict"] == "UNDECIDED"
    assert row["reason"].startswith(SAID[name][1])
    assert row["error"]


def test_a_figure_that_cannot_be_drawn_does_not_cost_the_page(told: Path) -> None:
    rows = {row["id"]: row["verdict"] for row in report_in(told)["rows"]}
    assert [rows[f"odd-{name}"] for name in DRAWN] == ["HOLDS"] * len(DRAWN)
    assert "Nothing to draw: its values cannot be drawn" in (told / "report.html").read_text()


def test_a_row_as_it_should_be_is_not_changed() -> None:
    claim = load((SYNTHETIC,)).claim("toy-mean")
    row = run_row(claim, "paper", "quick", 0)
    assert sound(claim, "paper", row) == row
    assert canonical_json(sound(claim, "paper", row)) == canonical_json(row)


@pytest.mark.parametrize(
    ("changed", "shows"),
    [
        ({}, True),
        ({"samples": 0}, False),
        ({"detectable": "inf"}, False),
        ({"samples": 0, "verdict": "UNDECIDED"}, True),
        ({"samples": 0, "grade": "exact", "detectable": None}, True),
    ],
)
def test_evidence_of_chance_needs_samples_and_power(changed: dict[str, Any], shows: bool) -> None:
    evidence = {"check": "c", "grade": "fitted", "verdict": "HOLDS", "samples": 1, "detectable": 0.5}
    assert (powerless({"evidence": [evidence | changed]}) is None) is shows


def test_what_a_check_changes_in_its_process_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LPCB_TEST_LEFT", raising=False)
    orders = Orders((ODD,), "quick", 0, 60.0)

    def state() -> list[Any]:
        old = np.random.get_state()[1]  # noqa: NPY002
        found = [np.geterr(), np.get_printoptions(), list(old), random.getstate(), dict(os.environ)]
        return [*found, os.getcwd(), list(sys.path), sys.getrecursionlimit(), list(warnings.filters)]

    timed_row(Row("odd-look", "paper"), orders)  # what a first row sets once and for all is set now
    before = state()
    assert timed_row(Row("odd-disturb", "paper"), orders)["row"]["verdict"] == "HOLDS"
    assert state() == before
    assert timed_row(Row("odd-look", "paper"), orders)["row"]["verdict"] == "HOLDS"


def test_an_experiment_without_shards_for_a_profile_is_bad_input(tmp_path: Path) -> None:
    text = Path(ODD).read_text().replace('"quick": 6, ', "")
    (tmp_path / "few.py").write_text(text)
    with pytest.raises(ValueError, match="experiment 'ragged-2' has no shards for profile quick"):
        verify(["odd-keys"], VARIANTS, "quick", 0, tmp_path / "out", modules=[str(tmp_path / "few.py")])
