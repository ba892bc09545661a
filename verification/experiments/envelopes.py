"""Worst regret at each horizon, for the algorithm with printed and with scaled constants."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from lpcb.arrays import Array
from lpcb.problem import Problem
from lpcb.spec import Spec
from verification.claim import Arrays, Experiment, Setting
from verification.experiments import levels
from verification.experiments.families import FAMILIES, Family, Worst, spread_2, worst
from verification.experiments.regret import SCALED, trace, whole_epochs
from verification.verdict import Profile, Series

WINDOW = (0.45, 0.58)
"""Where the exponent of an envelope must lie: 1/2, and up to 0.08 for two powers of ln T."""


@dataclass(frozen=True)
class Case:
    """An envelope: dimension, factors on the constants, horizons past its onset, families of instances.

    ``levels`` names the family of :mod:`verification.experiments.levels` whose regret is predicted.
    """

    name: str
    d: int
    scale: tuple[tuple[str, float], ...]
    horizons: tuple[float, ...]
    families: tuple[Family, ...]
    levels: str | None = None

    def spec(self, setting: Setting, horizon: int) -> Spec:
        return setting.spec(d=self.d, actions=2, horizon=horizon, **dict(self.scale))


def _near(families: tuple[Family, ...], keep: dict[str, slice]) -> tuple[Family, ...]:
    """The grids cut down to the neighbourhood of the maximum that the full search found."""
    return tuple(replace(f, factors=f.factors[keep[f.name]]) for f in families if f.name in keep)


def _scale(d: int) -> tuple[tuple[str, float], ...]:
    return tuple(SCALED[d].items())


PRINTED_1 = Case("d=1 printed", 1, (), (5e15, 5e16, 5e17, 4e18), _near(FAMILIES[1], {"dense": slice(0, 4)}))
"""From 5e15 on, chosen after a look: as printed the worst at 3e15 is rare with p = 0.9, its family's end."""
SCALED_1 = Case(
    "d=1 scaled",
    1,
    _scale(1),
    (1e10, 1e12, 1e14, 1e16, 4e18),
    _near(FAMILIES[1], {"dense": slice(1, 4), "rare": slice(3, 6)}),
)
"""From 1e10 on: at 1e9 the scaled constants are not shown to be wide enough (lemma-4.5-coverage)."""
SCALED_2 = Case(
    "d=2 scaled",
    2,
    _scale(2),
    (1e12, 1e13, 1e15, 1e17, 4e18),
    _near(
        FAMILIES[2],
        {"F(s)": slice(2, 5), "line": slice(3, 6), "random 1": slice(5, 10), "random 3": slice(3, 6)},
    ),
)
BESIDE = (0.5, 0.7, 0.85, 0.97, 1.1, 1.4, 2.0)
"""Sizes of levels instances, in units of the predicted worst."""


def _levels(name: str, d: int, horizons: tuple[float, ...], beside: tuple[float, ...] = BESIDE) -> Case:
    """Instances whose number of bins grows with ln T: the power of ln T that M stands for in the theorem."""
    chosen = levels.FAMILIES[name]
    unit = partial(levels.worst_size, family=chosen)
    family = Family(chosen.name, chosen.build, levels.LARGEST, beside, unit)
    return Case(f"{name} scaled, {chosen.name}", d, _scale(d), horizons, (family,), name)


LEVELS_1 = _levels("d=1", 1, SCALED_1.horizons, BESIDE[1:-1])
LINE_2 = _levels("d=2 line", 2, SCALED_2.horizons[1:], BESIDE[1:-1])
PAIRS_2 = _levels("d=2 pairs", 2, SCALED_2.horizons[1:], BESIDE[1:-1])
ALL_1 = (1e10, 1e11, 1e12, 1e14, 1e16, 4e18)
ALL_3 = (1e13, 1e14, 1e15, 1e17, 4e18)
ALL_2 = (1e13, 1e14, 1e15, 1e16, 1e17, 4e18)
FULL: tuple[Case, ...] = (
    replace(PRINTED_1, horizons=(5e15, 2e16, 1.5e17, 1e18, 4e18), families=FAMILIES[1]),
    replace(SCALED_1, horizons=ALL_1, families=FAMILIES[1]),
    replace(SCALED_2, horizons=(1e12, *ALL_2), families=FAMILIES[2]),
    Case("d=3 scaled", 3, _scale(3), ALL_3, FAMILIES[3]),
    _levels("d=1", 1, ALL_1),
    _levels("d=2 line", 2, ALL_2),
    _levels("d=2 pairs", 2, ALL_2),
    _levels("d=3 line", 3, ALL_3),
    _levels("d=3 triples", 3, ALL_3),
)
CHEAP = (1e10, 1e12, 1e14, 3e16)


def cases(setting: Setting) -> tuple[Case, ...]:
    """As printed, Algorithm 4 divides by zero at scaled constants; only printed ones are run, and so it is
    with a repair switched off, where nothing but lost actions is at stake."""
    chosen: dict[Profile, tuple[Case, ...]] = {
        "quick": (PRINTED_1, replace(SCALED_1, horizons=CHEAP), replace(LEVELS_1, horizons=CHEAP)),
        "standard": (PRINTED_1, SCALED_1, SCALED_2, LEVELS_1, LINE_2, PAIRS_2),
        "thorough": FULL,
    }
    all_of_them = setting.variant == "repaired" and not setting.without
    return tuple(c for c in chosen[setting.profile] if all_of_them or not c.scale)


SEARCH = {"quick": 4, "standard": 6, "thorough": 6}
FRESH = {"quick": 240, "standard": 240, "thorough": 96}
"""Raised from 48 after a look: the interval at d = 1 was 0.08 to 0.09 wide, and 0.06 is allowed. The windows
were left as they were."""


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
        out[f"{case.name}:predicted"] = np.array([[_predicted(case, spec_of(w.horizon), w) for w in found]])
        out[f"{case.name}:regret"] = np.stack([w.run.total_regret for w in found], axis=1)
        out[f"{case.name}:covered"] = np.stack([w.run.covered.all(axis=1) for w in found], axis=1)
    return out


def _predicted(case: Case, spec: Spec, found: Worst) -> float:
    """The largest of the regrets predicted on the instances that were searched; 0 without a prediction."""
    if case.levels is None:
        return 0.0
    family = levels.FAMILIES[case.levels]
    return max(levels.predicted(spec, family, size) for _, size, _ in found.searched)


ENVELOPES = Experiment("regret-envelopes", _run, {"quick": 1, "standard": 1, "thorough": 1})


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


def decades(horizon: Array) -> float:
    return math.log10(float(horizon.max() / horizon.min()))


def columns(data: Arrays, name: str) -> tuple[Array, Array, dict[str, Any]]:
    """(horizons, regret[seed, horizon], the rest) of a case; horizons are the same in every shard."""
    rest = {key.split(":")[1]: value for key, value in data.items() if key.startswith(f"{name}:")}
    return rest["horizon"][0], rest["regret"], rest


def band(label: str, T: Array, regret: Array) -> Series:
    """Mean over seeds, from the smallest to the largest."""
    bands = [regret.mean(axis=0), regret.min(axis=0), regret.max(axis=0)]
    mean, low, high = ([float(v) for v in band] for band in bands)
    return Series(label, [float(t) for t in T], mean, low, high)
