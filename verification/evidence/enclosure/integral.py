"""Rigorous integrals of piecewise smooth functions, split where they have kinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from flint import acb, arb, ctx

from verification.evidence.enclosure.balls import Number, ball

Integrand = Callable[[Any, bool], Any]
"""f(z, analytic) on complex balls; forward the flag to log and sqrt: ``z.log(analytic=analytic)``."""


def integrate(f: Integrand, breaks: Sequence[arb | Number], *, precision: int = 64) -> arb:
    """∫ f from the first break to the last, f being analytic on each piece between two breaks.

    Where f depends on the piece (|z| does), see :func:`integrate_pieces`. Infinite tails are the
    caller's, in closed form.

    >>> integrate(lambda z, analytic: z.exp(), [0, 1]).overlaps(arb(1).exp() - 1)
    True
    """
    return integrate_pieces([f] * (len(breaks) - 1), breaks, precision=precision)


def integrate_pieces(
    pieces: Sequence[Integrand], breaks: Sequence[arb | Number], *, precision: int = 64
) -> arb:
    """∫ of a function that is ``pieces[i]`` between ``breaks[i]`` and ``breaks[i + 1]``.

    >>> absolute = integrate_pieces([lambda z, _: -z, lambda z, _: z], [-1, 0, 1])
    >>> absolute.contains(1)
    True
    """
    if len(breaks) != len(pieces) + 1:
        raise ValueError(f"{len(pieces)} pieces need {len(pieces) + 1} breaks, not {len(breaks)}")
    with ctx.workprec(precision):
        ends = [b if isinstance(b, arb) else ball(b) for b in breaks]
        total = arb(0)
        for f, (low, high) in zip(pieces, pairwise(ends), strict=True):
            value = acb.integral(f, acb(low), acb(high))
            if not value.real.is_finite():
                raise ValueError(f"no finite enclosure of the integral from {low} to {high}")
            total += value.real
        return total
