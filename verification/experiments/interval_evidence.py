"""Evidence about fitted oracles that the rows on Lemmas 4.4, 4.5 and A.3 to A.6 share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from lpcb.arrays import Array, Bools
from lpcb.lplr.update import mechanisms
from lpcb.spec import Spec
from verification.claim import Context
from verification.evidence.chernoff import laplace_sum_log_tail
from verification.evidence.quantiles import quantile_interval
from verification.evidence.tails import FailureRate, anytime_interval, rate_detectable, rate_of_batches
from verification.experiments.coverage import Case
from verification.experiments.interval_cases import DELTA, HORIZON, INTERVALS, N, cases
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure, Role, Series, Verdict

DIMENSIONS = (1, 2, 3, 4)


def rates_by_dimension(
    context: Context,
    what: str,
    excess: Array,
    rate: Callable[[int], float],
    speaks: Bools,
    share: float = 1.0,
    at: Array | None = None,
    points: str = "",
) -> tuple[Evidence, ...]:
    """For each d, whether fits with ``excess`` > 0 are rarer than ``rate(d)``; columns are cases.

    Where no case of a dimension ``speaks`` (its bound says no more than the trivial one), a rate of failures
    below the bound is no evidence, and a failure still is. ``share`` is this call's part of the budget,
    ``points`` says of which points it speaks.
    """
    chosen = cases(context.setting.profile)
    budget = share * FALSE_ALARM / len(DIMENSIONS)
    out = []
    for d in DIMENSIONS:
        columns = [i for i, case in enumerate(chosen) if case.problem.d == d]
        level = budget / len(columns)
        rates = [_rate(excess[:, i] > 0, rate(d), level) for i in columns]
        worst = max(range(len(columns)), key=lambda j: (rates[j].verdict == "REFUTED", rates[j].rate))
        verdict, role, why = _verdict(rates, [bool(speaks[i]) for i in columns])
        case, found = chosen[columns[worst]], rates[worst]
        example = None
        if verdict == "REFUTED":
            example = _example(case, excess[:, columns[worst]], None if at is None else at[:, columns[worst]])
        out.append(
            Evidence(
                check=f"{what}, d = {d}",
                grade="tested",
                role=role,
                scope=f"{len(columns)} instances at n = {N:g}, printed constants, worst: {case.name}"
                + points,
                verdict=verdict,
                value=found.rate,
                bound=rate(d),
                interval=found.interval,
                false_alarm=budget,
                detectable=rate_detectable(len(excess), rate(d), level)[1],
                samples=sum(r.n for r in rates),
                note=f"{found.failures} of {found.n} fits failed ({case.name}){why}",
                counterexample=example,
            )
        )
    return tuple(out)


REACHED = "; all points of bins that users or probes reach, and of inactive bins below them"
"""Where the certificate speaks; :func:`empty_bins` bounds what is left."""


def empty_bins(context: Context) -> Finding:
    """Bins without users are inactive unless noise alone lifts a count above the threshold: Chernoff."""
    chosen = [(d, alpha) for d in DIMENSIONS for alpha in (0.1, 0.5, 1.0)]
    logs = {}
    for d, alpha in chosen:
        spec = context.setting.spec(d=d, actions=1, horizon=HORIZON, alpha=alpha, delta=DELTA)
        logs[d, alpha] = max(_log_opened(spec, n) for n in (10**6, 10**9, 10**13, N))
    (d, alpha), worst = max(logs.items(), key=lambda item: item[1])
    bound = math.log(FALSE_ALARM)
    evidence = Evidence(
        check="bins without users stay inactive",
        grade="exact",
        role="decides",
        scope="printed constants, d = 1 to 4, alpha = 0.1 to 1, n = 1e6 to 1e17, all bins of all layers",
        verdict="HOLDS" if worst <= bound else "UNDECIDED",
        value=worst,
        bound=bound,
        interval=(worst, worst),
        note=f"ln P(noise alone makes one active) is at most {worst:.3g}, at d = {d}, alpha = {alpha:g}: the "
        "certificate may leave such bins out",
    )
    return Finding((evidence,))


def _log_opened(spec: Spec, n: int) -> float:
    """ln of a union bound over the M^h bins of each layer."""
    scale = float(mechanisms(spec, 1, np.zeros(1, dtype=np.int64)).count.scale.max())
    threshold = spec.kappa1 * spec.gamma**2 * (spec.d + 1) ** 3 * math.sqrt(n)
    bins = sum(spec.M**h for h in range(1, spec.d + 1))
    return math.log(bins) + laplace_sum_log_tail(n, scale, threshold)


def _rate(failed: Bools, bound: float, level: float) -> FailureRate:
    return rate_of_batches(
        [(int(part.sum()), len(part)) for part in np.array_split(failed, 3)], min(bound, 0.99), level
    )


def _verdict(rates: Sequence[FailureRate], speaks: Sequence[bool]) -> tuple[Verdict, Role, str]:
    verdicts = [rate.verdict for rate in rates]
    if "REFUTED" in verdicts:
        return "REFUTED", "decides", ""
    if not any(speaks):
        return "UNDECIDED", "supports", f"; vacuous at n = {N:g}: the bound is wider than the trivial one"
    if "UNDECIDED" in verdicts:
        return "UNDECIDED", "decides", ""
    return "HOLDS", "decides", f"; {sum(speaks)} of {len(speaks)} instances have bounds that say something"


def _example(case: Case, excess: Array, at: Array | None) -> dict[str, object]:
    fit = int(np.argmax(excess))
    found: dict[str, object] = {
        "instance": case.name,
        "features": case.problem.features[:, 0, :].tolist(),
        "weights": case.problem.weights.tolist(),
        "theta": case.problem.theta.tolist(),
        "n": case.n,
        "fit": fit,
        "excess": float(excess[fit]),
    }
    if at is not None:
        found["phi"] = at[fit, : case.problem.d].tolist()
    return found


def everywhere(context: Context) -> Bools:
    """Cases in which some bin is active: there the lemmas on single bins speak."""
    active: Bools = context.result(INTERVALS)["active"].min(axis=0) > 0
    return active


def informative(context: Context) -> Bools:
    """Cases in which the mean interval is shorter than that of an oracle that has learned nothing."""
    data = context.result(INTERVALS)
    said: Bools = data["mean_width"].max(axis=0) < data["mean_norm"].min(axis=0)
    return said


def tightness(context: Context, ratio: Array, what: str) -> dict[str, Measure]:
    """Printed bound over the (1 - delta)-quantile of what it bounds, the tightest instance of each d."""
    out = {}
    chosen = cases(context.setting.profile)
    for d in DIMENSIONS:
        columns = [i for i, case in enumerate(chosen) if case.problem.d == d]
        q = [quantile_interval(ratio[:, i], 1 - DELTA, FALSE_ALARM) for i in columns]
        worst = max(range(len(q)), key=lambda j: float(np.quantile(ratio[:, columns[j]], 1 - DELTA)))
        middle = float(np.quantile(ratio[:, columns[worst]], 1 - DELTA))
        if middle <= 0:
            continue
        out[f"tightness, d = {d}"] = Measure(
            1 / middle,
            (
                1 / q[worst].high if math.isfinite(q[worst].high) else 0.0,
                1 / q[worst].low if q[worst].low > 0 else math.inf,
            ),
            note=f"{what}: bound over the 0.95-quantile, tightest of {len(columns)} instances",
        )
    return out


def rate_by_instance(
    context: Context, excess: Array, rate: Callable[[int], float], title: str, what: str
) -> Figure:
    """The share of fits that fail, by instance, beside what is allowed."""
    chosen = cases(context.setting.profile)
    n, failures = len(excess), (excess > 0).sum(axis=0)
    series = []
    for d in DIMENSIONS:
        columns = [i for i, case in enumerate(chosen) if case.problem.d == d]
        seen = [max(float(failures[i]), 0.5) / n for i in columns]
        bands = [anytime_interval(int(failures[i]), n, 1e-3) for i in columns]
        low = [min(band[0], y) for band, y in zip(bands, seen, strict=True)]
        low = [max(x, 0.05 / n) for x in low]  # a logarithmic axis has no 0
        x = [float(i) for i in columns]
        series.append(Series(f"d = {d}", x, seen, low, [band[1] for band in bands], "points"))
        series.append(Series(f"allowed, d = {d}", x, [rate(d)] * len(x), style="dashed"))
    caption = (
        f"Share of fits with {what}, by instance, with an interval that is wrong with probability 0.001 at "
        "most; no failure is drawn as half a failure. Dashed: what is claimed. Instances in the order of the "
        "experiment, printed constants."
    )
    return Figure(title, caption, "instance", "failure rate", tuple(series), ylog=True)


def by_instance(context: Context, ratio: Array, title: str, caption: str, label: str) -> Figure:
    """One point for each case, at its (1 - delta)-quantile, with an order-statistic interval."""
    chosen = cases(context.setting.profile)
    series = []
    for d in DIMENSIONS:
        columns = [i for i, case in enumerate(chosen) if case.problem.d == d]
        q = [quantile_interval(ratio[:, i], 1 - DELTA, 1e-3) for i in columns]
        middle = [float(np.quantile(ratio[:, i], 1 - DELTA)) for i in columns]
        keep = [j for j, value in enumerate(middle) if value > 0 and q[j].low > 0]
        if keep:
            series.append(
                Series(
                    f"d = {d}",
                    [float(columns[j]) for j in keep],
                    [middle[j] for j in keep],
                    [q[j].low for j in keep],
                    [min(q[j].high, float(ratio[:, columns[j]].max())) for j in keep],
                    "points",
                )
            )
    return Figure(title, caption, "instance", label, tuple(series), ylog=True)
