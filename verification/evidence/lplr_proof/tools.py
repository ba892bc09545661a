"""Ways to decide one step of a proof: a certified counterexample, constants, identities, standard facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations, product

from flint import arb, ctx

from verification.evidence.enclosure import (
    Ball,
    Box,
    Refuted,
    Result,
    Undecided,
    at_points,
    ball,
    exact,
    exp_tail,
    log,
    lower,
    prove,
    sqrt,
    upper,
)
from verification.evidence.enclosure.balls import Number

UNIT = (0, 1)
PRECISION = 128


def counterexample(excess: Callable[..., Ball | Fraction], **point: Number) -> Result:
    """Refuted if left minus right side is positive at ``point`` for certain, undecided if not.

    ``excess`` gets exact fractions, so that whole numbers may be counted with. One point proves nothing, so
    the answer is never Proved.
    """
    exactly = {name: exact(x) for name, x in point.items()}
    with ctx.workprec(PRECISION):
        found = excess(**exactly)
        value = ball(found) if isinstance(found, Fraction | int) else arb(found)
        if value > 0:
            return Refuted(exactly, lower(value), upper(value))
        return Undecided(Box(**exactly), upper(value), 1)


def settled(excess: Callable[[], Ball | Fraction | int]) -> Result:
    """Decide an inequality between constants: left minus right side is at most 0."""

    def constant(one: Ball) -> Ball:
        found = excess()
        return one * (ball(found) if isinstance(found, Fraction | int) else found)

    return prove(constant, Box(one=1))


def at_most(left: Number, right: Number) -> Result:
    """left ≤ right for two exact numbers: "28.62" means 2862/100."""
    return at_points(lambda left, right: left - right, [{"left": exact(left), "right": exact(right)}])


def top(x: Ball) -> Fraction:
    """A fraction at or above everything in the ball: the upper end of a box."""
    return Fraction(upper(x))


def inverse_log(c: int) -> Fraction:
    """1/ln c, rounded up: the largest u = 1/L for L >= ln c."""
    return top(1 / log(ball(c)))


def inverse_root_log(c: int) -> Fraction:
    """1/sqrt(ln c), rounded up: the largest v = 1/sqrt(L) for L >= ln c."""
    return top(1 / sqrt(log(ball(c))))


def identity(difference: Callable[..., Fraction], **degrees: int) -> Result:
    """Decide a polynomial identity from a grid with one point more per variable than its degree there."""
    grid = product(*(range(1, degree + 2) for degree in degrees.values()))
    points = (dict(zip(degrees, numbers, strict=True)) for numbers in grid)
    return at_points(lambda **x: abs(difference(**x)), points)


# --- standard facts, in the form in which the proofs use them -----------------------------------------------


def hoeffding(curvature: str = "0.25") -> Result:
    r"""ln(1 − p + p e^x) − px ≤ x²/8, from which Hoeffding's inequality for a range of 1 follows.

    The left side and its slope vanish at x = 0 and its second derivative is q(1 − q) with q in [0, 1], which
    is (1 − z)/4 with z = (2q − 1)²: at most 1/4.
    """
    return prove(lambda z: (1 - z) / 4 - ball(curvature), Box(z=UNIT))


def exponential() -> Result:
    """1 + x ≤ e^x: (e^x − 1 − x)/x² = ∫ (1 − u) e^{xu} du is positive for every x, here for |x| ≤ 100."""
    return prove(lambda x: -exp_tail(2)(x), Box(x=(-100, 100)))


def triangle() -> Result:
    """|x + y| ≤ |x| + |y|, linear on the cones that these rays generate."""
    rays = [(1, 0), (0, 1), (1, -1)]
    points = ({"x": sign * x, "y": sign * y} for x, y in rays for sign in (1, -1))
    return at_points(lambda x, y: abs(x + y) - abs(x) - abs(y), points)


def cauchy_schwarz() -> Result:
    """(Σ p x²)(Σ p y²) − (Σ p x y)² = Σ_{i<j} p_i p_j (x_i y_j − x_j y_i)² ≥ 0, for two atoms.

    More atoms add pairs to both sides, nothing else.
    """

    def difference(
        p: Fraction, q: Fraction, x1: Fraction, x2: Fraction, y1: Fraction, y2: Fraction
    ) -> Fraction:
        left = (p * x1**2 + q * x2**2) * (p * y1**2 + q * y2**2) - (p * x1 * y1 + q * x2 * y2) ** 2
        return left - p * q * (x1 * y2 - x2 * y1) ** 2

    return identity(difference, p=2, q=2, x1=2, x2=2, y1=2, y2=2)


def sum_of_squares() -> Result:
    """d Σ x_i² − (Σ x_i)² = Σ_{i<j} (x_i − x_j)² ≥ 0: equal matrices, for d to 12; entries do not vary."""
    return at_points(_square_gap, ({"d": d} for d in range(1, 13)))


def _square_gap(d: Fraction) -> Fraction:
    size = int(d)
    pairs = [[0] * size for _ in range(size)]
    for i, j in combinations(range(size), 2):
        for a, b, value in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            pairs[a][b] += value
    gap = sum(abs(pairs[i][j] - (size * (i == j) - 1)) for i, j in product(range(size), repeat=2))
    return Fraction(gap)


# --- small exact linear algebra -----------------------------------------------------------------------------

Vector = tuple[Fraction, ...]


def dot(x: Vector, y: Vector) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def scale(c: Fraction, x: Vector) -> Vector:
    return tuple(c * a for a in x)


def plus(*vectors: Vector) -> Vector:
    return tuple(sum(column, Fraction(0)) for column in zip(*vectors, strict=True))


def basis(d: int) -> list[Vector]:
    return [tuple(Fraction(i == j) for j in range(d)) for i in range(d)]


def quadratic_points(d: int) -> list[Vector]:
    """e_i and e_i + e_j: a quadratic function of a vector that vanishes on them is zero."""
    unit = basis(d)
    return unit + [plus(x, y) for x, y in combinations(unit, 2)]


def vanishes(vectors: Iterable[Vector]) -> Result:
    """Decide that every vector is zero; the index of the first that is not stands in the counterexample."""
    sizes = [sum((abs(x) for x in vector), Fraction(0)) for vector in vectors]
    return at_points(lambda case: sizes[int(case)], ({"case": i} for i in range(len(sizes))))
