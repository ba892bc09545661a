"""Report files: whole or untouched, the same bytes every time, and refused when they are not reports."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest

from tests.data_report import report
from tests.data_report_parts import evidence
from verification.report import files, read, write
from verification.report.files import NAMES


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def altered(path: list[str | int], value: object) -> dict:
    """The synthetic report with one value replaced, or removed when it is Ellipsis."""
    changed = report(1)
    *parents, last = path
    place = changed
    for key in parents:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return changed


def test_what_is_written_is_what_is_read(tmp_path):
    given = report()
    before = copy.deepcopy(given)
    write(given, tmp_path / "new" / "directory")
    assert given == before
    assert sorted(contents(tmp_path / "new" / "directory")) == sorted(NAMES)
    assert read(tmp_path / "new" / "directory" / "report.json") == given


def test_a_report_read_and_written_again_has_the_same_bytes(tmp_path):
    write(report(), tmp_path / "a")
    write(read(tmp_path / "a" / "report.json"), tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_bytes_depend_neither_on_hashing_nor_on_the_users_plot_settings(tmp_path):
    write(report(), tmp_path / "here")
    (tmp_path / "matplotlibrc").write_text(
        "font.size: 30\nsvg.fonttype: path\nxtick.direction: in\naxes.xmargin: 0.4\n"
    )
    script = f"""
import sys
from pathlib import Path
from tests.data_report import report
from verification.report import write
write(report(), Path({str(tmp_path / "there")!r}))
assert "matplotlib.pyplot" not in sys.modules
"""
    root = Path(__file__).parent.parent
    settings = {
        "PYTHONHASHSEED": "7",
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"),
        "PYTHONPATH": str(root),
    }
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, env={**os.environ, **settings})
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_drawing_leaves_matplotlib_as_it_was(tmp_path):
    before = dict(matplotlib.rcParams)
    write(report(1), tmp_path)
    assert dict(matplotlib.rcParams) == before


def test_control_characters_reach_no_file_that_cannot_hold_them(tmp_path):
    given = report()
    assert any("\x07" in row["reason"] for row in given["rows"])
    write(given, tmp_path)
    ElementTree.parse(tmp_path / "junit.xml")
    for name in ("report.html", "report.md", "junit.xml"):
        assert b"\x07" not in (tmp_path / name).read_bytes()
    assert any("\x07" in row["reason"] for row in read(tmp_path / "report.json")["rows"])


def test_nothing_of_this_machine_is_written(tmp_path):
    write(report(), tmp_path)
    everything = b"".join(contents(tmp_path).values()).decode()
    assert str(tmp_path) not in everything
    assert str(Path(__file__).parent.parent) not in everything


@pytest.mark.parametrize("name", NAMES)
def test_no_file_changes_when_one_cannot_be_made(tmp_path, monkeypatch, name):
    write(report(1), tmp_path)
    before = contents(tmp_path)
    real = os.fsync
    left = list(NAMES)

    def full_disk(handle: int) -> None:
        if left.pop(0) == name:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(files.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write(altered(["seed"], 1), tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("renderer", ["page", "markdown", "junit"])
def test_no_file_changes_when_a_renderer_fails(tmp_path, monkeypatch, renderer):
    write(report(1), tmp_path)
    before = contents(tmp_path)

    def broken(shown: dict) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(files, renderer, broken)
    with pytest.raises(ZeroDivisionError):
        write(altered(["seed"], 1), tmp_path)
    assert contents(tmp_path) == before


def test_a_rename_that_fails_leaves_whole_files_and_no_others(tmp_path, monkeypatch):
    write(report(1), tmp_path / "old")
    write(altered(["seed"], 1), tmp_path / "new")
    old, new = contents(tmp_path / "old"), contents(tmp_path / "new")
    real = os.replace

    def third_time_unlucky(source: str, target: Path) -> None:
        if target.name == NAMES[2]:
            raise PermissionError(13, "Permission denied")
        real(source, target)

    monkeypatch.setattr(files.os, "replace", third_time_unlucky)
    with pytest.raises(PermissionError):
        write(altered(["seed"], 1), tmp_path / "old")
    now = contents(tmp_path / "old")
    assert sorted(now) == sorted(NAMES)
    assert [now[name] == new[name] for name in NAMES] == [True, True, False, False]
    assert [now[name] == old[name] for name in NAMES[2:]] == [True, True]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["schema"], 2, "schema"),
        (["seed"], -1, "seed"),
        (["seed"], True, "seed"),
        (["profile"], "fast", "profile"),
        (["complete"], ..., "complete"),
        (["extra"], 1, "extra"),
        (["rows", 0, "verdict"], "TRUE", "verdict"),
        (["rows", 0, "extra"], 1, "extra"),
        (["rows", 0, "passed"], ..., "passed"),
        (["rows", 0, "measures"], {"t": {"value": 1, "interval": [1], "unit": "", "note": ""}}, "interval"),
        (
            ["rows", 0, "measures"],
            {"t": {"value": "large", "interval": [1, 1], "unit": "", "note": ""}},
            "value",
        ),
        (["rows", 0, "evidence", 0, "false_alarm"], 2, "false_alarm"),
        (["rows", 0, "evidence", 0, "value"], "Infinity", "value"),
        (["rows", 0, "evidence", 0, "samples"], 1.5, "samples"),
        (["rows", 0, "evidence", 0, "grade"], "guessed", "grade"),
        (["rows", 1, "figures", 0, "series", 0, "x"], [1], "different lengths"),
        (["rows", 1, "figures", 0, "series", 0, "low"], None, "different lengths"),
        (["rows", 1, "variant"], "paper", "lemma-4.2-psi:paper is there twice"),
        (["repairs", 0, "verdict"], None, "verdict"),
        (
            ["rows", 0, "verdict"],
            "UNDECIDED",
            "its verdict is UNDECIDED, but REFUTED follows from its evidence",
        ),
        (["rows", 0, "evidence"], [evidence("one", "exact", "HOLDS")] * 2, "evidence 'one' is there twice"),
    ],
)
def test_what_is_no_report_is_neither_written_nor_read(tmp_path, path, value, message):
    with pytest.raises(ValueError, match=message):
        write(altered(path, value), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    file = tmp_path / "report.json"
    file.write_text(json.dumps(altered(path, value)))
    with pytest.raises(ValueError, match=message) as error:
        read(file)
    assert str(file) in str(error.value)
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cut off"),
        (b"PK\x03\x04\xff\xfe", "UTF-8"),
        (b"[]", "object"),
        (b'{"schema": NaN}', "NaN"),
        (b'{"schema": 1e400}', "too large"),
        (b'{"schema": 1' + b"0" * 400 + b"}", "too large"),
        (b'{"schema": 1, "schema": 1}', "the key 'schema' is there twice"),
        (b"[" * 100_000, "report.json"),
        (b'{"tool": "another", "results": []}', "not a report of schema 1"),
    ],
)
def test_foreign_files_are_named_and_refused(tmp_path, data, message):
    file = tmp_path / "report.json"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=message) as error:
        read(file)
    assert str(file) in str(error.value)


def test_a_truncated_file_is_refused_wherever_it_is_cut(tmp_path):
    write(report(1), tmp_path)
    whole = (tmp_path / "report.json").read_bytes().rstrip()
    file = tmp_path / "cut.json"
    for end in range(0, len(whole), 97):
        file.write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"cut\.json"):
            read(file)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"absent\.json: cannot be read"):
        read(tmp_path / "absent.json")


@pytest.mark.parametrize("value", [float("nan")])
def test_nan_is_not_written(tmp_path, value):
    with pytest.raises(ValueError, match="NaN"):
        write(altered(["rows", 0, "evidence", 0, "value"], value), tmp_path / "out")
    assert not (tmp_path / "out").exists()
