"""The README is true: every command in it is run, and what it shows is what comes out."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.support import readme

TEXT = readme.README.read_text(encoding="utf-8")
ROOT = readme.README.parent
SESSIONS = readme.blocks("console", TEXT)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the files that the README shows."""
    for name, body in readme.files(TEXT).items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("block", SESSIONS, ids=[readme.session(b)[0].text[:40] for b in SESSIONS])
def test_commands_print_what_is_shown(block: str) -> None:
    for command in readme.session(block):
        code, found = readme.run(command.text)
        assert code == command.code, command.text
        assert readme.agrees(command.shown, found), "\n".join((command.text, *found))


@pytest.mark.parametrize("command", [c for c in readme.inline(TEXT) if c not in readme.SLOW])
def test_commands_in_the_text_work(command: str) -> None:
    code, found = readme.run(command)
    assert code == 0, "\n".join(found)


def test_slow_commands_are_run_by_continuous_integration() -> None:
    steps = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert all(command in steps for command in readme.SLOW)


def test_no_command_hides_in_another_kind_of_block() -> None:
    others = [body for name in ("sh", "text", "yaml") for body in readme.blocks(name, TEXT)]
    commands = [line for body in others for line in body.splitlines() if re.search(r"\blpcb (?!@)\w+ ", line)]
    assert [c for c in commands if "dask://" not in c and not any(s in c for s in readme.SLOW)] == []


def test_snippets() -> None:
    text = "\n".join(readme.blocks("pycon", TEXT))
    test = doctest.DocTestParser().get_doctest(text, {}, "README", str(readme.README), 0)
    assert len(test.examples) >= 5
    assert doctest.DocTestRunner().run(test).failed == 0


def test_links_and_pictures_are_there() -> None:
    names = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert len(names) >= 4
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z]+)\b(?=[`\n ])", TEXT)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_a_wrong_output_would_be_noticed() -> None:
    assert readme.agrees(("a", "…", "c"), ("a", "", "b", "c"))
    assert not readme.agrees(("a", "…", "c"), ("a", "b", "d"))
    assert not readme.agrees(("a", "c"), ("a", "b", "c"))
