"""Sharp constants: the supremum of a function over a box, bracketed from both sides."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from flint import ctx

from verification.evidence.enclosure.balls import Ball, lower
from verification.evidence.enclosure.box import Box, at
from verification.evidence.enclosure.search import PRECISION, Enclosure, enclose

_Best: TypeAlias = tuple[float, dict[str, Fraction]]


@dataclass(frozen=True)
class Bracket:
    """lower ≤ sup f ≤ upper, and f(point) ≥ lower."""

    lower: float
    upper: float
    point: dict[str, Fraction]
    boxes: int

    @property
    def width(self) -> float:
        return self.upper - self.lower


def bracket_supremum(
    f: Callable[..., Ball],
    box: Box,
    *,
    width: float,
    max_boxes: int = 20_000,
    precision: int = PRECISION,
) -> Bracket:
    """Bracket sup f over ``box`` to ``width``: always the box with the largest upper bound is halved next.

    The bracket is valid at any time; if the boxes run out it is merely wider than asked.

    >>> found = bracket_supremum(lambda x: x * (1 - x), Box(x=(0, 1)), width=1e-9)
    >>> found.lower <= 0.25 <= found.upper, found.width <= 1e-9
    (True, True)
    """
    if not width > 0:
        raise ValueError(f"width is a positive number, not {width}")
    with ctx.workprec(precision):
        first = enclose(f, box, target=-math.inf)
        heap = [(-first.upper, 0, box, first)]
        best, point = _better(f, box, first, (-math.inf, box.middle()))
        boxes = 1
        while -heap[0][0] - best > width and boxes < max_boxes:
            _, _, here, found = heapq.heappop(heap)
            for half in here.halves(found.axis(here)):
                inside = enclose(f, half, target=-math.inf)
                best, point = _better(f, half, inside, (best, point))
                boxes += 1
                heapq.heappush(heap, (-min(inside.upper, found.upper), boxes, half, inside))
        return Bracket(best, max(best, -heap[0][0]), point, boxes)


def _better(f: Callable[..., Ball], box: Box, found: Enclosure, best: _Best) -> _Best:
    """The larger of ``best`` and what f reaches for certain at two points of ``box``."""
    for candidate in (found.anchor, box.middle()):
        value = at(f, candidate)
        if value.is_finite() and lower(value) > best[0]:
            best = (lower(value), candidate)
    return best
