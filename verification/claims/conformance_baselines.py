"""Conformance: baselines behave as textbooks say, LinUCB without privacy first of all.

At a fixed gap LinUCB's regret is logarithmic, so the exponent 1/2 is that of the worst gap at each horizon.
Two actions with features (0.6, +-s) and theta = (1/2, 1/2) have gap s. Half of the seeds choose the worst s
at each horizon, the other half give its regret there. Acting uniformly beside it must have exponent 1.
"""

from __future__ import annotations

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines import BASELINES
from lpcb.problem import Problem
from verification.claim import Arrays, Check, Claim, Context, Experiment, Setting
from verification.evidence.scaling import slope, slope_detectable
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure, Series

WINDOW = (0.35, 0.65)
"""Around 1/2, with room for logarithms at short horizons; T^(2/3), of explore-then-commit, is outside."""
SEEDS = 1000
GAPS = {"quick": 4, "standard": 6, "thorough": 12}
HORIZONS = {
    "quick": (250, 500, 1000, 2000),
    "standard": (250, 500, 1000, 2000, 4000, 8000),
    "thorough": (250, 500, 1000, 2000, 4000, 8000, 16000, 32000),
}


def two_actions(s: float) -> Problem:
    return Problem(np.array([[[0.6, s], [0.6, -s]]]), np.ones(1), np.array([0.5, 0.5]), name=f"gap {s:g}")


def simulate(setting: Setting, rng: np.random.Generator) -> Arrays:
    """Regret (seeds, gaps, horizons) of LinUCB."""
    horizons = HORIZONS[setting.profile]
    curves = [
        BASELINES["linucb"].stream(two_actions(s), horizons[-1], 1.0, SEEDS, rng, horizons).regret
        for s in gaps(setting)
    ]
    return {"regret": np.stack(curves, axis=1)}


def gaps(setting: Setting) -> list[float]:
    """From 3/sqrt(T) at the longest horizon, where little can be learned, to the largest gap."""
    longest = HORIZONS[setting.profile][-1]
    return [float(s) for s in np.geomspace(3 / np.sqrt(longest), 0.8, GAPS[setting.profile])]


LINUCB = Experiment("linucb", simulate, {"quick": 1, "standard": 1, "thorough": 2})


def exponent(context: Context) -> Finding:
    """Slope of the envelope over gaps against the horizon."""
    horizons = HORIZONS[context.setting.profile]
    regret = context.result(LINUCB)["regret"]
    pilot, fresh = regret[::2], regret[1::2]
    worst = pilot.mean(axis=0).argmax(axis=0)
    envelope: Array = fresh[:, worst, np.arange(len(horizons))]
    fit = slope(horizons, envelope)
    inside = WINDOW[0] <= fit.interval[0] and fit.interval[1] <= WINDOW[1]
    outside = fit.interval[1] < WINDOW[0] or fit.interval[0] > WINDOW[1]
    uniform = _uniform(context.setting)
    chosen = [gaps(context.setting)[i] for i in worst]
    evidence = Evidence(
        check="LinUCB's exponent",
        grade="fitted",
        role="decides",
        scope=f"d = 2, two actions, worst of {regret.shape[1]} gaps, T from {horizons[0]} to {horizons[-1]}",
        verdict="HOLDS" if inside else "REFUTED" if outside else "UNDECIDED",
        value=fit.value,
        bound=WINDOW[1],
        interval=fit.interval,
        false_alarm=FALSE_ALARM,
        detectable=slope_detectable(fit),
        samples=regret.shape[0],
        note=f"window 1/3 to 2/3; worst gaps {[round(s, 3) for s in chosen]}; uniform play {uniform:.3f}",
        counterexample={"exponent": fit.value, "gaps": chosen} if outside else None,
    )
    figure = Figure(
        "Worst-case regret of LinUCB",
        "Mean regret at the worst gap of each horizon, and sqrt(T) through the last point.",
        "T",
        "regret",
        (
            Series("LinUCB", horizons, envelope.mean(axis=0).tolist(), style="points"),
            Series(
                "sqrt(T)",
                horizons,
                [float(envelope[:, -1].mean()) * (T / horizons[-1]) ** 0.5 for T in horizons],
                style="dashed",
            ),
        ),
        xlog=True,
        ylog=True,
    )
    measures = {"exponent of LinUCB": Measure(fit.value, fit.interval)}
    measures["exponent of uniform play"] = Measure(uniform, (uniform, uniform))
    return Finding((evidence,), measures, (figure,))


def _uniform(setting: Setting) -> float:
    """Of acting uniformly at the largest gap: expected regret is linear, without noise."""
    horizons = HORIZONS[setting.profile]
    curve = BASELINES["uniform"].stream(
        two_actions(0.8), horizons[-1], 1.0, 2, np.random.default_rng(0), horizons
    )
    return float(np.polyfit(np.log(horizons), np.log(curve.regret.mean(axis=0)), 1)[0])


BASELINES_CLAIM = Claim(
    id="conf-baselines",
    title="Conformance: baselines",
    statement=None,
    repaired=r"Without privacy LinUCB's worst-case regret grows like $\sqrt T$ up to logarithms.",
    method=(
        "LinUCB is run on two actions at several gaps; half of the seeds choose the worst gap at each "
        "horizon, the other half give the regret there, whose exponent must lie between 1/3 and 2/3."
    ),
    checks=(Check("exponent", exponent, random=True),),
    experiments=(LINUCB,),
    baselined=frozenset({"exponent of LinUCB"}),
)

CLAIMS = (BASELINES_CLAIM,)
