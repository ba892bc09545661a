"""Odd words on the command line: every command ends with 0, 1, 2 or 3 and without a traceback; bad input ends
with 2 and a line that names an option, an argument or the value; what is written as JSON holds no NaN."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.support.command import SYNTHETIC, TOYS
from tests.support.fuzz import cases
from verification.cli import app

RUNNER = CliRunner(env={"COLUMNS": "80", "NO_COLOR": None, "FORCE_COLOR": None})
COIN = """import numpy as np

def coin(value, rng, size):
    return np.where(rng.random(size) < 0.75, value, 1 - value)

class Kind: pass

NUMBER = 3
"""
NUMBERS = ["nan", "inf", "-1", "0", "1e-320", "1e400", "x", "", "0.5"]
WHOLE = ["-1", "0", "x", "1.5", "", "99999999999999999999", "nan"]
TARGETS = ["{tmp}/out.json", "{tmp}", "{tmp}/no/such/out.json", "/dev/null/x"]
PLOTS = [place.replace(".json", ".svg") for place in TARGETS]
PLACES = [*TARGETS, "-"]
FILES = ["{tmp}/none.json", "{tmp}/broken.json", "{tmp}/list.json", "{tmp}/rows.json", "{tmp}", "/dev/null"]
MODULES = ["no_such_module", "{tmp}/none.py", "{tmp}/coin.py", "", "a..b"]
JOBS = ["0", "-2", "x", "1"]  # not thousands: those would be started
SEEDS = ["-1", "x", "3", "99999999999999999999", "1.5"]
FLAG: list[str] = []
"""An option without a value."""

Odd = dict[str, list[str]]
"""By the name of the parameter: what is tried. An argument is given in its place."""

# For each command: words that are always there and keep the work small, and what is varied.
COMMANDS: dict[str, tuple[list[str], Odd]] = {
    "": ([], {"version": FLAG}),
    "verify": (
        ["--claims", SYNTHETIC, "--jobs", "1", "--quiet", "--out", "{tmp}/run", "toy-gram"],
        {
            "claims": ["toy-gram", "no-such-claim", "", "<script>"],
            "profile": ["quick", "x", ""],
            "variant": ["paper", "repaired", "x"],
            "out": ["{tmp}/run", "{tmp}/broken.json", "/dev/null/x"],
            "jobs": JOBS,
            "seed": SEEDS,
            "executor": ["local", "in-process", "x", "", "dask://", "dask://:x"],
            "resume": FLAG,
            "show_list": FLAG,
            "modules": MODULES,
            "baseline_file": FILES,
            "row_timeout": ["nan", "-1", "0", "x", "60"],
            "quiet": FLAG,
            "json_file": PLACES,
        },
    ),
    "gate": (
        ["--claims", SYNTHETIC, "--jobs", "1", "--quiet", "--baseline", "{tmp}/mine.json", "toy-gram"],
        {
            "claims": ["toy-gram", "no-such-claim", "", "<script>"],
            "profile": ["quick", "x", ""],
            "update_baseline": FLAG,
            "report": FILES,
            "jobs": JOBS,
            "seed": SEEDS,
            "modules": MODULES,
            "baseline_file": [*FILES, "{tmp}/mine.json"],
            "quiet": FLAG,
            "json_file": PLACES,
        },
    ),
    "replay": (
        ["--claims", SYNTHETIC],
        {
            "target": ["toy-gram:paper", "toy-gram", "x:y:z", "", *FILES],
            "report": FILES,
            "modules": MODULES,
            "json_file": PLACES,
        },
    ),
    "explain": (
        ["--claims", SYNTHETIC],
        {
            "claim": [*TOYS, "no-such-claim", ""],
            "report": FILES,
            "modules": MODULES,
            "json_file": PLACES,
        },
    ),
    "diff": ([], {"left": FILES, "right": FILES, "json_file": PLACES}),
    "simulate": (
        ["--horizon", "700", "--contexts", "2", "--seeds", "1"],
        {
            "problem": [
                "random",
                "line",
                "f",
                "theorem-2.1",
                "case-1",
                "x",
                "",
                "{tmp}/broken.csv",
                "{tmp}/none.csv",
            ],
            "d": ["1", "2", "13", *WHOLE],
            "actions": ["1", "2", "10001", *WHOLE],
            "contexts": ["3", "99999999999", *WHOLE],
            "theta": ["0.6,-0.8", "1,1", "x", "", "nan,0", "1"],
            "alpha": ["0.5", *NUMBERS],
            "horizon": ["8", "700", "1e5", "1e30", *WHOLE],
            "engine": ["stream", "aggregate", "x"],
            "variant": ["paper", "repaired", "x"],
            "without": ["width-cap", "x", ""],
            "beta": ["0.3", *NUMBERS],
            "activation": ["1e-4", *NUMBERS],
            "width": ["1e-4", *NUMBERS],
            "seeds": ["2", *WHOLE],
            "seed": SEEDS,
            "json_file": PLACES,
            "plot": PLOTS,
            "against": FLAG,
            "streamed": ["1", "100", *WHOLE],
        },
    ),
    "audit": (
        ["--samples", "2000", "--epsilon", "1", "--pair", "0", "1"],
        {
            "randomizer": [
                "{tmp}/coin.py:coin",
                "{tmp}/coin.py:Kind",
                "{tmp}/coin.py:NUMBER",
                "x",
                "x:y",
                ":",
                "",
            ],
            "epsilon": ["1.5", *NUMBERS],
            "delta": ["0.1", *NUMBERS],
            "pair": ["0", "1", "x", "[1", "null", "[[1], [2, 3]]", "1e999"],
            "pairs": ["[[0, 1]]", "[]", "x", "[1]", "{}", "[[0]]"],
            "domain": ["[0, 1]", "[]", "x", '{"low": [0], "high": [1]}', '{"low": 1}', "3"],
            "confidence": ["0.9", *NUMBERS],
            "samples": ["100", "1e3", *WHOLE],
            "seed": SEEDS,
            "bits": FLAG,
            "json_file": PLACES,
        },
    ),
    "mutants": (
        # Jobs that are refused after all else: a mutant takes seconds; tests/test_mutants.py runs some.
        ["level-off-by-one", "--jobs", "0"],
        {
            "names": ["level-off-by-one", "x", "", "<script>"],
            "show_list": FLAG,
            "full": FLAG,
            "json_file": PLACES,
            "jobs": ["0", "-2", "x", "", "1.5"],
            "module": [*MODULES, SYNTHETIC],
            "quiet": FLAG,
        },
    ),
    "plan": (
        # One action: there is nothing to learn, which takes no time; tests/test_fuzz_runs.py plans for two.
        ["--problem", "random", "--d", "1", "--actions", "1", "--seeds", "1"],
        {
            "contexts": ["{tmp}/none.csv", "{tmp}/broken.csv", "{tmp}"],
            "problem": ["random", "line", "f", "x", ""],
            "d": ["2", "13", *WHOLE],
            "actions": ["1", "10001", *WHOLE],
            "size": ["2", "99999999999", *WHOLE],
            "alpha": ["0.5", *NUMBERS],
            "target": ["0.9", "2", *NUMBERS],
            "theta": ["0.5", "-1", "0.6,-0.8", "1,1", "x", "", "nan", "nan,0"],
            "draws": ["2", "1001", "99999999999", *WHOLE],
            "activation": ["1e-4", *NUMBERS],
            "width": ["1e-4", *NUMBERS],
            "seeds": ["2", *WHOLE],
            "seed": SEEDS,
            "json_file": PLACES,
            "plot": PLOTS,
        },
    ),
    "alarms seeds": (
        ["no-such-claim", "--file", "{tmp}/ledger.json", "--quiet"],  # whole runs are not for this test
        {
            "claims": ["x", ""],
            "first": ["1", *WHOLE],
            "last": ["1", *WHOLE],
            "jobs": JOBS,
            "file": [*TARGETS, *FILES],
            "quiet": FLAG,
        },
    ),
    "alarms levels": (
        ["no-such-claim", "--file", "{tmp}/ledger.json", "--quiet"],
        {"claims": ["x", ""], "most": ["1", *WHOLE], "jobs": JOBS, "file": [*TARGETS, *FILES], "quiet": FLAG},
    ),
}
EXAMPLES = dict.fromkeys(COMMANDS, (10, 400)) | dict.fromkeys(("verify", "gate", "mutants"), (3, 100))
"""Cases in an ordinary and in a thorough run: fewer of what starts processes."""


def commands() -> dict[str, Any]:
    """Every command by its words, the group itself under no words."""
    found: dict[str, Any] = {}

    def walk(words: tuple[str, ...], command: Any) -> None:
        inner = getattr(command, "commands", {})
        if not words or not inner:
            found[" ".join(words)] = command
        for name, part in inner.items():
            walk((*words, name), part)

    walk((), typer.main.get_command(app))
    return found


FOUND = commands()


def parameters(command: str) -> dict[str, Any]:
    return {p.name: p for p in FOUND[command].params if p.name != "help"}


def test_every_command_and_option_is_tried() -> None:
    assert set(COMMANDS) == set(FOUND)
    for command, (_, odd) in COMMANDS.items():
        assert set(odd) == set(parameters(command)), command
        for name, parameter in parameters(command).items():
            switch = bool(getattr(parameter, "is_flag", False))
            assert (odd[name] is FLAG) == switch, (command, name)
            assert switch or len(set(odd[name])) > 1, (command, name)


def line(command: str, chosen: dict[str, str], tmp: Path) -> list[str]:
    always, odd = COMMANDS[command]
    words = [*command.split(), *always]
    for name, value in chosen.items():
        parameter = parameters(command)[name]
        option = [parameter.opts[0]] if parameter.opts[0].startswith("-") else []
        words += option + ([value] * max(1, parameter.nargs) if odd[name] is not FLAG else [])
    return [word.replace("{tmp}", str(tmp)) for word in words]


def lines(command: str) -> st.SearchStrategy[dict[str, str]]:
    """Up to three options, and all arguments that a command cannot do without."""
    _, odd = COMMANDS[command]
    needed = [n for n, p in parameters(command).items() if p.required and not p.opts[0].startswith("-")]
    free = st.lists(st.sampled_from(sorted(odd)), max_size=3, unique=True)
    names = free.map(lambda some: [*needed, *(n for n in some if n not in needed)])
    return names.flatmap(lambda ns: st.fixed_dictionaries({n: st.sampled_from(odd[n] or [""]) for n in ns}))


@pytest.mark.parametrize("command", COMMANDS)
def test_odd_words_end_cleanly(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coin.py").write_text(COIN)
    (tmp_path / "broken.json").write_text('{"schema": 1, "rows": [')
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "rows.json").write_text('{"schema": 1, "rows": [{}], "repairs": 3, "complete": true}')
    (tmp_path / "broken.csv").write_text("context,action,x\na,0\n")

    @cases(*EXAMPLES[command])
    @given(chosen=lines(command))
    def run(chosen: dict[str, str]) -> None:
        try_one(command, chosen, tmp_path)

    run()


def try_one(command: str, chosen: dict[str, str], tmp: Path) -> None:
    words = line(command, chosen, tmp)
    said = RUNNER.invoke(app, words)
    shown = " ".join(words)
    assert said.exception is None or isinstance(said.exception, SystemExit), (shown, repr(said.exception))
    assert said.exit_code in (0, 1, 2, 3), (shown, said.exit_code)
    assert "Traceback" not in said.output, shown
    if said.exit_code == 2:
        assert names_something(said.output, command, words), (shown, said.output)
    if said.exit_code in (0, 1) and chosen.get("json_file") == "-":
        json.loads(said.stdout, parse_constant=lambda constant: pytest.fail(f"{constant}: {shown}"))
    target = tmp / "out.json"
    if target.is_file():
        json.loads(target.read_text(), parse_constant=lambda constant: pytest.fail(f"{constant}: {shown}"))
        target.unlink()


def names_something(output: str, command: str, words: list[str]) -> bool:
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", output).split())
    known = [p.opts[0].lstrip("-") for p in parameters(command).values()] + list(parameters(command))
    known += [p.metavar for p in parameters(command).values() if p.metavar]
    known += [word for word in words if word]
    known += [repr(str(Path(word))) for word in words]  # as messages show a file's name
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) for name in known)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
"""Whatever a shell can hand over, and a zero byte, which it cannot."""


WRITTEN = {"out", "json_file", "plot", "file"}
RUN = {"modules", "module", "randomizer"}


def worded(command: str) -> list[str]:
    """Options that take any text; not those that could write anywhere, or run what they find."""
    _, odd = COMMANDS[command]
    return [name for name in odd if odd[name] is not FLAG and name not in WRITTEN | RUN]


@pytest.mark.parametrize("command", [command for command in COMMANDS if worded(command)])
def test_any_text_ends_cleanly(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coin.py").write_text(COIN)
    _, odd = COMMANDS[command]
    needed = {n: odd[n][0] for n, p in parameters(command).items() if p.required and odd[n] is not FLAG}

    @cases(*EXAMPLES[command])
    @given(name=st.sampled_from(worded(command)), text=TEXT)
    def run(name: str, text: str) -> None:
        try_one(command, needed | {name: text}, tmp_path)

    run()


@pytest.mark.parametrize("study", ["seeds", "levels"])
@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 1', '{"schema": 1, "runs": 3}', "null"])
def test_a_damaged_ledger_is_named_before_the_work(study: str, content: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    ledger.write_text(content)
    said = RUNNER.invoke(app, ["alarms", study, "lemma-4.2-psi", "--file", str(ledger), "--quiet"])
    assert said.exit_code == 2, said.output
    assert "ledger.json" in said.output
    assert ledger.read_text() == content
