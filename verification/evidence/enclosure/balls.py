"""Balls that contain the truth: conversions with directed rounding, and functions that take balls or slopes.

A *ball* is an ``arb`` (midpoint and radius; it contains the exact value), or an ``arb_series`` of length
two when the engine asks for a slope: value and derivative with respect to one parameter. The functions
here take both, so that an inequality is written once. Comparisons of ``arb`` are true only when they are
certain: ``not (a < b)`` does not mean ``a >= b``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from flint import arb, arb_series, fmpq

Ball: TypeAlias = Any
"""``arb`` or ``arb_series``; the stubs do not know that the two mix freely in arithmetic."""
Number: TypeAlias = int | float | str | Fraction
"""An exact number: a float means its binary value, "0.1" means one tenth."""


class NotSmooth(ValueError):
    """Raised where a slope is asked for at a kink; the engine then does without slopes."""


def exact(value: Number) -> Fraction:
    """``value`` as a fraction, with no rounding.

    >>> exact("16.7"), exact(0.5)
    (Fraction(167, 10), Fraction(1, 2))
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number; substitute an unbounded parameter, e.g. p = e^-a")
    return Fraction(value)


def ball(value: Number) -> arb:
    """The ball around one exact number; a point if it is dyadic and short enough."""
    fraction = exact(value)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def interval(low: Number, high: Number) -> arb:
    """A ball that contains [low, high]. Its radius is rounded up: [0, 1] reaches slightly below 0."""
    low, high = exact(low), exact(high)
    if low > high:
        raise ValueError(f"an interval from {low} to {high} is empty")
    return ball((low + high) / 2) + arb(0, 1) * ball((high - low) / 2)


def upper(x: arb) -> float:
    """A float at or above everything in the ball."""
    top = x.upper()
    if not top.is_finite():
        return math.inf
    nearest = float(top)
    return nearest if arb(nearest) >= top else math.nextafter(nearest, math.inf)


def lower(x: arb) -> float:
    """A float at or below everything in the ball."""
    return -upper(-x)


def exp(x: Ball) -> Ball:
    return x.exp()


def log(x: Ball) -> Ball:
    return x.log()


def sqrt(x: Ball) -> Ball:
    return x.sqrt()


def cosh(x: Ball) -> Ball:
    return x.cosh() if isinstance(x, arb) else (x.exp() + (-x).exp()) / 2


def absolute(x: Ball) -> Ball:
    """|x|; with a slope only where the sign of x is certain."""
    if isinstance(x, arb):
        return abs(x)
    return x if _sign(x) > 0 else -x


def maximum(x: Ball, y: Ball) -> Ball:
    """max(x, y); with a slope only where it is certain which of the two is larger."""
    if isinstance(x, arb) and isinstance(y, arb):
        return x.max(y)
    return x if _sign(x - y) > 0 else y


def minimum(x: Ball, y: Ball) -> Ball:
    """min(x, y); with a slope only where it is certain which of the two is smaller."""
    return -maximum(-x, -y)


def monotone(
    f: Callable[[arb], arb], slope: Callable[[arb], arb] | None = None, *, increasing: bool
) -> Callable[[Ball], Ball]:
    """``f`` for balls and slopes, tight on wide balls because only the end points are evaluated.

    ``f`` and its derivative ``slope`` are given at thin balls; the caller answers for monotonicity.
    ``slope`` itself is taken on the whole ball.
    """

    def at_ends(x: arb) -> arb:
        low, high = f(arb(x.lower())), f(arb(x.upper()))
        return low.union(high) if increasing else high.union(low)

    def lifted(x: Ball) -> Ball:
        if isinstance(x, arb):
            return at_ends(x)
        if slope is None:
            raise NotSmooth("no slope is known for this function")
        return arb_series([at_ends(x[0]), slope(x[0]) * x[1]], prec=2)

    return lifted


def exp_tail(n: int) -> Callable[[Ball], Ball]:
    r"""E_n(x) = (e^x − Σ_{j<n} x^j/j!)/x^n, with 0/0 divided out: e^x − 1 = x E_1(x), and so on.

    E_n(x) = ∫₀¹ (1−u)^{n−1} e^{xu} du/(n−1)! increases with all its derivatives, and E_n' = E_n − n E_{n+1}.

    >>> exp_tail(2)(interval(0, 0))
    0.500000000000000
    """

    def value(x: arb) -> arb:
        return x.hypgeom_1f1(1, n + 1) / math.factorial(n)

    def derivative(x: arb) -> arb:
        return value(x) - n * (x.hypgeom_1f1(1, n + 2) / math.factorial(n + 1))

    return monotone(value, monotone(derivative, increasing=True), increasing=True)


def log_tail(n: int) -> Callable[[Ball], Ball]:
    r"""Σ_{k≥n} (−x)^{k−n}/k for x > −1, continued: log(1+x) = x·log_tail(1)(x) = x − x²·log_tail(2)(x), ….

    It is ∫₀¹ u^{n−1}/(1 + xu) du, so it decreases in x, and so does minus its slope, ∫₀¹ u^n/(1 + xu)² du.

    >>> log_tail(1)(interval(0, 0)), log_tail(2)(interval(0, 0))
    (1.00000000000000, 0.500000000000000)
    """

    def value(x: arb) -> arb:
        return (-x).hypgeom_2f1(1, n, n + 1) / n

    def fall(x: arb) -> arb:
        return (-x).hypgeom_2f1(2, n + 1, n + 2) / (n + 1)

    steepness = monotone(fall, increasing=False)
    return monotone(value, lambda x: -steepness(x), increasing=False)


def _sign(x: Ball) -> int:
    value = x if isinstance(x, arb) else x[0]
    if value > 0:
        return 1
    if value < 0:
        return -1
    raise NotSmooth("the sign is not certain here")
