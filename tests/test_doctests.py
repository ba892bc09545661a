"""Examples in docstrings are run."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import lpcb
import verification

MODULES = sorted(
    info.name
    for package in (lpcb, verification)
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not info.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


def test_some_examples_exist() -> None:
    finder = doctest.DocTestFinder()
    tests = (test for name in MODULES for test in finder.find(import_module(name)))
    assert sum(bool(test.examples) for test in tests) >= 20
