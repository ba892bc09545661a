"""Verifies a written proof of f ≤ 0 on a box. Shares no code with the prover, only flint and f itself.

The file names the function, the box, and a tree in preorder: a number halves that side of the box, ``v``
closes a leaf by the value of f on it, ``s`` by its slopes. Every leaf is evaluated anew, at twice the
precision, and the leaves cover the box because halving does. Whatever the file says, what is accepted is
true: a wrong tree can only fail.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from flint import arb, arb_series, ctx, fmpq

KEYS = {"schema", "function", "box", "precision", "tree"}
Sides = list[tuple[Fraction, Fraction]]


class Rejected(ValueError):
    """The file does not prove what it says."""


@dataclass(frozen=True)
class Verified:
    """f ≤ 0 on the box, with f = ``function``."""

    function: str
    box: dict[str, tuple[Fraction, Fraction]]
    leaves: int


def verify_certificate(path: Path) -> Verified:
    """Verify the file at ``path``; :class:`Rejected` if it proves nothing."""
    return verify_text(path.read_text(encoding="utf-8"), str(path.name))


def verify_text(text: str, where: str = "certificate") -> Verified:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise Rejected(f"{where} is not JSON, or cut off: {error}") from None
    names, sides = _box(where, content)
    f = _function(where, content["function"])
    with ctx.workprec(2 * content["precision"]):
        leaves = _walk(where, f, names, sides, content["tree"].split())
    return Verified(content["function"], dict(zip(names, sides, strict=True)), leaves)


def _box(where: str, content: Any) -> tuple[list[str], Sides]:
    """The box, after a look at the shape of the whole file."""
    if not isinstance(content, dict) or set(content) != KEYS or content["schema"] != 1:
        raise Rejected(f"{where} is no certificate of schema 1 with the keys {', '.join(sorted(KEYS))}")
    kinds = {"function": str, "box": dict, "precision": int, "tree": str}
    if any(type(content[key]) is not kind for key, kind in kinds.items()):
        raise Rejected(f"{where}: function and tree are text, box an object, precision a whole number")
    if not 8 <= content["precision"] <= 4096:
        raise Rejected(f"{where}: precision is from 8 to 4096 bits, not {content['precision']}")
    try:
        sides = [(Fraction(low), Fraction(high)) for low, high in content["box"].values()]
    except (ValueError, TypeError, ZeroDivisionError):
        raise Rejected(f"{where}: every side of the box is a pair of fractions") from None
    if not sides or any(low > high for low, high in sides):
        raise Rejected(f"{where}: the box has at least one side, and the ends of each are in order")
    return list(content["box"]), sides


def _walk(where: str, f: Callable[..., Any], names: list[str], sides: Sides, tokens: list[str]) -> int:
    open_boxes, leaves = [sides], 0
    for position, token in enumerate(tokens):
        if not open_boxes:
            raise Rejected(f"{where}: the tree goes on after all boxes are closed (token {position})")
        here = open_boxes.pop()
        if token in ("v", "s"):
            if not _closed(f, names, here, token):
                raise Rejected(f"{where}: leaf {leaves} ({token}) is not closed on {_text(names, here)}")
            leaves += 1
            continue
        if not token.isdigit() or int(token) >= len(here):
            raise Rejected(f"{where}: token {position} of the tree is {token!r}")
        axis = int(token)
        low, high = here[axis]
        middle = (low + high) / 2
        open_boxes.append([*here[:axis], (middle, high), *here[axis + 1 :]])
        open_boxes.append([*here[:axis], (low, middle), *here[axis + 1 :]])
    if open_boxes:
        raise Rejected(f"{where}: {len(open_boxes)} boxes are left open")
    return leaves


def _closed(f: Callable[..., Any], names: list[str], here: Sides, rule: str) -> bool:
    spans = {name: _point(low).union(_point(high)) for name, (low, high) in zip(names, here, strict=True)}
    value = arb(f(**spans))
    if rule == "v":
        return bool(value <= 0)
    if not value.is_finite():
        return False  # f may be undefined somewhere on the box, and then slopes prove nothing
    corner, rest = {}, arb(0)
    for name, (low, high) in zip(names, here, strict=True):
        slope = _derivative(f, spans, name)
        if slope >= 0:
            corner[name] = _point(high)
        elif slope <= 0:
            corner[name] = _point(low)
        else:
            corner[name] = _point((low + high) / 2)
            rest += abs(slope) * _point((high - low) / 2)  # the mean-value term is at most this
    return bool(arb(f(**corner)) + rest <= 0)


def _derivative(f: Callable[..., Any], spans: dict[str, arb], name: str) -> arb:
    result = f(**(spans | {name: arb_series([spans[name], arb(1)], prec=2)}))
    if isinstance(result, arb):
        return arb(0)
    return arb(result[1]) if result.prec >= 2 else arb.nan()


def _point(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


def _function(where: str, name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    if module.split(".")[0] != "verification":
        raise Rejected(f"{where}: {name!r} is not a function of this project")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError):
        raise Rejected(f"{where}: there is no function {name!r}") from None

    def f(**parameters: Any) -> Any:
        return found(**parameters)

    return f


def _text(names: list[str], here: Sides) -> str:
    return ", ".join(
        f"{name} in [{float(lo):g}, {float(hi):g}]" for name, (lo, hi) in zip(names, here, strict=True)
    )
