"""Views of a server deep in an epoch, and the worst loss that a user's report can suffer there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpcb.engines.aggregate import Crowd, fit_components, fit_layer
from lpcb.lplr.ci import cap, interval
from lpcb.lplr.update import Statistics, residual_range
from lpcb.mechanisms import Mechanism
from lpcb.partition import Bins, descend, edges, enter, layer_keys
from lpcb.problem import Problem
from lpcb.protocol import Client, View
from lpcb.spec import Spec

User = tuple[list[float], int, float]
"""(phi, action, y)"""


def view_after(spec: Spec, problem: Problem, batches: int, rng: np.random.Generator, n: int = 10**10) -> View:
    """What a server publishes after ``batches`` batches of n users who act uniformly."""
    policy = np.full((1, problem.contexts, problem.actions), 1 / problem.actions)
    crowd = Crowd(problem, spec, policy, n, rng)
    at = enter(spec, *crowd.points)
    layers: tuple[Bins, ...] = ()
    for h in range(1, batches // 2 + 1):
        parents = layers[-1] if layers else None
        keys = layer_keys(spec, h, spec.actions)
        layers = (*layers, fit_layer(spec, n, h, keys, parents, at, crowd.batch, rng))
        at = descend(spec, at, layers[-1], interval(spec, at, layers[-1]))
    h, parents = batches // 2 + 1, layers[-1] if layers else None
    if batches % 2 == 0:
        return View(spec, 1, h, "update", layers, None, ())
    keys = layer_keys(spec, h, spec.actions)
    fit = fit_components(spec, n, h, keys, parents, at, crowd.batch, rng)
    return View(spec, 1, h, "interval", layers, fit, ())


@dataclass(frozen=True)
class Worst:
    """The worst loss of a release: an upper bound over all pairs of users, and a pair that comes close."""

    upper: float
    attained: float
    pair: tuple[User, User]

    def as_dict(self) -> dict[str, object]:
        names = ("phi", "action", "y")
        one, two = (dict(zip(names, user, strict=True)) for user in self.pair)
        return {"one": one, "two": two, "loss": self.attained, "upper": self.upper}


def users(view: View, rng: np.random.Generator, extra: int = 24) -> list[User]:
    """Users likely to be worst: at the outer edge of a bin, phi_h along a diagonal of what is left of space.

    On the first layer these are (+-1, ..., +-1)/sqrt(d) times gamma^-k. Further down a part along the
    directions above is added, so that the user arrives in bins of every kind.
    """
    spec = view.spec
    signs = np.array(list(itertools.product([1.0, -1.0], repeat=spec.d)))
    vectors = [signs / np.sqrt(spec.d)]
    if view.layers:
        last = view.layers[-1]
        rest = last.rest[last.active]
        along = np.einsum("nij,mj->nmi", rest, signs).reshape(-1, spec.d)
        vectors += [along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)]
    if view.components is not None:
        vectors.append(view.components.u[view.components.active])
    corners = np.concatenate(vectors)
    corners = corners[np.linalg.norm(corners, axis=1) > 0.5]
    chosen = corners[rng.integers(len(corners), size=extra)]
    inner = chosen * edges(spec)[rng.integers(spec.M, size=extra)][:, None]
    above = np.concatenate([bins.u[bins.active] for bins in view.layers] or [np.zeros((1, spec.d))])
    mixed = inner + above[rng.integers(len(above), size=extra)] * rng.uniform(-1, 1, (extra, 1))
    points = np.concatenate([corners, corners / spec.gamma, inner, mixed])
    points = points[np.linalg.norm(points, axis=1) <= 1 + 1e-12] * (1 - 1e-15)
    return [
        (phi.tolist(), action, y)
        for phi in points
        for action in range(min(spec.actions, 3))
        for y in (1.0, -1.0)
    ]


def worst_update(view: View, statistic: str, rng: np.random.Generator) -> Worst:
    """Of one statistic ("count", "vector", "matrix") or of all three ("joint")."""
    client = Client(0, view.spec)
    people = users(view, rng)
    tables = [client.statistics(view, *user) for user in people]
    names = ("count", "vector", "matrix") if statistic == "joint" else (statistic,)

    def loss(one: Statistics, two: Statistics) -> float:
        return sum(_mechanism(view, name).loss(getattr(one, name), getattr(two, name)) for name in names)

    return _worst(people, tables, loss, sum(_upper(view, name) for name in names))


def worst_interval(view: View, rng: np.random.Generator) -> Worst:
    """Of the release of Algorithm 5: each of two cells changes by at most cap units; none on layer 1."""
    client = Client(0, view.spec)
    people = users(view, rng)
    tables = [client.errors(view, *user) for user in people]
    upper = 0.0 if view.layer == 1 else 2 * cap(view.spec) * view.interval.epsilon / view.interval.sensitivity
    return _worst(people, tables, view.interval.loss, upper)


Loss = Callable[[Any, Any], float]


def _worst(people: Sequence[User], tables: Sequence[Any], loss: Loss, upper: float) -> Worst:
    """The worst pair found: the users furthest from one fixed user, then everybody against those."""
    far = sorted(range(len(people)), key=lambda i: -loss(tables[i], tables[0]))[:4]
    best = max(
        ((loss(tables[i], tables[j]), i, j) for i in far for j in range(len(people))),
        key=lambda found: found[0],
    )
    return Worst(upper, best[0], (people[best[1]], people[best[2]]))


def _upper(view: View, statistic: str) -> float:
    """The triangle inequality: what one user can put into a cell, times the cells a change touches.

    Unit vectors of a subspace with projector R have l1 norm at most max |R sigma| over signs sigma, and
    their square's upper triangle (l1^2 + 1)/2. As printed, the dummy's count changes two further cells.
    """
    spec, h = view.spec, view.layer
    mechanism = _mechanism(view, statistic)
    per_unit = mechanism.epsilon / mechanism.sensitivity
    if statistic == "count":
        return per_unit * (2 if spec.has("joint-actions") or spec.actions == 1 else 4)
    l1 = _largest_l1(view)
    if statistic == "matrix":
        return per_unit * (l1**2 + 1) if spec.has("symmetric-noise") else math.inf
    bounded = h == 1 or spec.has("residual-range")
    return per_unit * 2 * l1 * residual_range(spec, h) if bounded else math.inf


def _mechanism(view: View, statistic: str) -> Mechanism:
    mechanism: Mechanism = getattr(view.update, statistic)
    return mechanism


def _largest_l1(view: View) -> float:
    d = view.spec.d
    if not view.layers:
        return math.sqrt(d)
    signs = np.array(list(itertools.product([1.0, -1.0], repeat=d)))
    projected = np.einsum("nij,mj->nmi", view.layers[-1].rest, signs)
    return float(np.linalg.norm(projected, axis=-1).max())
