"""A search for instances on which intervals barely cover: a family of designs as a cube, and its worst.

A design has a few groups of contexts: one alone, a pair of opposite ones, or all axes both ways. Each
group has a level, a place within the bin's norms (a tenth of the volume at
either edge is exactly that edge), a direction (axes and copies of the first one take up volume), and a mass
from below the activity threshold to all. theta* has any direction, gamma lies between 2 and 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from lpcb.arrays import Array
from lpcb.problem import Problem
from lpcb.spec import REPAIRED, Spec
from verification.claim import Setting
from verification.evidence.search import Found, maximise
from verification.experiments.coverage import Case, needed_factor, probe_excess, simulate
from verification.experiments.interval_cases import DELTA, HORIZON, N

GROUPS = 5
LEVELS = 4
FITS = 60
QUANTILE = 0.9
SHARP = 1e-9
"""How close to an edge "just inside" is."""


@dataclass(frozen=True)
class Family:
    """Designs of dimension d with GROUPS groups of contexts, at printed constants and alpha = 1."""

    d: int

    @property
    def dimension(self) -> int:
        return GROUPS * (4 + self.d) + self.d + 1

    def case(self, point: Array, name: str = "found by search") -> Case:
        """The design at a point of the unit cube."""
        d, x = self.d, np.asarray(point, dtype=np.float64)
        gamma = math.e if x[-1] < 0.4 else 2.001 * 4 ** ((x[-1] - 0.4) / 0.6)
        beta = None if x[-1] < 0.4 else math.log(gamma) / math.log(HORIZON)
        # Only for the place of thresholds and edges, which both variants share.
        spec = REPAIRED(d=d, actions=1, horizon=HORIZON, delta=DELTA, beta=beta)
        theta = _direction(x[-1 - d : -1])
        phi: list[Array] = []
        mass: list[float] = []
        for level, place, weight, shape, *direction in x[: GROUPS * (4 + d)].reshape(GROUPS, 4 + d):
            unit = np.array(direction)
            first = phi[0] / np.linalg.norm(phi[0]) if phi else _direction(unit)
            group = _group(shape, _near(first, unit))
            phi += [_norm(spec, level, place) * one for one in group]
            mass += [_mass(spec, weight) / len(group)] * len(group)
        weights = np.array(mass) / sum(mass)
        problem = Problem(np.stack(phi)[:, None, :], weights, theta, "sign", name)
        return Case(f"{name}, d={d}, gamma={gamma:.4g}", problem, N, 1.0, DELTA, HORIZON, beta=beta)


def _group(shape: float, direction: Array) -> list[Array]:
    if shape < 1 / 3:
        return [direction]
    if shape < 2 / 3:
        return [direction, -direction]
    return [sign * axis for axis in np.eye(len(direction)) for sign in (1, -1)]


def _norm(spec: Spec, level: float, place: float) -> float:
    k = min(int(level * LEVELS), LEVELS - 1)
    inner, outer = spec.gamma ** -(k + 1.0), spec.gamma ** -float(k)
    if place < 0.1:
        return float(inner * (1 + SHARP))
    if place > 0.9:
        return float(outer * (1 - SHARP))
    return float(inner * (outer / inner) ** ((place - 0.1) / 0.8))


def _direction(unit: Array) -> Array:
    """Uniform on the sphere; what is within a twentieth of the middle counts as 0, so axes occur."""
    normal = special.ndtri(np.clip(unit, 1e-6, 1 - 1e-6))
    normal = np.where(np.abs(unit - 0.5) < 0.05, 0.0, normal)
    size = float(np.linalg.norm(normal))
    return np.asarray(normal / size if size > 0 else np.eye(len(unit))[0])


def _near(first: Array, unit: Array) -> Array:
    """A direction of its own, or, in a fifth of the volume, within 1e-1 to 1e-6 of the first context's."""
    own = _direction(unit)
    if unit[0] >= 0.2:
        return own
    close = first + 10.0 ** -(1 + 25 * unit[0]) * own
    return np.asarray(close / np.linalg.norm(close))


def _mass(spec: Spec, unit: float) -> float:
    """From 0.7 times the threshold to 1, on a logarithmic scale."""
    threshold = min(spec.kappa1 * spec.gamma**2 * (spec.d + 1) ** 3 / math.sqrt(N), 0.2)
    return float(0.7 * threshold * (1 / (0.7 * threshold)) ** unit)


def margins(setting: Setting, one: Case, fits: int, seed: int) -> Array:
    """How badly each of ``fits`` oracles covers: the larger the worse, the same draws for equal seeds.

    Repaired: the factor on the widths that is needed, printed 1. Otherwise, where intervals fail outright,
    error less interval at the worst points.
    """
    spec = setting.spec(**one.parameters())
    data = simulate(spec, one.problem, one.n, fits, np.random.default_rng(seed))
    if setting.variant == "repaired" and not setting.without:
        return needed_factor(data)
    return probe_excess(data)[0]


def search(setting: Setting, d: int, budget: int, seed: int) -> tuple[Case, Found]:
    """The design with the worst margin found with ``budget`` evaluations."""
    family = Family(d)

    def objective(point: Array) -> float:
        try:
            return float(np.quantile(margins(setting, family.case(point), FITS, seed), QUANTILE))
        except ArithmeticError:  # an eigenvalue of 0 where the guard is switched off: no interval at all
            return -math.inf

    found = maximise(objective, family.dimension, budget, np.random.default_rng([seed, d]))
    return family.case(np.array(found.point)), found
