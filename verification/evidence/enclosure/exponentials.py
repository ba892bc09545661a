"""Exact sums of exponentials Σ c e^{a s + b t}, and polynomials that bound them with a cube divided out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpq, fmpq_poly

from verification.evidence.enclosure.balls import Ball, ball


@dataclass(frozen=True)
class ExpSum:
    """Σ c e^{a s + b t} with whole a, b and rational c: closed under sums and products, no rounding."""

    terms: Mapping[tuple[int, int], Fraction]

    @classmethod
    def constant(cls, value: int | Fraction) -> ExpSum:
        return cls({(0, 0): Fraction(value)})

    def __add__(self, other: ExpSum) -> ExpSum:
        total = defaultdict(Fraction, self.terms)
        for key, c in other.terms.items():
            total[key] += c
        return ExpSum({key: c for key, c in total.items() if c})

    def __mul__(self, other: ExpSum) -> ExpSum:
        total: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for (a, b), c in self.terms.items():
            for (a2, b2), c2 in other.terms.items():
                total[a + a2, b + b2] += c * c2
        return ExpSum({key: c for key, c in total.items() if c})

    def scaled(self, factor: int | Fraction) -> ExpSum:
        return ExpSum({key: c * factor for key, c in self.terms.items()})

    def swapped(self) -> ExpSum:
        """The same sum with s and t exchanged."""
        return ExpSum({(b, a): c for (a, b), c in self.terms.items()})

    def __call__(self, s: Ball, t: Ball) -> Ball:
        total = arb(0)
        for (a, b), c in self.terms.items():
            total = total + ball(c) * (a * s + b * t).exp()
        return total


@dataclass(frozen=True)
class Majorant:
    """Σ c_jk r^j q^k + error, an upper bound on f(s, t)/r³ for r = s + t ≤ 1, q = st/r² ≤ 1/4, s, t ≥ 0.

    And a lower bound with −error in its place.
    """

    coefficients: tuple[tuple[arb, ...], ...]
    error: arb

    def __call__(self, r: Ball, q: Ball) -> Ball:
        total: Ball = arb(0)
        for row in reversed(self.coefficients):
            inner: Ball = arb(0)
            for c in reversed(row):
                inner = inner * q + c
            total = total * r + inner
        return total + self.error


def divide_cube(f: ExpSum, *, order: int, drop: float) -> Majorant:
    r"""The Taylor polynomial of f(s, t)/r³ in (r, q) with everything that is left out in ``error``.

    f must be symmetric and vanish to third order, which is checked exactly. With s, t ≥ 0 and r ≤ 1 the
    Lagrange remainder of order N is at most r^N Σ |c| max(|a|,|b|)^N e^{max(a,b,0)} / N!; coefficients
    whose term is below ``drop`` for all r ≤ 1, q ≤ 1/4 go into the error as well.
    """
    if f.swapped() != f:
        raise ValueError("the sum must be symmetric in s and t to be written in r = s + t and q = st/r²")
    powers = _power_sums(order)
    parts = [_homogeneous(f, j, powers) for j in range(order)]
    if any(parts[:3]):
        raise ValueError("the sum does not vanish to third order at 0, so r³ cannot be divided out")
    with ctx.workprec(128):
        error = _remainder(f, order)
        kept = []
        for part in parts[3:]:
            row = [part[k] for k in range(part.degree() + 1)]
            small = [
                abs(c) * fmpq(1, 4**k) < fmpq(*Fraction(drop).as_integer_ratio()) for k, c in enumerate(row)
            ]
            error += sum((arb(abs(c)) / 4**k for k, c in enumerate(row) if small[k]), arb(0))
            kept.append([arb(0) if tiny else arb(c) for c, tiny in zip(row, small, strict=True)])
    return Majorant(tuple(_trim(kept)), error)


def _power_sums(order: int) -> list[fmpq_poly]:
    """s^m + t^m = r^m ν_m(q): ν_0 = 2, ν_1 = 1, ν_m = ν_{m−1} − q ν_{m−2}."""
    q = fmpq_poly([0, 1])
    found = [fmpq_poly([2]), fmpq_poly([1])]
    while len(found) <= order:
        found.append(found[-1] - q * found[-2])
    return found


def _homogeneous(f: ExpSum, j: int, powers: list[fmpq_poly]) -> fmpq_poly:
    """The part of degree j of f, divided by r^j, as a polynomial in q."""
    total = fmpq_poly([0])
    for k in range(j // 2 + 1):
        weight = Fraction(math.comb(j, k), math.factorial(j))
        c = weight * sum((c * a**k * b ** (j - k) for (a, b), c in f.terms.items()), Fraction(0))
        pair = fmpq_poly([1]) if 2 * k == j else powers[j - 2 * k]
        total += fmpq(c.numerator, c.denominator) * fmpq_poly([0, 1]) ** k * pair
    return total


def _remainder(f: ExpSum, order: int) -> arb:
    total = arb(0)
    for (a, b), c in f.terms.items():
        rate = max(abs(a), abs(b))
        total += ball(abs(c) * Fraction(rate**order, math.factorial(order))) * arb(max(a, b, 0)).exp()
    return total


def _trim(rows: list[list[arb]]) -> list[tuple[arb, ...]]:
    """Without trailing zeros, in each row and at the end."""
    for row in rows:
        while row and row[-1] == 0:
            row.pop()
    while rows and not rows[-1]:
        rows.pop()
    return [tuple(row) for row in rows]
