"""Choosing events on a pilot sample: which score, which threshold, which direction.

Whatever is chosen here is tested on a fresh sample, so a bad choice costs power and never validity. What a
threshold promises is judged at the size of the coming test, after the pilot's own error has been allowed for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from verification.evidence.privacy.outputs import Array, Outputs
from verification.evidence.privacy.scores import Boosted, Score

Goal = Literal["epsilon", "refute", "chance", "delta"]
GOALS: tuple[Goal, ...] = ("epsilon", "refute", "chance", "delta")
PILOT_MARGIN, CHANCE_MARGIN = 3.5, 1.0
"""Standard deviations allowed for the pilot's error: the best of thousands of thresholds looks that good
by chance. A rare event may be real all the same: as a goal of its own, ``chance``, it has less margin."""
SCREEN_ROWS = 20_000
KEPT = 3
THRESHOLDS = 4000
BOOST_GAIN = 0.03
"""A boosted score must promise this much more (relatively) than the best plain one: it is slow and opaque."""


@dataclass(frozen=True, eq=False)
class Event:
    """{score ≥ threshold} or {score ≤ threshold}, more likely under input ``likelier`` (0 or 1)."""

    score: Score
    above: bool
    threshold: float
    likelier: int

    def contains(self, outputs: Outputs) -> NDArray[np.bool_]:
        values = self.score(outputs)
        return values >= self.threshold if self.above else values <= self.threshold

    def count(self, outputs: Outputs) -> int:
        return int(np.count_nonzero(self.contains(outputs)))

    @property
    def name(self) -> str:
        return f"{self.score.name} {'≥' if self.above else '≤'} {self.threshold:.6g}"


@dataclass(frozen=True)
class Aim:
    """What is to be refuted, at which level, with how many samples under each input."""

    epsilon: float
    delta: float
    alpha: float
    n: int


@dataclass(frozen=True, eq=False)
class Choice:
    """The best event for a goal and what it promises for every goal: a bound on ε or δ, or a z-score."""

    goal: Goal
    event: Event
    promises: Mapping[Goal, float]

    @property
    def promise(self) -> float:
        return self.promises[self.goal]


def choose(scores: Sequence[Score], first: Outputs, second: Outputs, aim: Aim) -> dict[Goal, Choice]:
    """The best event for each goal: all scores on a few rows, then the best few scores on all rows."""
    rows = min(len(first), len(second))
    screened = _best(scores, first[: min(rows, SCREEN_ROWS)], second[: min(rows, SCREEN_ROWS)], aim)
    if rows > SCREEN_ROWS:
        kept: dict[int, Score] = {}
        for goal in GOALS:
            for choice in screened[goal][:KEPT]:
                kept[id(choice.event.score)] = choice.event.score
            kept |= {id(s): s for s in scores if isinstance(s, Boosted)}
        screened = _best(list(kept.values()), first[:rows], second[:rows], aim)
    return {goal: _pick(screened[goal]) for goal in GOALS}


def _pick(choices: Sequence[Choice]) -> Choice:
    best = choices[0]
    plain = next((c for c in choices if not isinstance(c.event.score, Boosted)), best)
    return plain if plain.promise >= best.promise - BOOST_GAIN * abs(best.promise) else best


def _best(scores: Sequence[Score], first: Outputs, second: Outputs, aim: Aim) -> dict[Goal, list[Choice]]:
    """For each goal every score's best event, best first."""
    found: dict[Goal, list[Choice]] = {goal: [] for goal in GOALS}
    for score in scores:
        for goal, choice in _scan(score, score(first), score(second), aim).items():
            found[goal].append(choice)
    return {goal: sorted(choices, key=lambda c: -c.promise) for goal, choices in found.items()}


def _scan(score: Score, x: Array, y: Array, aim: Aim) -> dict[Goal, Choice]:
    """The best threshold, tail and direction of one score."""
    n = len(x)
    x, y = np.sort(x[~np.isnan(x)]), np.sort(y[~np.isnan(y)])
    at = _thresholds(np.concatenate([x, y]))
    best: dict[Goal, Choice] = {}
    for above in (True, False):
        if above:
            counts = [np.asarray(len(z) - np.searchsorted(z, at, "left"), np.int64) for z in (x, y)]
        else:
            counts = [np.asarray(np.searchsorted(z, at, "right"), np.int64) for z in (x, y)]
        for likelier in (0, 1):
            promises = _promises(counts[likelier], counts[1 - likelier], n, aim)
            for goal in GOALS:
                top = int(promises[goal].argmax())
                if goal not in best or promises[goal][top] > best[goal].promise:
                    event = Event(score, above, float(at[top]), likelier)
                    best[goal] = Choice(goal, event, {g: float(promises[g][top]) for g in GOALS})
    return best


def _thresholds(pooled: Array) -> Array:
    """Distinct values; of very many, evenly spaced ranks and, towards both ends, ever closer ones."""
    values = np.unique(pooled)
    if len(values) == 0:
        return np.zeros(1)
    if len(values) <= THRESHOLDS:
        return values
    even = np.linspace(0, len(values) - 1, THRESHOLDS // 2)
    ends = np.geomspace(1, len(values) / 2, THRESHOLDS // 4)
    ranks = np.concatenate([even, ends - 1, len(values) - ends])
    return np.asarray(values[np.unique(ranks.astype(int))])


def _promises(k1: NDArray[np.int64], k2: NDArray[np.int64], n: int, aim: Aim) -> dict[Goal, Array]:
    """What an event seen k1 and k2 times in n pilot samples promises in a test of aim.n samples.

    In angles asin √p, whose standard deviation is 1/(2√n): the pilot's error first, then the test's.
    """
    unit = 0.5 / math.sqrt(2 * n)
    test = float(stats.norm.isf(aim.alpha)) * 0.5 / math.sqrt(2 * aim.n)
    p, q = np.arcsin(np.sqrt(k1 / n)), np.arcsin(np.sqrt((k2 + 0.5) / (n + 0.5)))
    low = np.sin(_lowered(_lowered(p, PILOT_MARGIN * unit), test)) ** 2
    high = np.sin(np.minimum(q + PILOT_MARGIN * unit + test, np.pi / 2)) ** 2
    factor = math.exp(min(aim.epsilon, 300.0))
    return {
        "epsilon": np.log(np.maximum(low - aim.delta, 1e-300) / high),
        "refute": _z_score(p, q, PILOT_MARGIN * unit, factor, aim),
        "chance": _z_score(p, q, CHANCE_MARGIN * unit, factor, aim),
        "delta": low - factor * high,
    }


def _z_score(p: Array, q: Array, margin: float, factor: float, aim: Aim) -> Array:
    """By how many standard deviations of the test P exceeds e^ε Q + δ, angles p and q less the margin."""
    p, q = np.sin(_lowered(p, margin)) ** 2, np.sin(np.minimum(q + margin, np.pi / 2)) ** 2
    spread = np.sqrt((p * (1 - p) + factor**2 * q * (1 - q) + 1 / aim.n) / aim.n)
    return np.asarray((p - factor * q - aim.delta) / spread)


def _lowered(angle: Array, margin: float) -> Array:
    """angle − margin, but above 0 wherever angle is, so that rare events keep their order."""
    return np.asarray(angle**2 / (angle + margin))
