"""Failure rate against the probability claimed for it: the tests, and the figure with bands and diagonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verification.evidence.tails import FailureRate, anytime_interval, rate_detectable, rate_of_batches
from verification.verdict import FALSE_ALARM, Evidence, Figure, Series, Verdict

DELTAS = (0.5, 0.2, 0.05, 0.01)
"""What samples of a few thousand fits can tell apart; smaller ones belong to closed forms."""
LOOKS = 8
"""A rate is looked at this often: early verdicts are the same as late ones, the test allows any look."""


@dataclass(frozen=True)
class Point:
    """``failures`` of ``n`` fits, where at most a share ``claimed`` should fail."""

    claimed: float
    failures: int
    n: int


def rate_of_fits(failed: NDArray[np.bool_], claimed: float, level: float) -> FailureRate:
    """The anytime test of P(failure) <= ``claimed`` on independent fits in their order."""
    looks = [(int(part.sum()), len(part)) for part in np.array_split(failed, LOOKS)]
    return rate_of_batches(looks, claimed, level)


def worst(rates: Sequence[FailureRate]) -> tuple[int, Verdict]:
    """Where the rate is largest (a refuted one first), and the verdict on all of them together."""
    at = max(range(len(rates)), key=lambda i: (rates[i].verdict == "REFUTED", rates[i].rate))
    verdicts = {rate.verdict for rate in rates}
    order: tuple[Verdict, ...] = ("REFUTED", "UNDECIDED", "HOLDS")
    return at, next(verdict for verdict in order if verdict in verdicts)


def scaled_evidence(
    rates: Sequence[FailureRate], names: Sequence[str], delta: float, factor: float, budget: float
) -> Evidence:
    """What the rates say of ``factor`` times the bound at ``delta``. Supports: the claim has the whole."""
    at, verdict = worst(rates)
    rate = rates[at]
    return Evidence(
        check=f"{factor:g} times the bound, delta = {delta:g}",
        grade="tested",
        role="supports",
        scope=f"{len(rates)} configurations, worst: {names[at]}",
        verdict=verdict,
        value=rate.rate,
        bound=delta,
        interval=rate.interval,
        false_alarm=budget,
        detectable=rate_detectable(rate.n, delta, budget / len(rates))[1],
        samples=sum(one.n for one in rates),
        note=f"{rate.failures} of {rate.n} fits had a bin outside {factor:g} times the bound ({names[at]})",
        counterexample={"configuration": names[at], "delta": delta} if verdict == "REFUTED" else None,
    )


def rate_figure(
    curves: Mapping[str, Sequence[Point]],
    what: str,
    xlabel: str = "delta",
    level: float = FALSE_ALARM,
) -> Figure:
    """One curve for each label, with a band of level ``level`` at every point, and the diagonal.

    Both axes are logarithmic; where no fit failed, the point is drawn at half a failure.
    """
    series = []
    for label, points in curves.items():
        ordered = sorted(points, key=lambda point: point.claimed)
        bands = [anytime_interval(point.failures, point.n, level) for point in ordered]
        series.append(
            Series(
                label,
                [point.claimed for point in ordered],
                [max(point.failures, 0.5) / point.n for point in ordered],
                [min(band[0], max(p.failures, 0.5) / p.n) for band, p in zip(bands, ordered, strict=True)],
                [band[1] for band in bands],
            )
        )
    claimed = sorted({point.claimed for points in curves.values() for point in points})
    series.append(Series("claimed", claimed, claimed, style="dashed"))
    return Figure(
        "Failure rate against delta",
        f"Share of fits with {what}, worst configuration; the band at each point is wrong with probability "
        f"{level:g} at most, and no failure is drawn as half a failure. The claim is that a curve lies "
        "below the diagonal.",
        xlabel,
        "failure rate",
        tuple(series),
        xlog=True,
        ylog=True,
    )
