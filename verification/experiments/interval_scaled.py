"""Fits with widths scaled down to what is needed: there a narrower interval or a missing term shows.

At the printed constants intervals are thousands of times too wide, and no error in them would be seen.
"""

from __future__ import annotations

import numpy as np

from lpcb.arrays import Array
from verification.claim import Arrays, Context, Experiment, Setting
from verification.evidence.rate_curves import DELTAS, Point, rate_figure, rate_of_fits, worst
from verification.evidence.tails import rate_detectable
from verification.experiments.coverage import Fits, probe_excess, simulate
from verification.experiments.interval_cases import (
    DELTA,
    Instance,
    at_edges,
    case,
    generic,
    inner_edges,
    ratios,
)
from verification.verdict import FALSE_ALARM, Evidence, Finding, Profile

FITS = {0.5: 100, 0.2: 250, 0.05: 750, 0.01: 2400}
"""Per shard: a rate of a tenth of delta is told from delta, and one of five times delta."""
FEW = 200
Chosen = tuple[Instance, int, float, float]
"""Instance, d, alpha, and the factor on kappa_2 and kappa_3 at which a tenth of delta of the fits fail."""
WIDTHS: dict[str, tuple[Chosen, ...]] = {
    "probe": ((inner_edges, 1, 1.0, 6.2e-4), (inner_edges, 2, 1.0, 3.8e-4), (at_edges, 2, 1.0, 1.2e-4)),
    "a4_low": ((at_edges, 2, 1.0, 4.4e-3), (generic, 2, 1.0, 3.7e-3)),
}
"""For each question; chosen on seeds of their own, and only to support."""
MORE: dict[str, tuple[Chosen, ...]] = {
    "probe": (
        (inner_edges, 3, 1.0, 2.5e-4),
        (inner_edges, 4, 1.0, 1.8e-4),
        (inner_edges, 1, 0.1, 6.2e-4),
        (inner_edges, 2, 0.5, 3.8e-4),
        (inner_edges, 2, 0.1, 3.8e-4),
    ),
    "a4_low": ((at_edges, 2, 0.5, 4.4e-3), (at_edges, 2, 0.1, 4.4e-3)),
}
"""Factors are those of alpha = 1: thresholds, noise and widths all go with 1/alpha."""


def chosen(profile: Profile, name: str) -> tuple[Chosen, ...]:
    return WIDTHS[name] if profile == "quick" else (*WIDTHS[name], *MORE[name])


def deltas(setting: Setting) -> tuple[float, ...]:
    """All of them for the repaired algorithm; otherwise the one at which the rows are decided."""
    return DELTAS if setting.variant == "repaired" and not setting.without else (DELTA,)


def _excess(name: str, data: Fits) -> Array:
    return probe_excess(data)[0] if name == "probe" else ratios(data)[name]


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    """Keys are "question/delta", shapes (fits, instances)."""
    out = {}
    for name in WIDTHS:
        for delta in deltas(setting):
            columns = []
            for instance, d, alpha, width in chosen(setting.profile, name):
                one = case(instance, d, alpha, delta=delta)
                spec = setting.spec(**(one.parameters() | {"width": width}))
                fits = FEW if setting.without else FITS[delta]
                columns.append(_excess(name, simulate(spec, one.problem, one.n, fits, rng)))
            out[f"{name}/{delta:g}"] = np.stack(columns, axis=1)
    return out


SCALED = Experiment("scaled-widths", _run, {"quick": 2, "standard": 3, "thorough": 6})


def scaled_finding(context: Context, name: str, what: str) -> Finding:
    """The failure rate at the scaled widths against delta; supports, since the claim has printed ones."""
    asked = deltas(context.setting)
    evidence, points = zip(*(_at(context, name, what, delta, len(asked)) for delta in asked), strict=True)
    curves = {"widths scaled down": points}
    return Finding(tuple(evidence), {}, (rate_figure(curves, "a point not covered", level=FALSE_ALARM / 4),))


def _at(context: Context, name: str, what: str, delta: float, shares: int) -> tuple[Evidence, Point]:
    failed = context.result(SCALED)[f"{name}/{delta:g}"] > 0
    budget = FALSE_ALARM / shares
    level = budget / failed.shape[1]
    rates = [rate_of_fits(column, delta, level) for column in failed.T]
    at, verdict = worst(rates)
    instance, d, alpha, width = chosen(context.setting.profile, name)[at]
    one, rate = case(instance, d, alpha, delta=delta), rates[at]
    example = {"instance": one.name, "width": width, "delta": delta, "rate": rate.rate}
    evidence = Evidence(
        check=f"{what}, delta = {delta:g}",
        grade="tested",
        role="supports",
        scope=f"{len(rates)} instances with kappa_2 and kappa_3 scaled, worst: {one.name}, factor {width:g}",
        verdict=verdict,
        value=rate.rate,
        bound=delta,
        interval=rate.interval,
        false_alarm=budget,
        detectable=rate_detectable(len(failed), delta, level)[1],
        samples=sum(one.n for one in rates),
        note=f"{rate.failures} of {rate.n} fits fail at {width:g} times the printed widths",
        counterexample=example if verdict == "REFUTED" else None,
    )
    return evidence, Point(delta, rate.failures, rate.n)
