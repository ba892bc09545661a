"""JSON from files that somebody may have mended by hand or cut off: nothing is guessed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any


def loads(text: str) -> Any:
    """What ``text`` holds; a ValueError names a key that is there twice, and numbers that are none.

    >>> loads('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' is there twice
    """
    try:
        return json.loads(
            text,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_finite_int,
            object_pairs_hook=_unique,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(constant: str) -> float:
    raise ValueError(f'{constant} is not a number; infinity is written as the string "inf"')


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{_short(text)} is too large for a number")
    return value


def _finite_int(text: str) -> int:
    """Whole numbers are compared with others as floats."""
    if len(text) > 300:
        _finite(text)
    return int(text)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} is there twice")
    return found
