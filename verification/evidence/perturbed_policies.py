r"""A bandit in d = 2 that sees perturbed inputs only: regret of order √(T log T)/α on every problem.

A round: the server names a direction ψ, the user plays a = argmax φ(x, a)'(cos ψ, sin ψ) and reports φ̃ =
φ(x, a) + Lap, ỹ = y + Lap. Means of reports are all that is used. Let g(ψ) = E φ(x, a), the mean feature of
the policy ψ; its value is g(ψ)'θ*, and g(ψ) runs along the boundary of a convex set, a maximiser of ψ on it.

An epoch has up to four arcs [ψ_1, ψ_2] of directions, at first the quadrants, each with a convex set Θ of
parameters in its cone. For each arc n users play ψ_1, n play ψ_2, and n play ψ_3, the normal of the chord
m̂_2 − m̂_1, where m̂_i is the mean of φ̃ and ŷ_i that of ỹ. All Θ are cut by |m̂_i'θ − ŷ_i| ≤ e, and each arc
shrinks to the directions of its Θ. Then n is multiplied by four.

Why it works, on the event that all |m̂_i'θ* − ŷ_i| ≤ e and all ‖m̂_i − g_i‖ ≤ e.
- θ* is never cut off, and if θ is not either then Δ = θ* − θ has |m̂_i'Δ| ≤ 2e, ‖Δ‖ ≤ 1 + √2 (θ lies in a
  square), so |g_i'Δ| ≤ 4.42 e for all i.
- Every point m of an arc is g_1 + λ(g_2 − g_1) + μ(g_3 − g_1) + r with |λ| ≤ 1, 0 ≤ μ ≤ 1, ‖r‖ ≤ 4e. For an
  arc that turns by at most 90° lies in a triangle on its chord (length ℓ) whose angle at the apex is 90° or
  more: it projects into the chord and no point is further than ℓ from g_1. If ℓ < 4e take λ = μ = 0. Else
  the chord's direction is known to sin β ≤ 2e/ℓ ≤ 1/2, so that heights above the chord exceed that of g_3 by
  at most ℓ tan β ≤ 2.31 e; take μ the ratio of heights, at most one.
- So |m'Δ| ≤ 3 · 4.42 e + 4 · 2.42 e < 23 e, and the regret of playing θ is
  (g(θ*) − g(θ))'θ* ≤ (g(θ*) − g(θ))'Δ ≤ 46 e in the next epoch, as g(θ) is the best for θ.
An epoch of 12 n users costs 12 n · 46 e with e of order √(log T/n)/α: the last epoch dominates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array
from lpcb.problem import Problem
from lpcb.sums import laplace_sum, multinomial_counts, sign_sum

SPREAD = 46.0
"""Regret in an epoch, in units of e of the epoch before."""
GROWTH = 4
MOST_BATCHES = 12
"""Three for each of four arcs."""
EVENTS = 12
"""Tail bounds used for each batch: two of two sides for the residual, and for each coordinate of φ̃."""


def ldp_scale(alpha: float) -> float:
    """Noise that makes the whole report (φ̃, ỹ) alpha-LDP: its l1 sensitivity is 2(√2 + 1)."""
    return 2 * (math.sqrt(2) + 1) / alpha


@dataclass(frozen=True)
class Schedule:
    """Lengths of batches and the radius e, for a horizon and a noise scale."""

    horizon: int
    scale: float

    @property
    def log_term(self) -> float:
        """L with 12 · 12 · epochs · e^−L ≤ 1/T: the event fails with probability at most 1/T."""
        epochs = 2 + math.log(self.horizon, GROWTH)
        return math.log(EVENTS * MOST_BATCHES * epochs * self.horizon)

    def batch(self, epoch: int) -> int:
        return int(math.ceil(self.log_term) * GROWTH**epoch)

    def radius(self, n: int) -> float:
        r"""e = √2 (b (2√(L/n) + L/n) + √(2L/n)), b the scale.

        A sum of n Laplace variables times |c_i| ≤ 1 is at most b(2√(Σc²L) + L), each side but for e^−L, and
        the residual has Σc² ≤ 2n; means in [−1, 1] stray by √(2L/n) (Hoeffding).
        """
        x = self.log_term / n
        return math.sqrt(2) * (self.scale * (2 * math.sqrt(x) + x) + math.sqrt(2 * x))

    def regret_bound(self) -> float:
        """Expected regret is at most this, for every problem with d = 2: epochs as long as they can be."""
        total, left, epoch, loss = 2.0, float(self.horizon), 0, 2.0
        while left > 0:
            rounds = min(left, float(MOST_BATCHES * self.batch(epoch)))
            total += rounds * min(2.0, loss)
            loss = SPREAD * self.radius(self.batch(epoch))
            left, epoch = left - rounds, epoch + 1
        return total


@dataclass(frozen=True)
class Outcome:
    """Expected regret given the policies; ``worst_ratio`` is the largest loss of a policy over 46 e."""

    regret: float
    worst_ratio: float
    epochs: int


def play(problem: Problem, schedule: Schedule, rng: np.random.Generator) -> Outcome:
    """One run on a problem with d = 2."""
    if problem.d != 2:
        raise ValueError(f"the problem has d = 2, not {problem.d}")
    best = float(problem.weights @ problem.means.max(axis=1))
    sets = [np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]) for _ in range(4)]
    arcs = {q: (theta, (0.0, math.pi / 2)) for q, theta in enumerate(sets)}
    regret, left, epoch, ratio, allowed = 0.0, schedule.horizon, 0, 0.0, math.inf
    while left > 0:
        n = schedule.batch(epoch)
        seen: list[tuple[Array, float]] = []
        for q, (_, (low, high)) in arcs.items():
            means: list[Array] = []
            for step in range(3):
                if left == 0:
                    break
                angle = (low, high)[step] if step < 2 else _normal(means, q, low, high)
                users = min(n, left)
                features = _features(problem, q, angle)
                loss = best - float(problem.weights @ (features @ problem.theta))
                regret, left = regret + users * loss, left - users
                ratio = max(ratio, loss / allowed)
                mean, reward = _reports(features, problem.weights, problem, users, schedule.scale, rng)
                means.append(mean)
                seen.append((mean, reward))
        allowed = SPREAD * schedule.radius(n)
        arcs = _cut(arcs, seen, schedule.radius(n)) or arcs
        epoch += 1
    return Outcome(regret, ratio, epoch)


def _turn(vectors: Array, q: int) -> Array:
    """Vectors turned by q quarter turns, without rounding."""
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([(x, -y, -x, y)[q], (y, x, -y, -x)[q]], axis=-1)


def _features(problem: Problem, q: int, angle: float) -> Array:
    """φ(x, a) of the action that each context plays, shape (K, 2)."""
    direction = _turn(np.array([math.cos(angle), math.sin(angle)]), q)
    chosen: Array = problem.features[
        np.arange(problem.contexts), np.argmax(problem.features @ direction, axis=1)
    ]
    return chosen


def _normal(means: list[Array], q: int, low: float, high: float) -> float:
    """The outer normal of the chord, within the arc; angles are counted from the quadrant's first axis."""
    x, y = _turn(means[1] - means[0], (4 - q) % 4)
    return float(np.clip(math.atan2(-x, y), low, high))


def _reports(
    features: Array, weights: Array, problem: Problem, n: int, scale: float, rng: np.random.Generator
) -> tuple[Array, float]:
    """Means of φ̃ and ỹ over n users, by the exact law of their sums.

    Users report their feature and not their context, so contexts with one feature are one cell.
    """
    cells, which = np.unique(features, axis=0, return_inverse=True)
    mass = np.bincount(which.ravel(), weights=weights)
    counts = multinomial_counts(n, mass / mass.sum(), rng) if len(cells) > 1 else np.array([n])
    means = np.clip(cells @ problem.theta, -1.0, 1.0)
    rewards = sign_sum(counts, means, rng) if problem.reward == "sign" else counts * means
    noise = laplace_sum(scale, n, rng, (3,))
    return (counts @ cells + noise[:2]) / n, float(rewards.sum() + noise[2]) / n


Arcs = dict[int, tuple[Array, tuple[float, float]]]


def _cut(arcs: Arcs, seen: list[tuple[Array, float]], e: float) -> Arcs:
    """Θ of every arc cut by all slabs |m'θ − y| ≤ e, and the directions that are left."""
    out: Arcs = {}
    for q, (theta, _) in arcs.items():
        polygon = theta
        for mean, reward in seen:
            normal = _turn(mean, (4 - q) % 4)
            for sign in (1, -1):
                polygon = _clip(polygon, sign * normal, sign * reward + e)
        corners = polygon[np.abs(polygon).max(axis=1, initial=0.0) > 0]
        if len(corners) >= 2:
            angles = np.arctan2(corners[:, 1], corners[:, 0])
            out[q] = polygon, (float(angles.min()), float(angles.max()))
    return out


def _clip(polygon: Array, normal: Array, offset: float) -> Array:
    """The part of a convex polygon with normal'θ ≤ offset."""
    if len(polygon) == 0:
        return polygon
    slack = offset - polygon @ normal
    if (slack >= 0).all():
        return polygon
    following, after = np.roll(polygon, -1, axis=0), np.roll(slack, -1)
    corners: list[Array] = []
    for p, s, p2, s2 in zip(polygon, slack, following, after, strict=True):
        if s >= 0:
            corners.append(p)
        if (s >= 0) != (s2 >= 0):
            corners.append(np.maximum(p + (p2 - p) * (s / (s - s2)), 0.0))
    return np.array(corners).reshape(-1, 2)
