"""Mutants: their tables, what counts as a kill, and a few of them run to the end.

The whole set takes minutes; ``lpcb mutants`` runs it. Here every mutant is looked at without running it, and
a kill, a survivor and a crash are run for real.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import verification
from lpcb import partition
from lpcb import problem as problems
from lpcb.engines import aggregate
from lpcb.engines.run import points
from lpcb.lplr import pcr
from lpcb.lplr.update import Statistics
from lpcb.spec import PAPER, REPAIRED, REPAIRS
from verification import baseline, mutants_cli, substitution
from verification.cli import app
from verification.mutants import EQUIVALENT, MUTANTS, Mutant, matrix, place, source
from verification.mutants.kill import Kill, Noticed, affected, judge, observed, side_by_side
from verification.mutants.observe import Seen
from verification.mutants.study import Study, plain, read
from verification.registry import load
from verification.substitution import Edit

STUDY = Path(verification.__path__[0]) / "studies/mutants.json"
A = Mutant("a", "A mistake.", Edit("lpcb.spec", "return self.n0 << tau", "return self.n0"), "x:repaired")
PLAIN = {
    "x:repaired": Seen("x:repaired", (), (("one", "HOLDS", "1.0", 7), ("two", "HOLDS", "2.0", 9)), None, 1.0)
}


# --- the tables -------------------------------------------------------------------------------------------


def test_every_edit_is_of_lpcb_applies_once_and_compiles() -> None:
    for mutant in (*MUTANTS, *EQUIVALENT):
        assert mutant.edit.module.startswith("lpcb.")
        text = source(mutant.edit.module)
        edited = mutant.edit.apply(text)
        assert edited != text, mutant.name
        compile(edited, mutant.name, "exec")


def test_names_are_unique_and_rows_are_expected() -> None:
    names = [mutant.name for mutant in (*MUTANTS, *EQUIVALENT)]
    assert len(set(names)) == len(names)
    assert len({mutant.edit for mutant in MUTANTS}) == len(MUTANTS) >= 60
    rows = {row.name for row in load().rows()}
    expected = baseline.expectations()
    for mutant in MUTANTS:
        claim, _, variant = mutant.row.partition(":")
        assert mutant.row in rows
        assert "quick" in expected[claim][variant]


def test_every_repair_is_a_mutant() -> None:
    assert {f"without-{repair}" for repair in REPAIRS} <= {mutant.name for mutant in MUTANTS}


def test_the_committed_study_is_of_these_mutants_and_all_are_killed() -> None:
    study = json.loads(STUDY.read_text())
    assert [m["name"] for m in study["mutants"]] == [m.name for m in MUTANTS]
    assert [e["name"] for e in study["equivalent"]] == [e.name for e in EQUIVALENT]
    assert all(m["killed"] and m["row"] for m in study["mutants"])
    assert set(study["complete"]) <= set(study["rows"]) <= {row.name for row in load().rows()}


# --- equivalent mutants -----------------------------------------------------------------------------------


def edited(name: str) -> Any:
    """The module with the equivalent mutant of that name in it."""
    edit = next(e.edit for e in EQUIVALENT if e.name == name)
    module = ModuleType(edit.module)
    module.__dict__["__file__"] = name
    sys.modules[f"{edit.module} {name}"] = module
    module.__dict__["__name__"] = f"{edit.module} {name}"
    exec(compile(edit.apply(source(edit.module)), name, "exec"), module.__dict__)
    return module


def test_the_sign_of_a_direction_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    spec = REPAIRED(d=3, actions=1, horizon=10**6, activation=1e-6)
    X = rng.standard_normal((40, 3, 3)) / 3
    sums = Statistics(np.full(40, 1e6), rng.standard_normal((40, 3)) * 1e5, X @ X.swapaxes(1, 2) * 1e6)
    keys, open_ = np.zeros(40, dtype=np.int64), np.ones(40, dtype=bool)
    rest = np.tile(np.eye(3), (40, 1, 1))
    one = pcr.pcr(spec, 10**7, keys, sums, open_, rest)
    two = edited("sign-not-canonical").pcr(spec, 10**7, keys, sums, open_, rest)
    assert one.active.all()
    assert (one.u != two.u).any()
    assert np.array_equal(one.theta, two.theta)
    assert np.array_equal(np.abs(one.u), np.abs(two.u))
    assert np.array_equal(one.u[:, :, None] * one.u[:, None, :], two.u[:, :, None] * two.u[:, None, :])


def test_the_first_threshold_implies_the_second() -> None:
    for d in range(1, 13):
        for horizon in (10**3, 10**18):
            for activation in (0.0, 1e-6, 1.0, 100.0):
                spec = REPAIRED(d=d, actions=1, horizon=horizon, activation=activation, beta=0.4)
                first = spec.kappa1 * spec.gamma**2 * (d + 1) ** 3
                assert spec.kappa1_prime * spec.gamma * d**1.5 <= first * (15 / 43)


def test_a_layer_contributes_the_same_with_the_whole_vector() -> None:
    rng = np.random.default_rng(1)
    spec = REPAIRED(d=3, actions=1, horizon=10**6)
    other = edited("prediction-with-whole-vector")
    phi = rng.standard_normal((50, 3)) / 4
    frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    totals = []
    for descend in (partition.descend, other.descend):
        at = partition.enter(spec, phi, np.zeros(50, dtype=np.int64))
        for h in range(3):
            keys = np.unique(at.keys)
            ones = np.ones(len(keys))
            u = np.tile(frame[h], (len(keys), 1))
            rest = np.zeros((len(keys), 3, 3))
            active = ones.astype(bool)
            bins = partition.Bins(1, keys, ones, active, active, u, ones, 0.7 * u, rest, ones)
            at = descend(spec, at, bins, np.zeros(50))
        totals.append(at.total)
    assert np.abs(totals[0]).max() > 0.1
    np.testing.assert_allclose(totals[0], totals[1], atol=1e-15)


def test_below_an_inactive_bin_every_bin_is_inactive() -> None:
    rng = np.random.default_rng(2)
    problem = problems.random(3, 2, 8, seed=5)
    other = edited("stopped-forgotten")
    for variant in (PAPER, REPAIRED):
        spec = variant(d=3, actions=2, horizon=10**4, activation=1e-3, width=1e-3)
        oracle = aggregate.fit(problem, spec, np.full((1, 8, 2), 0.5), 10**15, rng)
        phi, which = points(problem, 1)
        path = oracle.route(phi, which)
        assert path[-1].stopped.any()
        assert not path[-1].stopped.all()
        for at, layer in zip(path[1:-1], oracle.layers[1:], strict=True):
            assert not layer.active[layer.rows(at.keys)][at.stopped].any()
            again = other.descend(spec, at, layer, at.eta)
            assert np.array_equal(again.stopped, partition.descend(spec, at, layer, at.eta).stopped)


# --- what counts ------------------------------------------------------------------------------------------


def test_a_changed_verdict_is_a_kill_after_the_samples_of_its_evidence() -> None:
    seen = Seen(
        "x:repaired",
        (("verdict", "HOLDS", "REFUTED"),),
        (("one", "HOLDS", "1.5", 7), ("two", "REFUTED", "3.0", 9)),
        None,
        1.0,
    )
    also = Seen("y:paper", (("tightness", "[1, 2]", "3"),), (), None, 1.0)
    crashed = Seen("z:paper", (("error", "none", "boom"),), (), "boom", 1.0)
    others = {row: Seen(row, (), (), None, 1.0) for row in ("y:paper", "z:paper")}
    kill = judge(A, [also, crashed, seen], PLAIN | others)
    assert kill.killed
    assert kill.named == Noticed("x:repaired", "verdict", "HOLDS", "REFUTED", 9)
    assert kill.also == (Noticed("y:paper", "tightness", "[1, 2]", "3", 0),)


def test_a_measure_that_moved_is_a_kill() -> None:
    evidence = (("one", "HOLDS", "1.0", 7), ("two", "HOLDS", "2.1", 9))
    kill = judge(A, [Seen("x:repaired", (("loss", "[1, 1]", "0.9"),), evidence, None, 1.0)], PLAIN)
    assert kill.killed
    assert kill.named == Noticed("x:repaired", "loss", "[1, 1]", "0.9", 9)


def test_neither_an_error_nor_silence_is_a_kill() -> None:
    changes = (("verdict", "HOLDS", "UNDECIDED"), ("error", "none", "boom"))
    crashed = judge(A, [Seen("x:repaired", changes, (), "boom", 1.0)], PLAIN)
    assert not crashed.killed
    assert crashed.named == Noticed("x:repaired", "error", "none", "boom", 0)
    for seen in ([], [PLAIN["x:repaired"]]):
        survived = judge(A, seen, PLAIN)
        assert (survived.killed, survived.named) == (False, None)


def test_rows_that_never_call_the_function_are_left_out() -> None:
    line = place(A.edit)
    assert line is not None
    assert source("lpcb.spec").splitlines()[line - 1].strip().startswith("def epoch_length")
    calls = {"a": (("lpcb.spec", line),), "b": (("lpcb.spec", line + 1), ("lpcb.sums", line)), "c": ()}
    seen = {row: Seen(row, (), (), None, 1.0, called) for row, called in calls.items()}
    assert affected(A, seen) == ["a"]
    on_import = Mutant("m", "", Edit("lpcb.spec", "MAX_LEVELS = 10**4", "MAX_LEVELS = 10**5"), "a")
    assert affected(on_import, seen) == ["a", "b", "c"]


def test_defaults_and_decorators_act_on_import() -> None:
    assert place(Edit("lpcb.mechanisms.laplace", "@property\n    def scale", "def scale")) is None
    old = "rng: np.random.Generator, extra: int = 24"
    assert place(Edit("verification.experiments.views", old, old.replace("24", "9"))) is None


ONE, TWO, THREE = "lemma-A.1:paper", "lemma-A.3:paper", "cor-A.4:paper"
MINE = Mutant("a", "A mistake.", A.edit, ONE)
OTHER = Mutant("b", "Another.", Edit("lpcb.spec", "return self.n0 << tau", "return 1"), TWO)


def test_a_study_that_is_read_again_is_the_same(tmp_path: Path) -> None:
    noticed = Noticed(ONE, "verdict", "HOLDS", "REFUTED", 7)
    raised = Noticed(TWO, "error", "none", "", 0)
    study = {
        MINE: Kill(MINE, {ONE: noticed, TWO: raised, THREE: None}, 1.5),
        OTHER: Kill(OTHER, {ONE: noticed, TWO: None}, 0.5),
    }
    path = tmp_path / "study.json"
    data = plain(list(study.values()), ())
    path.write_text(json.dumps(data))
    assert read(path, [MINE, OTHER]) == study
    assert data["complete"] == sorted([ONE, TWO])
    assert [m["silent"] for m in data["mutants"]] == [[THREE], []]
    assert read(tmp_path / "none.json", [MINE]) == {}


def test_what_was_measured_with_other_code_or_another_text_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    noticed = {row: Noticed(row, "verdict", "HOLDS", "REFUTED", 7) for row in (ONE, TWO)}
    data = plain([Kill(MINE, noticed, 1.0), Kill(OTHER, noticed, 1.0)], ())
    data["rows"][ONE] = "0123456789abcdef"
    path.write_text(json.dumps(data))
    assert [set(kill.cells) for kill in read(path, [MINE, OTHER]).values()] == [{TWO}, {TWO}]
    again = Mutant("b", "Another.", Edit("lpcb.spec", "return self.n0 << tau", "return 2"), TWO)
    assert set(read(path, [MINE, again])) == {MINE}


def test_the_matrix_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    line = place(A.edit)
    assert line is not None
    calls = {ONE: (("lpcb.spec", line),), TWO: (("lpcb.spec", line),), THREE: ()}
    plain = {
        row: Seen(row, (), (), None, 99.0 if row == TWO else 1.0, called) for row, called in calls.items()
    }
    ran: list[tuple[str, ...]] = []
    kept: list[list[str]] = []

    def observed(edits: tuple[Edit, ...], rows: list[str], seed: int) -> list[Seen]:
        ran.append(tuple(rows))
        return [Seen(row, (("verdict", "HOLDS", "REFUTED"),), (), None, 1.0) for row in rows]

    def keep(study: Study) -> None:
        kept.append([mutant.name for mutant in study])

    monkeypatch.setattr(
        matrix, "reference", lambda rows, seed, jobs, calls: {r: plain[r] for r in rows if r in plain}
    )
    monkeypatch.setattr(matrix, "observed", observed)
    study = matrix.run_matrix([MINE], {}, 1, keep)
    assert ran == [(ONE,), (TWO,)], "cheap rows first, and never the row that does not call it"
    assert study[MINE].cells[THREE] is None
    assert (study[MINE].killed, [other.row for other in study[MINE].also]) == (True, [TWO])
    both = matrix.run_matrix([MINE, OTHER], dict(study), 2, keep)
    assert ran[2:] == [(ONE,), (TWO,)], "only what the new mutant lacks"
    assert both[MINE] == study[MINE]
    assert kept[-1] == ["a", "b"]
    half = Kill(MINE, {ONE: study[MINE].cells[ONE], THREE: None}, 1.0)
    matrix.run_matrix([MINE, OTHER], both | {MINE: half}, 1, keep)
    assert ran[4:] == [(TWO,)], "a change of one claim leaves the other rows alone"


def stopped(end: str) -> Any:
    """Instead of the process of a mutant: says what a row says, half of another line, and ends as told."""
    line = Seen(ONE, (("verdict", "HOLDS", "REFUTED"),), (), None, 1.0).to_json()
    text = f"import os, sys, time\nprint({line!r}, {line[:9]!r}, sep='\\n', end='', flush=True)\n{end}"

    def run(edits: object, module: str, *arguments: str, timeout: float) -> Any:
        limit = 2.0 if "sleep" in end else timeout
        return subprocess.run(
            [sys.executable, "-S", "-c", text], capture_output=True, text=True, timeout=limit, check=False
        )

    return run


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("os.kill(os.getpid(), 9)", "exit code -9"),
        ("raise KeyboardInterrupt", "exit code -2"),
        ("sys.exit('KeyboardInterrupt')", "exit code 1"),
        ("time.sleep(60)", "no answer within 2 s"),
    ],
)
def test_rows_whose_process_was_stopped_are_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: str, why: str
) -> None:
    """They are said to have no answer, and the study holds only what was answered before."""
    monkeypatch.setattr(substitution, "run", stopped(end))
    silent = {row: Seen(row, (), (), None, 1.0) for row in (ONE, TWO)}
    kill = judge(OTHER, observed((OTHER.edit,), (ONE, TWO), 0), silent)
    assert kill.named is not None
    assert (kill.killed, kill.named.by) == (False, "error")
    assert why in kill.named.found
    path = tmp_path / "study.json"
    path.write_text(json.dumps(plain([kill], ())))
    (held,) = read(path, [OTHER]).values()
    assert held.cells == {ONE: Noticed(ONE, "verdict", "HOLDS", "REFUTED", 0)}
    ran: list[list[str]] = []

    def again(edits: object, rows: list[str], seed: int) -> list[Seen]:
        ran.append(rows)
        return [silent[row] for row in rows]

    monkeypatch.setattr(
        matrix, "reference", lambda rows, seed, jobs, calls: {r: silent[r] for r in rows if r in silent}
    )
    monkeypatch.setattr(matrix, "observed", again)
    for study in ({OTHER: held}, {OTHER: kill}):
        gone_on = matrix.run_matrix([OTHER], dict(study), 1, lambda study: None)
        assert ran.pop() == [TWO]
        assert gone_on[OTHER].cells == {**held.cells, TWO: None}


def test_a_stopped_mutant_ends_the_command_as_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Noticed(OTHER.row, "error", "none", "exit code -2", 0, lost=True)
    kill = Kill(OTHER, {OTHER.row: lost}, 0.0)
    monkeypatch.setattr(mutants_cli, "run_named", lambda *_: [kill])
    done = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["mutants", "level-off-by-one", "--quiet"])
    assert done.exit_code == 3
    assert "Incomplete: processes were stopped." in done.stderr
    assert "stopped before" in done.stdout


def test_a_mistake_that_ends_its_process_is_a_crash_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substitution, "run", stopped("raise ImportError('no lpcb')"))
    seen = observed((OTHER.edit,), (ONE, TWO), 0)
    assert [one.lost for one in seen] == [False, False]
    kill = judge(OTHER, seen, {row: Seen(row, (), (), None, 1.0) for row in (ONE, TWO)})
    assert kill.kept == kill
    assert (plain([kill], ())["mutants"][0]["by"], kill.killed) == ("error", False)


def test_results_come_in_the_order_of_the_table() -> None:
    table = [Mutant(str(i), "", A.edit, "x:repaired") for i in range(20)]
    for jobs in (1, 4):
        kills = side_by_side(lambda mutant: judge(mutant, [], PLAIN), table, jobs)
        assert [kill.mutant for kill in kills] == table


# --- the command ------------------------------------------------------------------------------------------

OWN = """
from verification.mutants import Mutant
from verification.substitution import Edit

OLD = "return np.clip(total, -1.0, 1.0)"
MUTANTS = tuple(
    Mutant(name, "A test.", Edit("lpcb.partition", OLD, new), "fig-2-residual:repaired")
    for name, new in (
        ("noticed", "return np.clip(total, -2.0, 2.0)"),
        ("harmless", "return np.minimum(np.maximum(total, -1.0), 1.0)"),
        ("raises", "return 1 / 0"),
    )
)
"""


def test_a_kill_a_survivor_and_a_crash(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    words = ["--mutants", str(tmp_path / "own.py"), "--jobs", "2", "--json", str(tmp_path / "out.json")]
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["mutants", *words])
    assert result.exit_code == 1, result.stderr
    assert "1 of 3 mutants killed by the row they name, 1 survived, 1 crashed" in result.stdout
    found = json.loads((tmp_path / "out.json").read_text())["mutants"]
    assert [(m["name"], m["killed"], m["by"]) for m in found] == [
        ("noticed", True, "verdict"),
        ("harmless", False, None),
        ("raises", False, "error"),
    ]
    assert (found[0]["expected"], found[0]["found"]) == ("HOLDS", "REFUTED")
    assert "ZeroDivisionError" in found[2]["found"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-mutant"], "unknown mutant 'no-such-mutant'"),
        (["--jobs", "0"], "jobs is at least 1"),
        (["--full"], "--full needs a file"),
        (["--json", "no/such/folder/out.json"], "does not exist"),
        (["--mutants", "lpcb.spec"], "must hold MUTANTS"),
    ],
)
def test_bad_input(words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["mutants", *words])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_the_list_shows_all() -> None:
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["mutants", "--list"])
    assert result.exit_code == 0
    assert all(mutant.name in result.stdout for mutant in (*MUTANTS, *EQUIVALENT))
