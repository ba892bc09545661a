"""Edits are made on import, in a fresh process, exactly once, and never on disk."""

from pathlib import Path

import pytest

import lpcb.elimination
from verification.substitution import Edit, install, run

FLIPPED = Edit("lpcb.elimination", "f_hat + delta >= floor", "f_hat + delta > floor")


def _program(folder: Path) -> str:
    """A module that shows what elimination does with two actions that are just as good."""
    (folder / "shows_elimination.py").write_text(
        "import numpy as np\nfrom lpcb.elimination import eliminate\n"
        "print(eliminate(np.array([True, True]), np.array([0.0, 1.0]), np.array([0.5, 0.5])).sum())\n"
    )
    return "shows_elimination"


def test_the_edited_module_is_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    source = Path(lpcb.elimination.__file__)
    before = source.read_bytes()
    assert run([], _program(tmp_path)).stdout.strip() == "2"
    assert run([FLIPPED], _program(tmp_path)).stdout.strip() == "1"
    assert run([], _program(tmp_path)).stdout.strip() == "2"
    assert source.read_bytes() == before


@pytest.mark.parametrize("old", ["no such text", "active"])
def test_text_that_is_not_there_exactly_once_is_an_error(
    old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = run([Edit("lpcb.elimination", old, "x")], _program(tmp_path))
    assert result.returncode != 0
    assert "times, not once" in result.stderr


def test_text_that_overlaps_itself_is_there_twice() -> None:
    with pytest.raises(ValueError, match="is there 2 times, not once"):
        Edit("m", "aa", "b").apply("aaa")
    assert Edit("m", "a.a", "b").apply("a.a aba") == "b aba"


def test_a_loaded_module_cannot_be_edited() -> None:
    with pytest.raises(ValueError, match="loaded already"):
        install([FLIPPED])
