"""The Wishart mechanism as printed in Algorithm 3. It is not private: its support shows the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import multigammaln

from lpcb.arrays import Array
from lpcb.boundary import checked
from lpcb.mechanisms._checks import check_matrices, check_mechanism, check_outputs, check_release
from lpcb.sums import wishart_sum_centred

PSD_TOLERANCE = 1e-12
"""An eigenvalue of a difference within this of zero, relative to the largest of its cell, is zero."""


@dataclass(frozen=True, eq=False)
class Wishart:
    """Adds ``unit * (W_d(d + 1, v I) - (d + 1) v I)`` with v = 1.5 sensitivity / epsilon to each matrix.

    Algorithm 3 prints 3 gamma^-2k (W_d(d + 1, 1.5/alpha I) - 1.5 (d + 1)/alpha I): ``unit`` gamma^-2k,
    sensitivity 1, epsilon alpha/3, as 3 W_d(m, V) = W_d(m, 3 V) in law.

    With d + 1 degrees of freedom the determinant drops out of the density, which is proportional to
    exp(-tr(Z) / (2v)) on positive definite Z. The output under A therefore lies in {Z : Z > A - mean}; the
    loss of A over A' is tr(A - A') / (2 v unit) if A - A' is positive semi-definite, and infinite otherwise,
    because then outputs near the edge under A are impossible under A'.

    >>> noise, one = Wishart(np.ones(1), 1.0, 1 / 3, 2), np.diag([1.0, 0.0])[None]
    >>> round(noise.loss(one, 0 * one), 4), noise.loss(0 * one, one)
    (0.1111, inf)
    """

    unit: Array
    sensitivity: float
    epsilon: float
    d: int

    def __post_init__(self) -> None:
        check_mechanism(self)

    @property
    def v(self) -> float:
        """v = 1.5 sensitivity / epsilon, the scale of the Wishart noise: 4.5/alpha as printed."""
        return 1.5 * self.sensitivity / self.epsilon

    def release(self, value: Array, rng: np.random.Generator, size: int | None = None) -> Array:
        """One user's matrices plus noise; with ``size``, that many independent releases."""
        value, size = check_release(self.unit, value, rng, size, self)
        shape = np.shape(value)[:-2] if size is None else (size, *np.shape(value)[:-2])
        return value + self.unit[..., None, None] * wishart_sum_centred(
            self.d, self.d + 1, self.v, 1, rng, shape
        )

    @checked
    def release_sum(self, total: Array, n: int, rng: np.random.Generator) -> Array:
        """The sum of n users' releases, by W_d(m, V) + ... + W_d(m, V) = W_d(n m, V) in law."""
        check_matrices(self, total=total)
        noise = wishart_sum_centred(self.d, self.d + 1, self.v, n, rng, np.shape(total)[:-2])
        return total + self.unit[..., None, None] * noise

    @checked
    def log_density(self, output: Array, value: Array) -> Array:
        """Over the trailing axes of ``value``; -inf outside the support."""
        check_matrices(self, value=value)
        check_outputs(output, value)
        d, v, unit = self.d, self.v, np.broadcast_to(self.unit, np.shape(value)[:-2])
        z = (output - value) / unit[..., None, None] + (d + 1) * v * np.eye(d)
        constant = d * (d + 1) / 2 * math.log(2 * v) + float(multigammaln((d + 1) / 2, d))
        logs = -np.trace(z, axis1=-2, axis2=-1) / (2 * v) - constant - d * (d + 1) / 2 * np.log(unit)
        logs = np.where(np.linalg.eigvalsh(z)[..., 0] > 0, logs, -np.inf)
        return np.asarray(
            logs.sum(axis=tuple(range(-(np.ndim(value) - 2), 0))) if np.ndim(value) > 2 else logs
        )

    @checked
    def loss(self, value: Array, other: Array) -> float:
        """tr(A - A') / (2 v unit), over all cells; infinite unless each A - A' is positive semi-definite."""
        check_matrices(self, value=value, other=other)
        change = (value - other) / self.unit[..., None, None]
        values = np.linalg.eigvalsh(change)
        if (values[..., 0] < -PSD_TOLERANCE * np.abs(values).max(axis=-1)).any():
            return math.inf
        return float((np.trace(change, axis1=-2, axis2=-1) / (2 * self.v)).sum())
