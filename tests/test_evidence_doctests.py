"""The examples in the docstrings of the statistics are true."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from verification.evidence import chernoff, quantiles, rare, samples, scaling, tails


@pytest.mark.parametrize(
    "module", [chernoff, quantiles, rare, samples, scaling, tails], ids=lambda module: module.__name__
)
def test_examples(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
