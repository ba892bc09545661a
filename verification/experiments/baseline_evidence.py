"""What a user would run instead: exponents of the baselines, and when the algorithm overtakes them."""

from __future__ import annotations

from lpcb.arrays import Array
from verification.claim import Context
from verification.evidence.scaling import slope, slope_detectable
from verification.experiments.baseline_envelopes import BASELINE_ENVELOPES, BaselineGrid, baseline_grids
from verification.experiments.envelopes import ENVELOPES, band, cases, columns
from verification.experiments.overtaking import FACTORS, SLOW, overtakes, overtakes_simulated
from verification.experiments.whole_envelope import whole_envelopes
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure

BELOW, ABOVE = 0.05, 0.08
"""An exponent is what theory says if its interval lies within this of it; as for the algorithm itself."""


def baselines(context: Context) -> Finding:
    """Each baseline at its own worst F(s), its exponent against theory's."""
    data, grids = context.result(BASELINE_ENVELOPES), baseline_grids(context.setting)
    wholes = whole_envelopes(context.result(ENVELOPES), cases(context.setting))
    ours = [(whole.horizon, whole.regret.mean(axis=0)) for whole in wholes if whole.d == 2]
    evidence, measures, curves = [], {}, []
    for grid in grids:
        T, regret, rest = columns(data, grid.key)
        found = _exponent(grid, T, regret, bool(rest["interior"].all()), FALSE_ALARM / len(grids))
        evidence.append(found)
        measures[f"exponent, {grid.key}"] = Measure(found.value, found.interval, "", found.note)
        curves.append(band(grid.key, T, regret))
        if grid.key in SLOW:
            for name, width in FACTORS.items():
                where = overtakes(T, regret, width)
                note = "d = 2, a fixed number of bins; width formula against the baseline's T^(3/4)"
                measures[f"overtakes {grid.key}, {name} constants"] = Measure(
                    where, (where, where), "rounds", note
                )
            for our in ours:
                where = overtakes_simulated(our, (T, regret.mean(axis=0)))
                note = "d = 2, scaled constants: simulated whole envelope against the baseline's worst F(s)"
                measures[f"overtakes {grid.key}, simulated, at the latest"] = Measure(
                    where, (where, where), "rounds", note
                )
    caption = "Worst F(s) for each baseline at each T; user by user to T = 1e6, in aggregate beyond."
    figure = Figure("Baselines", caption, "T", "regret", tuple(curves), xlog=True, ylog=True)
    return Finding(tuple(evidence), measures, (figure,))


def _exponent(grid: BaselineGrid, T: Array, regret: Array, inside: bool, level: float) -> Evidence:
    fit = slope(T, regret, level, shared=False)
    low, high = grid.expected - BELOW, grid.expected + ABOVE
    shown = inside and low <= fit.interval[0] and fit.interval[1] <= high
    where = "" if inside else "; the maximum is on the edge of the grid: not its worst case"
    return Evidence(
        check=f"exponent of {grid.key}",
        grade="fitted",
        role="supports",
        scope=f"worst F(s), T = {T.min():.2g} to {T.max():.2g}",
        verdict="HOLDS" if shown else "UNDECIDED",
        value=fit.value,
        bound=high,
        interval=fit.interval,
        false_alarm=level,
        detectable=slope_detectable(fit),
        samples=fit.seeds,
        note=f"expected {grid.expected:g}{'; ' if grid.why else ''}{grid.why}{where}",
    )
