"""Randomizers: one file each, all with the same names.

A mechanism adds noise to a table of cells. ``unit`` is the size of each cell's entries (gamma^-k and the
like, known from the transcript), ``sensitivity`` the change of ``table / unit`` that the noise covers, and
``epsilon`` the loss allowed for such a change. ``loss(value, other)`` is the exact supremum over outputs of
log density under ``value`` less log density under ``other``. All statements are over the reals: the noise
is drawn in double precision, whose grid is a separate question (see ``FLOATING_POINT`` below).
"""

from typing import Protocol

import numpy as np

from lpcb.arrays import Array
from lpcb.mechanisms.laplace import Laplace
from lpcb.mechanisms.symmetric import SymmetricLaplace
from lpcb.mechanisms.wishart import Wishart

FLOATING_POINT = (
    "Losses are exact for real-valued noise. In double precision they do not hold: 1 + noise near 0 is a "
    "multiple of 2^-53 while noise alone is finer, so that 4.4 % of the outputs of a repaired count cell "
    "(scale 6) under 0 miss that grid; with the coarser grids further out, 10.4 % are impossible under 1. "
    "A deployment needs a discrete or snapping sampler."
)


class Mechanism(Protocol):
    """What every randomizer offers."""

    @property
    def sensitivity(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    def release(self, value: Array, rng: np.random.Generator, size: int | None = None) -> Array: ...
    def release_sum(self, total: Array, n: int, rng: np.random.Generator) -> Array: ...
    def log_density(self, output: Array, value: Array) -> Array: ...
    def loss(self, value: Array, other: Array) -> float: ...


__all__ = ["FLOATING_POINT", "Laplace", "Mechanism", "SymmetricLaplace", "Wishart"]
