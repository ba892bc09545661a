"""Mechanisms with known privacy, correct and broken, as plain functions (value, rng, size) -> array."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Rng = np.random.Generator
Randomizer = Callable[[Any, Rng, int], Any]


def laplace(epsilon: float) -> Randomizer:
    return lambda value, rng, size: value + rng.laplace(scale=1 / epsilon, size=(size, *np.shape(value)))


def gaussian(sigma: float) -> Randomizer:
    """Private for no epsilon at all: the loss is normal, hence unbounded."""
    return lambda value, rng, size: value + sigma * rng.standard_normal(size)


def truncated_geometric(epsilon: float, top: int = 10) -> Randomizer:
    """Two-sided geometric noise on 0, …, top; what falls outside is moved to the ends."""

    def draw(value: int, rng: Rng, size: int) -> np.ndarray:
        p = -math.expm1(-epsilon)
        return np.clip(value + rng.geometric(p, size) - rng.geometric(p, size), 0, top)

    return draw


def randomized_response(epsilon: float, items: int = 16) -> Randomizer:
    def draw(value: int, rng: Rng, size: int) -> np.ndarray:
        keep = rng.random(size) < math.exp(epsilon) / (math.exp(epsilon) + items - 1)
        other = (value + rng.integers(1, items, size)) % items
        return np.where(keep, value, other)

    return draw


def unary_encoding(epsilon: float, items: int = 16) -> Randomizer:
    """One bit per item, each kept with odds e^(epsilon/2)."""

    def draw(value: int, rng: Rng, size: int) -> np.ndarray:
        flip = rng.random((size, items)) < 1 / (1 + math.exp(epsilon / 2))
        return (np.arange(items) == value) ^ flip

    return draw


def noisy_max(epsilon: float, noise: str) -> Randomizer:
    """The index of the largest noisy count."""

    def draw(value: np.ndarray, rng: Rng, size: int) -> np.ndarray:
        sample = rng.exponential if noise == "exponential" else rng.laplace
        return np.argmax(value + sample(scale=2 / epsilon, size=(size, len(value))), axis=1)

    return draw


def sparse_vector(
    threshold_scale: float, query_scale: float, most: int | None, values: bool = False
) -> Randomizer:
    """Which queries exceed a noisy threshold 0: 1 yes, 0 no, −1 not asked after ``most`` answers of yes.

    With ``values`` yes is answered by the noisy query itself and no by NaN.
    """

    def draw(value: np.ndarray, rng: Rng, size: int) -> np.ndarray:
        threshold = rng.laplace(scale=threshold_scale, size=(size, 1))
        noise = rng.laplace(size=(size, len(value))) * query_scale
        yes = value + noise >= threshold
        if values:
            out = np.where(yes, value + noise, np.nan)
            asked = np.cumsum(yes, axis=1) - yes < (most or len(value))
            return np.where(asked, out, -1000.0)
        asked = np.cumsum(yes, axis=1) - yes < (most or len(value) + 1)
        return np.where(asked, yes.astype(np.int64), -1)

    return draw


def prefix_sums(epsilon: float) -> Randomizer:
    def draw(value: np.ndarray, rng: Rng, size: int) -> np.ndarray:
        return np.cumsum(value + rng.laplace(scale=1 / epsilon, size=(size, len(value))), axis=1)

    return draw


def coarse_laplace(epsilon: float, grid: float) -> Randomizer:
    """Noise on a grid, added to a value off the grid: the output shows where in a cell the value lies."""

    def draw(value: float, rng: Rng, size: int) -> np.ndarray:
        return value + grid * np.round(rng.laplace(scale=1 / epsilon, size=size) / grid)

    return draw


def leaky_laplace(epsilon: float, rate: float = 1e-3) -> Randomizer:
    def draw(value: float, rng: Rng, size: int) -> np.ndarray:
        noisy = value + rng.laplace(scale=1 / epsilon, size=size)
        return np.where(rng.random(size) < rate, value, noisy)

    return draw


def shared_noise(epsilon: float) -> Randomizer:
    """Two coordinates, one draw of noise: their difference is bare."""
    return lambda value, rng, size: np.asarray(value) + rng.laplace(scale=1 / epsilon, size=(size, 1))


@dataclass(frozen=True)
class Animal:
    """A mechanism, a pair of inputs, what is claimed, and the true loss on that pair (None: not known)."""

    name: str
    draw: Randomizer
    pair: tuple[Any, Any]
    epsilon: float
    loss: float | None
    correct: bool


def _counts(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


LONG = 8
ZOO: tuple[Animal, ...] = (
    Animal("Laplace", laplace(1.0), (0.0, 1.0), 1.0, 1.0, True),
    Animal("truncated geometric", truncated_geometric(1.0), (4, 5), 1.0, 1.0, True),
    Animal("randomized response over 16", randomized_response(1.0), (0, 5), 1.0, 1.0, True),
    Animal("unary encoding over 16", unary_encoding(1.0), (0, 5), 1.0, 1.0, True),
    Animal(
        "noisy max, exponential noise", noisy_max(1.0, "exponential"),
        (_counts(2, 1, 1, 1, 1), _counts(1, 2, 2, 2, 2)), 1.0, None, True,
    ),
    Animal(
        "noisy max, Laplace noise", noisy_max(1.0, "laplace"),
        (_counts(2, 1, 1, 1, 1), _counts(1, 2, 2, 2, 2)), 1.0, None, True,
    ),
    Animal(
        "sparse vector, correct", sparse_vector(2.0, 4.0, 1),
        (_counts(*[0.0] * LONG, 1.0), _counts(*[1.0] * LONG, 0.0)), 1.0, None, True,
    ),
    Animal("prefix sums", prefix_sums(1.0), (_counts(1, 1, 1, 1, 1), _counts(2, 1, 1, 1, 1)), 1.0, 1.0, True),
    Animal("histogram", laplace(1.0), (_counts(3, 1, 4, 1, 5), _counts(3, 1, 4, 1, 6)), 1.0, 1.0, True),
    Animal("Gaussian claimed pure", gaussian(1.5), (0.0, 1.0), 1.0, math.inf, False),
    Animal(
        "sparse vector answering with values", sparse_vector(2.0, 2.0, 1, values=True),
        (_counts(*[0.0] * LONG, 1.0), _counts(*[1.0] * LONG, 0.0)), 1.0, None, False,
    ),
    Animal(
        "sparse vector, noise too small", sparse_vector(4.0, 4 / 3, 1),
        (_counts(*[0.0] * LONG, 1.0), _counts(*[1.0] * LONG, 0.0)), 1.0, 1.75, False,
    ),
    Animal(
        "sparse vector, queries without noise", sparse_vector(2.0, 0.0, None),
        (_counts(0, 1), _counts(1, 0)), 1.0, math.inf, False,
    ),
    Animal(
        "sparse vector without a limit", sparse_vector(2.0, 2.0, None),
        (_counts(*[0.0] * LONG), _counts(*[1.0] * (LONG // 2), *[-1.0] * (LONG // 2))), 1.0, None, False,
    ),
    Animal("Laplace on a coarse grid", coarse_laplace(1.0, 1 / 64), (0.0, 1 / 3), 1.0, math.inf, False),
    Animal("leaks once in a thousand", leaky_laplace(1.0), (0.0, 1.0), 1.0, math.inf, False),
    Animal(
        "noise shared by two coordinates", shared_noise(1.0), (_counts(0, 0), _counts(0, 1)),
        1.0, math.inf, False,
    ),
)  # fmt: skip
CORRECT = tuple(animal for animal in ZOO if animal.correct)
BROKEN = tuple(animal for animal in ZOO if not animal.correct)
