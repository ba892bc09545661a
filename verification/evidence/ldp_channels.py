r"""How far an alpha-LDP channel Q can drive two laws apart: extremal channels and the sharp bound.

For outputs z write m_i(z) = Σ_x q(z|x) P_i(x) and J = KL(Q_0‖Q_1) + KL(Q_1‖Q_0) = Σ_z f(m_0, m_1) with
f(a, b) = (a − b) ln(a/b), convex and homogeneous of degree one. Let τ = TV(P_0, P_1), k = e^α − 1.

1. *Three inputs are enough.* P_0 = (1−τ)C + τN_0 and P_1 = (1−τ)C + τN_1 with C the normalised common part,
   so (P_0, P_1) is a mixture over (o, x_0, x_1) ~ C × N_0 × N_1 of the pairs
   ((1−τ)δ_o + τδ_{x_0}, (1−τ)δ_o + τδ_{x_1}), and J is jointly convex.
2. *Staircases are enough.* The columns (q(z|o), q(z|x_0), q(z|x_1)) lie in the cone {v : v_i ≤ e^α v_j},
   whose extreme rays are the patterns 1 + k·1_S, S a set of inputs (at an extreme ray the tight constraints
   v_i = e^α v_j connect all coordinates, and two in a row would break a third). Splitting a column into rays
   does not decrease J, because f is subadditive.
3. *A linear programme.* With weights θ_S ≥ 0, J = Σ θ_S F(S) and Σ_S θ_S (1 + k 1[x ∈ S]) = 1 for each x. It
   is symmetric in x_0, x_1, so take θ symmetric. A: S = {x_0} or {x_1}; B: {o, x_0} or {o, x_1}; C: {o};
   D: {x_0, x_1}. Then A + 2D = B + 2C and A + (1+k)(B + C) + D ≤ 1, J = A g_0 + B g_1,

       g_0 = f(1 + kτ, 1) = kτ ln(1 + kτ),   g_1 = f(1 + k, 1 + k − kτ) = −kτ ln(1 − κτ),   κ = k/(1 + k),

   with the three vertices A = B = 1/(2+k) (binary randomised response), A = 2C = 2/(3+k) (ternary), and
   B = 2D = 2/(3+2k) (its complement: report two of three). So, for every τ and attained,

       sup J = max{(g_0 + g_1)/(2+k), 2g_0/(3+k), 2g_1/(3+2k)}.

4. *Over all τ.* With p = e^{−α}: g_0/(kτ)² = R_0 = ln(1+kτ)/(kτ) ≤ 1 and g_1/(kτ)² = p R_1,
   R_1 = −ln(1−κτ)/(κτ) ≤ α/κ, so p R_1 ≤ h = α/(e^α − 1) ≤ 1. Hence J ≤ max U_j · (e^α−1)² τ² with
   U = (2p/(1+p), 2p/(1+2p), 2p/(2+p)). Sharper: R_0 and R_1 are convex in τ, so the largest value is at τ → 0
   or τ = 1; at τ = 1 the first vertex gives 2hp/(1+p) ≤ p because 2h ≤ 1 + p (that is α ≤ sinh α), and

       sup_τ J/((e^α−1)² τ²) = max{e^{−α}, 2/(2 + e^α)}, reached as τ → 0, the two meeting at α = ln 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from flint import arb
from scipy import optimize

from lpcb.arrays import Array
from verification.evidence.enclosure import Ball, ball, exp, maximum


@dataclass(frozen=True)
class Staircase:
    """A channel from (o, x_0, x_1): each output is a set of inputs, e^α times likelier from inside it."""

    name: str
    sets: tuple[frozenset[int], ...]

    def weight(self, alpha: arb) -> arb:
        """θ, the same for all outputs: each input is inside equally many sets."""
        inside = sum(0 in s for s in self.sets)
        if any(sum(x in s for s in self.sets) != inside for x in (1, 2)):
            raise ValueError(f"{self.name}: every input must be in equally many sets")
        return 1 / (len(self.sets) + inside * alpha.expm1())


def _sets(*sets: Iterable[int]) -> tuple[frozenset[int], ...]:
    return tuple(frozenset(s) for s in sets)


BINARY = Staircase("binary randomised response", _sets((1,), (0, 2)))
TERNARY = Staircase("ternary randomised response", _sets((0,), (1,), (2,)))
PAIRS = Staircase("two of three", _sets((0, 1), (0, 2), (1, 2)))
EXTREMAL = (BINARY, TERNARY, PAIRS)


def divergence(channel: Staircase, alpha: Fraction, tau: Fraction) -> arb:
    """J of ``channel`` for P_0 = (1−τ)δ_o + τδ_{x_0}, P_1 = (1−τ)δ_o + τδ_{x_1}, from its definition."""
    a, k = ball(alpha), ball(alpha).expm1()
    laws = ((1 - tau, tau, Fraction(0)), (1 - tau, Fraction(0), tau))
    total, mass = arb(0), [arb(0), arb(0)]
    for outcome in channel.sets:
        m = [channel.weight(a) * (1 + k * ball(sum(law[x] for x in outcome))) for law in laws]
        mass = [x + y for x, y in zip(mass, m, strict=True)]
        total += (m[0] - m[1]) * (m[0] / m[1]).log()
    if not all(x.overlaps(arb(1)) for x in mass):
        raise ValueError(f"{channel.name} is not a channel: its probabilities add up to {mass}")
    return total


def vertex_bounds(p: Ball) -> tuple[Ball, Ball, Ball]:
    """U of step 4, for p = e^{−α} in [0, 1]."""
    return 2 * p / (1 + p), 2 * p / (1 + 2 * p), 2 * p / (2 + p)


def largest_bound(p: Ball) -> Ball:
    """max U_j: what may stand in place of min{4, e^{2α}}."""
    one, two, three = vertex_bounds(p)
    return maximum(maximum(one, two), three)


def sharp_constant(alpha: Ball) -> Ball:
    """max{e^{−α}, 2/(2 + e^α)}: the least that may stand in place of min{4, e^{2α}}."""
    return maximum(exp(-alpha), 2 / (2 + exp(alpha)))


def sharp_divergence(alpha: float, tau: float) -> float:
    """sup J over all alpha-LDP channels and all pairs of laws at total variation τ (step 3)."""
    k = np.expm1(alpha)
    g0 = k * tau * np.log1p(k * tau)
    g1 = -k * tau * np.log1p(-k / (1 + k) * tau)
    return float(max((g0 + g1) / (2 + k), 2 * g0 / (3 + k), 2 * g1 / (3 + 2 * k)))


# --- search: other inputs, other channels -----------------------------------------------------------------


def symmetric_kl(q0: Array, q1: Array) -> float:
    """J for two laws given as arrays of positive probabilities."""
    return float(np.sum((q0 - q1) * np.log(q0 / q1)))


def best_channel(p0: Array, p1: Array, alpha: float) -> float:
    """The largest J over all alpha-LDP channels for one pair of laws, by the programme over all patterns."""
    inputs = len(p0)
    patterns = np.array(list(product((0, 1), repeat=inputs)), dtype=np.float64)
    columns = 1 + np.expm1(alpha) * patterns
    m0, m1 = columns @ p0, columns @ p1
    gain = (m0 - m1) * np.log(m0 / m1)
    found = optimize.linprog(-gain, A_eq=columns.T, b_eq=np.ones(inputs), bounds=(0, None), method="highs")
    if not found.success:
        raise ValueError(f"the linear programme has no solution: {found.message}")
    return float(gain @ found.x)


LEAST_TV = 1e-3
"""Laws closer than this are not drawn: their divergence would drown in rounding."""


def random_laws(rng: np.random.Generator, inputs: int) -> tuple[Array, Array]:
    """Two laws, sparse as often as not: extremal pairs have few points."""
    while True:
        concentration = float(rng.choice([0.1, 0.3, 1.0]))
        p0, p1 = rng.dirichlet([concentration] * inputs, size=2) + 1e-12
        mix = float(rng.uniform())
        p1 = mix * p0 + (1 - mix) * p1
        p0, p1 = p0 / p0.sum(), p1 / p1.sum()
        if total_variation(p0, p1) >= LEAST_TV:
            return p0, p1


def random_channel(rng: np.random.Generator, inputs: int, outputs: int, alpha: float) -> Array:
    """A channel as an (inputs, outputs) array: entries within e^{α/2} of each other, rows normalised."""
    raw = np.exp(alpha / 2 * rng.choice([0.0, 1.0, float(rng.uniform())], size=(inputs, outputs)))
    return np.asarray(raw / raw.sum(axis=1, keepdims=True))


def total_variation(p: Sequence[float] | Array, q: Sequence[float] | Array) -> float:
    return float(np.abs(np.asarray(p) - np.asarray(q)).sum() / 2)
