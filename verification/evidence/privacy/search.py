"""Looking for the pair of inputs that shows the largest loss; what is found is then audited on fresh samples.

A domain is a finite list of inputs, a :class:`Box` of real vectors, or a hypothesis strategy. With a closed
form the loss itself is maximised, with a log-density the largest loss among a few samples. Otherwise pairs
are raced: all of them on a few samples each, the best again on more; in a box the winner is then varied.
"""

from __future__ import annotations

import itertools
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
FIRST_SHARE = 0.6
VARIATIONS = 5
EXAMPLES = 60
EVALUATIONS, MEMBERS = 1200, 32
"""How often differential evolution in a box asks for a loss, at most, and the size of its population."""


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
class Loss:
    """A way to judge a pair without racing; ``exact`` if what it gives is the loss itself."""

    of: Callable[[Any, Any], float]
    exact: bool


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
    loss: Loss | None,
    aim: Aim,
    budget: int,
    seed: int,
) -> Found:
    """The worst of the given pairs."""
    if loss is not None:
        losses = [loss.of(*pair) for pair in pairs]
        worst = int(np.argmax(losses))
        return Found(pairs[worst], len(pairs), 0, True, losses[worst] if loss.exact else None)
    order = generator(seed, "audit", "search", "pairs").permutation(len(pairs))[:MOST_PAIRS]
    race = _Race(draw, aim, seed)
    best = race.run([pairs[i] for i in order], budget)[0]
    return Found(best, race.entered, race.drawn, race.entered == len(pairs))


def of_values(
    values: Sequence[Any],
    draw: Draw,
    loss: Loss | None,
    aim: Aim,
    budget: int,
    seed: int,
) -> Found:
    """The worst pair of a finite domain."""
    return of_pairs(list(itertools.combinations(values, 2)), draw, loss, aim, budget, seed)


def of_box(box: Box, draw: Draw, loss: Loss | None, aim: Aim, budget: int, seed: int) -> Found:
    """The worst pair found in a box: corners, centre and random points first, then variations of the best."""
    rng, d = generator(seed, "audit", "search", "box"), box.low.size
    if loss is not None:
        return _climb(box, loss, rng)
    corners = np.array(list(itertools.islice(itertools.product((0.0, 1.0), repeat=d), MOST_CORNERS)))
    points = list(np.unique(np.concatenate([corners, 1 - corners]), axis=0))
    points += [np.full(d, 0.5), *rng.random((6, d))]
    units = [
        (points[i], points[j])
        for i, j in rng.permutation(list(itertools.combinations(range(len(points)), 2)))
    ]
    # Opposite corners first: they are where most mechanisms are worst, and a small budget cuts the end off.
    units = sorted(units, key=lambda u: -float(np.abs(u[0] - u[1]).sum()))[:MOST_PAIRS]
    race = _Race(draw, aim, seed)
    for step, share in ((0.3, FIRST_SHARE), (0.1, (1 - FIRST_SHARE) / 2), (0.0, (1 - FIRST_SHARE) / 2)):
        values = {id(u): box.value(u) for u in itertools.chain(*units)}
        candidates = [(values[id(a)], values[id(b)]) for a, b in units]
        winner = race.run(candidates, int(budget * share))[0]
        one, two = next(u for u, c in zip(units, candidates, strict=True) if c is winner)
        units = [(one, two), *((_vary(one, step, rng), _vary(two, step, rng)) for _ in range(VARIATIONS))]
    return Found(winner, race.entered, race.drawn, False)


def _vary(unit: Array, step: float, rng: np.random.Generator) -> Array:
    """About half of the coordinates moved."""
    moved = rng.random(len(unit)) < 0.5
    return np.clip(unit + step * moved * rng.standard_normal(len(unit)), 0.0, 1.0)


def of_strategy(strategy: Any, draw: Draw, loss: Loss | None, aim: Aim, budget: int, seed: int) -> Found:
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
        score = loss.of(one, two) if loss else race.score((one, two), budget // (4 * EXAMPLES))
        best.append((score, (one, two)))
        target(float(np.clip(score, -1e6, 1e6)))

    look()
    exact, pair = max(best, key=lambda item: item[0])
    return Found(pair, len(best), race.drawn, False, exact if loss and loss.exact else None)


def _climb(box: Box, loss: Loss, rng: np.random.Generator) -> Found:
    """Differential evolution over both points at once; an infinite loss ends it."""
    d, looked = box.low.size, 0

    def below(units: Array) -> float:
        nonlocal looked
        looked += 1
        return -min(loss.of(box.value(units[:d]), box.value(units[d:])), 1e300)

    start = rng.random((MEMBERS, 2 * d))
    corners = np.round(start[: MEMBERS // 4, :d])
    start[: MEMBERS // 4] = np.concatenate([corners, 1 - corners], axis=1)
    start[0] = np.repeat([0.0, 1.0], d)
    found = optimize.differential_evolution(
        below,
        optimize.Bounds(np.zeros(2 * d), np.ones(2 * d)),
        rng=rng,
        maxiter=EVALUATIONS // MEMBERS - 2,
        polish=False,
        init=start,
    )
    # Extremes tend to lie at corners, which evolution only approaches.
    corner = np.round(found.x)
    unit = corner if below(corner) <= found.fun else found.x
    pair = (box.value(unit[:d]), box.value(unit[d:]))
    return Found(pair, looked, 0, False, loss.of(*pair) if loss.exact else None)


class _Race:
    """Compares pairs by what the best event promises; samples of a value are shared by its pairs."""

    def __init__(self, draw: Draw, aim: Aim, seed: int) -> None:
        self.draw, self.aim, self.seed, self.drawn, self.calls, self.entered = draw, aim, seed, 0, 0, 0

    def run(self, pairs: Sequence[Pair], budget: int) -> list[Pair]:
        """``pairs``, best first."""
        alive = list(pairs)
        rounds = 2 if len(alive) > 4 else 1
        while len(alive) > 1 and len(_distinct(itertools.chain(*alive))) * FEWEST * rounds > budget:
            alive.pop()
        self.entered += len(alive)
        for _ in range(rounds):
            inputs = _distinct(itertools.chain(*alive))
            samples = {id(value): self._sample(value, budget // (rounds * len(inputs))) for value in inputs}
            scores = [self._score(samples[id(a)], samples[id(b)]) for a, b in alive]
            order = sorted(range(len(alive)), key=lambda i: -scores[i])
            alive = [alive[i] for i in order[: max(3, len(alive) // 6)]]
        return alive

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
