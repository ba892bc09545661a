"""Odd arguments to what users call themselves: audit, coverage and needed_width, and odd files to readers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpcb import problem as problems
from tests.support.fuzz import arguments, cases, total
from verification import audit, baseline, coverage, needed_width
from verification.reportfile import read_report

PROBLEM = problems.random(1, 1, 3)
inner = st.floats(0.1, 0.9)


def coin(value: int, rng: np.random.Generator, size: int) -> Any:
    return np.where(rng.random(size) < 0.75, value, 1 - value)


@cases(25, 1000)
@given(
    arguments(
        epsilon=st.floats(0, 3),
        delta=st.floats(0, 0.5),
        confidence=inner,
        samples=st.just(400),
        seed=st.integers(0, 9),
        bits=st.booleans(),
        pair=st.just((0, 1)),
    )
)
def test_odd_arguments_of_audit_are_named(given: dict[str, Any]) -> None:
    found = total(lambda **words: audit(coin, **words), given, ["pairs", "domain"])
    assert found is None or found.verdict in ("HOLDS", "REFUTED", "UNDECIDED")


@pytest.mark.parametrize("function", [coverage, needed_width], ids=lambda f: f.__name__)
@cases(10, 500)
@given(
    arguments(
        n=st.just(10**4),
        fits=st.just(2),
        delta=inner,
        seed=st.integers(0, 9),
        confidence=inner,
        horizon=st.sampled_from([10**6, 10**12]),
        alpha=inner,
        width=inner,
    )
)
def test_odd_arguments_of_coverage_are_named(function: Callable[..., Any], given: dict[str, Any]) -> None:
    total(lambda **words: function(PROBLEM, **words), given)


@pytest.mark.parametrize("read", [read_report, baseline.read], ids=lambda f: f.__name__)
@cases(20, 1000)
@given(content=st.binary(max_size=40) | st.sampled_from([b"{}", b"[]", b"null", b'{"schema": 1, "rows": 3}']))
def test_odd_files_are_named(read: Callable[[Path], Any], content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    file.write_bytes(content)
    total(lambda path: read(path), {"path": file}, ["odd.json"])
