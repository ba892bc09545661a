"""The black-box audit of one pair of inputs: events chosen on a pilot sample, tested on a fresh one.

Up to four events are tested: those that promise the largest ε, the surest refutation of the claim, the
largest δ, and one that may be no more than chance. They share alpha, so that all bounds hold together with
confidence 1 − alpha, and a claim refuted by any of them is refuted at alpha. Samples must be independent: a
randomizer that shares noise between the samples of one call is beyond what an audit by samples can judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from verification.evidence.privacy.events import Aim, Choice, Event, Goal, choose
from verification.evidence.privacy.exact import Bound, Counts, delta_low, detectable, epsilon_low, refutes
from verification.evidence.privacy.outputs import Outputs, Source
from verification.evidence.privacy.scores import Score, learn
from verification.seeds import generator

Draw = Callable[[Any, np.random.Generator, int], Any]
PILOT_SHARE = 0.2
MOST_PILOT, MOST_PILOT_ENTRIES = 400_000, 20_000_000
"""Pilot samples under each input, at most, and numbers in them: they are kept in memory."""
TRAIN_SHARE = 1 / 4
"""The part of the pilot that scores are learned on; thresholds are chosen on the rest."""
SIDE_SHARE = 0.1
"""The part of alpha spent on the bound on δ, and on an event that may be chance; that on ε has the rest."""
FEWEST = 40


@dataclass(frozen=True)
class Seen:
    """One event, how often it was seen in the fresh sample, and the level at which it is tested for a bound.

    ``direction`` is 0 if the event is likelier under the pair's first value, 1 if under its second.
    """

    bounds: Bound
    event: str
    direction: int
    counts: Counts
    alpha: float

    def refutes(self, epsilon: float, delta: float) -> bool:
        return refutes(self.counts, epsilon, delta, self.alpha, by=self.bounds)

    def low(self, epsilon: float, delta: float) -> float:
        if self.bounds == "epsilon":
            return epsilon_low(self.counts, delta, self.alpha)
        return delta_low(self.counts, epsilon, self.alpha)


@dataclass(frozen=True)
class EventTest:
    """What was seen and the bound, ``low``, that follows at level ``alpha``."""

    bounds: Bound
    event: str
    direction: int
    k1: int
    n1: int
    k2: int
    n2: int
    alpha: float
    low: float

    @staticmethod
    def of(seen: Seen, epsilon: float, delta: float) -> EventTest:
        c = seen.counts
        low = seen.low(epsilon, delta)
        return EventTest(seen.bounds, seen.event, seen.direction, c.k1, c.n1, c.k2, c.n2, seen.alpha, low)


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
    seen, drawn = observe(draw, pair, epsilon, delta, alpha, samples, seed, extra, bits)
    tests = tuple(EventTest.of(one, epsilon, delta) for one in seen)
    best = max((t for t in tests if t.bounds == "epsilon"), key=lambda t: t.low)
    delta_found = max((t.low for t in tests if t.bounds == "delta"), default=0.0)
    rate = (best.k2 + 0.5) / (best.n2 + 1)
    return BlackBox(
        epsilon_low=best.low,
        delta_low=delta_found,
        detectable=detectable(best.n1, best.n2, rate, epsilon, delta, best.alpha),
        refuted=best.low > epsilon or delta_found > delta,
        samples=drawn,
        tests=tests,
    )


def observe(
    draw: Draw,
    pair: tuple[Any, Any],
    epsilon: float,
    delta: float,
    alpha: float,
    samples: int,
    seed: int,
    extra: Sequence[Score] = (),
    bits: bool = False,
) -> tuple[tuple[Seen, ...], int]:
    """The random part of an audit: what was seen of the chosen events, and the number of samples drawn."""
    sources = [Source(draw, value, generator(seed, "audit", "black box", i)) for i, value in enumerate(pair)]
    pilot = _pilot_size(sources, samples)
    n = samples // 2 - pilot - 1
    plan = _plan(_choose(sources, pilot, Aim(epsilon, delta, alpha, n), seed, extra, bits), alpha)
    totals = [_count(source, n, [event for event, _, _ in plan]) for source in sources]
    seen = []
    for i, (event, bounds, level) in enumerate(plan):
        ours, theirs = totals[event.likelier][i], totals[1 - event.likelier][i]
        seen.append(Seen(bounds, event.name, event.likelier, Counts(ours, n, theirs, n), level))
    return tuple(seen), sum(source.drawn for source in sources)


def _pilot_size(sources: Sequence[Source], samples: int) -> int:
    """Asked after one sample each, which shows how large an output is."""
    if samples < 4 * FEWEST:
        raise ValueError(f"samples is at least {4 * FEWEST}, not {samples!r}")
    width: int = max(source.sample(1).numbers.shape[1] for source in sources)
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
    """Which events are tested for what, and at which level; only those that promise something more."""
    largest, surest, leak = chosen["epsilon"], chosen["refute"], chosen["delta"]
    if surest.promise <= 0 or largest.promises["refute"] >= 0.9 * surest.promise:
        events = [largest.event]
    elif surest.promises["epsilon"] >= 0.98 * largest.promise:
        events = [surest.event]
    else:
        events = [largest.event, surest.event]
    side: list[tuple[Event, Bound, float]] = []
    if leak.promise > 0:
        side.append((leak.event, "delta", alpha * SIDE_SHARE))
    needed = float(stats.norm.isf(alpha * SIDE_SHARE))
    if chosen["chance"].promise > needed > surest.promise:
        side.append((chosen["chance"].event, "epsilon", alpha * SIDE_SHARE))
    share = (alpha - sum(level for _, _, level in side)) / len(events)
    return [*((event, "epsilon", share) for event in events), *side]


def _count(source: Source, n: int, events: Sequence[Event]) -> list[int]:
    totals = [0] * len(events)
    for outputs in source.each(n):
        for i, event in enumerate(events):
            totals[i] += event.count(outputs)
    return totals


def quick_bound(first: Outputs, second: Outputs, aim: Aim, seed: int) -> float:
    """What the best event found on these samples promises for ε: for comparing pairs, not for reporting."""
    train = len(first) // 3
    scores = learn(first[:train], second[:train], seed, boost=False)
    promise = choose(scores, first[train:], second[train:], aim)["epsilon"].promise
    return promise if math.isfinite(promise) else -math.inf
