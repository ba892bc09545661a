"""The enclosure engine: proves what is true by 1e-6, never what is false by 1e-6, and says what is left."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_series, ctx
from hypothesis import given
from hypothesis import strategies as st

from verification.evidence.enclosure import (
    Box,
    Proved,
    Refuted,
    Undecided,
    absolute,
    all_of,
    at,
    at_points,
    ball,
    bracket_supremum,
    cosh,
    exact,
    exp,
    exp_tail,
    integrate,
    integrate_pieces,
    interval,
    log,
    log_tail,
    lower,
    maximum,
    minimum,
    on_simplex,
    prove,
    prove_all_integers,
    prove_integers,
    sqrt,
    upper,
)
from verification.evidence.enclosure.balls import NotSmooth
from verification.evidence.enclosure.search import _slope

E1 = math.e - 2

# name, left side as a function of the parameters, its true maximum, box
SHARP: list[tuple[str, Callable[..., Any], Callable[[], Any], Box]] = [
    ("parabola", lambda x: x * (1 - x), lambda: ball("1/4"), Box(x=(0, 1))),
    ("odd top", lambda x: -((x - ball("1/3")) ** 2), lambda: ball(0), Box(x=(0, 1))),
    ("corner", lambda x, y: exp(x) * (1 + y), lambda: 2 * exp(ball(1)), Box(x=(0, 1), y=(0, 1))),
    ("saddle", lambda x, y: x * y - x - y, lambda: ball(3), Box(x=(-1, 1), y=(-1, 1))),
    ("ridge", lambda x, y: -((x - y) ** 2) + x * (1 - x), lambda: ball("1/4"), Box(x=(0, 1), y=(0, 1))),
    ("singular corner", exp_tail(2), lambda: exp(ball(1)) - 2, Box(x=(-1, 1))),
    ("kink", lambda x: 1 - absolute(x), lambda: ball(1), Box(x=(-1, "2/3"))),
    ("three", lambda x, y, z: x * y * z - z * z, lambda: ball("1/4"), Box(x=(0, 1), y=(0, 1), z=(0, 1))),
    ("cosh", lambda a, m: cosh(a * m) - 1, lambda: cosh(ball(1)) - 1, Box(a=(0, 1), m=(-1, 1))),
    ("infinity", lambda p: p * (1 - p), lambda: ball("1/4"), Box(p=(0, 1))),  # x/(1+x)², x = 1/p − 1 ≥ 0
]


def named(f: Callable[..., Any], box: Box) -> Callable[..., Any]:
    """exp_tail takes its argument by position."""
    return (lambda x: f(x)) if box.names == ("x",) else f


@pytest.mark.parametrize(("f", "top", "box"), [s[1:] for s in SHARP], ids=[s[0] for s in SHARP])
class TestByAMillionth:
    def test_true_is_proved(self, f: Any, top: Any, box: Box) -> None:
        f = named(f, box)
        found = prove(lambda **x: f(**x) - top() - ball("1e-6"), box)
        assert isinstance(found, Proved), found
        assert found.bound <= 0

    def test_false_is_not(self, f: Any, top: Any, box: Box) -> None:
        f = named(f, box)
        found = prove(lambda **x: f(**x) - top() + ball("1e-6"), box)
        assert isinstance(found, Refuted), found
        assert 0 < found.low <= found.high <= 1.01e-6
        with ctx.workprec(200):  # the point stands on its own
            assert at(lambda **x: f(**x) - top() + ball("1e-6"), found.point) > 0

    def test_supremum(self, f: Any, top: Any, box: Box) -> None:
        found = bracket_supremum(named(f, box), box, width=1e-7)
        assert found.lower <= upper(top())
        assert found.upper >= lower(top())
        assert 0 <= found.width <= 1e-7
        with ctx.workprec(200):
            assert at(named(f, box), found.point) >= found.lower


def test_simplex() -> None:
    """xyz ≤ 1/27 on {x + y + z ≤ 1}: true by a millionth and false by a millionth."""
    f, cube = on_simplex(lambda x, y, z: x * y * z, "x", "y", "z")
    bound = ball("1/27")
    assert isinstance(prove(lambda **u: f(**u) - bound - ball("1e-6"), cube), Proved)
    assert isinstance(prove(lambda **u: f(**u) - bound + ball("1e-6"), cube), Refuted)


def test_equality_on_a_face_is_left_open() -> None:
    """|x| − |x| is 0 but not smooth at 0 and not seen to vanish: nothing may be claimed."""
    found = prove(lambda x: absolute(x) - absolute(x), Box(x=(-1, "2/3")), max_boxes=400)
    assert isinstance(found, Undecided)
    (_, low, high) = found.smallest.sides[0]
    assert low <= 0 <= high
    assert high - low < Fraction(1, 1000)


def test_budget() -> None:
    found = prove(
        lambda x, y: exp(x - y) - exp(x) / exp(y) - ball("1e-9"), Box(x=(0, 9), y=(0, 9)), max_boxes=9
    )
    assert isinstance(found, Undecided)
    assert found.boxes <= 11


def test_points_of_open_boxes_are_no_proof() -> None:
    """A ball that is not a number must never count as ≤ 0."""
    assert not isinstance(prove(lambda x: -log(x), Box(x=(0, 1)), max_boxes=200), Proved)
    assert not isinstance(prove(lambda x: -1 - 0 / x, Box(x=(-1, 1)), max_boxes=200), Proved)
    assert not isinstance(prove(lambda x: -sqrt(x - 1), Box(x=(0, 1)), max_boxes=200), Proved)


def test_lost_slope_is_no_slope() -> None:
    """Series lose their slope, or get it wrong, where both sides of a quotient vanish: x²/x gives 0 at 0."""
    series = arb_series([arb(0), arb(1)], prec=2)
    assert ((series * series) / series)[1] == 0
    for f in (lambda x: (x * x) / x - 1, lambda x: x / x - 2):
        for box in (Box(x=0), Box(x=(0, 1)), Box(x=(-1, 1))):
            assert not isinstance(prove(f, box, max_boxes=60), Proved)
    with pytest.raises(NotSmooth):
        _slope(lambda x: x / x, {"x": arb(0)}, "x")


@given(
    coefficients=st.lists(st.integers(-20, 20), min_size=1, max_size=5),
    low=st.integers(-8, 8),
    width=st.integers(1, 8),
)
def test_polynomials_against_a_grid(coefficients: list[int], low: int, width: int) -> None:
    """Whatever the engine says of a random polynomial agrees with its values on a grid."""

    def f(x: Any) -> Any:
        total = ball(0) * x
        for c in coefficients:
            total = total * x + c
        return total

    values = np.polyval(coefficients, np.linspace(low / 4, (low + width) / 4, 200))
    found = prove(f, Box(x=(Fraction(low, 4), Fraction(low + width, 4))), max_boxes=300)
    if isinstance(found, Proved):
        assert values.max() <= 1e-9
    if isinstance(found, Refuted):
        point = float(found.point["x"])
        assert np.polyval(coefficients, point) > -1e-9
        assert low / 4 <= point <= (low + width) / 4


@given(x=st.fractions(-1, 1), n=st.integers(1, 6))
def test_tails_are_what_they_say(x: Fraction, n: int) -> None:
    with ctx.workprec(300):
        z = ball(x)
        series = sum((z**j / math.factorial(j) for j in range(n)), arb(0))
        assert (exp_tail(n)(z) * z**n + series).overlaps(z.exp())
        y = z / 2
        logs = sum(((-1) ** (k + 1) * y**k / k for k in range(1, n)), arb(0))
        assert (log_tail(n)(y) * (-1) ** (n + 1) * y**n + logs).overlaps((1 + y).log())


@pytest.mark.parametrize("f", [exp_tail(1), exp_tail(3), log_tail(1), log_tail(4)])
def test_slopes_contain_difference_quotients(f: Any) -> None:
    for low in (-0.5, -0.25, 0.0, 0.25):
        span = interval(low, low + 0.25)
        slope = f(arb_series([span, arb(1)], prec=2))[1]
        quotient = (f(ball(low + 0.25)) - f(ball(low))) / ball(0.25)
        assert slope.overlaps(quotient)
        assert f(span).contains(f(ball(low + 0.125)))


def test_directed_rounding() -> None:
    third = ball("1/3")
    assert Fraction(lower(third)) < Fraction(1, 3) < Fraction(upper(third))
    assert upper(arb.nan()) == math.inf
    assert lower(arb.nan()) == -math.inf
    assert interval("0.1", "0.3").contains(ball("0.2"))
    assert exact("0.1") == Fraction(1, 10) != exact(0.1)


def test_maximum_and_minimum() -> None:
    assert maximum(ball(1), ball(2)) == 2
    assert minimum(ball(1), ball(2)) == 1
    assert isinstance(prove(lambda x: maximum(x, 1 - x) - 1, Box(x=(0, 1))), Proved)
    assert isinstance(prove(lambda x: maximum(x, 1 - x) - ball("0.99"), Box(x=(0, 1))), Refuted)


def test_integers() -> None:
    """2^d ≥ d² fails at d = 3 alone; from 4 on it holds, and (d/(d+1))² ≥ 1/2 carries it to all d."""
    found = prove_integers(lambda d: d * d - 2**d, d=range(1, 9))
    assert isinstance(found, Refuted)
    assert found.point == {"d": 3}
    assert isinstance(prove_integers(lambda d: d * d - 2**d, d=range(4, 30)), Proved)
    step = prove_all_integers(
        lambda d: (d + 1) ** 2 - 2 * d**2, lambda d: (1 + d) ** 2 - 2, "d", start=4, split=10
    )
    assert isinstance(step, Proved)
    unseen = prove_all_integers(lambda n: n - 100, lambda n: 1 - 100 * n, "n", start=1, split=5)
    assert isinstance(unseen, Undecided)


def test_exact_points() -> None:
    assert isinstance(at_points(lambda x: x - 1, [{"x": Fraction(1, 3)}, {"x": 1}]), Proved)
    found = at_points(lambda x: x - 1, [{"x": 1}, {"x": Fraction(4, 3)}])
    assert isinstance(found, Refuted)
    assert found.point == {"x": Fraction(4, 3)}
    with pytest.raises(ValueError, match="no points"):
        at_points(lambda x: x, [])


def test_all_of_prefers_a_refutation() -> None:
    proved = prove(lambda x: -x - 1, Box(x=(0, 1)))
    refuted = prove(lambda x: x, Box(x=(0, 1)))
    left = prove(lambda x: absolute(x) - absolute(x), Box(x=(-1, 1)), max_boxes=9)
    assert all_of([proved, left, refuted]) is refuted
    assert all_of([proved, left]) is left
    both = all_of([proved, proved])
    assert isinstance(both, Proved)
    assert both.boxes == 2


def test_integrals() -> None:
    """∫ e^{−|u|}/2 over [−3, 3] with its kink at 0, ∫ log, and a tail in closed form."""
    density = integrate_pieces([lambda z, _: z.exp() / 2, lambda z, _: (-z).exp() / 2], [-3, 0, 3])
    assert (density + arb(-3).exp()).overlaps(arb(1))
    assert upper(density) - lower(density) < 1e-12
    with ctx.workprec(64):
        assert integrate(lambda z, analytic: z.log(analytic=analytic), [1, 2]).overlaps(2 * arb(2).log() - 1)
    with pytest.raises(ValueError, match="2 pieces need 3 breaks"):
        integrate_pieces([lambda z, _: z] * 2, [0, 1])
    with pytest.raises(ValueError, match="no finite enclosure"):
        integrate(lambda z, _: 1 / z, [0, 1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box(x=(1, 0)), "x runs from 1 to 0"),
        (lambda: Box(), "at least one side"),
        (lambda: Box(x=(0, math.inf)), "substitute"),
        (lambda: interval(1, 0), "empty"),
        (lambda: bracket_supremum(lambda x: x, Box(x=(0, 1)), width=0.0), "width"),
    ],
)
def test_bad_input(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
