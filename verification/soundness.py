"""What a row must be before it may stand in a report: an odd one must not cost the report on the others."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from verification.claim import Claim
from verification.row import tidy, undecided
from verification.serialise import canonical_json, number
from verification.verdict import Variant

Json = dict[str, Any]

SCHEMA = Path(__file__).parent / "report" / "schema.json"
LATER = ("expected", "passed")
"""Fields of a row that are known when it has been compared with the baseline."""


def sound(claim: Claim, variant: Variant, row: Json) -> Json:
    """``row`` as it can be sent, stored and reported; UNDECIDED, with the reason, where it is none."""
    shown = row | {"reason": readable(row["reason"]), "error": row["error"] and readable(row["error"])}
    try:
        text = canonical_json(shown)
        text.encode()
        held: Json = json.loads(text)
    except Exception as error:
        what = readable(tidy(str(error)))[:200]
        return _odd(claim, variant, f"it cannot be written: {type(error).__name__}: {what}")
    fault = _misshapen(held) or powerless(held)
    return held if fault is None else _odd(claim, variant, fault)


def powerless(row: Json) -> str | None:
    """A random check that looked at nothing, or that no violation is large enough for, shows nothing."""
    for evidence in row["evidence"]:
        detectable = evidence["detectable"]
        random, holds = evidence["grade"] in ("tested", "fitted"), evidence["verdict"] == "HOLDS"
        if random and holds and (evidence["samples"] == 0 or abs(number(detectable)) == float("inf")):
            seen = f"{evidence['samples']} samples and detects {detectable}"
            return f"evidence {evidence['check']!r} is {evidence['grade']}, has {seen}, and says HOLDS"
    return None


def readable(text: str) -> str:
    """``text`` with signs that no file can hold written as escapes."""
    return text.encode(errors="backslashreplace").decode()


def _odd(claim: Claim, variant: Variant, fault: str) -> Json:
    return undecided(claim, variant, fault, f"What its checks returned is not as reports need it: {fault}")


def _misshapen(row: Json) -> str | None:
    """What a report's schema says against the row."""
    fault = best_match(_validator().iter_errors(row))
    if fault is None:
        return None
    message = tidy(fault.message)
    return (
        f"{_place(row, list(fault.absolute_path))}: {message if len(message) <= 200 else message[:200] + '…'}"
    )


def _place(row: Json, path: list[str | int]) -> str:
    """Where a fault is, as its author calls it."""
    words = [str(step) for step in path]
    if path[:1] == ["evidence"] and len(path) > 1:
        words[:2] = [f"evidence {row['evidence'][path[1]].get('check')!r}"]
    elif path[:1] == ["measures"] and len(path) > 1:
        words[:2] = [f"measure {path[1]!r}"]
    return ", ".join(words) or "the row"


@cache
def _validator() -> Draft202012Validator:
    """The part of the report's schema that is about rows; numbers are those that can be computed with."""
    parts: Mapping[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    row = parts["row"] | {"required": [name for name in parts["row"]["required"] if name not in LATER]}
    largest = sys.float_info.max
    finite = {"type": "number", "minimum": -largest, "maximum": largest}
    own = {"number": {"anyOf": [finite, *parts["number"]["anyOf"][1:]]}}
    return Draft202012Validator(row | {"$defs": {**parts, **own}})
