"""Symmetric matrix noise, the repair of the Wishart mechanism: Laplace on the upper triangle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lpcb.arrays import Array
from lpcb.boundary import checked
from lpcb.mechanisms._checks import check_matrices, check_mechanism, check_outputs, check_release
from lpcb.mechanisms.laplace import Laplace


@dataclass(frozen=True, eq=False)
class SymmetricLaplace:
    """Independent Laplace noise on the entries i <= j of symmetric d x d matrices, mirrored.

    Sensitivity: for |v|_2 <= 1 the upper triangle of v v' has l1 norm (|v|_1^2 + |v|_2^2) / 2 <= (d + 1) / 2,
    attained at v = (1, ..., 1) / sqrt(d); a replacement empties one cell and fills another, hence d + 1.
    Takes the place of the Wishart noise of Algorithm 3 (`symmetric-noise`).

    >>> full = np.full((1, 2, 2), 0.5)
    >>> SymmetricLaplace(np.ones(1), 1.5, 0.25, 2).loss(full, 0 * full)
    0.25
    """

    unit: Array
    sensitivity: float
    epsilon: float
    d: int

    def __post_init__(self) -> None:
        check_mechanism(self)

    @cached_property
    def _entries(self) -> Laplace:
        return Laplace(self.unit[..., None], self.sensitivity, self.epsilon)

    def _upper(self, matrix: Array) -> Array:
        i, j = np.triu_indices(self.d)
        return matrix[..., i, j]

    def _mirror(self, upper: Array) -> Array:
        i, j = np.triu_indices(self.d)
        matrix = np.empty((*upper.shape[:-1], self.d, self.d))
        matrix[..., i, j] = upper
        matrix[..., j, i] = upper
        return matrix

    def release(self, value: Array, rng: np.random.Generator, size: int | None = None) -> Array:
        """One user's matrices plus symmetric noise; with ``size``, that many independent releases."""
        value, size = check_release(self.unit, value, rng, size, self)
        return self._mirror(self._entries.release_checked(self._upper(value), rng, size))

    @checked
    def release_sum(self, total: Array, n: int, rng: np.random.Generator) -> Array:
        """The sum of n users' releases whose matrices sum to ``total``."""
        check_matrices(self, total=total)
        return self._mirror(self._entries.release_sum(self._upper(total), n, rng))

    @checked
    def log_density(self, output: Array, value: Array) -> Array:
        """Density of the upper triangle; an output that is not symmetric is impossible."""
        check_matrices(self, value=value)
        check_outputs(output, value)
        logs = self._entries.log_density(self._upper(output), self._upper(value))
        mirrored = (output == np.swapaxes(output, -1, -2)).all(axis=tuple(range(-np.ndim(value), 0)))
        return np.where(mirrored, logs, -np.inf)

    @checked
    def loss(self, value: Array, other: Array) -> float:
        """sum over i <= j of |A_ij - A'_ij| / scale, exactly."""
        check_matrices(self, value=value, other=other)
        return self._entries.loss(self._upper(value), self._upper(other))
