"""How wide intervals must be: the factor on kappa_2 and kappa_3 that the repaired oracle needs to cover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verification.claim import Arrays, Context, Experiment, Setting
from verification.evidence.quantiles import QuantileInterval, quantile_interval
from verification.experiments.coverage import needed_factor, simulate
from verification.experiments.interval_cases import DELTA, Instance, at_threshold, case, inner_edges
from verification.verdict import FALSE_ALARM

ACTIVATIONS = (1.0, 0.1, 0.01)
HARDEST: tuple[Instance, ...] = (inner_edges, at_threshold)
"""Of all instances these needed the widest intervals."""
REPEATS = 300


@dataclass(frozen=True)
class Needed:
    """The (1 - delta)-quantile of the needed factor at one combination, worst over the instances."""

    d: int
    alpha: float
    activation: float
    instance: str
    middle: float
    interval: QuantileInterval

    @property
    def name(self) -> str:
        return f"d = {self.d}, alpha = {self.alpha:g}, activation {self.activation:g}"


def combinations(setting: Setting) -> list[tuple[int, float, float]]:
    """(d, alpha, activation); the table belongs to the repaired algorithm, other variants get one entry."""
    if setting.variant != "repaired" or setting.without:
        return [(1, 1.0, 1.0)]
    if setting.profile == "quick":
        return [(d, 1.0, activation) for activation in ACTIVATIONS for d in (1, 2)]
    return [(d, alpha, a) for a in ACTIVATIONS for alpha in (0.1, 0.5, 1.0) for d in (1, 2, 3, 4)]


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    """Shape (fits, combinations, instances); intervals as repaired, whatever the variant asked for."""
    out = np.empty((REPEATS, len(combinations(setting)), len(HARDEST)))
    repaired = Setting("repaired", setting.profile, setting.seed)
    for i, (d, alpha, activation) in enumerate(combinations(setting)):
        for j, instance in enumerate(HARDEST):
            one = case(instance, d, alpha, activation)
            data = simulate(repaired.spec(**one.parameters()), one.problem, one.n, REPEATS, rng)
            out[:, i, j] = needed_factor(data)
    return {"needed": out}


NEEDED = Experiment("needed-widths", _run, {"quick": 2, "standard": 3, "thorough": 20})


def needed_table(context: Context) -> list[Needed]:
    factors, out = context.result(NEEDED)["needed"], []
    chosen = combinations(context.setting)
    for i, (d, alpha, activation) in enumerate(chosen):
        middles = [float(np.quantile(factors[:, i, j], 1 - DELTA)) for j in range(len(HARDEST))]
        worst = int(np.argmax(middles))
        interval = quantile_interval(factors[:, i, worst], 1 - DELTA, FALSE_ALARM / len(chosen))
        name = case(HARDEST[worst], d, alpha, activation).problem.name
        out.append(Needed(d, alpha, activation, name, middles[worst], interval))
    return out
