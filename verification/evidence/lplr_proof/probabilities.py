"""Exact probabilities of the sums in the proofs: of Laplace variables, of coin tosses, of counts."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from flint import arb

from verification.evidence.enclosure import Ball, ball, exp, log


def laplace_sum_tail(n: int, t: arb) -> Ball:
    r"""P(X_1 + … + X_n > t), X_i ~ Lap(1) independent, t ≥ 0, in closed form.

    The sum is G − G' for two independent Gamma(n), and P(G > x) = Σ_{j<n} e^{−x} x^j/j!. At x = t + G', with
    E[e^{−G'} G'^i/i!] = C(n−1+i, i) 2^{−(n+i)},

    .. math:: P = e^{-t} \sum_{m<n} \frac{t^m}{m!} \sum_{i<n-m} \binom{n-1+i}{i} 2^{-(n+i)}.
    """
    parts = [Fraction(math.comb(n - 1 + i, i), 2 ** (n + i)) for i in range(n)]
    sums = list(accumulate(parts))
    total, power = arb(0), arb(1)
    for m in range(n):
        total += power * ball(sums[n - 1 - m])
        power = power * t / (m + 1)
    return exp(-t) * total


@lru_cache
def coin_tail(n: int, m: int) -> Fraction:
    """P(|S| ≥ m) for a sum of n independent signs ±1."""
    hits = sum(math.comb(n, k) for k in range(n + 1) if abs(2 * k - n) >= m)
    return Fraction(hits, 2**n)


def binomial_tail(n: int, p: Fraction, k: int) -> Fraction:
    """P(Bin(n, p) > k)."""
    return sum((math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1, n + 1)), Fraction(0))


def log_binomial_atom(n: int, p: Fraction, k: int) -> Ball:
    """ln P(Bin(n, p) = k)."""
    choose = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    return choose + k * log(ball(p)) + (n - k) * log(ball(1 - p))
