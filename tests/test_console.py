"""What commands show fits the terminal, and is plain where nobody watches."""

from __future__ import annotations

import pytest

from lpcb.console import counting, say, show_table, tell
from verification.console import complain

ROWS = [("lemma-4.4-recursion:repaired", "HOLDS", "a reason that is rather long " * 4, "1.5e+18")]


@pytest.mark.parametrize("width", [60, 80])
def test_tables_and_sentences_fit_and_lose_nothing(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    show_table(("row", "verdict", "why", "users"), ROWS, "A title", frozenset({"users"}))
    tell("many words " * 30, indent=4)
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines()) <= width
    assert "lemma-4.4-recursion:repaired" in out, "names are broken last"
    assert out.count("rather") == 4
    assert out.count("words") == 30


def test_sentences_keep_to_80_columns_on_a_wide_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    tell("many words " * 30)
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 80


def test_commands_are_not_broken(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    say("lpcb verify " + "x" * 100)
    assert capsys.readouterr().out == "lpcb verify " + "x" * 100 + "\n"


@pytest.mark.parametrize(("forced", "coloured"), [({}, False), ({"FORCE_COLOR": "1"}, True)])
def test_colours_only_on_a_terminal(forced, coloured, monkeypatch, capsys):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in forced.items():
        monkeypatch.setenv(name, value)
    show_table(("row", "verdict"), [("a", "HOLDS")])
    assert ("\x1b[32m" in capsys.readouterr().out) is coloured
    monkeypatch.setenv("NO_COLOR", "1")
    show_table(("row", "verdict"), [("a", "HOLDS")])
    assert "\x1b[32m" not in capsys.readouterr().out


def test_progress_is_silent_elsewhere(capsys):
    with counting("counting") as report:
        report(1, 2)
    assert capsys.readouterr() == ("", "")


def test_what_is_shown_cannot_command_a_terminal(capsys):
    """Titles and reasons come from claims and reports that others have written."""
    text = "a\x1b[2J\x9b2Jb\x00\r"
    say(text)
    tell(text)
    show_table((text,), [(text,)], text)
    complain(text)
    found = capsys.readouterr()
    assert not set(found.out + found.err) & {"\x1b", "\x9b", "\x00", "\r"}
    assert found.out.count("a[2J2Jb") == 5
