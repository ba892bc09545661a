"""Figure 2: bins, layers and the routing of vectors through them, vectorised over points.

A bin B_{k_1...k_h} of oracle o has the integer key ((o (M+1) + k_1) (M+1) + ...) + k_h, so a parent is
``key // (M + 1)`` and the level k_h is ``key % (M + 1)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array, Bools, Ints, dot, read_only
from lpcb.spec import Spec


def edges(spec: Spec) -> Array:
    """gamma^-k for k = 0..M, the largest norms of the levels."""
    return np.asarray(spec.gamma ** -np.arange(spec.M + 1, dtype=np.float64))


def level(spec: Spec, norm: Array) -> Ints:
    """k_h = max {k <= M : norm <= gamma^-k}; a norm that rounding put above one is on level 0."""
    at_least = np.searchsorted(edges(spec)[::-1], norm, side="left")
    return np.clip(spec.M - at_least, 0, spec.M)


def key_level(spec: Spec, keys: Ints) -> Ints:
    return keys % (spec.M + 1)


def layer_keys(spec: Spec, h: int, oracles: int) -> Ints:
    """All bins of layer h, for all oracles."""
    return np.arange(oracles * (spec.M + 1) ** h, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Bins:
    """Fitted bins of one layer, one row each, sorted by key.

    ``active`` bins have a direction u, eigenvalue s and coefficient theta (zero otherwise); children of
    bins that are not ``open`` are inactive. ``rest`` is I - U U' with U all directions down to this bin.
    ``error`` is bar-epsilon of Algorithm 5. Arrays are read-only: clients act by them.
    """

    n: int
    keys: Ints
    psi: Array
    active: Bools
    open: Bools
    u: Array
    s: Array
    theta: Array
    rest: Array
    error: Array

    def __post_init__(self) -> None:
        read_only(self)

    def rows(self, keys: Ints) -> Ints:
        """Row of each key. Every key must be there."""
        rows = np.searchsorted(self.keys, keys)
        if (rows >= len(self.keys)).any() or (self.keys[rows] != keys).any():
            raise KeyError("bins that were not fitted")
        return rows


@dataclass(frozen=True, eq=False)
class Routed:
    """Points on their way down the tree, about to enter their bins ``keys`` on layer h.

    ``rest`` is phi_h, ``total`` the cumulative prediction phi' theta_hat^tot of the layers above,
    ``eta`` the interval of the parent bin, ``stopped`` whether a bin above was inactive.
    """

    h: int
    phi: Array
    rest: Array
    k: Ints
    keys: Ints
    total: Array
    eta: Array
    stopped: Bools


def enter(spec: Spec, phi: Array, oracle: Ints) -> Routed:
    """Points at the top of the tree of their oracle."""
    k = level(spec, np.linalg.norm(phi, axis=-1))
    zero = np.zeros(len(phi))
    return Routed(1, phi, phi, k, oracle * (spec.M + 1) + k, zero, zero, np.zeros(len(phi), dtype=bool))


def descend(spec: Spec, at: Routed, bins: Bins, eta: Array) -> Routed:
    """Through the fitted bins of layer h to layer h + 1; ``eta`` is the interval of the bin just passed."""
    rows = bins.rows(at.keys)
    u, theta = bins.u[rows], bins.theta[rows]
    rest = at.rest - u * dot(u, at.rest)[:, None]
    k = level(spec, np.linalg.norm(rest, axis=-1))
    keys = at.keys * (spec.M + 1) + k
    total = at.total + dot(at.rest, theta)
    return Routed(at.h + 1, at.phi, rest, k, keys, total, eta, at.stopped | ~bins.active[rows])


def prediction(spec: Spec, total: Array) -> Array:
    """The prediction subtracted from y and returned as f_hat; `residual-range` clips it to [-1, 1]."""
    return np.clip(total, -1.0, 1.0) if spec.has("residual-range") else total
