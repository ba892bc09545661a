"""The registry: what is found, in which order, and what is turned away."""

import re
from pathlib import Path

import pytest

from tests.support.command import HOSTILE, SYNTHETIC, TOYS
from verification import registry
from verification.fingerprint import code_hash
from verification.registry import Row, load, load_module

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
