"""Worst regret of the baselines on the other families that the algorithm is run on, each at its own size.

On F(s) the size that hurts a baseline is known to scale like a power of T; elsewhere it is searched for at
every horizon: from the largest instance down by factors of 8 as long as gaps are large enough to cost more
than what was found, then closer around the worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines import BASELINES
from lpcb.baselines._epochs import FIRST
from lpcb.problem import Problem
from verification.claim import Arrays, Experiment, Setting
from verification.experiments import levels
from verification.experiments.baseline_envelopes import DOUBLINGS, FRESH, GRIDS
from verification.experiments.families import FAMILIES
from verification.verdict import Profile

Build = Callable[[float], Problem]


def _turned(build: Build) -> Build:
    """The same with theta reversed, so that the best action has the shorter features: what is optimistic
    prefers long ones."""

    def build_turned(s: float) -> Problem:
        problem = build(s)
        return replace(problem, theta=-problem.theta)

    return build_turned


def _places() -> dict[str, tuple[Build, float]]:
    found = {f.name: (f.build, f.largest) for f in FAMILIES[2] if f.name != "F(s)"}
    for family in (levels.FAMILIES["d=2 line"], levels.FAMILIES["d=2 pairs"]):
        found[family.name] = (family.build, levels.LARGEST)
    for name in ("line", "levels on a line", "pairs of levels"):
        build, largest = found[name]
        found[f"{name} reversed"] = (_turned(build), largest)
    return found


PLACES = _places()
"""Builders and largest sizes, d = 2."""
SEARCH = 4
STEPS = (6, 2, 1)
"""In units of a factor of sqrt(2)."""
UNIFORM = "uniform"
LEAST = 0.1
"""Regret in units of sqrt(T) below which no search goes: every algorithm has more at its worst."""


def elsewhere(setting: Setting) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Baselines and places: all in the thorough profile, none in quick. Uniform play is linear anywhere."""
    names = tuple(grid.name for grid in GRIDS if grid.name != UNIFORM)
    cheap = tuple(name for name in names if name != "linucb_doubling")
    chosen: dict[Profile, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "quick": ((), ()),
        "standard": (cheap, ("line reversed", "rare", "random 1")),
        "thorough": (names, tuple(PLACES)),
    }
    return chosen[setting.profile] if setting.variant == "repaired" and not setting.without else ((), ())


def column(name: str, place: str) -> str:
    return f"{name} on {place}"


def worst_size(
    cost: Callable[[float], float], most: Callable[[float], float], largest: float, least: float
) -> tuple[float, bool]:
    """The size with the largest ``cost``, and whether smaller and larger sizes were looked at too.

    A size costs at most ``most``, an increasing function of it; costs below ``least`` are of no interest.
    """
    known: dict[int, float] = {}

    def at(j: int) -> float:
        return largest * math.sqrt(0.5) ** j

    def look(j: int) -> None:
        if j >= 0 and j not in known:
            known[j] = cost(at(j))

    coarse, *finer = STEPS
    look(0)
    j = coarse
    while most(at(j)) > max(least, *known.values()):
        look(j)
        j += coarse
    for step in finer:
        while True:
            best = max(known, key=lambda j: known[j])
            left = [best + k * step for k in (-1, 1) if best + k * step >= 0 and best + k * step not in known]
            if not left:
                break
            for j in left:
                look(j)
    best = max(known, key=lambda j: known[j])
    return at(best), best > 0


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    names, places = elsewhere(setting)
    out: dict[str, Array] = {}
    horizons = [FIRST * (2**k - 1) for k in DOUBLINGS[setting.profile]]
    for name in names:
        for place in places:
            found = [_worst(name, *PLACES[place], T, rng) for T in horizons]
            key = column(name, place)
            out[f"{key}:regret"] = np.stack([regret for regret, _, _ in found], axis=1)
            out[f"{key}:size"] = np.array([[size for _, size, _ in found]])
            out[f"{key}:interior"] = np.array([[inside for _, _, inside in found]])
            out[f"{key}:horizon"] = np.array([horizons], dtype=np.float64)
    return out


def _worst(
    name: str, build: Build, largest: float, T: int, rng: np.random.Generator
) -> tuple[Array, float, bool]:
    simulate = BASELINES[name].aggregate
    if simulate is None:
        raise ValueError(f"baseline {name!r} has no aggregate form")
    size, inside = worst_size(
        lambda s: float(simulate(build(s), T, 1.0, SEARCH, rng, [T]).regret.mean()),
        lambda s: T * float(build(s).weights @ build(s).gaps.max(axis=1)),
        largest,
        LEAST * math.sqrt(T),
    )
    return simulate(build(size), T, 1.0, FRESH, rng, [T]).regret[:, 0], size, inside


BASELINE_WHOLES = Experiment("baseline-wholes", _run, {"quick": 1, "standard": 1, "thorough": 1})
