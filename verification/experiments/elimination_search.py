"""A search for the oracles that are worst for Lemma A.2 and Theorem 3.2 among those of Definition 3.1.

Truth, intervals and errors of several epochs in a row are numbers in a unit cube. Chains climb side by side:
a change of a few numbers is kept if the objective does not fall, and from time to time the best chains
replace the worst. f*, hat f and Delta are multiples of 2^-12, so that sums are exact and rounding
decides no tie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array, Bools
from lpcb.elimination import eliminate, uniform_policy

GRID = 4096
"""Steps in a unit."""
SMALLEST_GAP = 1 / 16
"""Gaps below this are left out of the ratio: there the grid is coarse, and zero over zero says nothing."""


@dataclass(frozen=True, eq=False)
class Oracles:
    """For each chain (first axis): f* (chains, K, A), weights of contexts (chains, K), and hat f and Delta of
    several epochs (chains, epochs, K, A); every interval covers."""

    f: Array
    weights: Array
    f_hat: Array
    delta: Array


@dataclass(frozen=True)
class Shape:
    contexts: int
    actions: int
    epochs: int
    widest: float
    """Largest Delta: 1 in Definition 3.1, 2 as repaired."""

    @property
    def dimension(self) -> int:
        return self.contexts * (1 + self.actions * (1 + 2 * self.epochs))


def decode(shape: Shape, cube: Array) -> Oracles:
    """Oracles that Definition 3.1 allows: |hat f - f*| <= Delta <= widest, f* and hat f in [-1, 1]."""
    K, A, E = shape.contexts, shape.actions, shape.epochs
    cuts = np.cumsum([K, K * A, E * K * A])
    weight, f, width, side = np.split(cube, cuts, axis=1)
    f = np.round((2 * f - 1) * GRID).reshape(-1, K, A)
    delta = np.round(shape.widest * width * GRID).reshape(-1, E, K, A)
    error = np.trunc((2 * side.reshape(delta.shape) - 1) * delta)
    f_hat = np.clip(f[:, None] + error, -GRID, GRID)  # towards f*, which lies inside
    weight = weight + 1e-3
    return Oracles(f / GRID, weight / weight.sum(axis=1, keepdims=True), f_hat / GRID, delta / GRID)


def played(oracles: Oracles) -> Bools:
    """Which actions Algorithm 1 has in play after each oracle, shape (chains, epochs, K, A)."""
    active = np.ones(oracles.f.shape, dtype=bool)
    sets = []
    for tau in range(oracles.delta.shape[1]):
        active = eliminate(active, oracles.f_hat[:, tau], oracles.delta[:, tau])
        sets.append(active)
    return np.stack(sets, axis=1)


def closest_loss(oracles: Oracles) -> Array:
    """Survival: by how much some worse action in play comes to beating a best one, at most 0 as claimed."""
    gap = (oracles.f.max(axis=-1, keepdims=True) - oracles.f)[:, None]
    after = played(oracles)
    before = np.concatenate([np.ones_like(after[:, :1]), after[:, :-1]], axis=1)
    upper = np.where(gap == 0, oracles.f_hat + oracles.delta, np.inf).min(axis=-1)
    lower = np.where(before & (gap > 0), oracles.f_hat - oracles.delta, -np.inf).max(axis=-1)
    lost = ((gap == 0) & ~after).any(axis=-1)
    out: Array = np.where(lost, 2.0, np.maximum(lower - upper, -4.0)).max(axis=(1, 2))
    return out


def gap_ratio(oracles: Oracles) -> Array:
    """Gap: the largest gap / (2 (Delta + Delta*)) of a survivor, at most 1 as claimed."""
    gap = (oracles.f.max(axis=-1, keepdims=True) - oracles.f)[:, None]
    star = np.where(gap == 0, oracles.delta, np.inf).min(axis=-1, keepdims=True)
    bound = 2 * (oracles.delta + star)
    ratio = np.divide(gap, bound, out=np.full(bound.shape, np.inf), where=bound > 0)
    counts = played(oracles) & (gap >= SMALLEST_GAP)
    out: Array = np.where(counts, ratio, 0.0).max(axis=(1, 2, 3))
    return out


def regret_ratio(oracles: Oracles) -> Array:
    """Theorem 3.2: regret of epochs 2, 3, ... of doubling length over A times the sum of E[Delta] under the
    epoch before, at most 2 (1 - 1/A) as claimed."""
    A = oracles.f.shape[-1]
    policy = uniform_policy(played(oracles))
    before = np.concatenate([np.full_like(policy[:, :1], 1 / A), policy[:, :-1]], axis=1)
    length = 2.0 ** np.arange(policy.shape[1])
    gap = oracles.f.max(axis=-1, keepdims=True) - oracles.f
    chance = oracles.weights[:, None, :, None] * length[None, :, None, None]
    regret = (chance * policy * gap[:, None]).sum(axis=(1, 2, 3))
    widths = A * (chance * before * oracles.delta).sum(axis=(1, 2, 3))
    out: Array = np.where(
        widths > 0, regret / np.where(widths > 0, widths, 1.0), np.where(regret > 0, 1e9, 0.0)
    )
    return out


@dataclass(frozen=True, eq=False)
class Worst:
    """The largest value found and where, the largest among the random starts, and how many were tried."""

    value: float
    start: float
    tried: int
    oracles: Oracles


def search(
    objective: Callable[[Oracles], Array],
    shape: Shape,
    steps: int,
    rng: np.random.Generator,
    chains: int = 64,
) -> Worst:
    """Climb ``steps`` times from random oracles."""
    cube = rng.random((chains, shape.dimension))
    value = objective(decode(shape, cube))
    start = float(value.max())
    for step in range(steps):
        proposal = _changed(cube, rng)
        new = objective(decode(shape, proposal))
        better = new >= value
        cube, value = np.where(better[:, None], proposal, cube), np.where(better, new, value)
        if step % 50 == 49:
            order = np.argsort(-value, kind="stable")
            cube[order[chains // 2 :]] = cube[order[: chains - chains // 2]]
            value[order[chains // 2 :]] = value[order[: chains - chains // 2]]
    best = int(value.argmax())
    return Worst(float(value[best]), start, chains * (steps + 1), decode(shape, cube[best : best + 1]))


def _changed(cube: Array, rng: np.random.Generator) -> Array:
    """A few numbers of each row changed: a step of any size, an end, or another number of the same row."""
    chains, size = cube.shape
    chosen = rng.random(cube.shape) < 1.5 / size
    chosen[np.arange(chains), rng.integers(size, size=chains)] = True
    stepped = cube + rng.standard_normal(cube.shape) * 10 ** rng.uniform(-4, 0, (chains, 1))
    ends = rng.choice([0.0, 0.5, 1.0], cube.shape)
    other = np.take_along_axis(cube, rng.integers(size, size=cube.shape), axis=1)
    kind = rng.random((chains, 1))
    changed = np.where(kind < 0.6, stepped, np.where(kind < 0.8, ends, other))
    out: Array = np.where(chosen, np.clip(changed, 0, 1), cube)
    return out
