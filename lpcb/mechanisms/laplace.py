"""Laplace noise on a table of numbers: counts, vectors, and the error sums of Algorithm 5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array
from lpcb.sums import laplace_sum


@dataclass(frozen=True, eq=False)
class Laplace:
    """Independent Laplace noise of scale ``unit * sensitivity / epsilon`` on every entry.

    Loss: log p(z - v) - log p(z - v') = sum_i (|z_i - v'_i| - |z_i - v_i|) / scale_i, at most
    sum_i |v_i - v'_i| / scale_i by the triangle inequality, with equality at z = v. If the table changes by
    at most ``sensitivity`` in units (l1), that is at most ``epsilon``.
    """

    unit: Array
    sensitivity: float
    epsilon: float

    @property
    def scale(self) -> Array:
        return self.unit * (self.sensitivity / self.epsilon)

    def release(self, value: Array, rng: np.random.Generator, size: int | None = None) -> Array:
        shape = np.shape(value) if size is None else (size, *np.shape(value))
        return value + self.scale * rng.laplace(size=shape)

    def release_sum(self, total: Array, n: int, rng: np.random.Generator) -> Array:
        """The sum of n users' releases whose values sum to ``total``."""
        return total + laplace_sum(np.broadcast_to(self.scale, np.shape(total)), n, rng)

    def log_density(self, output: Array, value: Array) -> Array:
        """Over the trailing axes of ``value``; leading axes of ``output`` are samples."""
        scale = np.broadcast_to(self.scale, np.shape(value))
        logs = -np.abs(output - value) / scale - np.log(2 * scale)
        return np.asarray(logs.sum(axis=tuple(range(-np.ndim(value), 0))))

    def loss(self, value: Array, other: Array) -> float:
        return float((np.abs(value - other) / self.scale).sum())
