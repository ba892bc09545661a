"""Laplace noise on a table of numbers: counts, vectors, and the error sums of Algorithm 5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array
from lpcb.boundary import checked
from lpcb.mechanisms._checks import check_mechanism, check_outputs, check_release, check_tables
from lpcb.sums import laplace_sum


@dataclass(frozen=True, eq=False)
class Laplace:
    """Independent Laplace noise of scale ``unit * sensitivity / epsilon`` on every entry.

    Lap(b) of Section 4.3 has density exp(-|v| / b) / (2 b); it hides counts and vectors in Algorithm 3 and
    error sums in Algorithm 5.

    Loss: log p(z - v) - log p(z - v') = sum_i (|z_i - v'_i| - |z_i - v_i|) / scale_i, at most
    sum_i |v_i - v'_i| / scale_i by the triangle inequality, with equality at z = v. If the table changes by
    at most ``sensitivity`` in units (l1), that is at most ``epsilon``.

    >>> Laplace(np.ones(2), 2.0, 0.5).loss(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    0.5
    """

    unit: Array
    sensitivity: float
    epsilon: float

    def __post_init__(self) -> None:
        check_mechanism(self)

    @property
    def scale(self) -> Array:
        """b = unit * sensitivity / epsilon, for each entry."""
        return self.unit * (self.sensitivity / self.epsilon)

    def release(self, value: Array, rng: np.random.Generator, size: int | None = None) -> Array:
        """One user's value plus noise; with ``size``, that many independent releases of it."""
        value, size = check_release(self.unit, value, rng, size)
        return self.release_checked(value, rng, size)

    def release_checked(self, value: Array, rng: np.random.Generator, size: int | None) -> Array:
        """:meth:`release` of what has been checked."""
        shape = np.shape(value) if size is None else (size, *np.shape(value))
        return value + self.scale * rng.laplace(size=shape)

    @checked
    def release_sum(self, total: Array, n: int, rng: np.random.Generator) -> Array:
        """The sum of n users' releases whose values sum to ``total``: b (Gamma(n) - Gamma'(n)) more."""
        check_tables(self.unit, total=total)
        return total + laplace_sum(np.broadcast_to(self.scale, np.shape(total)), n, rng)

    @checked
    def log_density(self, output: Array, value: Array) -> Array:
        """Over the trailing axes of ``value``; leading axes of ``output`` are samples."""
        check_tables(self.unit, value=value)
        check_outputs(output, value)
        scale = np.broadcast_to(self.scale, np.shape(value))
        logs = -np.abs(output - value) / scale - np.log(2 * scale)
        return np.asarray(logs.sum(axis=tuple(range(-np.ndim(value), 0))))

    @checked
    def loss(self, value: Array, other: Array) -> float:
        """sum_i |v_i - v'_i| / scale_i, exactly."""
        check_tables(self.unit, value=value, other=other)
        return float((np.abs(value - other) / self.scale).sum())
