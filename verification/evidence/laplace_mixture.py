r"""Divergences between P_0 = Lap_2(0; 1) and the mixture P_{±m} = ½ Lap_2(m; 1) + ½ Lap_2(−m; 1).

With alpha: u ↦ αu turns scale 1/α into scale 1 and μ into m = αμ, so every divergence depends on αμ alone.
Reflecting one coordinate leaves P_0 as it is and turns (m_1, m_2) into (m_1, −m_2), so only s = |m_1| and
t = |m_2| matter. With r = s + t = α‖μ‖₁ and q = st/r² in [0, 1/4] the lemma's domain is 0 < r ≤ 1.

The likelihood ratio is L = ½ ℓ_s⁺ℓ_t⁺ + ½ ℓ_s⁻ℓ_t⁻ with ℓ_s^±(u) = e^{|u| − |u ∓ s|}, so its moments under
P_0 are exact sums of exponentials, and every polynomial in L integrates to one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from flint import acb, arb, ctx

from verification.evidence.enclosure.balls import ball
from verification.evidence.enclosure.exponentials import ExpSum, Majorant, divide_cube
from verification.evidence.enclosure.integral import integrate, integrate_pieces

CHI_SQUARE = (Fraction(0), Fraction(0), Fraction(1))
"""(L − 1)², as coefficients of powers of L − 1."""

FORWARD = (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(-1, 6), Fraction(3, 20))
"""p(L) ≥ L log L for L in [1/e, cosh 1]: Taylor's at 1, its last coefficient 1/12 raised to 0.15."""

REVERSE = tuple(Fraction(x) for x in ("0", "-1", "1/2", "-1/3", "1/4", "-1/5", "2/5"))
"""p(L) ≥ −log L for L in [1/e, cosh 1]: Taylor's at 1, its last coefficient 1/6 raised to 0.4."""


def joint_moment(j: int, k: int) -> dict[int, Fraction]:
    r"""E_0[(ℓ_s⁺)^j (ℓ_s⁻)^k] = Σ c e^{a s}, as {a: c}.

    For u > s the ratios are e^{±s}, for 0 < u < s they are e^{2u−s} and e^{−s}; and mirrored for u < 0.
    """
    found: dict[int, Fraction] = {}
    for gain, other in ((j, k), (k, j)):
        inner = Fraction(1, 2 * (2 * gain - 1))
        for rate, c in ((gain - other - 1, Fraction(1, 2) + inner), (-j - k, -inner)):
            found[rate] = found.get(rate, Fraction(0)) + c
    return {rate: c for rate, c in found.items() if c}


@lru_cache(maxsize=16)
def moment(k: int) -> ExpSum:
    """E_0[L^k] as an exact sum of exponentials in (s, t)."""
    total = ExpSum({})
    for j in range(k + 1):
        one = joint_moment(j, k - j)
        both = ExpSum({(a, 0): c for a, c in one.items()}) * ExpSum({(0, b): c for b, c in one.items()})
        total = total + both.scaled(Fraction(math.comb(k, j), 2**k))
    return total


def expectation(p: Sequence[Fraction]) -> ExpSum:
    """E_0[p(L − 1)] for p = Σ p_k x^k."""
    total = ExpSum({})
    for k, c in enumerate(p):
        for i in range(k + 1):
            total = total + moment(i).scaled(c * math.comb(k, i) * (-1) ** (k - i))
    return total


@lru_cache(maxsize=4)
def majorant(p: tuple[Fraction, ...], *, order: int, drop: float) -> Majorant:
    """A polynomial in (r, q) that bounds E_0[p(L − 1)]/r³ from above, see :func:`divide_cube`."""
    return divide_cube(expectation(p), order=order, drop=drop)


def kl_forward_on_axis(t: arb) -> arb:
    """KL(P_{±m}‖P_0) for m = (t, 0): log cosh t − 1 + e^{−t}(1 + gd t), gd t = 2 atan(tanh(t/2))."""
    return t.cosh().log() - 1 + (-t).exp() * (1 + _gudermann(t))


def kl_reverse_on_axis(t: arb) -> arb:
    """KL(P_0‖P_{±m}) for m = (t, 0): t − gd t."""
    return t - _gudermann(t)


def _gudermann(t: arb) -> arb:
    return 2 * (t / 2).tanh().atan()


# --- KL at one point, by rigorous quadrature ----------------------------------------------------------------


@dataclass(frozen=True)
class Direction:
    r"""φ with KL = E_0[φ(L)], and the inner integral that its closed form allows.

    ``inner(y, low, high, r)`` is ∫ e^{−u−v} φ(e^{u+v−r} cosh y) dv over low < v < high on the line u = y + v.
    """

    phi: Callable[[Any, bool], Any]
    inner: Callable[[Any, Any, Any, Any, bool], Any]


def _forward_inner(y: Any, low: Any, high: Any, r: Any, analytic: bool) -> Any:
    # e^{−u−v} L log L = e^{−r} cosh y (y + 2v − r + log cosh y)
    constant = y - r + y.cosh().log(analytic=analytic)
    return (-r).exp() * y.cosh() * (constant * (high - low) + high * high - low * low)


def _reverse_inner(y: Any, low: Any, high: Any, r: Any, analytic: bool) -> Any:
    # −e^{−u−v} log L = e^{−y−2v} (r − y − 2v − log cosh y)
    constant = r - y - y.cosh().log(analytic=analytic)

    def primitive(v: Any) -> Any:
        return (-2 * v).exp() * (v + (1 - constant) / 2)

    return (-y).exp() * (primitive(high) - primitive(low))


FORWARD_KL = Direction(lambda x, analytic: x * x.log(analytic=analytic), _forward_inner)
"""KL(P_{±m}‖P_0) = E_0[L log L]."""
REVERSE_KL = Direction(lambda x, analytic: -x.log(analytic=analytic), _reverse_inner)
"""KL(P_0‖P_{±m}) = E_0[−log L]."""


def kl(direction: Direction, s: Fraction, t: Fraction, *, precision: int = 64) -> arb:
    r"""E_0[φ(L)] at m = (s, t), s, t ≥ 0: the plane split at u = 0, ±s and v = 0, ±t; tails in closed form.

    Outside both strips L = cosh(s ± t). Inside one, |u| ≤ s and v ≥ t, L = e^{|u|−s} cosh(u + t).
    Inside both, L = e^{|u|+|v|−s−t} cosh(u + v). The reflection (u, v) → (−u, −v) halves the work.
    """
    with ctx.workprec(precision):
        a, b, phi = ball(s), ball(t), direction.phi
        far = (-a - b).exp() / 2
        total: arb = far * (phi(acb((a + b).cosh()), False) + phi(acb((a - b).cosh()), False)).real
        total += (-b).exp() / 2 * _strip(phi, s, t, precision)
        total += (-a).exp() / 2 * _strip(phi, t, s, precision)
        return total + _same_signs(phi, s, t, precision) / 2 + _opposite_signs(direction, s, t, precision) / 2


def _strip(phi: Callable[[Any, bool], Any], s: Fraction, t: Fraction, precision: int) -> arb:
    """∫_{−s}^{s} e^{−|u|} φ(e^{|u|−s} cosh(u + t)) du."""
    a, b = acb(ball(s)), acb(ball(t))

    def f(u: Any, analytic: bool) -> Any:
        halves = (phi((u - a).exp() * (b + sign * u).cosh(), analytic) for sign in (1, -1))
        return (-u).exp() * sum(halves, acb(0))

    return integrate(f, [0, s], precision=precision)


def _same_signs(phi: Callable[[Any, bool], Any], s: Fraction, t: Fraction, precision: int) -> arb:
    """∫_0^s ∫_0^t e^{−y} φ(e^{y−s−t} cosh y) with y = u + v: the density of y is a trapezoid."""
    breaks = sorted({Fraction(0), s, t, s + t})
    r = acb(ball(s + t))

    def piece(low: Fraction, high: Fraction) -> Callable[[Any, bool], Any]:
        middle = (low + high) / 2

        def f(y: Any, analytic: bool) -> Any:
            length = (acb(ball(t)) if middle > t else y) - (y - acb(ball(s)) if middle > s else 0)
            return length * (-y).exp() * phi((y - r).exp() * y.cosh(), analytic)

        return f

    return integrate_pieces([piece(*ends) for ends in pairwise(breaks)], breaks, precision=precision)


def _opposite_signs(direction: Direction, s: Fraction, t: Fraction, precision: int) -> arb:
    """∫_0^s ∫_0^t e^{−u−v} φ(e^{u+v−s−t} cosh(u − v)) with y = u − v outside, v inside in closed form."""
    breaks = sorted({-t, Fraction(0), s - t, s})
    r = acb(ball(s + t))

    def piece(low: Fraction, high: Fraction) -> Callable[[Any, bool], Any]:
        middle = (low + high) / 2

        def f(y: Any, analytic: bool) -> Any:
            start = acb(0) if middle > 0 else -y
            end = acb(ball(t)) if middle < s - t else acb(ball(s)) - y
            return direction.inner(y, start, end, r, analytic)

        return f

    return integrate_pieces([piece(*ends) for ends in pairwise(breaks)], breaks, precision=precision)
