"""The black-box audit of one pair of inputs: events chosen on a pilot sample, tested on a fresh one.

Up to three events are tested: the one that promises the largest ε, the one that refutes the claim most surely,
the one that promises the largest δ. They share alpha, so that all bounds hold together with confidence
1 − alpha, and a claim refuted by any of them is refuted at alpha. Samples must be independent: a randomizer
that shares noise between the samples of one call is outside of what an audit by samples can judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from verification.evidence.privacy.events import Aim, Choice, Event, Goal, choose
from verification.evidence.privacy.exact import Counts, delta_low, detectable, epsilon_low
from verification.evidence.privacy.outputs import Outputs, Source
from verification.evidence.privacy.scores import Score, learn
from verification.seeds import generator

Bound = Literal["epsilon", "delta"]
Draw = Callable[[Any, np.random.Generator, int], Any]
PILOT_SHARE = 0.2
MOST_PILOT, MOST_PILOT_ENTRIES = 400_000, 20_000_000
"""Pilot samples under each input, at most, and numbers in them: they are kept in memory."""
TRAIN_SHARE = 1 / 4
"""The part of the pilot that scores are learned on; thresholds are chosen on the rest."""
DELTA_SHARE = 0.1
"""The part of alpha spent on the bound on δ; the bound on ε has the rest."""
FEWEST = 40


@dataclass(frozen=True)
class EventTest:
    """One event, how often it was seen in the fresh sample, and the bound at level ``alpha``.

    ``direction`` is 0 if the event is likelier under the pair's first value, 1 if under its second.
    """

    bounds: Bound
    event: str
    direction: int
    k1: int
    n1: int
    k2: int
    n2: int
    alpha: float
    low: float


@dataclass(frozen=True)
class BlackBox:
    """What samples alone show about one pair."""

    epsilon_low: float
    delta_low: float
    detectable: float
    refuted: bool
    samples: int
    tests: tuple[EventTest, ...]

    @property
    def decisive(self) -> EventTest:
        """The test that gives the bound on ε."""
        return max((t for t in self.tests if t.bounds == "epsilon"), key=lambda t: t.low)


def blackbox(
    draw: Draw,
    pair: tuple[Any, Any],
    epsilon: float,
    delta: float,
    alpha: float,
    samples: int,
    seed: int,
    extra: Sequence[Score] = (),
    bits: bool = False,
) -> BlackBox:
    """Audit ``pair`` with ``samples`` samples in all; ``extra`` are scores known beforehand."""
    sources = [Source(draw, value, generator(seed, "audit", "black box", i)) for i, value in enumerate(pair)]
    pilot = _pilot_size(sources, samples)
    n = samples // 2 - pilot - 1
    chosen = _choose(sources, pilot, Aim(epsilon, delta, alpha, n), seed, extra, bits)
    plan = _plan(chosen, alpha)
    seen = [_count(source, n, [event for event, _, _ in plan]) for source in sources]
    tests = tuple(
        _test(event, kind, level, seen[event.likelier][i], seen[1 - event.likelier][i], n, epsilon, delta)
        for i, (event, kind, level) in enumerate(plan)
    )
    bounds = {kind: max((t.low for t in tests if t.bounds == kind), default=0.0) for kind in ("epsilon", "delta")}
    best = max((t for t in tests if t.bounds == "epsilon"), key=lambda t: t.low)
    rate = (best.k2 + 0.5) / (n + 1)
    return BlackBox(
        epsilon_low=bounds["epsilon"],
        delta_low=bounds["delta"],
        detectable=detectable(n, n, rate, epsilon, delta, best.alpha),
        refuted=bounds["epsilon"] > epsilon or bounds["delta"] > delta,
        samples=sum(source.drawn for source in sources),
        tests=tests,
    )


def _pilot_size(sources: Sequence[Source], samples: int) -> int:
    """Asked after one sample each, which shows how large an output is."""
    if samples < 4 * FEWEST:
        raise ValueError(f"samples is at least {4 * FEWEST}, not {samples!r}")
    width = max(source.sample(1).numbers.shape[1] for source in sources)
    wanted = max(FEWEST, int(samples * PILOT_SHARE / 2))
    return min(wanted, MOST_PILOT, max(1000, MOST_PILOT_ENTRIES // max(1, width)))


def _choose(
    sources: Sequence[Source], pilot: int, aim: Aim, seed: int, extra: Sequence[Score], bits: bool
) -> dict[Goal, Choice]:
    train = max(FEWEST // 2, int(pilot * TRAIN_SHARE))
    first, second = (source.sample(pilot) for source in sources)
    scores = [*extra, *learn(first[:train], second[:train], seed, bits=bits)]
    return choose(scores, first[train:], second[train:], aim)


def _plan(chosen: dict[Goal, Choice], alpha: float) -> list[tuple[Event, Bound, float]]:
    """Which events are tested for what, and at which level; only where they promise something of their own."""
    largest, surest, leak = chosen["epsilon"], chosen["refute"], chosen["delta"]
    if surest.promise <= 0 or largest.promises["refute"] >= 0.9 * surest.promise:
        events = [largest.event]
    elif surest.promises["epsilon"] >= 0.98 * largest.promise:
        events = [surest.event]
    else:
        events = [largest.event, surest.event]
    rest = alpha * (1 - DELTA_SHARE) if leak.promise > 0 else alpha
    plan: list[tuple[Event, Bound, float]] = [(event, "epsilon", rest / len(events)) for event in events]
    return [*plan, (leak.event, "delta", alpha * DELTA_SHARE)] if leak.promise > 0 else plan


def _count(source: Source, n: int, events: Sequence[Event]) -> list[int]:
    totals = [0] * len(events)
    for outputs in source.each(n):
        for i, event in enumerate(events):
            totals[i] += event.count(outputs)
    return totals


def _test(
    event: Event,
    kind: Bound,
    level: float,
    k1: int,
    k2: int,
    n: int,
    epsilon: float,
    delta: float,
) -> EventTest:
    counts = Counts(k1, n, k2, n)
    low = epsilon_low(counts, delta, level) if kind == "epsilon" else delta_low(counts, epsilon, level)
    return EventTest(kind, event.name, event.likelier, k1, n, k2, n, level, low)


def quick_bound(first: Outputs, second: Outputs, aim: Aim, seed: int) -> float:
    """What the best event found on these samples promises for ε: for comparing pairs, not for reporting."""
    train = len(first) // 3
    scores = learn(first[:train], second[:train], seed, boost=False)
    promise = choose(scores, first[train:], second[train:], aim)["epsilon"].promise
    return promise if math.isfinite(promise) else -math.inf
