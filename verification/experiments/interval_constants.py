"""Lemma 4.5 in numbers: widths that are needed, instances that a search found, and where intervals speak."""

from __future__ import annotations

import math

import numpy as np

from verification.claim import Context
from verification.evidence.quantiles import quantile_interval
from verification.experiments.coverage import simulate
from verification.experiments.interval_cases import DELTA, HORIZON, case, generic
from verification.experiments.interval_evidence import DIMENSIONS
from verification.experiments.interval_needed import Needed, needed_table, scaled_over_needed
from verification.experiments.interval_search import margins, search
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure, Series


def needed_constants(context: Context) -> Finding:
    """The factor on kappa_2 and kappa_3 at which intervals surely cover, (1 - delta)-quantile; printed: 1."""
    table = needed_table(context)
    worst = max(table, key=lambda entry: entry.interval.high)
    measures = {
        f"needed width, {entry.name}": Measure(
            entry.middle,
            (entry.interval.low, entry.interval.high),
            note=f"at most this is needed, at least {entry.found:.3g} (points found); printed: 1; "
            f"worst: {entry.instance}",
        )
        for entry in table
    }
    for name, (middle, low, high) in scaled_over_needed(table).items():
        measures[f"scaled specification over needed width, {name}"] = Measure(
            middle,
            (low, high),
            note="1 or more suffices to cover in a share 0.95 of fits; an interval that contains 1 leaves it "
            "open. delta = 1/T^2",
        )
    measures |= _tightness(table)
    holds = worst.interval.high <= 1
    evidence = Evidence(
        check="needed against printed widths",
        grade="tested",
        role="supports",
        scope=f"{len(table)} combinations of d, alpha and activation, repaired intervals, delta = {DELTA:g}",
        verdict="HOLDS" if holds else "UNDECIDED",
        value=worst.middle,
        bound=1.0,
        interval=(worst.interval.low, worst.interval.high),
        false_alarm=FALSE_ALARM,
        detectable=worst.interval.high,
        samples=sum(entry.interval.n for entry in table),
        note=f"at most {worst.middle:.3g} of the printed widths is needed, at least {worst.found:.3g} "
        f"({worst.name})",
    )
    return Finding((evidence,), measures, (_needed_figure(table),))


def _tightness(table: list[Needed]) -> dict[str, Measure]:
    """Printed over needed widths, at the printed activation, the tightest alpha."""
    out = {}
    for d in sorted({entry.d for entry in table}):
        of = [entry for entry in table if entry.d == d and entry.activation == 1]
        one = max(of, key=lambda entry: entry.middle)
        out[f"tightness, d = {d}"] = Measure(
            1 / one.middle,
            (1 / one.interval.high, 1 / one.interval.low),
            note=f"printed over needed width, at least; at most {1 / one.found:.4g}",
        )
    return out


def _needed_figure(entries: list[Needed]) -> Figure:
    series = []
    for key in dict.fromkeys((entry.alpha, entry.activation) for entry in entries):
        of = [entry for entry in entries if (entry.alpha, entry.activation) == key]
        series.append(
            Series(
                f"alpha = {key[0]:g}, activation {key[1]:g}",
                [float(entry.d) for entry in of],
                [entry.middle for entry in of],
                [entry.interval.low for entry in of],
                [entry.interval.high for entry in of],
                "points",
            )
        )
    of = [entry for entry in entries if (entry.alpha, entry.activation) == (1.0, 1.0)]
    series.append(
        Series(
            "points found, alpha = 1, activation 1",
            [float(entry.d) for entry in of],
            [entry.found for entry in of],
        )
    )
    dims = sorted({float(entry.d) for entry in entries})
    series.append(Series("printed", dims, [1.0] * len(dims), style="dashed"))
    return Figure(
        "Widths needed against widths printed",
        "Smallest common factor on kappa_2 and kappa_3 at which the certificate says that intervals cover "
        "the whole ball, in a fraction 1 - delta of fits, delta = 0.05, worst of the instances: at most this "
        "is needed, and at least what the points found need. Bars: order-statistic intervals.",
        "d",
        "factor on kappa_2 and kappa_3",
        tuple(series),
        ylog=True,
    )


BUDGET = {"quick": 12, "standard": 100, "thorough": 2500}
"""Designs looked at for each d."""


def searched(context: Context) -> Finding:
    """Designs looked for that are covered worst, measured again with fresh fits; supports."""
    dims = (1, 2) if context.setting.profile == "quick" else (1, 2, 3)
    repaired = context.setting.variant == "repaired" and not context.setting.without
    evidence, measures = [], {}
    for d in dims:
        seed, fresh = (int(x) for x in context.rng(f"search {d}").integers(2**31, size=2))
        one, found = search(context.setting, d, BUDGET[context.setting.profile], seed)
        values = margins(context.setting, one, 600, fresh)
        limit = 1.0 if repaired else 0.0
        q = quantile_interval(values, 1 - DELTA, FALSE_ALARM / len(dims))
        middle, broken = float(np.quantile(values, 1 - DELTA)), q.low > limit
        record = {"features": one.problem.features[:, 0, :].tolist(), "theta": one.problem.theta.tolist()}
        record |= {"weights": one.problem.weights.tolist(), "beta": one.beta, "n": one.n}
        evidence.append(
            Evidence(
                check=f"search for bad instances, d = {d}",
                grade="tested",
                role="supports",
                scope=f"{found.evaluations} designs, printed constants, the worst again with fresh fits",
                verdict="REFUTED" if broken else "HOLDS" if q.high <= limit else "UNDECIDED",
                value=middle,
                bound=limit,
                interval=(q.low, q.high),
                false_alarm=FALSE_ALARM / len(dims),
                detectable=limit,
                samples=len(values),
                note=("needed factor on the widths" if repaired else "error less interval")
                + f", 0.95-quantile, at the worst design found ({found.step})",
                counterexample=record if broken else None,
            )
        )
        if repaired:
            measures[f"needed width, found by search, d = {d}"] = Measure(middle, (q.low, q.high))
    return Finding(tuple(evidence), measures)


ALPHAS = (0.1, 0.5, 1.0)


def onset(context: Context) -> Finding:
    """The smallest n at which the mean interval says more than the norm; delta = 1/T^2 as in Algorithm 1."""
    measures, series = {}, []
    for alpha in ALPHAS:
        found = {d: _onset(context, d, alpha) for d in DIMENSIONS}
        for d, n in found.items():
            note = (
                "mean interval below the mean norm" if math.isfinite(n) else f"not up to n = T = {HORIZON:g}"
            )
            measures[f"onset, d = {d}, alpha = {alpha:g}"] = Measure(n, (n / 1.8, n), unit="n", note=note)
        seen = [d for d in DIMENSIONS if math.isfinite(found[d])]
        series.append(Series(f"alpha = {alpha:g}", [float(d) for d in seen], [found[d] for d in seen]))
    first = measures["onset, d = 1, alpha = 1"].value
    evidence = Evidence(
        check="onset",
        grade="exact",
        role="supports",
        scope="a random instance of each d, T = 1e18, delta = 1/T^2, printed constants",
        verdict="HOLDS" if math.isfinite(first) else "UNDECIDED",
        value=first,
        bound=float(HORIZON),
        interval=(first / 1.8, first),
        note=f"intervals are vacuous below n = {first:.2g} (d = 1, alpha = 1)",
    )
    caption = (
        "Users per batch from which the mean interval is below that of an oracle that has learned nothing."
    )
    return Finding((evidence,), measures, (Figure("Onset", caption, "d", "n", tuple(series), ylog=True),))


def _onset(context: Context, d: int, alpha: float) -> float:
    """By bisection over powers of 10^(1/4); the noise is far below the widths, so one fit is enough."""
    one = case(generic, d, alpha)
    spec = context.setting.spec(d=d, actions=1, horizon=HORIZON, alpha=alpha)
    norm = float(one.problem.weights @ np.linalg.norm(one.problem.features[:, 0, :], axis=1))

    def speaks(quarter: int) -> bool:
        data = simulate(spec, one.problem, int(10 ** (quarter / 4)), 1, context.rng(f"onset {d} {alpha}"))
        open_bins = sum(int(layer.bins.open.sum()) for layer in data.layers)
        return open_bins > 0 and float(data.chance @ data.end.eta) < 0.999 * norm

    low, high = 32, 72
    if not speaks(high):
        return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if speaks(middle) else (middle, high)
    return float(10 ** (high / 4))
