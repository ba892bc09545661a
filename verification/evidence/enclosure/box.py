"""Boxes of named parameters with exact end points, and simplices as boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from verification.evidence.enclosure.balls import Ball, Number, ball, exact, interval


@dataclass(frozen=True, init=False)
class Box:
    """``Box(a=(0, 1), m=(0, "0.1"))``: closed intervals with rational ends, by parameter name.

    An unbounded direction is made bounded by substitution, in the function: p = e^{−a} in (0, 1] for a ≥ 0,
    or t = 1/n in (0, 1] for n ≥ 1. A single number is a parameter held fixed.
    """

    sides: tuple[tuple[str, Fraction, Fraction], ...]

    def __init__(self, **sides: tuple[Number, Number] | Number) -> None:
        found = []
        for name, side in sides.items():
            low, high = side if isinstance(side, tuple) else (side, side)
            if not exact(low) <= exact(high):
                raise ValueError(f"box side {name} runs from {low} to {high}; its ends must be in order")
            found.append((name, exact(low), exact(high)))
        if not found:
            raise ValueError("a box has at least one side")
        object.__setattr__(self, "sides", tuple(found))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.sides)

    def balls(self) -> list[arb]:
        return [interval(low, high) for _, low, high in self.sides]

    def middle(self) -> dict[str, Fraction]:
        return {name: (low + high) / 2 for name, low, high in self.sides}

    def width(self, axis: int) -> Fraction:
        _, low, high = self.sides[axis]
        return high - low

    def halves(self, axis: int) -> tuple[Box, Box]:
        name, low, high = self.sides[axis]
        middle = (low + high) / 2
        return self._with(axis, (name, low, middle)), self._with(axis, (name, middle, high))

    def as_dict(self) -> dict[str, tuple[Fraction, Fraction]]:
        return {name: (low, high) for name, low, high in self.sides}

    def _with(self, axis: int, side: tuple[str, Fraction, Fraction]) -> Box:
        return Box(**{n: (lo, hi) for n, lo, hi in (*self.sides[:axis], side, *self.sides[axis + 1 :])})

    def __iter__(self) -> Iterator[tuple[str, Fraction, Fraction]]:
        return iter(self.sides)


def at(f: Callable[..., Ball], point: Mapping[str, Number]) -> arb:
    """``f`` at one exact point, as a ball."""
    value = f(**{name: ball(x) for name, x in point.items()})
    return value if isinstance(value, arb) else arb(value)


def on_simplex(f: Callable[..., Ball], *names: str) -> tuple[Callable[..., Ball], Box]:
    """``f`` over {x ≥ 0, Σ x ≤ 1} as a function on the unit cube, and that cube.

    Sticks are broken one by one: x_1 = u_1, x_2 = u_2 (1 − u_1), x_3 = u_3 (1 − u_1)(1 − u_2), …
    """

    def on_cube(**u: Ball) -> Ball:
        x, left = {}, arb(1)
        for name in names:
            x[name] = u[name] * left
            left = left * (1 - u[name])
        return f(**x)

    return on_cube, Box(**dict.fromkeys(names, (0, 1)))
