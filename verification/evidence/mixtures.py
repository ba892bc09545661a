r"""Two-point mixtures of Laplace laws, as input perturbation shows them: exact ratios, draws, divergences.

A design φ = (w, ±s), equally likely, with y = φ'θ and θ = (θ_1, t) is reported as (φ̃, ỹ) with independent
Laplace noise of scale 1/α. The first coordinate and the mean of ỹ are the same for all t, so after shifting
and scaling by α what is left is (u, v), with the law P_{a,b} = ½ Lap_2((a, b); 1) + ½ Lap_2(−(a, b); 1),
where a = αs and b = αst. With x = min(|u|, a),

    dP_{a,b}/dP_0 = e_a(u) e_b(v) (1 + τ_a(u) τ_b(v)),   e_a(u) = e^{x−a} cosh x,   τ_a(u) = sign(u) tanh x.

e_a and e_b are the ratios of the two marginals, so t and −t have the same marginals and differ only in the
sign of the last term. Ratios depend on (u, v) through its values clipped to [−a, a] × [−b, b]: the four
corners are atoms, and a draw of n users costs as many random numbers as there are users inside a strip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import special

from lpcb.arrays import Array
from lpcb.sums import multinomial_counts

NODES = 20
"""Gauss-Legendre nodes for each smooth piece; the integrands are analytic on pieces of length below one."""


@dataclass(frozen=True)
class Pair:
    """P_{a,b} against P_{a,c}: one design, two values t of the second coordinate of θ; a ≥ 0."""

    a: float
    b: float
    c: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.a + self.b + self.c) and self.a >= 0):
            raise ValueError(f"a, b and c are finite and a is at least 0, not {self!r}")

    @property
    def strip(self) -> float:
        """Ratios do not change with v beyond this."""
        return max(abs(self.b), abs(self.c))

    def log_ratio(self, u: Array, v: Array) -> Array:
        """ln dP_{a,b}/dP_{a,c}, to full relative precision also for tiny a, b, c."""
        tau = np.tanh(np.clip(u, -self.a, self.a))
        marginal = log_even(v, abs(self.b)) - log_even(v, abs(self.c))
        first, second = (np.sign(b) * np.tanh(np.clip(v, -abs(b), abs(b))) for b in (self.b, self.c))
        out: Array = marginal + np.log1p(tau * first) - np.log1p(tau * second)
        return out


def log_even(v: Array, b: float) -> Array:
    """ln e_b(v)."""
    x = np.minimum(np.abs(v), b)
    out: Array = (x - b) + np.log1p(2 * np.sinh(x / 2) ** 2)
    return out


def theorem_2_2_pair(s: float, alpha: float = 1.0) -> Pair:
    """H_2 (t = 1/2) against H_1 (t = 0) of the proof of Theorem 2.2, with the true law of y."""
    return Pair(alpha * s, alpha * s / 2, 0.0)


def opposite_pair(s: float, t: float, alpha: float = 1.0) -> Pair:
    """θ_2 = t against θ_2 = −t."""
    return Pair(alpha * s, alpha * s * t, -alpha * s * t)


# --- divergences ------------------------------------------------------------------------------------------


def moments(pair: Pair) -> tuple[float, float]:
    """KL(P_{a,b} ‖ P_{a,c}) and KL(P_{a,c} ‖ P_{a,b}), by quadrature on the smooth pieces.

    >>> forward, backward = moments(theorem_2_2_pair(1e-4))
    >>> round(forward / (5e-5) ** 3, 3), round(backward / (5e-5) ** 3, 3)  # 1/6 + 12 a/6 + ...
    (0.167, 0.167)
    """
    log_l, reference = _on_rule(pair)
    forward = reference * _h(log_l)
    backward = reference * np.exp(log_l) * _h(-log_l)
    return float(forward.sum()), float(backward.sum())


def affinity_error(pair: Pair, n: float) -> float:
    """The optimal test's mean error from n users is at most this: ½ (∫√(pq))^n, by quadrature."""
    log_l, reference = _on_rule(pair)
    apart = float((reference * np.expm1(log_l / 2) ** 2).sum()) / 2
    return math.exp(n * math.log1p(-apart)) / 2


def _on_rule(pair: Pair) -> tuple[Array, Array]:
    """ln dP_{a,b}/dP_{a,c} at the nodes, and their masses under P_{a,c}."""
    u, weight_u = _rule(pair.a, ())
    v, weight_v = _rule(pair.strip, (abs(pair.b), abs(pair.c)))
    log_l = pair.log_ratio(u[:, None], v[None, :])
    base = log_even(u, pair.a)[:, None] + log_even(v, abs(pair.c))
    tau = np.tanh(np.clip(u, -pair.a, pair.a))[:, None] * np.tanh(np.clip(v, -abs(pair.c), abs(pair.c)))
    signed = 1 + math.copysign(1, pair.c) * tau
    return log_l, weight_u[:, None] * weight_v * np.exp(base) * signed


def opposite_bound(a: float, b: float) -> float:
    r"""An upper bound on KL(P_{a,b} ‖ P_{a,−b}), at most 2 a² b², for all a, b ≥ 0.

    Under the product Q of the marginals, X = τ_a(u) τ_b(v) is symmetric, dP_{a,±b} = (1 ± X) dQ and
    |X| ≤ m = tanh a tanh b. So KL = E_Q[(1 + X) 2 atanh X] = E_Q[2 X atanh X] ≤ 2 m atanh m, and
    2 atanh m = ln(cosh(a+b)/cosh(a−b)). The latter vanishes for ab = 0 and has the mixed derivative
    sech²(a+b) + sech²(a−b) ≤ 2, so it is at most 2ab; and m ≤ ab.
    """
    m = math.tanh(a) * math.tanh(b)
    return 2 * m * math.atanh(m)


def le_cam(kl: float, n: float) -> float:
    """A lower bound on the mean error of any test from n users: (1 − TV)/2 with Pinsker's inequality."""
    return max(0.0, (1 - math.sqrt(n * kl / 2)) / 2)


def normal_error(pair: Pair, n: float) -> float:
    """The mean error of the optimal test in the limit of many users, each with a small log-ratio.

    The sum of log-ratios is then normal with means ±nK and variance 2nK, K the mean of both KL.
    """
    return float(special.ndtr(-math.sqrt(n * sum(moments(pair)) / 4)))


def _rule(edge: float, breaks: tuple[float, ...]) -> tuple[Array, Array]:
    """Nodes and weights for Lap(0; 1) clipped to [−edge, edge]: two atoms, and the pieces between kinks."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    inner = sorted({0.0, edge, *(k for k in breaks if 0 < k < edge)})
    nodes, weights = [np.array([edge])], [np.array([math.exp(-edge) / 2])]
    for low, high in pairwise(inner):
        at = (low + high) / 2 + (high - low) / 2 * x
        nodes.append(at)
        weights.append((high - low) / 2 * w * np.exp(-at) / 2)
    one, mass = np.concatenate(nodes), np.concatenate(weights)
    return np.concatenate([one, -one]), np.concatenate([mass, mass])


def _h(log_l: Array) -> Array:
    """L ln L − L + 1 at L = e^l, by its series where the closed form would cancel."""
    near = sum(log_l**k * ((k - 1) / math.factorial(k)) for k in range(2, 9))
    return np.where(np.abs(log_l) < 0.05, near, np.exp(log_l) * log_l - np.expm1(log_l))


# --- draws ------------------------------------------------------------------------------------------------


def log_ratio_sums(pair: Pair, n: int, size: int, under_first: bool, rng: np.random.Generator) -> Array:
    """``size`` draws of Σ_{i≤n} ln dP_{a,b}/dP_{a,c}(u_i, v_i) under P_{a,b}, or under P_{a,c}.

    Ratios are even in (u, v), so all users may be taken from the component at +(a, b). Users in corners are
    counted; the others are placed by inverting the Laplace cdf between the edges of their strip.
    """
    a, b, edge = pair.a, pair.b if under_first else pair.c, pair.strip
    mass_u, mass_v = _cells(a, a), _cells(b, edge)
    chance = np.outer(mass_u, mass_v).ravel()
    counts = multinomial_counts(n, np.broadcast_to(chance / chance.sum(), (size, 9)), rng)
    ends_u, ends_v = np.array([-a, 0.0, a]), np.array([-edge, 0.0, edge])
    total = np.zeros(size)
    for cell in range(9):
        i, j = divmod(cell, 3)
        if i != 1 and j != 1:
            total += counts[:, cell] * pair.log_ratio(ends_u[i : i + 1], ends_v[j : j + 1])
            continue
        many = int(counts[:, cell].sum())
        u = _inside(a, a, many, rng) if i == 1 else np.full(many, ends_u[i])
        v = _inside(b, edge, many, rng) if j == 1 else np.full(many, ends_v[j])
        owner = np.repeat(np.arange(size), counts[:, cell])
        total += np.bincount(owner, weights=pair.log_ratio(u, v), minlength=size)
    return total


def wrong_decisions(pair: Pair, n: int, size: int, rng: np.random.Generator) -> int:
    """How often, in ``size`` experiments of n users, the likelihood-ratio test names the wrong law.

    Each experiment's law is one of the two with probability 1/2, so the count is binomial; its rate is the
    smallest that any test can have. A sum of exactly zero is decided by a coin.
    """
    first = int(rng.binomial(size, 0.5))
    wrong = 0
    for under_first, many in ((True, first), (False, size - first)):
        total = log_ratio_sums(pair, n, many, under_first, rng)
        against = total < 0 if under_first else total > 0
        wrong += int(against.sum()) + int(rng.binomial(int((total == 0).sum()), 0.5))
    return wrong


def _cells(centre: float, edge: float) -> Array:
    """Masses of Lap(centre; 1) below −edge, inside, and above edge, for |centre| ≤ edge."""
    low, high = math.exp(-(edge + centre)) / 2, math.exp(-(edge - centre)) / 2
    middle = -(math.expm1(-(edge + centre)) + math.expm1(-(edge - centre))) / 2
    return np.array([low, middle, high])


def _inside(centre: float, edge: float, size: int, rng: np.random.Generator) -> Array:
    """Lap(centre; 1) given that it lies in [−edge, edge]."""
    left, right = -math.expm1(-(edge + centre)), -math.expm1(-(edge - centre))
    q = rng.random(size) * (left + right)
    below = q < left
    # Distance from the centre, an exponential cut at the edge.
    distance = -np.log1p(-np.where(below, q, q - left))
    out: Array = centre + np.where(below, -distance, distance)
    return out
