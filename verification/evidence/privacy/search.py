"""Looking for the pair of inputs that shows the largest loss; what is found is then audited on fresh samples.

A domain is a finite list of inputs, a :class:`Box` of real vectors, or a hypothesis strategy. With a closed
form the loss itself is maximised. Otherwise candidates are raced: all of them on a few samples each, the best
third on three times as many, and so on; in a box the winners are then varied and raced again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from verification.evidence.privacy.blackbox import Draw, quick_bound
from verification.evidence.privacy.events import Aim
from verification.evidence.privacy.outputs import Array, Outputs, Source, join
from verification.seeds import generator

Pair = tuple[Any, Any]
FEWEST = 120
"""Samples of an input in a race, at least; if the budget is too small for that, fewer pairs enter."""
MOST_PAIRS = 300
"""Pairs that enter a race; of more, this many are drawn at random."""
MOST_CORNERS = 16
ROUNDS = 4
EXAMPLES = 60


@dataclass(frozen=True, eq=False)
class Box:
    """All real vectors (or numbers, or arrays) between ``low`` and ``high``."""

    low: Array
    high: Array

    def __post_init__(self) -> None:
        low, high = (np.asarray(v, dtype=np.float64) for v in (self.low, self.high))
        if low.shape != high.shape or not np.isfinite([low, high]).all() or not (low < high).all():
            raise ValueError(
                f"domain: low < high, finite and of one shape, not low={self.low!r} and high={self.high!r}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def value(self, unit: Array) -> Any:
        """The point at ``unit`` in the unit cube, as a float if the box is one of numbers."""
        point = self.low + (self.high - self.low) * unit.reshape(self.low.shape)
        return point if point.ndim else float(point)


@dataclass(frozen=True)
class Found:
    """The pair found, how many pairs were looked at and samples drawn, and whether that was all there are."""

    pair: Pair
    looked_at: int
    samples: int
    exhaustive: bool
    exact: float | None = None


def of_pairs(
    pairs: Sequence[Pair],
    draw: Draw,
    loss: Callable[[Any, Any], float] | None,
    aim: Aim,
    budget: int,
    seed: int,
) -> Found:
    """The worst of the given pairs."""
    if loss is not None:
        losses = [loss(*pair) for pair in pairs]
        worst = int(np.argmax(losses))
        return Found(pairs[worst], len(pairs), 0, True, losses[worst])
    order = generator(seed, "audit", "search", "pairs").permutation(len(pairs))[:MOST_PAIRS]
    race = _Race(draw, aim, seed)
    best = race.run([pairs[i] for i in order], budget)[0]
    return Found(best, race.entered, race.drawn, race.entered == len(pairs))


def of_values(
    values: Sequence[Any],
    draw: Draw,
    loss: Callable[[Any, Any], float] | None,
    aim: Aim,
    budget: int,
    seed: int,
) -> Found:
    """The worst pair of a finite domain."""
    return of_pairs(list(itertools.combinations(values, 2)), draw, loss, aim, budget, seed)


def of_box(
    box: Box, draw: Draw, loss: Callable[[Any, Any], float] | None, aim: Aim, budget: int, seed: int
) -> Found:
    """The worst pair found in a box: corners, centre and random points first, then variations of the best."""
    rng, d = generator(seed, "audit", "search", "box"), box.low.size
    if loss is not None:
        return _climb(box, loss, rng)
    corners = np.array(list(itertools.islice(itertools.product((0.0, 1.0), repeat=d), MOST_CORNERS)))
    opposite = 1 - corners
    points = np.unique(np.concatenate([corners, opposite, np.full((1, d), 0.5), rng.random((6, d))]), axis=0)
    race = _Race(draw, aim, seed)
    pairs = list(itertools.combinations(range(len(points)), 2))
    points_ = list(points)
    units = [(points_[i], points_[j]) for i, j in rng.permutation(pairs)[:MOST_PAIRS]]
    for round_ in range(ROUNDS):
        values = {id(u): box.value(u) for u in itertools.chain(*units)}
        candidates = [(values[id(a)], values[id(b)]) for a, b in units]
        ranked = race.run(candidates, budget // ROUNDS)
        best = next(u for u, c in zip(units, candidates, strict=True) if c is ranked[0])
        step = 0.3 * 0.5**round_
        varied = [
            tuple(np.clip(u + step * rng.standard_normal(d) * (rng.random(d) < 0.5), 0, 1) for u in best)
            for _ in range(12)
        ]
        units = [best, *((a, b) for a, b in varied)]
    return Found(ranked[0], race.entered, race.drawn, False)


def of_strategy(
    strategy: Any, draw: Draw, loss: Callable[[Any, Any], float] | None, aim: Aim, budget: int, seed: int
) -> Found:
    """The worst pair that hypothesis finds when it is told each pair's promise."""
    from hypothesis import HealthCheck, Phase, given, settings, target

    race = _Race(draw, aim, seed)
    best: list[tuple[float, Pair]] = []

    @settings(
        max_examples=EXAMPLES,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate, Phase.target],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy, strategy)
    def look(one: Any, two: Any) -> None:
        score = loss(one, two) if loss else race.score((one, two), budget // (4 * EXAMPLES))
        best.append((score, (one, two)))
        target(float(np.clip(score, -1e6, 1e6)))

    look()
    exact, pair = max(best, key=lambda item: item[0])
    return Found(pair, len(best), race.drawn, False, exact if loss else None)


def _climb(box: Box, loss: Callable[[Any, Any], float], rng: np.random.Generator) -> Found:
    """Differential evolution over both points at once; an infinite loss ends it."""
    d, looked = box.low.size, 0

    def below(units: Array) -> float:
        nonlocal looked
        looked += 1
        return -min(loss(box.value(units[:d]), box.value(units[d:])), 1e300)

    found = optimize.differential_evolution(
        below,
        optimize.Bounds(np.zeros(2 * d), np.ones(2 * d)),
        rng=rng,
        maxiter=60,
        popsize=12,
        polish=False,
        init="sobol",
    )
    # Extremes tend to lie at corners, which evolution only approaches.
    corner = np.round(found.x)
    unit = corner if below(corner) <= found.fun else found.x
    pair = (box.value(unit[:d]), box.value(unit[d:]))
    return Found(pair, looked, 0, False, loss(*pair))


class _Race:
    """Compares pairs by what the best event promises; samples of a value are shared by its pairs."""

    def __init__(self, draw: Draw, aim: Aim, seed: int) -> None:
        self.draw, self.aim, self.seed, self.drawn, self.calls, self.entered = draw, aim, seed, 0, 0, 0

    def run(self, pairs: Sequence[Pair], budget: int) -> list[Pair]:
        """``pairs``, best first."""
        ranked = list(pairs)
        rounds = max(1, math.ceil(math.log(max(2, len(ranked)), 3)))
        alive = len(ranked)
        while alive > 1 and len(_distinct(itertools.chain(*ranked[:alive]))) * FEWEST * rounds > budget:
            alive -= 1
        self.entered += alive
        for _ in range(rounds):
            inputs = _distinct(itertools.chain.from_iterable(ranked[:alive]))
            n = max(FEWEST, budget // (rounds * len(inputs)))
            samples = {id(value): self._sample(value, n) for value in inputs}
            scores = [self._score(samples[id(a)], samples[id(b)]) for a, b in ranked[:alive]]
            order = sorted(range(alive), key=lambda i: -scores[i])
            ranked = [ranked[i] for i in order] + ranked[alive:]
            alive = max(1, math.ceil(alive / 3))
        return ranked

    def score(self, pair: Pair, n: int) -> float:
        return self._score(self._sample(pair[0], n), self._sample(pair[1], n))

    def _score(self, first: Outputs, second: Outputs) -> float:
        return quick_bound(first, second, self.aim, self.seed)

    def _sample(self, value: Any, n: int) -> Outputs:
        self.calls += 1
        source = Source(self.draw, value, generator(self.seed, "audit", "search", self.calls))
        found = join(list(source.each(n)))
        self.drawn += source.drawn
        return found


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({id(value): value for value in values}.values())
