"""What one envelope shows: its exponent at a fixed number of bins, or how closely it follows its formula."""

from __future__ import annotations

from lpcb.arrays import Array
from verification.evidence.scaling import Slope, slope_any_x, slope_detectable
from verification.experiments.envelopes import WINDOW, Case, decades
from verification.verdict import Evidence, Verdict

WIDEST = 0.06
"""An interval wider than this decides nothing."""
FOLLOWS = (-0.02, 0.02)
"""Exponent of simulated over predicted regret on levels, if the prediction is right."""
BETWEEN = (0.8, 1.25)
"""Where simulated over predicted regret must lie at every horizon."""
COVERS = "interval over seeds and any one horizon left out"


def fixed_bins(case: Case, fit: Slope, inside: bool, note: str, span: float) -> Evidence:
    """The exponent on instances whose number of bins does not grow, against the window."""
    low, high = fit.interval
    names = ", ".join(family.name for family in case.families)
    verdict: Verdict = "UNDECIDED"
    if inside and WINDOW[0] <= low and high <= WINDOW[1] and high - low <= WIDEST:
        verdict = "HOLDS"
    elif inside and (low > WINDOW[1] or high < WINDOW[0]):
        verdict = "REFUTED"
    return Evidence(
        check=f"exponent at a fixed number of bins, {case.name}",
        grade="fitted",
        role="supports" if case.d > 2 else "decides",
        scope=f"envelope over {names}, not over levels; {span:.1f} decades past onset; {COVERS}",
        verdict=verdict,
        value=fit.value,
        bound=WINDOW[1],
        interval=fit.interval,
        false_alarm=fit.alpha,
        detectable=slope_detectable(fit),
        samples=fit.seeds,
        note=note,
        counterexample={"case": case.name, "exponent": fit.value} if verdict == "REFUTED" else None,
    )


def follows(
    case: Case, T: Array, regret: Array, expected: Array, level: float, inside: bool, note: str
) -> Evidence:
    """Runs against the formula; regret that outgrows it by more than the window's logarithms refutes."""
    ratio = regret.mean(axis=0) / expected
    fit = slope_any_x(T, regret / expected, level, shared=False)
    low, high = fit.interval
    near = BETWEEN[0] <= ratio.min() and ratio.max() <= BETWEEN[1]
    verdict: Verdict = "UNDECIDED"
    if inside and near and FOLLOWS[0] <= low and high <= FOLLOWS[1]:
        verdict = "HOLDS"
    elif inside and low > WINDOW[1] - 0.5:
        verdict = "REFUTED"
    return Evidence(
        check=f"follows its formula, {case.name}",
        grade="fitted",
        role="supports",
        scope=f"exponent of simulated over predicted regret, bins grow with ln T; {decades(T):.1f} decades; "
        f"{COVERS}",
        verdict=verdict,
        value=fit.value,
        bound=FOLLOWS[1],
        interval=fit.interval,
        false_alarm=level,
        detectable=slope_detectable(fit),
        samples=fit.seeds,
        note=f"simulated over predicted from {ratio.min():.3f} to {ratio.max():.3f}, nothing fitted; {note}",
        counterexample={"case": case.name, "exponent": fit.value} if verdict == "REFUTED" else None,
    )
