"""Inequalities in whole numbers: every one in a range, and all beyond it through t = 1/n."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

from flint import arb, ctx

from verification.evidence.enclosure.balls import Ball, lower, upper
from verification.evidence.enclosure.box import Box
from verification.evidence.enclosure.search import PRECISION, Proved, Refuted, Result, Undecided, prove


def prove_integers(f: Callable[..., Ball], **ranges: range) -> Result:
    """Decide f ≤ 0 at every point of a grid of whole numbers, one by one.

    >>> isinstance(prove_integers(lambda d, n: d * n - 12, d=range(1, 4), n=range(1, 5)), Proved)
    True
    """
    worst = -math.inf
    with ctx.workprec(PRECISION):
        for numbers in product(*ranges.values()):
            value = arb(f(**{name: arb(x) for name, x in zip(ranges, numbers, strict=True)}))
            point = {name: Fraction(x) for name, x in zip(ranges, numbers, strict=True)}
            if value > 0:
                return Refuted(point, lower(value), upper(value))
            if not value <= 0:
                return Undecided(Box(**point), upper(value), 1)
            worst = max(worst, upper(value))
    spans = {name: (Fraction(min(r)), Fraction(max(r))) for name, r in ranges.items()}
    leaves = len(list(product(*ranges.values())))
    return Proved(Box(**spans), " ".join(["v"] * leaves), PRECISION, worst)


def prove_all_integers(
    f: Callable[..., Ball], beyond: Callable[..., Ball], name: str, *, start: int, split: int
) -> Result:
    """Decide f ≤ 0 for all whole numbers n ≥ ``start`` of one parameter ``name``.

    Below ``split`` one by one; from there on as ``beyond(t) ≤ 0`` for real t in [0, 1/split], where the
    caller writes f in terms of t = 1/n, multiplied by any positive factor that keeps it finite at t = 0.

    >>> f, beyond = (lambda n: (n + 1) - 2 * n), (lambda n: (1 + n) - 2)  # (n+1) − 2n ≤ 0, times 1/n
    >>> isinstance(prove_all_integers(f, beyond, "n", start=1, split=5), Proved)
    True
    """
    first = prove_integers(f, **{name: range(start, split)})
    if not isinstance(first, Proved):
        return first
    rest = prove(beyond, Box(**{name: (0, Fraction(1, split))}))
    if isinstance(rest, Refuted):
        # A real t against it need not be 1/n for a whole n, so this decides nothing.
        return Undecided(Box(**{name: rest.point[name]}), rest.high, 1)
    return rest
