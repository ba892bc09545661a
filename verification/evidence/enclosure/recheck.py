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
    if not isinstance(content, dict) or set(content) != KEYS or content["schema"] != 1:
        raise Rejected(f"{where} is no certificate of schema 1 with the keys {', '.join(sorted(KEYS))}")
    names = list(content["box"])
    sides = [_side(where, name, *content["box"][name]) for name in names]
    f = _function(where, content["function"])
    bits = 2 * int(content["precision"])
    with ctx.workprec(bits):
        leaves = _walk(where, f, names, sides, content["tree"].split())
    return Verified(content["function"], dict(zip(names, sides, strict=True)), leaves)


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
    if rule == "v":
        return bool(arb(f(**spans)) <= 0)
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


def _side(where: str, name: str, low: str, high: str) -> tuple[Fraction, Fraction]:
    ends = Fraction(low), Fraction(high)
    if ends[0] > ends[1]:
        raise Rejected(f"{where}: side {name} runs from {low} to {high}")
    return ends


def _function(where: str, name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    if not module.split(".")[0] == "verification":
        raise Rejected(f"{where}: {name!r} is not a function of this project")
    found = getattr(importlib.import_module(module), function, None)
    if not callable(found):
        raise Rejected(f"{where}: there is no function {name!r}")
    return found  # type: ignore[no-any-return]


def _text(names: list[str], here: Sides) -> str:
    return ", ".join(
        f"{name} in [{float(lo):g}, {float(hi):g}]" for name, (lo, hi) in zip(names, here, strict=True)
    )
