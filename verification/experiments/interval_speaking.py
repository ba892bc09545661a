"""The recursion of Lemma 4.4 and the mean width of Lemma 4.5 with constants scaled down until they speak.

With the printed constants both bounds are wider than the trivial one for d >= 2 up to the longest horizon.
With kappas this small intervals need not cover; but neither bound is about coverage.
"""

from __future__ import annotations

import numpy as np

from verification.claim import Arrays, Context, Experiment, Setting
from verification.evidence.tails import rate_detectable, rate_of_batches
from verification.experiments.coverage import simulate
from verification.experiments.interval_cases import (
    DELTA,
    Instance,
    case,
    collinear,
    correlated,
    examine,
    generic,
    increment,
)
from verification.verdict import FALSE_ALARM, Evidence, Finding

FACTORS = {2: (2e-3, 3e-4, 10**17), 3: (1e-4, 1e-5, 10**18)}
"""d: activation, width and n at which both bounds are below the mean norm of these instances."""
INSTANCES: tuple[Instance, ...] = (generic, correlated, collinear)
REPEATS = 300
COLUMNS = ("recursion", "mad", "mean_width", "mean_norm")


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    """Keys are "column/d", shapes (fits, instances)."""
    out = {}
    for d, (activation, width, n) in FACTORS.items():
        found, second = [], 0.0
        for instance in INSTANCES:
            one = case(instance, d, 1.0, activation, n)
            spec = setting.spec(**(one.parameters() | {"width": width}))
            found.append(examine(simulate(spec, one.problem, n, REPEATS, rng), n))
            second = float(spec.M**d * increment(spec, n))
        for name in COLUMNS:
            out[f"{name}/{d}"] = np.stack([columns[name] for columns in found], axis=1)
        out[f"second/{d}"] = np.full((REPEATS, len(INSTANCES)), second)
    return out


SPEAKING = Experiment("scaled-recursion", _run, {"quick": 2, "standard": 2, "thorough": 6})


def speaking_finding(context: Context, column: str, what: str) -> Finding:
    """How often left exceeds right, at each d; supports, since the claim has the printed constants."""
    return Finding(tuple(_at(context, column, what, d) for d in FACTORS))


def _at(context: Context, column: str, what: str, d: int) -> Evidence:
    data = context.result(SPEAKING)
    ratio = data[f"{column}/{d}"]
    claimed = DELTA if column == "recursion" else 2 * d * DELTA
    budget = FALSE_ALARM / len(FACTORS)
    level = budget / ratio.shape[1]
    batches = [np.array_split(failed, 3) for failed in (ratio > 1).T]
    rates = [rate_of_batches([(int(b.sum()), len(b)) for b in of], claimed, level) for of in batches]
    worst = max(rates, key=lambda rate: (rate.verdict == "REFUTED", rate.rate))
    # Of the recursion its second term on the last layer, of the mean width the whole bound.
    bound = data[f"second/{d}"] if column == "recursion" else data[f"mean_width/{d}"] / ratio
    speaks = bool((bound.min(axis=0) < data[f"mean_norm/{d}"].max(axis=0)).all())
    verdicts = {rate.verdict for rate in rates}
    verdict = worst.verdict if len(verdicts) == 1 or worst.verdict == "REFUTED" else "UNDECIDED"
    activation, width, n = FACTORS[d]
    return Evidence(
        check=f"{what}, scaled constants, d = {d}",
        grade="tested",
        role="supports",
        scope=f"{len(INSTANCES)} instances, alpha = 1, n = {n:g}, thresholds times {activation:g} and widths "
        f"times {width:g}, where the bound is {float(bound.max()):.2g}",
        verdict=verdict if speaks or verdict == "REFUTED" else "UNDECIDED",
        value=worst.rate,
        bound=claimed,
        interval=worst.interval,
        false_alarm=budget,
        detectable=rate_detectable(len(ratio), claimed, level)[1],
        samples=sum(rate.n for rate in rates),
        note=f"{worst.failures} of {worst.n} fits fail; left over right is at most {float(ratio.max()):.3g}"
        + ("" if speaks else "; vacuous"),
        counterexample={"d": d, "rate": worst.rate} if verdict == "REFUTED" else None,
    )
