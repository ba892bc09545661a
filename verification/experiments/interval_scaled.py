"""Fits with widths scaled down to what is needed: there a narrower interval or a missing term shows.

At the printed constants intervals are thousands of times too wide, and no error in them would be seen.
"""

from __future__ import annotations

import numpy as np

from verification.claim import Arrays, Context, Experiment, Setting
from verification.evidence.tails import rate_detectable, rate_of_batches
from verification.experiments.coverage import Case, probe_excess, simulate
from verification.experiments.interval_cases import DELTA, at_edges, case, generic, ratios
from verification.verdict import FALSE_ALARM, Evidence, Verdict

REPEATS = 1500
ORDER: tuple[Verdict, ...] = ("REFUTED", "UNDECIDED", "HOLDS")
WIDTHS: dict[str, tuple[tuple[Case, float], ...]] = {
    "probe": ((case(at_edges, 1, 1.0), 4.2e-4), (case(at_edges, 2, 1.0), 1.2e-4)),
    "a4_low": ((case(at_edges, 2, 1.0), 4.4e-3), (case(generic, 2, 1.0), 3.7e-3)),
}
"""For each question the cases, and the factor on kappa_2 and kappa_3 at which about 1 % of fits fail."""


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    out = {}
    for name, chosen in WIDTHS.items():
        columns = []
        for one, width in chosen:
            spec = setting.spec(**(one.parameters() | {"width": width}))
            data = simulate(spec, one.problem, one.n, REPEATS, rng)
            columns.append(probe_excess(data)[0] if name == "probe" else ratios(data)[name])
        out[name] = np.stack(columns, axis=1)
    return out


SCALED = Experiment("scaled-widths", _run, {"quick": 2, "standard": 3, "thorough": 10})


def scaled_evidence(context: Context, name: str, what: str) -> Evidence:
    """The failure rate at the scaled widths against delta; supports, since the claim has printed ones."""
    failed = context.result(SCALED)[name] > 0
    level = FALSE_ALARM / failed.shape[1]
    rates = [
        rate_of_batches([(int(p.sum()), len(p)) for p in np.array_split(column, 4)], DELTA, level)
        for column in failed.T
    ]
    worst = max(range(len(rates)), key=lambda i: (rates[i].verdict == "REFUTED", rates[i].rate))
    verdicts = {rate.verdict for rate in rates}
    verdict = next(v for v in ORDER if v in verdicts)
    one, width = WIDTHS[name][worst]
    example = {"instance": one.name, "width": width, "rate": rates[worst].rate}
    return Evidence(
        check=what,
        grade="tested",
        role="supports",
        scope=f"{len(rates)} instances with kappa_2 and kappa_3 scaled, worst: {one.name}, factor {width:g}",
        verdict=verdict,
        value=rates[worst].rate,
        bound=DELTA,
        interval=rates[worst].interval,
        false_alarm=FALSE_ALARM,
        detectable=rate_detectable(len(failed), DELTA, level)[1],
        samples=sum(rate.n for rate in rates),
        note=f"{rates[worst].failures} of {rates[worst].n} fits fail at {width:g} times the printed widths",
        counterexample=example if verdict == "REFUTED" else None,
    )
