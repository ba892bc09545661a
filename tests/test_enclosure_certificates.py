"""Certificates: all committed ones verify, tampered ones do not, and the checker stands on its own."""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from verification.claims import lemma_a1, theorem_2_1_contraction
from verification.evidence.enclosure import (
    Box,
    Proved,
    Rejected,
    Statement,
    ball,
    certificate,
    established,
    prove,
    recheck,
    stored,
    verify_text,
)
from verification.evidence.enclosure.__main__ import statements

ALL = statements()
REVERSE = lemma_a1.KL_REVERSE


@pytest.mark.parametrize("statement", ALL, ids=lambda s: s.name)
def test_committed_certificate_verifies(statement: Statement) -> None:
    assert statement.verify().leaves >= 1


def test_every_file_belongs_to_a_statement() -> None:
    assert {path.stem for path in stored.FOLDER.glob("*.json")} == {s.name for s in ALL}
    assert all(s.path.stat().st_size < 200_000 for s in ALL)


def test_proving_anew_gives_the_committed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    for statement in ALL:
        committed = Path(recheck.__file__).parents[2] / "certificates" / f"{statement.name}.json"
        statement.write()
        assert statement.path.read_text() == committed.read_text()


def test_checker_shares_no_code_with_the_prover() -> None:
    tree = ast.parse(Path(recheck.__file__).read_text(encoding="utf-8"))
    modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    modules |= {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    assert not {m for m in modules if m and m.startswith(("verification", "lpcb"))}
    assert "flint" in modules


def content() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(REVERSE.path.read_text(encoding="utf-8"))
    return found


def tampered(**changes: Any) -> str:
    return json.dumps(content() | changes)


def test_untampered_is_accepted() -> None:
    found = verify_text(tampered())
    assert found.leaves == content()["tree"].count("v") + content()["tree"].count("s")


TREE = content()["tree"]


@pytest.mark.parametrize(
    "text",
    [
        tampered(tree=TREE.rsplit(" ", 1)[0]),
        tampered(tree=TREE + " v"),
        tampered(tree="v"),
        tampered(tree="s"),
        tampered(tree=""),
        tampered(tree=TREE.replace("s", "v")),
        tampered(tree=TREE.replace("0", "7")),
        tampered(tree=TREE.replace("v", "x", 1)),
        tampered(tree=["v"]),
        tampered(box={"r": ["0", "2"], "q": ["0", "1/4"]}),
        tampered(box={"r": ["-1", "1"], "q": ["0", "1/4"]}),
        tampered(box={"r": ["1", "0"], "q": ["0", "1/4"]}),
        tampered(box={"r": ["0", "one"], "q": ["0", "1/4"]}),
        tampered(box={"r": ["0", "1/0"], "q": ["0", "1/4"]}),
        tampered(box={}),
        tampered(function="os:getcwd"),
        tampered(function="verification.claims.lemma_a1:absent"),
        tampered(function="verification.claims.absent:chi_square_excess"),
        tampered(precision=0),
        tampered(precision="64"),
        tampered(schema=2),
        tampered(extra=1),
        tampered()[:-40],
        "[]",
        "",
    ],
)
def test_tampering_is_rejected(text: str) -> None:
    with pytest.raises(Rejected):
        verify_text(text)


def test_certificate_of_another_statement_is_rejected() -> None:
    """A valid file under the wrong name, or for a smaller box, proves nothing about this statement."""
    smaller = Statement(REVERSE.name, REVERSE.f, Box(r=(0, "1/2"), q=(0, "1/4")))
    with pytest.raises(Rejected, match="another statement"):
        smaller.verify()
    other = Statement(REVERSE.name, lemma_a1.chi_square_excess, REVERSE.box)
    with pytest.raises(Rejected, match="another statement"):
        other.verify()
    with pytest.raises(Rejected, match="no certificate"):
        Statement("absent", REVERSE.f, REVERSE.box).verify()


def test_changed_function_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the formula gets larger by one percent, the old certificate no longer verifies."""
    bound = theorem_2_1_contraction.largest_bound
    monkeypatch.setattr(theorem_2_1_contraction, "largest_bound", lambda p: ball("1.01") * bound(p))
    with pytest.raises(Rejected, match="not closed"):
        established(theorem_2_1_contraction.CONTRACTION, "quick")


def test_thorough_proves_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "proved anew" in established(lemma_a1.POINTWISE_FORWARD, "thorough")
    monkeypatch.setattr(stored, "prove", lambda f, box: prove(lambda **x: f(**x) + 1, box))
    with pytest.raises(Rejected, match="not proved anew"):
        established(lemma_a1.POINTWISE_FORWARD, "thorough")


def test_only_what_a_file_can_name_is_written(tmp_path: Path) -> None:
    proof = prove(lambda x: x - 2, Box(x=(0, 1)))
    assert isinstance(proof, Proved)
    with pytest.raises(ValueError, match="top level"):
        certificate(lambda x: x - 2, proof)
    false = Statement("false", lemma_a1.forward_pointwise, Box(z=(Fraction(-9, 10), 0)))
    with pytest.raises(ValueError, match="cannot be written"):
        false.write()
    assert not false.path.exists()
