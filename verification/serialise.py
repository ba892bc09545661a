"""Plain data in, the same bytes out: how reports become JSON, and files that are never half-written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lpcb.files import write_atomic as replace_file

_SCALAR = r'(?:-?[\d.]+(?:[eE][-+]?\d+)?|"-?inf"|null|true|false)'
_SCALAR_LIST = re.compile(rf"\[\n\s*({_SCALAR}(?:,\n\s*{_SCALAR})*)\n\s*\]")


def plain(value: Any) -> Any:
    """``value`` as dicts, lists, strings and finite numbers; infinities become "inf" and "-inf".

    >>> plain({"a": np.float64("inf"), "b": (np.int64(1), True)})
    {'a': 'inf', 'b': [1, True]}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _plain_float(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    raise TypeError(f"{type(value).__name__} {value!r} cannot be written to a report")


def number(value: float | str) -> float:
    """The inverse of :func:`plain` on numbers.

    >>> number("-inf"), number(2)
    (-inf, 2.0)
    """
    return float(value)


def canonical_json(value: Any) -> str:
    """``value`` as text that depends on nothing but ``value``; short lists of numbers keep to one line.

    >>> canonical_json({"b": [1, 2.5, "inf"], "a": {}})
    '{\\n  "a": {},\\n  "b": [1, 2.5, "inf"]\\n}\\n'
    """
    text = json.dumps(plain(value), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return _SCALAR_LIST.sub(lambda match: "[" + " ".join(match[1].split()) + "]", text) + "\n"


def write_atomic(path: Path, content: str | bytes) -> None:
    """As :func:`lpcb.files.write_atomic`, making folders where there are none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def _plain_float(value: float) -> float | str:
    if math.isnan(value):
        raise ValueError("NaN cannot be written to a report")
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"report keys are strings, not {key!r}")
    return key
