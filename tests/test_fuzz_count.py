"""How many cases a thorough run of the fuzz tests tries, counted from the tests themselves."""

from __future__ import annotations

import ast
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.test_fuzz_cli import EXAMPLES

WANTED = 100_000


def thorough(module: str) -> int:
    """The sum over a module's properties: cases in a thorough run times parameters of the test."""
    loaded = import_module(f"tests.{module}")
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
    count = 0
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "cases":
                count += ast.literal_eval(call.args[1]) * parameters(getattr(loaded, node.name))
    return count


def parameters(test: Any) -> int:
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    return math.prod(len(mark.args[1]) for mark in marks)


@pytest.mark.parametrize("module", ["test_fuzz_evidence", "test_fuzz_lpcb"])
def test_counting_sees_the_properties(module: str) -> None:
    assert thorough(module) > 20_000


def test_a_thorough_run_tries_enough_cases() -> None:
    """Steps of the server under fire are not counted, only its runs would be."""
    commands = sum(many for _, many in EXAMPLES.values())
    modules = ("test_fuzz_evidence", "test_fuzz_lpcb", "test_fuzz_runs", "test_fuzz_audit")
    assert sum(map(thorough, modules)) + commands >= WANTED
