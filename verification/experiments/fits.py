"""Update batches on trees and designs made to be hard: bins at the edge of a condition, any history above.

The lemmas of Section 4 hold conditionally on the layers above, whatever those have become. So the tree is
not fitted but laid down: layer l has direction e_l in every bin and a coefficient of our choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lpcb.arrays import Array, Ints
from lpcb.engines.aggregate import Crowd
from lpcb.lplr.update import Statistics, mechanisms, statistics
from lpcb.partition import Bins, Routed, descend, enter, key_level
from lpcb.problem import Problem
from lpcb.spec import Spec
from verification.claim import Setting
from verification.experiments.update import HORIZON
from verification.verdict import Profile

Shape = Literal["spread", "collinear", "edges"]
"""spread: phi_h along the axes. collinear: all but the last along one axis, that one 1e-3 off.
edges: lengths just inside both ends of the bin's range, in one direction."""
WILD = 1e4
"""A coefficient that no sensible fit has, but every fit with Laplace noise may have."""


@dataclass(frozen=True)
class Hard:
    """Bins of layer h, all of one mass, that only just meet a condition psi >= f(delta)/(alpha sqrt(n)).

    ``levels`` are the k_h of the bins; ``edge`` is the delta at which the condition is met with equality.
    """

    d: int
    h: int
    alpha: float
    shape: Shape
    levels: tuple[int, ...]
    edge: float = 0.01
    history: float = 0.5

    @property
    def name(self) -> str:
        history = ", wild history" if self.history == WILD else ""
        levels = ",".join(map(str, self.levels))
        return (
            f"d={self.d}, h={self.h}, alpha={self.alpha:g}, k={levels}, {self.shape}, {self.edge:g}{history}"
        )

    def spec(self, setting: Setting) -> Spec:
        return setting.spec(d=self.d, actions=1, horizon=HORIZON, alpha=self.alpha, delta=self.edge)

    @property
    def mass(self) -> float:
        """Of each bin; a single bin gets half, so that its count varies."""
        return 0.5 if len(self.levels) == 1 else 1 / len(self.levels)

    def users(self, threshold: Callable[[Spec], float], setting: Setting) -> int:
        """The smallest n at which the bins meet psi >= threshold(spec)/sqrt(n)."""
        return math.ceil((threshold(self.spec(setting)) / self.mass) ** 2)

    def problem(self, spec: Spec) -> Problem:
        features, weights = [], []
        for k in self.levels:
            points = _points(spec, self.h, k, self.shape)
            features += points
            weights += [self.mass / len(points)] * len(points)
        if len(self.levels) == 1:
            features.append(np.zeros(self.d))
            weights.append(0.5)
        # Against the residual: all of theta lies where this layer looks, equally on every axis.
        theta = np.zeros(self.d)
        theta[self.h - 1 :] = 1 / math.sqrt(self.d - self.h + 1)
        return Problem(np.array(features)[:, None, :], np.array(weights), theta, name=self.name)


def _points(spec: Spec, h: int, k: int, shape: Shape) -> list[Array]:
    """Vectors of a bin with level k on layer h, with as much along e_1 as the unit ball leaves."""
    outer, inner = spec.gamma**-k * (1 - 1e-12), spec.gamma ** -(k + 1) * (1 + 1e-9)
    axes = np.eye(spec.d)[h - 1 :]
    if shape == "spread":
        rest = [outer * axis for axis in axes]
    elif shape == "edges":
        rest = [outer * axes[0], inner * axes[0]]
    else:
        near = axes[0] + 1e-3 * axes[-1] if len(axes) > 1 else axes[0]
        rest = [outer * axes[0], -outer * axes[0], outer * near / np.linalg.norm(near)]
    above = np.zeros(spec.d)
    if h > 1 and k > 0:
        above[0] = 0.9 * math.sqrt(1 - outer**2)
    return [point + above for point in rest]


def nested(spec: Spec, rng: np.random.Generator, contexts: int = 48) -> Problem:
    """Contexts of all lengths from 1 down to gamma^-M, a few to a bin, some nearly collinear."""
    phi = rng.standard_normal((contexts, spec.d))
    phi[1::3] = phi[::3][: len(phi[1::3])] + 1e-3 * phi[1::3]
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    phi *= spec.gamma ** -rng.uniform(0, spec.M - 0.5, (contexts, 1))
    theta = rng.standard_normal(spec.d)
    theta /= np.linalg.norm(theta)
    return Problem(phi[:, None, :], np.full(contexts, 1 / contexts), theta, name="nested")


def laid_down(spec: Spec, h: int, keys: Ints, n: int, history: float) -> Bins:
    """Bins of layer h with direction e_h and coefficient ``history``, open; level M is inactive."""
    live = key_level(spec, keys) < spec.M
    u = np.zeros((len(keys), spec.d))
    u[live, h - 1] = 1.0
    rest = np.tile(np.eye(spec.d), (len(keys), 1, 1))
    for layer in range(h):
        rest[:, layer, layer] = 0.0
    s = np.where(live, 1.0, 0.0)
    return Bins(n, keys, np.ones(len(keys)), live, live, u, s, history * u, rest, np.zeros(len(keys)))


@dataclass(frozen=True, eq=False)
class Sums:
    """Private sums of every reached bin, (fits, bins, ...), with the population's values and the levels.

    ``at`` are the points on their way into these bins, ``weights`` their masses.
    """

    n: int
    keys: Ints
    k: Ints
    private: Statistics
    truth: Statistics
    at: Routed
    weights: Array
    theta: Array


def draw(hard: Hard, spec: Spec, n: int, fits: int, rng: np.random.Generator) -> Sums:
    """What servers know of the bins of layer h after independent update batches of n users."""
    problem = hard.problem(spec)
    crowd = Crowd(problem, spec, np.ones((fits, problem.contexts, 1)), n, rng)
    at = enter(spec, *crowd.points)
    for layer in range(1, hard.h):
        bins = laid_down(spec, layer, np.unique(at.keys), n, hard.history)
        at = descend(spec, at, bins, np.zeros(len(at.keys)))
    keys = np.unique(at.keys)
    private = mechanisms(spec, hard.h, keys).release_sum(statistics(spec, at, keys, *crowd.batch()), n, rng)
    weights, means = crowd.population()
    truth = statistics(spec, at, keys, weights, means)
    levels = key_level(spec, keys).reshape(fits, -1)
    return Sums(n, keys, levels, by_fit(private, fits), by_fit(truth, fits), at, weights, problem.theta)


def by_fit(table: Statistics, fits: int) -> Statistics:
    def split(x: Array) -> Array:
        return x.reshape(fits, -1, *x.shape[1:])

    return Statistics(split(table.count), split(table.vector), split(table.matrix))


def flat(table: Statistics) -> Statistics:
    """The inverse of :func:`by_fit`."""

    def join(x: Array) -> Array:
        return x.reshape(-1, *x.shape[2:])

    return Statistics(join(table.count), join(table.vector), join(table.matrix))


QUICK = (
    Hard(1, 1, 1.0, "edges", (0, 6)),
    Hard(2, 2, 1.0, "spread", (0, 1, 2, 3, 4, 5, 6)),
    Hard(2, 2, 1.0, "collinear", (1, 3), history=WILD),
    Hard(4, 1, 0.1, "collinear", (3,), edge=0.5),
)
MORE = (
    Hard(1, 1, 0.1, "edges", (6,), edge=0.5),
    Hard(1, 1, 0.5, "spread", (0, 2, 4, 6)),
    Hard(2, 1, 0.1, "collinear", (0, 3), edge=0.05),
    Hard(2, 1, 0.5, "spread", (0, 6)),
    Hard(2, 2, 0.1, "edges", (6,), edge=0.5),
    Hard(3, 1, 1.0, "edges", (0,), edge=0.2),
    Hard(3, 2, 0.5, "spread", (0, 2, 4, 6)),
    Hard(3, 3, 0.1, "collinear", (1, 5), history=WILD),
    Hard(4, 1, 1.0, "spread", (0, 1, 2, 3, 4, 5, 6)),
    Hard(4, 3, 0.5, "collinear", (0, 6)),
    Hard(4, 4, 1.0, "edges", (2, 6), edge=0.2),
    # With these every d has every alpha = 0.1, 0.5 and 1 at each delta down to 0.01, with a tame history.
    Hard(1, 1, 0.1, "edges", (0, 6)),
    Hard(2, 2, 0.1, "spread", (0, 3, 6)),
    Hard(3, 3, 1.0, "spread", (0, 4)),
    Hard(3, 2, 0.1, "spread", (1, 5)),
    Hard(4, 2, 0.1, "edges", (0, 5)),
)
HARD: dict[Profile, tuple[Hard, ...]] = {
    "quick": QUICK,
    "standard": (*QUICK, *MORE),
    "thorough": (*QUICK, *MORE),
}
FITS = 3000
"""Independent batches per shard and configuration."""
