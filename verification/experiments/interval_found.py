"""Designs that a search for the widest needed intervals ended in, kept as instances, rounded to five digits.

From a cube of designs (:mod:`verification.experiments.interval_search`), 1000 and 1500 looked at for d = 1
and 2, seed 2. They need as much as the design made by hand, all users at the inner edges of their bins, and
look like it: users in all directions alike, close to inner edges, masses over two orders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array
from lpcb.problem import Problem
from verification.experiments.coverage import Case


@dataclass(frozen=True)
class Group:
    """Users at ``size`` in both directions of each axis in ``axes``, with this mass together."""

    size: float
    mass: float
    axes: tuple[int, ...]


FOUND: dict[int, tuple[float, tuple[float, ...], tuple[Group, ...]]] = {
    1: (
        3.7,
        (-1.0,),
        (
            Group(0.1948, 0.97108, (0,)),
            Group(0.10818, 0.00274, (0,)),
            Group(0.07306, 0.02414, (0,)),
            Group(0.27029, 0.00022, (0,)),
            Group(0.00632, 0.00182, (0,)),
        ),
    ),
    2: (
        math.e,
        (-0.18233, -0.98323),
        (
            Group(0.02609, 0.00848, (0, 1)),
            Group(0.11498, 0.35928, (0, 1)),
            Group(0.02664, 0.05900, (0,)),
            Group(0.05639, 0.56714, (0,)),
            Group(0.37591, 0.00612, (0, 1)),
        ),
    ),
}
"""d -> (gamma, theta, groups)."""


def found_by_search(d: int, n: int, delta: float, horizon: int) -> Case:
    """The design for d, at printed constants and alpha = 1."""
    gamma, theta, groups = FOUND[d]
    phi: list[Array] = []
    mass: list[float] = []
    for group in groups:
        points = [sign * group.size * np.eye(d)[axis] for axis in group.axes for sign in (1, -1)]
        phi += points
        mass += [group.mass / len(points)] * len(points)
    weights = np.array(mass) / sum(mass)
    problem = Problem(np.stack(phi)[:, None, :], weights, np.array(theta), "sign", "found by search")
    beta = None if gamma == math.e else math.log(gamma) / math.log(horizon)
    return Case(f"found by search, d={d}", problem, n, 1.0, delta, horizon, beta=beta)
