"""The worst over all families of a dimension at each horizon: the envelope that the theorem speaks of.

With a fixed number of bins regret is smaller, about ten times; that is judged apart. This one is not
judged by a window: its straight line is steep for a reason (:mod:`verification.experiments.far_levels`),
which is shown beside it. What would contradict the theorem is growth beyond the formula that explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpcb.arrays import Array
from verification.claim import Arrays
from verification.evidence.scaling import FEWEST, Slope, local_slopes, slope_any_x, slope_detectable
from verification.experiments.envelopes import WINDOW, Case, columns, decades
from verification.verdict import Evidence, Measure, Verdict

Part = tuple[Array, Array, dict[str, Any]]
"""Horizons, regret[seed, horizon] and the rest of one envelope."""


@dataclass(frozen=True, eq=False)
class Whole:
    """At each T the family with the largest mean regret: its seeds, its name, and the formula's largest."""

    d: int
    horizon: Array
    regret: Array
    predicted: Array
    names: tuple[str, ...]
    interior: bool

    @property
    def label(self) -> str:
        return f"d={self.d} scaled"


def whole_envelopes(data: Arrays, cases: Sequence[Case]) -> tuple[Whole, ...]:
    """One for every dimension in which levels were run beside a fixed number of bins, on common horizons."""
    found = []
    for d in sorted({case.d for case in cases if case.levels}):
        same = [case for case in cases if case.d == d and case.scale]
        parts = {case.name: columns(data, case.name) for case in same}
        common = sorted(set.intersection(*(set(T.tolist()) for T, _, _ in parts.values())))
        if len(same) > 1 and common:
            found.append(_whole(d, np.array(common), parts))
    return tuple(found)


def _whole(d: int, T: Array, parts: Mapping[str, Part]) -> Whole:
    regret, inside, names = worst_of(T, parts)
    predicted = [max(_at(t, own, rest["predicted"][0]) for own, _, rest in parts.values()) for t in T]
    return Whole(d, T, regret, np.array(predicted), names, inside)


def worst_of(T: Array, parts: Mapping[str, Part]) -> tuple[Array, bool, tuple[str, ...]]:
    """Seeds of the part with the largest mean at each T, whether all are inside their grids, their names."""
    names, worst, inside = [], [], []
    for t in T:
        name = max(parts, key=lambda name: _at(t, parts[name][0], parts[name][1].mean(axis=0)))
        own, regret, rest = parts[name]
        names.append(name)
        worst.append(regret[:, own == t][:, 0])
        inside.append(bool(_at(t, own, rest["interior"][0])))
    return np.stack(worst, axis=1), all(inside), tuple(names)


def _at(t: float, horizons: Array, values: Array) -> float:
    return float(values[horizons == t][0])


def theorem_logs(d: int, T: Array) -> Array:
    """(1/beta)^d ln(48dT/beta) at beta = 1/ln T: ln^(d+1) T as the chain of Theorem 4.6 has it."""
    return np.asarray(np.log(T) ** d * np.log(48 * d * T * np.log(T)))


def whole_evidence(whole: Whole, level: float) -> tuple[Evidence, dict[str, Measure]]:
    """HOLDS inside the window; REFUTED if regret outgrows the formula by as much as the window allows."""
    T, regret, check = whole.horizon, whole.regret, f"whole envelope, {whole.label}"
    if len(T) < FEWEST:
        raise ValueError(f"{check}: an exponent takes {FEWEST} horizons, not {len(T)}")
    plain = slope_any_x(T, regret, level, shared=False)
    divided = slope_any_x(T, regret / theorem_logs(whole.d, T), level, shared=False)
    over = slope_any_x(T, regret / whole.predicted, level, shared=False)
    ratio = regret.mean(axis=0) / whole.predicted
    low, high = plain.interval
    verdict: Verdict = "UNDECIDED"
    if whole.interior and WINDOW[0] <= low and high <= WINDOW[1]:
        verdict = "HOLDS"
    elif whole.interior and over.interval[0] > WINDOW[1] - 0.5:
        verdict = "REFUTED"
    where = "inside" if verdict == "HOLDS" else "not inside"
    steps = [s.value for s in local_slopes(T, regret, level, shared=False)]
    slopes = f"local slopes {listed(steps)}"
    evidence = Evidence(
        check=check,
        grade="fitted",
        role="supports",
        scope=f"the worst of all families at each T ({', '.join(dict.fromkeys(whole.names))}); "
        f"{decades(T):.1f} decades",
        verdict=verdict,
        value=plain.value,
        bound=WINDOW[1],
        interval=plain.interval,
        false_alarm=level,
        detectable=slope_detectable(plain),
        samples=plain.seeds,
        note=f"plain exponent {where} [{WINDOW[0]:g}, {WINDOW[1]:g}]; {divided.value:.3f} with the theorem's "
        f"ln^(d+1) T divided out; {slopes}. {_why(verdict, ratio, over)}",
        counterexample={"d": whole.d, "exponent over the formula": over.value, "instances": whole.names}
        if verdict == "REFUTED"
        else None,
    )
    measures = {
        f"exponent of the whole envelope, {whole.label}": Measure(plain.value, plain.interval, "", slopes),
        f"the same with ln^(d+1) T divided out, {whole.label}": Measure(divided.value, divided.interval),
        f"whole envelope over its formula, {whole.label}": Measure(
            float(ratio[-1]), (float(ratio.min()), float(ratio.max())), "", "at the last T, and over all T"
        ),
    }
    return evidence, measures


def _why(verdict: Verdict, ratio: Array, over: Slope) -> str:
    if verdict == "HOLDS":
        return "A straight line proves no order"
    if verdict == "REFUTED":
        return f"Regret outgrows the formula sqrt(T) ln^(d+1) T by T^{over.value:.3f}"
    return (
        "A straight line over this range says nothing about sqrt(T) up to logarithms either way: levels "
        f"start at one when learning starts. Simulated over predicted is {ratio.min():.3f} to "
        f"{ratio.max():.3f}"
    )


def listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)
