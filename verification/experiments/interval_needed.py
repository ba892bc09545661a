r"""How wide intervals must be: the factor on kappa_2 and kappa_3 that the repaired oracle needs to cover.

It hardly depends on the activation factor, and that is no accident. The guard keeps $\hat s_B \ge
\gamma^{-2k-2}/(2d)$, so the error along $\hat u$ is at most $2d\gamma^{k+2}$ times noise over
$\hat\psi_B n$, while the interval's first term is $\kappa_3\gamma^2(d+1)^4/(\hat\psi_B\sqrt n)$: a
rarer bin is known worse and says so, in the same proportion, down to bins that are active by noise alone.
With the smallest factor those occur, and for d <= 2 every bin of every layer is fitted there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpcb.compare import scaled_factors
from lpcb.spec import REPAIRED
from verification.claim import Arrays, Context, Experiment, Setting
from verification.evidence.quantiles import QuantileInterval, quantile_interval
from verification.experiments.coverage import found_factor, needed_factor, simulate
from verification.experiments.interval_cases import DELTA, Instance, at_threshold, case, inner_edges
from verification.verdict import FALSE_ALARM

ACTIVATIONS = (1.0, 0.01, 1e-4)
"""The last is that of the scaled specification (lpcb.compare)."""
HARDEST: tuple[Instance, ...] = (inner_edges, at_threshold)
"""Of all instances these needed the widest intervals."""
HORIZONS = (10**10, 10**18)
"""At which the scaled specification's widths are held against the needed ones."""
REPEATS = 300


@dataclass(frozen=True)
class Needed:
    """The (1 - delta)-quantile of the needed factor at one combination, worst over the instances.

    ``middle`` makes the certificate cover, so what is needed is at most that; ``found`` covers all probes of
    the same fits, so it is at least that.
    """

    d: int
    alpha: float
    activation: float
    instance: str
    middle: float
    found: float
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
    out, found = np.empty((2, REPEATS, len(combinations(setting)), len(HARDEST)))
    repaired = Setting("repaired", setting.profile, setting.seed)
    for i, (d, alpha, activation) in enumerate(combinations(setting)):
        for j, instance in enumerate(HARDEST):
            one = case(instance, d, alpha, activation)
            spec = repaired.spec(**one.parameters())
            # Above, noise makes no empty bin active.
            every = activation == min(ACTIVATIONS) and d <= 2
            data = simulate(spec, one.problem, one.n, REPEATS, rng, every)
            out[:, i, j], found[:, i, j] = needed_factor(data), found_factor(data)
    return {"needed": out, "found": found}


NEEDED = Experiment("needed-widths", _run, {"quick": 2, "standard": 3, "thorough": 8})


def needed_table(context: Context) -> list[Needed]:
    data, out = context.result(NEEDED), []
    factors = data["needed"]
    chosen = combinations(context.setting)
    for i, (d, alpha, activation) in enumerate(chosen):
        middles = [float(np.quantile(factors[:, i, j], 1 - DELTA)) for j in range(len(HARDEST))]
        worst = int(np.argmax(middles))
        interval = quantile_interval(factors[:, i, worst], 1 - DELTA, FALSE_ALARM / len(chosen))
        name = case(HARDEST[worst], d, alpha, activation).problem.name
        found = float(np.quantile(data["found"][:, i, worst], 1 - DELTA))
        out.append(Needed(d, alpha, activation, name, middles[worst], found, interval))
    return out


def scaled_over_needed(entries: list[Needed]) -> dict[str, tuple[float, float, float]]:
    """Widths of the scaled specification over the needed ones: (middle, low, high) by d and horizon.

    Algorithm 1 has delta = 1/T^2, whose logarithm makes its widths larger than those at DELTA for which
    the table was made. Above 1 a fit covers with probability 1 - DELTA at least on the instances looked at.
    """
    out = {}
    for d in sorted({entry.d for entry in entries}):
        of = [entry for entry in entries if entry.d == d and entry.activation == min(ACTIVATIONS)]
        if not of:
            continue
        hardest = max(of, key=lambda entry: entry.middle)
        for horizon in HORIZONS:
            printed = REPAIRED(d=d, actions=1, horizon=horizon)
            table = REPAIRED(d=d, actions=1, horizon=horizon, delta=DELTA)
            width = scaled_factors(d)[1] * printed.log_term(48) / table.log_term(48)
            ends = (hardest.interval.high, hardest.interval.low)
            out[f"d = {d}, T = {horizon:g}"] = (width / hardest.middle, width / ends[0], width / ends[1])
    return out
