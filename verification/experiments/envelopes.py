"""Worst regret at each horizon, for the algorithm with printed and scaled constants and for baselines."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines import BASELINES
from lpcb.baselines._epochs import FIRST
from lpcb.problem import Problem, family_f
from lpcb.spec import Spec
from verification.claim import Arrays, Experiment, Setting
from verification.experiments.regret import (
    FAMILIES,
    LEVELS,
    SCALED,
    Family,
    spread_2,
    trace,
    whole_epochs,
    worst,
)
from verification.verdict import Profile


@dataclass(frozen=True)
class Case:
    """An envelope: dimension, factors on the constants, and horizons past its onset."""

    name: str
    d: int
    scale: tuple[tuple[str, float], ...]
    horizons: tuple[float, ...]
    families: tuple[Family, ...]
    levels: bool = False

    def spec(self, setting: Setting, horizon: int) -> Spec:
        return setting.spec(d=self.d, actions=2, horizon=horizon, **dict(self.scale))


def _near(families: tuple[Family, ...], keep: dict[str, slice]) -> tuple[Family, ...]:
    """The grids cut down to the neighbourhood of the maximum that the full search found."""
    return tuple(replace(f, factors=f.factors[keep[f.name]]) for f in families if f.name in keep)


def _scale(d: int) -> tuple[tuple[str, float], ...]:
    return tuple(SCALED[d].items())


PRINTED_1 = Case("d=1 printed", 1, (), (5e15, 1.5e17, 4e18), _near(FAMILIES[1], {"dense": slice(0, 4)}))
SCALED_1 = Case(
    "d=1 scaled",
    1,
    _scale(1),
    (1e8, 1e11, 1e14, 4e18),
    _near(FAMILIES[1], {"dense": slice(1, 4), "rare": slice(3, 6)}),
)
SCALED_2 = Case(
    "d=2 scaled",
    2,
    _scale(2),
    (1e12, 1e15, 4e18),
    _near(FAMILIES[2], {"F(s)": slice(2, 5), "line": slice(3, 6)}),
)
LEVELS_1 = Case("d=1 scaled, levels", 1, _scale(1), (1e10, 1e14, 4e18), (LEVELS[1],), levels=True)
"""Instances whose number of bins grows with ln T: the power of ln T that M stands for in the theorem."""
FULL: tuple[Case, ...] = (
    replace(PRINTED_1, horizons=(3e15, 2e16, 1.5e17, 1e18, 4e18), families=FAMILIES[1]),
    replace(SCALED_1, horizons=tuple(10.0**k for k in range(8, 19)), families=FAMILIES[1]),
    replace(SCALED_2, horizons=(1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 4e18), families=FAMILIES[2]),
    Case("d=3 scaled", 3, _scale(3), (1e13, 1e14, 1e15, 1e16, 1e17, 4e18), FAMILIES[3]),
    replace(LEVELS_1, horizons=tuple(10.0**k for k in range(10, 19))),
    Case("d=2 scaled, levels", 2, _scale(2), (1e14, 1e15, 1e16, 1e17, 4e18), (LEVELS[2],), levels=True),
)


def cases(setting: Setting) -> tuple[Case, ...]:
    """As printed, Algorithm 4 divides by zero at scaled constants; only printed ones are run."""
    chosen: dict[Profile, tuple[Case, ...]] = {
        "quick": (
            replace(PRINTED_1, horizons=(5e15, 4e18)),
            replace(SCALED_1, horizons=(1e8, 1e13, 4e18)),
        ),
        "standard": (PRINTED_1, SCALED_1, SCALED_2, LEVELS_1),
        "thorough": FULL,
    }
    return tuple(c for c in chosen[setting.profile] if setting.variant == "repaired" or not c.scale)


SEARCH = {"quick": 4, "standard": 6, "thorough": 8}
FRESH = {"quick": 48, "standard": 48, "thorough": 24}


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    """For each case: horizons, regret of fresh seeds at the worst instance, whether inside the grid."""
    out: dict[str, Array] = {}
    for case in cases(setting):
        spec_of = partial(case.spec, setting)
        found = [
            worst(
                spec_of(whole_epochs(spec_of, about)),
                case.families,
                SEARCH[setting.profile],
                FRESH[setting.profile],
                rng,
            )
            for about in case.horizons
        ]
        out[f"{case.name}:horizon"] = np.array([[float(w.horizon) for w in found]])
        out[f"{case.name}:interior"] = np.array([[w.interior for w in found]])
        out[f"{case.name}:bins"] = np.array([[w.run.problem.contexts / 2 for w in found]])
        out[f"{case.name}:regret"] = np.stack([w.run.total_regret for w in found], axis=1)
        out[f"{case.name}:covered"] = np.stack([w.run.covered.all(axis=1) for w in found], axis=1)
    return out


ENVELOPES = Experiment("regret-envelopes", _run, {"quick": 1, "standard": 1, "thorough": 4})


# --- best actions lost for good ---------------------------------------------------------------------------

LOST_HORIZONS: dict[Profile, tuple[float, ...]] = {
    "quick": (1e15, 4e18),
    "standard": (1e15, 1e16, 1e17, 4e18),
    "thorough": (1e15, 5e15, 2e16, 1e17, 5e17, 4e18),
}


def lost_instance(spec: Spec) -> Problem:
    """spread_2 with gap 2/sqrt(n), n the batch at which a bin with half of the users becomes active."""
    return spread_2(spec.alpha / (spec.kappa1 * spec.gamma**2 * (spec.d + 1) ** 3 / 0.5))


def _run_lost(setting: Setting, rng: np.random.Generator) -> Arrays:
    """Regret per round that no later epoch can avoid: the best action is out of play. Printed constants."""
    rates, horizons, covered = [], [], []
    for about in LOST_HORIZONS[setting.profile]:
        spec_of = partial(_lost_spec, setting)
        spec = spec_of(whole_epochs(spec_of, about))
        problem = lost_instance(spec)
        traced = trace(problem, spec, {"quick": 48, "standard": 48, "thorough": 48}[setting.profile], rng)
        last = traced.policy[-1]
        best_out = ((problem.gaps == 0) & (last == 0)).any(axis=2)
        rates.append((problem.weights * best_out * (last * problem.gaps).sum(axis=2)).sum(axis=1))
        horizons.append(float(spec.horizon))
        covered.append(traced.success[-1])
    regret = np.stack(rates, axis=1) * np.array(horizons)
    return {"regret": regret, "horizon": np.array([horizons]), "covered": np.stack(covered, axis=1)}


def _lost_spec(setting: Setting, horizon: int) -> Spec:
    return setting.spec(d=2, actions=2, horizon=horizon)


LOST = Experiment("lost-actions", _run_lost, {"quick": 1, "standard": 1, "thorough": 4})


# --- baselines --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BaselineGrid:
    """F(s) with s = size * T^-power times powers of two."""

    name: str
    power: float
    sizes: tuple[float, ...]
    expected: float


BASELINE_GRIDS = (
    BaselineGrid("uniform", 0.0, (0.86,), 1.0),
    BaselineGrid("elimination_ls", 0.5, (16.0, 32.0, 64.0, 128.0, 256.0), 0.5),
    BaselineGrid("linucb_doubling", 0.5, (8.0, 16.0, 32.0, 64.0, 128.0), 0.5),
    BaselineGrid("private_statistics", 0.25, (30.0, 36.0, 42.0, 50.0, 60.0, 71.0, 85.0, 101.0), 0.75),
    BaselineGrid("ldp_linucb_doubling", 0.25, (30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0), 0.75),
)


def baseline_grids(profile: Profile) -> tuple[BaselineGrid, ...]:
    """The quick profile looks at one of each exponent."""
    few = ("uniform", "elimination_ls", "private_statistics")
    return tuple(grid for grid in BASELINE_GRIDS if profile != "quick" or grid.name in few)


DOUBLINGS: dict[Profile, tuple[int, ...]] = {
    "quick": (36, 54),
    "standard": (32, 43, 54),
    "thorough": (30, 34, 38, 42, 46, 50, 54),
}


def _run_baselines(setting: Setting, rng: np.random.Generator) -> Arrays:
    """The worst of F(s) for each baseline at each horizon, and fresh seeds there."""
    out: dict[str, Array] = {}
    for grid in baseline_grids(setting.profile):
        simulate = BASELINES[grid.name].aggregate
        if simulate is None:
            raise ValueError(f"baseline {grid.name!r} has no aggregate form")
        columns, inside, horizons = [], [], []
        for doublings in DOUBLINGS[setting.profile]:
            T = FIRST * (2**doublings - 1)
            sizes = [min(0.86, size * T**-grid.power) for size in grid.sizes]
            means = [float(simulate(family_f(s), T, 1.0, 8, rng, [T]).regret.mean()) for s in sizes]
            at = int(np.argmax(means))
            columns.append(simulate(family_f(sizes[at]), T, 1.0, 40, rng, [T]).regret[:, 0])
            inside.append(0 < at < len(sizes) - 1 or len(sizes) == 1)
            horizons.append(float(T))
        out[f"{grid.name}:regret"] = np.stack(columns, axis=1)
        out[f"{grid.name}:interior"] = np.array([inside])
        out[f"{grid.name}:horizon"] = np.array([horizons])
    return out


BASELINE_ENVELOPES = Experiment(
    "baseline-envelopes", _run_baselines, {"quick": 1, "standard": 1, "thorough": 2}
)


def decades(horizon: Array) -> float:
    return math.log10(float(horizon.max() / horizon.min()))


def columns(data: Arrays, name: str) -> tuple[Array, Array, dict[str, Any]]:
    """(horizons, regret[seed, horizon], the rest) of a case; horizons are the same in every shard."""
    rest = {key.split(":")[1]: value for key, value in data.items() if key.startswith(f"{name}:")}
    return rest["horizon"][0], rest["regret"], rest
