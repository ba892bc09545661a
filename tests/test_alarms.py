"""The studies of false alarms: what counts as wrong, limits, the ledger, and that edits cannot rot."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.support.command import environment, lpcb
from verification.alarms import code
from verification.alarms.bounds import Count, count, earlier, whole
from verification.alarms.code import claim_hash, home, reached, sources
from verification.alarms.ledger import unexpected
from verification.alarms.levels import (
    Tally,
    beyond,
    chunks,
    detectable,
    limit,
    measure_levels,
    run_checks,
    truth,
)
from verification.alarms.reductions import BLOCK, LEVEL, REDUCED
from verification.alarms.worker import part, random_checks
from verification.registry import load
from verification.row import run_row
from verification.substitution import Edit, run


@pytest.mark.parametrize("edit", REDUCED, ids=lambda edit: f"{edit.module}-{edit.old[:20]}")
def test_every_edit_applies_exactly_once(edit: Any) -> None:
    spec = importlib.util.find_spec(edit.module)
    assert spec is not None
    assert spec.origin is not None
    changed = edit.apply(Path(spec.origin).read_text(encoding="utf-8"))
    compile(changed, edit.module, "exec")


def test_the_level_reaches_every_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every module that imports the constant sees the edited one, as does every default argument."""
    (tmp_path / "shows_level.py").write_text(
        "import inspect, sys\n"
        "from verification.registry import load\n"
        "load()\n"
        "from verification.evidence.tails import clopper_pearson\n"
        "ours = [m for n, m in sys.modules.items() if n.startswith('verification')]\n"
        "found = [m.FALSE_ALARM for m in ours if hasattr(m, 'FALSE_ALARM')]\n"
        "print(len(found), set(found), inspect.signature(clopper_pearson).parameters['alpha'])\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    words = run(REDUCED, "shows_level").stdout.split(maxsplit=1)
    assert int(words[0]) > 20
    assert words[1].startswith(f"{{{LEVEL}}} alpha: ")
    assert words[1].strip().endswith(f" = {LEVEL}")


TRUE = {"evidence": {"a": "HOLDS", "b": "REFUTED", "c": "UNDECIDED"}, "measures": {"m": [1.0, 2.0]}}


def said(a: str, b: str, c: str = "UNDECIDED", m: tuple[Any, Any] = (0.0, 1.5)) -> dict[str, Any]:
    return {"evidence": {"a": a, "b": b, "c": c}, "measures": {"m": list(m), "other": [5, 6]}, "seconds": 0.0}


def test_what_counts_as_wrong() -> None:
    tally = Tally()
    for found in (
        said("HOLDS", "REFUTED"),
        said("REFUTED", "REFUTED"),
        said("HOLDS", "HOLDS"),
        said("REFUTED", "HOLDS"),
        said("UNDECIDED", "REFUTED", "HOLDS", m=(2.5, "inf")),
        said("HOLDS", "REFUTED", "HOLDS", m=("-inf", 0.5)),
        said("HOLDS", "REFUTED", "REFUTED"),
        {"error": "ArithmeticError: two numbers disagree", "seconds": 0.0},
    ):
        tally.add(TRUE, found)
    assert (tally.seeds, tally.wrong, tally.errors) == (8, 4, 1)
    assert tally.said["a"] == {"HOLDS": 4, "REFUTED": 2}
    assert tally.said["c"] == {"HOLDS": 2, "REFUTED": 1}
    assert tally.all_wrong(TRUE) == 5, "one of HOLDS and REFUTED is wrong, and REFUTED is rarer"
    assert tally.missed == {"m": 2}


def test_evidence_that_never_holds_is_judged_by_its_row() -> None:
    """An audit says REFUTED or UNDECIDED; in a row that holds, REFUTED is wrong."""
    audit = {"evidence": {"audit": "UNDECIDED"}, "measures": {}}
    assert truth(audit, "HOLDS")["evidence"] == {"audit": "HOLDS"}
    assert truth(audit, "UNDECIDED")["evidence"] == {"audit": "UNDECIDED"}
    with pytest.raises(RuntimeError, match="boom"):
        truth({"error": "boom"}, "HOLDS")


@pytest.mark.parametrize(("seeds", "comparisons"), [(100, 1), (2000, 1), (2000, 100)])
def test_the_limit_is_the_exact_binomial_one(seeds: int, comparisons: int) -> None:
    most = limit(seeds, comparisons)
    assert stats.binom.sf(most, seeds, 0.05) <= 1e-3 / comparisons < stats.binom.sf(most - 1, seeds, 0.05)
    assert stats.binom.sf(most, seeds, detectable(seeds, comparisons)) == pytest.approx(0.99)


def test_a_check_or_measure_beyond_its_limit_is_named() -> None:
    one = {"row": "r:paper", "check": "c", "all_wrong": 8, "limit": 7, "missed": {"m": 7, "n": 9}}
    assert beyond({"checks": [one]}) == ["r:paper c", "r:paper c, n"]


def test_arrays_are_cut_into_disjoint_parts_and_single_rows_are_shared() -> None:
    arrays = {"many": np.arange(12).reshape(6, 2), "one": np.array([[7]])}
    parts = [part(arrays, i, 3) for i in range(3)]
    assert np.array_equal(np.concatenate([p["many"] for p in parts]), arrays["many"])
    assert all(np.array_equal(p["one"], arrays["one"]) for p in parts)
    with pytest.raises(ValueError, match="6 rows of 'many' cannot be cut into 4 parts"):
        part(arrays, 0, 4)


def test_what_is_left_is_planned_without_gaps() -> None:
    ahead, behind = ("lemma-A.1:paper", "x"), ("intro-lower-regret:paper", "y")
    done = {ahead: Tally(seeds=BLOCK), behind: Tally()}
    planned = list(chunks([ahead, behind], done, 3 * BLOCK))
    assert planned == [([behind], 1), ([ahead, behind], BLOCK + 1), ([ahead, behind], 2 * BLOCK + 1)]


def test_a_study_is_resumed_and_its_level_is_kept(tmp_path: Path) -> None:
    """Monte Carlo against a known integral: the interval is wrong on at most 5 % of seeds, the limit says."""
    path = tmp_path / "levels.json"
    first = measure_levels(path, BLOCK, only=["lemma-A.1"])
    assert [c["seeds"] for c in first["checks"]] == [BLOCK, BLOCK]
    before = path.read_bytes()
    assert measure_levels(path, BLOCK, only=["lemma-A.1"]) == first
    assert path.read_bytes() == before
    second = measure_levels(path, 2 * BLOCK, only=["lemma-A.1"])
    assert [c["seeds"] for c in second["checks"]] == [2 * BLOCK, 2 * BLOCK]
    assert beyond(second) == []
    with pytest.raises(ValueError, match="no random check among"):
        measure_levels(path, BLOCK, only=["fig-2-residual"])


def test_a_check_that_spends_too_much_is_beyond_its_limit() -> None:
    """The same check as it is, and with twenty times its level: the study tells them apart."""
    key = ("conf-noise:repaired", "draws")
    module, text = "verification.claims.conformance_noise", 'context.rng("draws"))\n    level = FALSE_ALARM'
    loose = Edit(module, text, text.replace("FALSE_ALARM", "20 * FALSE_ALARM"))
    wrong = []
    for edits in (REDUCED, (*REDUCED, loose)):
        found = [said for _, said in run_checks(edits, [key], 1, BLOCK, BLOCK)]
        wrong.append(sum("REFUTED" in said["evidence"].values() for said in found))
    assert wrong[0] <= limit(BLOCK, 1) < wrong[1]


def test_the_ledger_counts_and_bounds() -> None:
    assert Count(30, 0).bound == pytest.approx(1 - 0.05 ** (1 / 30))
    assert stats.binom.cdf(2, 50, Count(50, 2).bound) == pytest.approx(0.05)
    assert (Count(3, 3).bound, Count(0, 0).bound) == (1.0, 1.0)
    assert count([[], ["a", "b"]]) == Count(2, 1)


def test_a_run_is_whole_when_every_claim_ran_with_the_code_as_it_is() -> None:
    code = {"a": "1", "b": "2"}
    entries = [
        {"seed": 1, "claims": {"a": "1", "b": "1"}, "unexpected": ["a:paper", "b:paper"]},
        {"seed": 1, "claims": {"b": "2"}, "unexpected": []},  # b was changed, and run again
        {"seed": 2, "claims": {"a": "1", "b": "1"}, "unexpected": []},  # and not here
        {"seed": 3, "claims": {"a": "1", "b": "2"}, "unexpected": ["b:repaired-without-cap"]},
        {"seed": 4, "claims": {"a": "1", "b": "2"}, "unexpected": []},
    ]
    assert whole(entries, code) == {1: ["a:paper"], 3: ["b:repaired-without-cap"], 4: []}
    assert earlier(entries, code) == [["b:paper"], []]


def test_unexpected_rows_and_repairs_are_named() -> None:
    report = {
        "rows": [
            {"id": "a", "variant": "paper", "passed": False},
            {"id": "b", "variant": "paper", "passed": True},
        ],
        "repairs": [
            {"id": "a", "repair": "cap", "verdict": "HOLDS"},
            {"id": "b", "repair": "cap", "verdict": "REFUTED"},
        ],
    }
    assert unexpected(report) == ["a:paper", "a:repaired-without-cap"]


def test_the_seeds_command_adds_to_its_ledger_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "seeds.json"
    words = ["alarms", "seeds", "lemma-A.1", "--jobs", "1", "--file", file, "--quiet"]
    done = lpcb(*words, "--from", "1", "--to", "1")
    assert done.returncode == 0, done.stderr
    old = json.loads(file.read_text())
    old["entries"][0]["claims"] |= {"lemma-A.1": "another"}
    file.write_text(json.dumps(old))
    done = lpcb(*words, "--from", "1", "--to", "2")
    assert "0 of 2 runs have unexpected rows" in done.stdout
    entries = json.loads(file.read_text())["entries"]
    now = claim_hash("lemma-A.1")
    assert sorted((e["seed"], e["claims"]["lemma-A.1"]) for e in entries) == sorted(
        [(1, "another"), (1, now), (2, now)]
    )
    assert all(e["rows"] == 2 and e["random_checks"] == 2 and e["unexpected"] == [] for e in entries)
    before = file.read_bytes()
    assert lpcb(*words, "--from", "1", "--to", "2").returncode == 0
    assert file.read_bytes() == before


def test_bad_arguments_and_a_damaged_ledger_are_named(tmp_path: Path) -> None:
    done = lpcb("alarms", "seeds", "--from", "3", "--to", "1")
    assert (done.returncode, "to is at least from" in done.stderr) == (2, True)
    (tmp_path / "seeds.json").write_text('{"schema": 1, "entries": [{}]}')
    done = lpcb("alarms", "seeds", "--file", tmp_path / "seeds.json")
    assert done.returncode == 2
    assert "seeds.json: not a study of schema 1" in " ".join(done.stderr.split())


UNCOUNTED = {"__init__.py", "baseline.py", "deadline.py", "leaving.py", "registry.py"}
"""What finds rows, reads baselines or watches over checks, but computes none of their numbers."""


def test_the_hash_covers_all_that_rows_import() -> None:
    """In a fresh process: claims loaded and a row run, no module of ours is outside the hash."""
    script = (
        "import sys, json\n"
        "from verification.registry import load\n"
        "from verification.row import run_row\n"
        "run_row(load().claim('lemma-A.1'), 'paper', 'quick', 0)\n"
        "ours = [m for n, m in sys.modules.items() if n.split('.')[0] in ('lpcb', 'verification')]\n"
        "print(json.dumps([m.__file__ for m in ours]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True
    )
    known = {str(path.resolve()) for path in sources().values()}
    loaded = {str(Path(file).resolve()) for file in json.loads(done.stdout) if file}
    names = {Path(file).name for file in loaded - known}
    assert names <= UNCOUNTED, names - UNCOUNTED


def test_random_checks_are_those_of_the_registry() -> None:
    registry = load()
    expected = sum(
        c.random for claim in registry.claims.values() for c in claim.checks for _ in claim.variants
    )
    assert len(random_checks(registry)) == expected > 60


def test_a_claim_depends_on_what_it_imports_and_on_nothing_else() -> None:
    mine = set(reached([home("thm-4.6-slope")]))
    assert {"verification.claims.theorem_4_6", "verification.evidence.lplr_proof.chain", "lpcb.spec"} <= mine
    assert "verification.claims.lemma_a1" not in mine
    assert not [name for name in mine if name.startswith(("verification.report", "verification.mutants"))]
    with pytest.raises(ValueError, match="'no-claim' is not one of this package"):
        home("no-claim")


def test_a_claim_reaches_all_that_it_loads() -> None:
    """Against the interpreter: what a fresh process has loaded after importing the claim's module."""
    for claim in ("fig-2-residual", "lemma-4.5-coverage", "conf-engines"):
        name = home(claim)
        code = (
            f"import sys, {name}; print(*[m for m in sys.modules if m.startswith(('lpcb', 'verification'))])"
        )
        loaded = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
        )
        always = {"lpcb", *reached(["verification"])}
        assert set(loaded.stdout.split()) <= {*reached([name]), *always}


def test_only_functions_that_nothing_mentions_are_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lpcb").mkdir()
    (tmp_path / "lpcb" / "one.py").write_text(
        "'''Speaks of :func:`alone`.'''\n"
        "__all__ = ['alone', 'itself']\n"
        "@checked\ndef alone(): return helper()\n"
        "def itself(n): return itself(n - 1)\n"
        "def helper(): pass\n"
        "def called(): pass\n"
        "def imported(): pass\n"
        "def fetched(): pass\n"
        "def by_attribute(): pass\n"
        "def in_a_certificate(): pass\n"
        "@registered\ndef handed_on(): pass\n"
        "class Kind:\n"
        "    def alone_too(self): return called()\n"
    )
    (tmp_path / "lpcb" / "two.py").write_text(
        "import lpcb.one\nfrom lpcb.one import imported\n"
        "x = lpcb.one.by_attribute\ny = look('lpcb.one:fetched')\n"
    )
    (tmp_path / "verification" / "certificates").mkdir(parents=True)
    (tmp_path / "verification" / "certificates" / "c.json").write_text('["lpcb.one:in_a_certificate"]')
    monkeypatch.setattr(code, "ROOT", tmp_path)
    code._certificate_words.cache_clear()
    try:
        found = code.idle(["lpcb.one", "lpcb.two"])
    finally:
        code._certificate_words.cache_clear()
    assert found == {"lpcb.one": {"alone", "itself"}, "lpcb.two": set()}


def test_the_hash_is_that_of_what_can_run() -> None:
    """Two ways: no function that a row is seen to call is among those whose insides are left out."""
    for claim in ("lemma-A.1", "fig-2-residual", "prop-4.1-count"):
        modules = reached([home(claim), *(f"verification.{name}" for name in code.ALWAYS)])
        unused = {(name, function) for name, found in code.idle(modules).items() for function in found}
        files = {str(code.source_file(name)): name for name in modules}
        called = called_by(lambda claim=claim: run_row(load().claim(claim), "paper", "quick", 0))
        seen = {(files[file], function) for file, function in called if file in files}
        assert len(seen) > 10, "calls are seen at all"
        assert not seen & unused


def called_by(action: Callable[[], Any]) -> set[tuple[str, str]]:
    """(file, name) of all functions that are called meanwhile."""
    found = set()

    def see(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        action()
    finally:
        sys.setprofile(before)
    return found


def test_claims_have_hashes_of_their_own() -> None:
    hashes = {claim_hash(claim) for claim in load().claims}
    assert len(hashes) > 1
    assert claim_hash("lemma-A.1") != claim_hash("lemma-A.3")
