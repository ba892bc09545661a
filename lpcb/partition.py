"""Figure 2: bins, layers and the routing of vectors through them, vectorised over points.

A bin B_{k_1...k_h} of oracle o has the integer key ((o (M+1) + k_1) (M+1) + ...) + k_h, so a parent is
``key // (M + 1)`` and the level k_h is ``key % (M + 1)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array, Bools, Ints, dot, read_only
from lpcb.boundary import checked, kind, numbers_of, short
from lpcb.spec import Spec, check_spec

MAX_KEYS = 10**8
"""More bins than this are not listed: their keys alone would fill a gigabyte."""

_whole = kind(Ints)


def edges(spec: Spec) -> Array:
    """gamma^-k for k = 0, ..., M, the largest norms of the levels (Section 4.1).

    >>> edges(Spec(d=1, actions=2, horizon=256, beta=0.25))
    array([1.    , 0.25  , 0.0625])
    """
    check_spec(spec)
    return np.asarray(spec.gamma ** -np.arange(spec.M + 1, dtype=np.float64))


def level(spec: Spec, norm: Array) -> Ints:
    """k_h = max {k <= M : |phi_h| <= gamma^-k} (Figure 2); a norm that rounding put above one is on level 0.

    >>> level(Spec(d=1, actions=2, horizon=256, beta=0.25), np.array([1.0, 0.25, 0.2, 0.0]))
    array([0, 1, 1, 2])
    """
    sizes = edges(spec)
    if not (type(norm) is np.ndarray and norm.dtype == np.float64):  # every user comes by here
        norm = numbers_of("norm", norm)
    if not (norm >= 0).all():
        raise ValueError(f"norm is at least 0, not {short(norm)}")
    at_least = np.searchsorted(sizes[::-1], norm, side="left")
    return np.clip(spec.M - at_least, 0, spec.M)


@checked
def key_level(spec: Spec, keys: Ints) -> Ints:
    """k_h, the last index of each bin B_{k_1...k_h}."""
    if not (np.asarray(keys) >= 0).all():
        raise ValueError(f"keys are at least 0, not {short(keys)}")
    return np.asarray(keys) % (spec.M + 1)


@checked
def layer_keys(spec: Spec, h: int, oracles: int) -> Ints:
    """All (M + 1)^h bins of layer h, for all oracles.

    >>> layer_keys(Spec(d=2, actions=2, horizon=256, beta=0.25), 1, oracles=2)
    array([0, 1, 2, 3, 4, 5])
    """
    if not 1 <= h <= spec.d:
        raise ValueError(f"h is a layer from 1 to {spec.d}, not {h}")
    if not 0 <= oracles * (spec.M + 1) ** h <= MAX_KEYS:
        raise ValueError(f"oracles is at least 0 and has at most {MAX_KEYS} bins in all, not {oracles}")
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
    """Points at the top of the tree of their oracle: phi_1 = phi, y_1 = y (Figure 2)."""
    if not (type(phi) is np.ndarray and phi.dtype == np.float64):
        phi = numbers_of("phi", phi)
    if not (type(oracle) is np.ndarray and oracle.dtype == np.int64):
        oracle = _whole("oracle", oracle)
    check_spec(spec)
    if np.ndim(phi) != 2 or np.shape(phi)[1] != spec.d or np.shape(oracle) != np.shape(phi)[:1]:
        shapes = f"{np.shape(phi)} and {np.shape(oracle)}"
        raise ValueError(f"phi has shape (points, {spec.d}) and oracle (points,), not {shapes}")
    if not np.isfinite(phi).all() or not (oracle >= 0).all():
        raise ValueError("phi holds finite numbers and oracle numbers of at least 0")
    k = level(spec, np.linalg.norm(phi, axis=-1))
    zero = np.zeros(len(phi))
    return Routed(1, phi, phi, k, oracle * (spec.M + 1) + k, zero, zero, np.zeros(len(phi), dtype=bool))


def descend(spec: Spec, at: Routed, bins: Bins, eta: Array) -> Routed:
    """One step of Figure 2: phi_{h+1} = (I - u_B u_B') phi_h and y_{h+1} = y_h - phi_h' theta_B.

    Of y the part that is subtracted is kept, as ``total``. ``eta`` is the interval of the bin just passed.
    """
    rows = bins.rows(at.keys)
    u, theta = bins.u[rows], bins.theta[rows]
    rest = at.rest - u * dot(u, at.rest)[:, None]
    k = level(spec, np.linalg.norm(rest, axis=-1))
    keys = at.keys * (spec.M + 1) + k
    total = at.total + dot(at.rest, theta)
    return Routed(at.h + 1, at.phi, rest, k, keys, total, eta, at.stopped | ~bins.active[rows])


def prediction(spec: Spec, total: Array) -> Array:
    """The prediction subtracted from y and returned as f_hat; `residual-range` clips it to [-1, 1]."""
    check_spec(spec)
    total = numbers_of("total", total, copy=False)
    return np.clip(total, -1.0, 1.0) if spec.has("residual-range") else total
