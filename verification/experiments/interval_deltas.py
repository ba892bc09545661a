"""Fitted oracles at several delta, printed constants: every bound of Lemmas 4.4, 4.5 and A.3 to A.6.

Thresholds and widths change with delta, so each delta has fits of its own. The share of fits that fail is
compared with what is claimed at that delta, and beside it the share that would fail were the bound a fixed
small fraction of the printed one, where a rate is seen at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lpcb.arrays import Array, Bools
from verification.claim import Arrays, Context, Experiment, Setting
from verification.evidence.rate_curves import DELTAS, Point, rate_figure, rate_of_fits, worst
from verification.evidence.tails import rate_detectable
from verification.experiments.coverage import Case, simulate
from verification.experiments.interval_cases import DELTA, at_threshold, case, examine, inner_edges
from verification.verdict import FALSE_ALARM, Evidence, Finding, Verdict

FITS = {0.5: 60, 0.2: 150, 0.05: 600, 0.01: 1800}
"""Per shard: enough that no failure at all, in two shards, shows a rate below delta."""
FEW = 60
"""With a repair switched off: enough to see what always fails."""
COLUMNS = ("a3", "a4_low", "a4_high", "a5", "a6", "chi", "eta", "inactive", "probe", "recursion", "mad")
MARKS = ("active", "mean_width", "mean_norm")

Rate = Callable[[int, float], float]
"""(d, delta) -> the failure probability that is claimed."""


@lru_cache(maxsize=16)
def delta_cases(profile: str, delta: float) -> tuple[Case, ...]:
    """The instances that need the widest intervals, placed for this delta; thresholds move with it."""
    edges = [case(inner_edges, d, 1.0, delta=delta) for d in (1, 2)]
    if profile == "quick":
        return (*edges, case(at_threshold, 2, 0.5, delta=delta))
    edges += [case(inner_edges, d, 1.0, delta=delta) for d in (3, 4)]
    return (*edges, *(case(at_threshold, d, a, delta=delta) for d, a in ((1, 0.1), (2, 0.5), (3, 1.0))))


def deltas(setting: Setting) -> tuple[float, ...]:
    """With a repair switched off, only the one at which the rows are decided."""
    return (DELTA,) if setting.without else DELTAS


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    """Keys are "column/delta", shapes (fits, cases)."""
    out = {}
    for delta in deltas(setting):
        found = []
        for one in delta_cases(setting.profile, delta):
            fits = FEW if setting.without else FITS[delta]
            data = simulate(setting.spec(**one.parameters()), one.problem, one.n, fits, rng)
            found.append(examine(data, one.n))
        for name in (*COLUMNS, *MARKS):
            out[f"{name}/{delta:g}"] = np.stack([columns[name] for columns in found], axis=1)
    return out


BY_DELTA = Experiment("oracles-by-delta", _run, {"quick": 2, "standard": 2, "thorough": 6})


@dataclass(frozen=True)
class Question:
    """A bound: its column, above what it fails, what is claimed, and where it says something."""

    column: str
    what: str
    limit: float
    rate: Rate
    speaks: Callable[[Context, float], Bools]
    scaled: float | None = None
    """Factor on the bound at which about a tenth of delta of the fits fail; chosen on other seeds."""


def given(d: int, delta: float) -> float:
    """delta itself."""
    return delta


def union(d: int, delta: float) -> float:
    """2 d delta, Lemma 4.5."""
    return 2 * d * delta


def active(context: Context, delta: float) -> Bools:
    """Some bin is active in every fit."""
    found: Bools = context.result(BY_DELTA)[f"active/{delta:g}"].min(axis=0) > 0
    return found


def informative(context: Context, delta: float) -> Bools:
    """The mean interval is shorter than that of an oracle that has learned nothing."""
    data = context.result(BY_DELTA)
    found: Bools = data[f"mean_width/{delta:g}"].max(axis=0) < data[f"mean_norm/{delta:g}"].min(axis=0)
    return found


def delta_finding(context: Context, question: Question) -> Finding:
    """One piece of evidence for each delta at which something is claimed, and the figure."""
    data, asked = context.result(BY_DELTA), deltas(context.setting)
    found = [_at(context, question, delta) for delta in asked]
    curves = {"printed constants": [point for _, point in found if point is not None]}
    if question.scaled is not None and context.setting.variant == "repaired":
        curves[f"{question.scaled:g} times the bound"] = [
            _scaled_point(data[f"{question.column}/{delta:g}"], question, context.setting.profile, delta)
            for delta in asked
        ]
    label = "delta" if question.rate is given else "claimed failure probability"
    figure = rate_figure(curves, question.what, label, FALSE_ALARM / len(DELTAS))
    return Finding(tuple(one for one, _ in found if one is not None), {}, (figure,))


def _at(context: Context, question: Question, delta: float) -> tuple[Evidence | None, Point | None]:
    data, chosen = context.result(BY_DELTA), delta_cases(context.setting.profile, delta)
    values = data[f"{question.column}/{delta:g}"]
    claimed = [question.rate(one.problem.d, delta) for one in chosen]
    columns = [i for i, rate in enumerate(claimed) if rate < 1]
    if not columns:
        return None, None
    budget = FALSE_ALARM / len(DELTAS)
    level = budget / len(columns)
    failed = values > question.limit
    rates = [rate_of_fits(failed[:, i], claimed[i], level) for i in columns]
    said = question.speaks(context, delta)
    speaks = [bool(said[i]) for i in columns]
    at, verdict = worst(rates)
    if verdict != "REFUTED" and not all(speaks):
        spoken = [rate for rate, heard in zip(rates, speaks, strict=True) if heard]
        verdict = worst(spoken)[1] if spoken else "UNDECIDED"
    rate, bound, name = rates[at], claimed[columns[at]], chosen[columns[at]].name
    vacuous = verdict == "UNDECIDED" and not any(speaks)
    evidence = Evidence(
        check=f"{question.what} at delta = {delta:g}",
        grade="tested",
        role="supports" if vacuous else "decides",
        scope=f"{len(columns)} instances, printed constants, {sum(speaks)} where the bound says something",
        verdict=verdict,
        value=rate.rate,
        bound=bound,
        interval=rate.interval,
        false_alarm=budget,
        detectable=rate_detectable(len(values), bound, level)[1],
        samples=sum(one.n for one in rates),
        note=f"{rate.failures} of {rate.n} fits failed ({name})" + ("; vacuous" if vacuous else ""),
        counterexample=_example(verdict, chosen[columns[at]], delta, rate.rate),
    )
    return evidence, Point(bound, rate.failures, rate.n)


def _example(verdict: Verdict, one: Case, delta: float, rate: float) -> dict[str, object] | None:
    if verdict != "REFUTED":
        return None
    return {
        "instance": one.name,
        "features": one.problem.features[:, 0, :].tolist(),
        "weights": one.problem.weights.tolist(),
        "theta": one.problem.theta.tolist(),
        "n": one.n,
        "delta": delta,
        "rate": rate,
    }


def _scaled_point(values: Array, question: Question, profile: str, delta: float) -> Point:
    """The worst of the instances had the bound been ``scaled`` times as large."""
    assert question.scaled is not None
    counts = (values > question.limit * question.scaled).sum(axis=0)
    at = int(counts.argmax())
    claimed = question.rate(delta_cases(profile, delta)[at].problem.d, delta)
    return Point(min(claimed, 1.0), int(counts[at]), len(values))
