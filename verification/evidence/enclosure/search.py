"""Branch and bound: is f ≤ 0 on a whole box? A proof, a certified point against it, or what is left open."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from flint import arb, arb_series, ctx

from verification.evidence.enclosure.balls import Ball, NotSmooth, ball, lower, upper
from verification.evidence.enclosure.box import Box, at

PRECISION = 64
"""Bits. Balls over boxes are wide; precision matters only where the inequality is nearly an equality."""

VALUE, SLOPE = "v", "s"
"""How a leaf of the tree was closed: by the value of f on it, or by its slopes."""


@dataclass(frozen=True)
class Proved:
    """f ≤ ``bound`` ≤ 0 everywhere.

    ``tree`` lists the boxes in preorder: an axis to halve, or how a leaf was closed.
    """

    box: Box
    tree: str
    precision: int
    bound: float

    @property
    def boxes(self) -> int:
        return sum(token in (VALUE, SLOPE) for token in self.tree.split())


@dataclass(frozen=True)
class Refuted:
    """f > 0 at ``point``, for certain: its value lies in [low, high] with low > 0."""

    point: dict[str, Fraction]
    low: float
    high: float


@dataclass(frozen=True)
class Undecided:
    """The budget ran out; on ``smallest``, the smallest box left open, f ≤ ``bound`` is all that is known."""

    smallest: Box
    bound: float
    boxes: int


Result: TypeAlias = Proved | Refuted | Undecided


def prove(
    f: Callable[..., Ball],
    box: Box,
    *,
    max_boxes: int = 20_000,
    max_depth: int = 100,
    precision: int = PRECISION,
) -> Result:
    """Decide whether ``f(**parameters) ≤ 0`` for all parameters in ``box``.

    >>> isinstance(prove(lambda x: x * (1 - x) - ball("0.2500001"), Box(x=(0, 1))), Proved)
    True
    >>> prove(lambda x: x * (1 - x) - ball("0.24"), Box(x=(0, 1))).point
    {'x': Fraction(1, 2)}
    """
    with ctx.workprec(precision):
        return _search(f, box, max_boxes, max_depth, precision)


def _search(f: Callable[..., Ball], box: Box, max_boxes: int, max_depth: int, precision: int) -> Result:
    """Always the open box with the largest bound is halved next: that is where a violation would be."""
    tokens, children = [""], [(-1, -1)]
    boxes, worst = 1, -math.inf
    heap: list[tuple[float, int, int, Box, Enclosure]] = []
    stuck: list[tuple[int, Box, float]] = []
    fresh = [(0, 0, box)]
    while True:
        for node, depth, here in fresh:
            found = enclose(f, here)
            if (closed := found.closed()) is not None:
                tokens[node], worst = closed, max(worst, found.upper)
            elif (against := _violation(f, here, found.anchor)) is not None:
                return against
            elif depth == max_depth or all(low == high for _, low, high in here):
                stuck.append((depth, here, found.upper))
            else:
                heapq.heappush(heap, (-found.upper, node, depth, here, found))
        if not heap and not stuck:
            return Proved(box, _preorder(tokens, children), precision, worst)
        if not heap or boxes >= max_boxes:
            left = stuck + [(depth, here, found.upper) for _, _, depth, here, found in heap]
            _, smallest, bound = max(left, key=lambda item: item[0])
            return Undecided(smallest, bound, boxes)
        _, node, depth, here, found = heapq.heappop(heap)
        axis = found.axis(here)
        tokens[node], children[node] = str(axis), (len(tokens), len(tokens) + 1)
        fresh = [
            (child, depth + 1, half) for child, half in zip(children[node], here.halves(axis), strict=True)
        ]
        tokens += ["", ""]
        children += [(-1, -1), (-1, -1)]
        boxes += 2


def _preorder(tokens: list[str], children: list[tuple[int, int]]) -> str:
    stack, out = [0], []
    while stack:
        node = stack.pop()
        out.append(tokens[node])
        if (left := children[node][0]) >= 0:
            stack += [children[node][1], left]
    return " ".join(out)


@dataclass(frozen=True)
class Enclosure:
    """What is known of f on one box: a ball for its values, and a sharper bound from its slopes.

    ``anchor`` is the corner (or middle) where f is largest as far as the slopes tell.
    """

    value: arb
    by_slope: arb | None
    slopes: tuple[arb, ...]
    anchor: dict[str, Fraction]

    @property
    def upper(self) -> float:
        tops = [upper(x) for x in (self.value, self.by_slope) if x is not None and not x.is_nan()]
        return min(tops, default=float("inf"))

    def closed(self) -> str | None:
        """How f ≤ 0 is seen on the box, if it is."""
        if self.value <= 0:
            return VALUE
        return SLOPE if self.by_slope is not None and self.by_slope <= 0 else None

    def axis(self, box: Box) -> int:
        """The side to halve: the one along which f varies most, or the widest if slopes say nothing."""
        widths = [float(box.width(i)) for i in range(len(box.sides))]
        if self.slopes and all(s.is_finite() for s in self.slopes):
            spread = [w * upper(abs(s)) for w, s in zip(widths, self.slopes, strict=True)]
            return spread.index(max(spread)) if max(spread) > 0 else widths.index(max(widths))
        return widths.index(max(widths))


def enclose(f: Callable[..., Ball], box: Box, *, target: float = 0.0) -> Enclosure:
    r"""Bound f on ``box`` by its value there, and if that is not ≤ ``target`` by

    .. math:: f(x) \le f(a) + \sum_{i \in \text{mixed}} \partial_i f(\text{box})\,(x_i - a_i),

    where a_i is the upper end if ∂_i f ≥ 0 on the box, the lower end if ∂_i f ≤ 0, and the middle if the
    sign of ∂_i f is mixed. (Move x to a along the monotone coordinates first: f does not decrease.) A
    finite ball for the values shows that f is defined on the whole box, as the mean value theorem asks.
    """
    balls = dict(zip(box.names, box.balls(), strict=True))
    value = _value(f, balls)
    middle = box.middle()
    # Slopes say nothing where f may be undefined, and a series may divide 0 by a series that vanishes.
    if value <= target or not value.is_finite():
        return Enclosure(value, None, (), middle)
    try:
        slopes = tuple(_slope(f, balls, name) for name in box.names)
    except NotSmooth:
        return Enclosure(value, None, (), middle)
    if not all(s.is_finite() for s in slopes):
        return Enclosure(value, None, slopes, middle)
    anchor = {
        name: high if slope >= 0 else low if slope <= 0 else middle[name]
        for (name, low, high), slope in zip(box, slopes, strict=True)
    }
    bound = at(f, anchor)
    for name, slope in zip(box.names, slopes, strict=True):
        if not (slope >= 0 or slope <= 0):
            bound += slope * (balls[name] - ball(anchor[name]))
    return Enclosure(value, bound, slopes, anchor)


def _value(f: Callable[..., Ball], balls: dict[str, arb]) -> arb:
    try:
        value = f(**balls)
    except ZeroDivisionError:
        return arb.nan()
    return value if isinstance(value, arb) else arb(value)


def _slope(f: Callable[..., Ball], balls: dict[str, arb], name: str) -> arb:
    result = f(**{**balls, name: arb_series([balls[name], 1], prec=2)})
    if not isinstance(result, arb_series):
        return arb(0)
    if result.prec < 2:
        raise NotSmooth(f"the slope in {name} was lost in a division by a series that vanishes")
    return result[1]


def _violation(f: Callable[..., Ball], box: Box, anchor: dict[str, Fraction]) -> Refuted | None:
    for point in (anchor, box.middle()):
        value = _value(f, {name: ball(x) for name, x in point.items()})
        if value > 0:
            return Refuted(point, lower(value), upper(value))
    return None
