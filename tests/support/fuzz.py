"""Calls public functions with good, odd and impossible arguments: a result without NaN, or a ValueError.

``HYPOTHESIS_PROFILE=thorough pytest tests/test_fuzz_*.py`` tries many more cases than an ordinary run.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def cases(ordinary: int, thorough: int) -> settings:
    """How many cases of one property: few and always the same in an ordinary run, many new ones in a thorough
    one."""
    slow = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]
    number = thorough if THOROUGH else ordinary
    return settings(
        max_examples=number,
        deadline=None,
        suppress_health_check=slow,
        database=None,
        derandomize=not THOROUGH,
    )


NUMBERS: list[Any] = [
    *(math.nan, math.inf, -math.inf, -1, 0, -0.0, 1, 0.5, 1.5, -0.5, 2, 1e-60, 1e300, -1e300),
    *(10**18, 2**63, 2**64, 10**400, -(10**400), True, np.float64("nan"), np.int64(3), np.float32(0.25)),
]
OTHERS: list[Any] = [
    None,
    "x",
    "",
    b"1",
    [],
    [1.0],
    (0.5, 0.5),
    {},
    1j,
    Fraction(1, 2),
    np.array([0.5]),
]
ARRAYS: list[Any] = [
    *([], [math.nan, 1.0], [math.inf], [[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0, 3.0]], ["a"], [None], 0.5),
    *(np.zeros((2, 0)), np.zeros((1, 1, 1)), [1e308, 1e308, -1e308], [1j], np.array(["2000-01-01"], "M8[D]")),
]
odd_numbers = st.sampled_from([*NUMBERS, *OTHERS])
odd_arrays = st.sampled_from([*NUMBERS, *OTHERS, *ARRAYS])


def mostly(good: st.SearchStrategy[Any], odd: st.SearchStrategy[Any] = odd_numbers) -> st.SearchStrategy[Any]:
    """Good values, and odd ones often enough that all other arguments are good when one is odd."""
    return st.integers(0, 5).flatmap(lambda i: odd if i == 0 else good)


def arguments(**good: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: mostly(strategy) for name, strategy in good.items()})


def total(function: Callable[..., Any], given: Mapping[str, Any], also: Iterable[str] = ()) -> Any:
    """The result, which holds no NaN; None after a ValueError that names one of the arguments."""
    try:
        result = function(**given)
    except ValueError as error:
        names = [*given, *also]
        if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", str(error)) for name in names):
            raise AssertionError(f"{error!s} names none of {', '.join(names)}") from error
        return None
    assert not holds_nan(result), result
    return result


def holds_nan(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if is_dataclass(value) and not isinstance(value, type):
        return any(holds_nan(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping):
        return any(map(holds_nan, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_nan, value))
