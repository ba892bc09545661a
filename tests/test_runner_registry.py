"""The registry: what is found, in which order, and what is turned away."""

import os
import re
from pathlib import Path

import pytest

from tests.support.command import HOSTILE, SYNTHETIC, TOYS
from verification import fingerprint, registry
from verification.fingerprint import code_hash, reached
from verification.registry import Row, load, load_module
from verification.runner import make_orders

CLAIM = 'Claim("{id}", "t", "$1$", None, "m", (Check("c", None, {random}),){more})'


def write(path: Path, body: str) -> str:
    path.write_text(f"from verification import Check, Claim, Experiment\n{body}\n")
    return str(path)


def test_rows_come_in_the_order_of_the_module() -> None:
    found = load((SYNTHETIC,))
    assert [id for id in found.claims if id in TOYS] == list(TOYS)
    assert [row.name for row in found.rows(("toy-largest", "toy-mean"))] == [
        "toy-mean:paper",
        "toy-mean:repaired",
        "toy-largest:paper",
        "toy-largest:repaired",
    ]
    assert found.rows(("toy-gram",), ("repaired",)) == []


def test_guarded_repairs_are_switched_off_one_by_one() -> None:
    found = load((SYNTHETIC,))
    rows = found.rows(("toy-largest", "toy-mean"))
    assert found.repair_rows(rows) == [Row("toy-largest", "repaired", frozenset({"width-cap"}))]


def test_unknown_ids_are_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="unknown claim 'toy-lagest'; the nearest are toy-largest"):
        load((SYNTHETIC,)).rows(("toy-lagest",))


def test_ids_that_begin_so_come_first() -> None:
    with pytest.raises(ValueError, match=r"nearest are lemma-4\.2-\w+, lemma-4\.2-\w+, lemma-4\.2-"):
        load().claim("lemma-4.2")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "must export CLAIMS"),
        ("CLAIMS = ()", "must export CLAIMS"),
        (f"CLAIMS = [{CLAIM.format(id='a', random=False, more='')}]", "must export CLAIMS"),
        ("CLAIMS = (1,)", "must export CLAIMS"),
        (f"CLAIMS = ({CLAIM.format(id='a', random=False, more='')},) * 2", "'a' is used twice"),
        ('CLAIMS = (Claim("a b", "t", "$1$", None, "m", (Check("c", None, False),)),)', "letters, digits"),
        ('CLAIMS = (Claim("a", "t", "$1$", None, "m", (1,)),)', "instances of Check"),
        (
            'CLAIMS = (Claim("a", "t", "$1$", None, "m", (Check("c", None, False),) * 2),)',
            "two checks of one",
        ),
        (
            "CLAIMS = tuple("
            + CLAIM.format(id="a", random=True, more="").replace('"a"', 'f"a{i}"')
            + " for i in range(1001))",
            r"\d{4} random checks",
        ),
        (
            "CLAIMS = ("
            + CLAIM.format(id="a", random=False, more=', (Experiment("e", 1, {}),)')
            + ", "
            + CLAIM.format(id="b", random=False, more=', (Experiment("e", 2, {}),)')
            + ")",
            "two different experiments are called 'e'",
        ),
        ('CLAIMS = (Claim("a", 3, "$1$", None, "m", (Check("c", None, False),)),)', "'a': title is text"),
        (
            'CLAIMS = (Claim("a", "t", "$1$", None, "\\udcff", (Check("c", None, False),)),)',
            "'a': method is text",
        ),
        ('CLAIMS = (Claim("a" * 201, "t", "$1$", None, "m", (Check("c", None, False),)),)', "at most 200"),
        *(
            (
                f"CLAIMS = ({CLAIM.format(id='a', random=False, more=f', (Experiment({experiment}),)')},)",
                message,
            )
            for experiment, message in (
                ('"..", 1, {}', r"'\.\.': its name is a text"),
                ('"e", 1, {"quick": 0}', "'e': shards are whole numbers from 1"),
                ('"e", 1, {"fast": 1}', "'e': shards are whole numbers from 1"),
                ('"e", 1, 3', "'e': shards are whole numbers from 1"),
            )
        ),
    ],
)
def test_wrong_shapes_are_refused(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load((write(tmp_path / "wrong.py", body),))


def test_ids_of_two_modules_must_differ() -> None:
    with pytest.raises(ValueError, match="is used twice"):
        load((SYNTHETIC, "tests.support.synthetic"))


def test_a_module_is_a_name_or_a_file(tmp_path: Path) -> None:
    assert load_module("tests.support.hostile").CLAIMS[0].id == "bad-fine"
    with pytest.raises(ValueError, match="neither importable nor"):
        load_module("tests.support.nowhere")
    with pytest.raises(ValueError, match="no such file"):
        load_module(str(tmp_path / "nowhere.py"))


def test_a_module_that_fails_to_import_says_its_own_error(tmp_path: Path) -> None:
    broken = write(tmp_path / "broken.py", "import a_library_nobody_has")
    with pytest.raises(ValueError, match=r"cannot be imported: ModuleNotFoundError: .*a_library_nobody_has"):
        load_module(broken)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x = '\xff'\n", "SyntaxError: "),
        (b"x = (\n", "SyntaxError: "),
        (b"\n1 / 0\n", r"ZeroDivisionError: division by zero \(wrong\.py, line 2\)"),
        (b"raise SystemExit(0)\n", "SystemExit: 0"),
        (b"raise GeneratorExit\n", "GeneratorExit: "),
        (b"import os\nos._exit(0)\n", r"LeftError: it called os\._exit\(0\) \(wrong\.py, line 2\)"),
        (b"import pytest\npytest.skip('x', allow_module_level=True)\n", "Skipped: x"),
    ],
)
def test_a_file_that_cannot_be_run_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "wrong.py"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"module '.*wrong\.py' cannot be imported: {message}"):
        load_module(str(path))


@pytest.mark.parametrize("name", ["", ".", "..", "..x", "a b", "nul\0l", "/", "-"])
def test_a_name_that_no_module_can_have_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"module {name!r}")):
        load_module(name)


def test_the_code_hash_sees_a_users_module_and_what_it_imports(tmp_path: Path) -> None:
    def hashed(helper: str, body: str) -> str:
        registry.sys.modules.pop("beside_it", None)
        (tmp_path / "beside_it.py").write_text(helper)
        code_hash.cache_clear()
        return code_hash((write(tmp_path / "mine.py", body),))

    body = "import sys; sys.path.insert(0, __file__.rpartition('/')[0]); import beside_it; sys.path.pop(0)"
    first = hashed("X = 1", body)
    assert hashed("X = 1", body) == first
    assert hashed("X = 2", body) != first
    assert hashed("X = 1", body + "\nY = 1") != first
    assert code_hash((HOSTILE,)) != code_hash((SYNTHETIC,))


SPELLINGS = {
    "import algo": "import algo",
    "from algo import": "from algo.core import X",
    "import_module": "from importlib import import_module\nalgo = import_module('algo.core')",
    "unnamed": "from importlib import import_module\nX = import_module('algo.core').X",
    "in a function": "def late():\n    from algo import core",
}


def around(name: str) -> str:
    """What a process that has just been started would call the work folder."""
    for module in [m for m in registry.sys.modules if m.split(".")[0] in ("algo", "mine", "whole")]:
        del registry.sys.modules[module]
    for module in [m for m in registry.sys.modules if m.startswith("lpcb_claims_")]:
        del registry.sys.modules[module]
    code_hash.cache_clear()
    registry.importlib.invalidate_caches()
    return make_orders([name], "quick", 0, 1.0).fingerprint


@pytest.mark.parametrize(
    ("spelling", "changed"),
    [
        *((spelling, "core.py") for spelling in SPELLINGS),
        *((spelling, file) for spelling in list(SPELLINGS)[:3] for file in ("table.csv", "new.py")),
    ],
)
def test_code_in_another_folder_is_seen(
    spelling: str, changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a package in src/, or installed: results of the old code are not taken for the new one's."""
    package = tmp_path / "src/algo"
    package.mkdir(parents=True)
    (tmp_path / "claims").mkdir()
    for file in ("__init__.py", "core.py", "table.csv"):
        (package / file).write_text("X = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    monkeypatch.setattr(registry.sys, "dont_write_bytecode", True)
    mine = write(tmp_path / "claims/mine.py", SPELLINGS[spelling])
    first = around(mine)
    assert around(mine) == first
    (package / changed).write_text("X = 2\n")
    assert around(mine) != first


@pytest.mark.parametrize("changed", ["data.csv", "by_name.py", "more/deep.json"])
def test_a_file_beside_the_claims_is_seen(changed: str, tmp_path: Path) -> None:
    path = tmp_path / changed
    path.parent.mkdir(exist_ok=True)
    path.write_text("1")
    mine = write(tmp_path / "mine.py", "")
    first = around(mine)
    path.write_text("2")
    assert around(mine) != first


def test_outputs_and_caches_beside_the_claims_are_passed_over(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine.py", "")
    first = around(mine)
    for name in ("out/.work/x", ".git/x", "venv/pyvenv.cfg", "venv/x", "__pycache__/x", "run.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    (tmp_path / "out/report.json").write_text("{}")
    assert around(mine) == first


def test_large_and_many_files_are_known_by_size_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "READ", 1)
    mine = write(tmp_path / "mine.py", "")
    (tmp_path / "z.csv").write_text("1")
    first = around(mine)
    os.utime(tmp_path / "z.csv", (1, 1))
    assert around(mine) != first


def test_packages_of_other_names_beside_the_claims_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder called as a library is, a namespace package, and claims that are a module of a package."""
    for name in ("numpy", "lpcb", "spaced", "whole"):
        (tmp_path / name).mkdir()
    (tmp_path / "spaced/part.py").write_text("X = 1")
    (tmp_path / "whole/__init__.py").write_text("")
    write(tmp_path / "whole/claims.py", "import numpy, spaced.part")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = around("whole.claims")
    assert [m.__name__ for m in reached(load_module("whole.claims"))] == [
        "spaced",
        "spaced.part",
        "whole",
        "whole.claims",
    ]
    (tmp_path / "whole/table.csv").write_text("1")
    assert around("whole.claims") != first
