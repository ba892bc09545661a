"""Commands that read a report or a counterexample, with one value in it taken out or replaced: they end with
0, 1, 2 or 3, without a traceback, and what cannot be read is named."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.support.command import SYNTHETIC
from tests.support.fuzz import cases
from verification.cli import app
from verification.replay import KEYS

RUNNER = CliRunner(env={"COLUMNS": "80", "NO_COLOR": None, "FORCE_COLOR": None})
ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    10**30,
    "",
    "x",
    "\x00",
    "../x",
    [],
    [None],
    [[]],
    {},
    {"x": 1},
]
OUT = object()
"""Stands for a value that is taken out."""
COMMANDS = {
    "diff": ("diff", "{good}", "{odd}"),
    "explain": ("explain", "toy-largest", "--report", "{odd}", "--claims", SYNTHETIC),
    "gate": ("gate", "--report", "{odd}", "--claims", SYNTHETIC, "--baseline", "{mine}"),
    "replay": ("replay", "toy-largest:paper", "--report", "{odd}", "--claims", SYNTHETIC),
    "replay a row that holds": ("replay", "toy-gram:paper", "--report", "{odd}", "--claims", SYNTHETIC),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole report, with a counterexample in it."""
    folder = tmp_path_factory.mktemp("good")
    words = ["verify", "--claims", SYNTHETIC, "--executor", "in-process", "--quiet", "--out", str(folder)]
    assert RUNNER.invoke(app, [*words, "toy-gram", "toy-largest"]).exit_code == 1
    return folder / "report.json"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is something to damage: every value, and every value inside it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from places(item, (*path, key))


def damaged(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    found = copy.deepcopy(value)
    at = found
    for key in path[:-1]:
        at = at[key]
    if new is OUT:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return found


def end_cleanly(words: list[str]) -> None:
    said = RUNNER.invoke(app, words)
    assert said.exception is None or isinstance(said.exception, SystemExit), (words, repr(said.exception))
    assert said.exit_code in (0, 1, 2, 3)
    assert "Traceback" not in said.output
    if said.exit_code == 2:
        named = [Path(word).name for word in words] + sorted(KEYS)
        assert any(name in said.output for name in named), said.output


@pytest.mark.parametrize("command", COMMANDS)
@cases(8, 1000)
@given(data=st.data())
def test_damaged_reports_are_read_or_named(
    command: str, good: Path, tmp_path: Path, data: st.DataObject
) -> None:
    report = json.loads(good.read_text(encoding="utf-8"))
    where = data.draw(st.sampled_from(sorted(places(report), key=repr)))
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps(damaged(report, where, data.draw(st.sampled_from([OUT, *ODD])))))
    files = {"good": good, "odd": odd, "mine": tmp_path / "mine.json"}
    end_cleanly([word.format(**files) for word in COMMANDS[command]])


@cases(20, 2000)
@given(data=st.data())
def test_damaged_counterexamples_are_replayed_or_named(
    good: Path, tmp_path: Path, data: st.DataObject
) -> None:
    rows = json.loads(good.read_text(encoding="utf-8"))["rows"]
    example = next(row["counterexample"] for row in rows if row["counterexample"])
    where = data.draw(st.sampled_from(sorted(places(example), key=repr)))
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps(damaged(example, where, data.draw(st.sampled_from([OUT, *ODD])))))
    end_cleanly(["replay", str(odd), "--claims", SYNTHETIC])
