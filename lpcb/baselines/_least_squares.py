"""Ridge regression from counts and reward sums, accurate where directions have 10^18 users or none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lpcb.arrays import Array

RIDGE = 1.0


class Fit(NamedTuple):
    """The ridge estimate (..., d), and R (..., d, d) with R'R = V = RIDGE I + sum phi phi'."""

    theta: Array
    R: Array


def fit(phi: Array, counts: Array, sums: Array) -> Fit:
    """Users in cells c = 1..C with features phi (..., C, d), numbers and reward sums (..., C).

    By orthogonal factorisation of the rows sqrt(count) phi: their condition number is the root of that
    of V, at most 10^9. V itself, formed at n = 10^17, is known to +-16 only and has lost its ridge.
    """
    d = phi.shape[-1]
    batch = counts.shape[:-1]
    root = np.sqrt(counts)
    below = np.broadcast_to(np.sqrt(RIDGE) * np.eye(d), (*batch, d, d))
    Q, R = np.linalg.qr(np.concatenate([root[..., None] * phi, below], axis=-2))
    target = np.divide(sums, root, out=np.zeros(counts.shape), where=counts > 0)
    theta = np.linalg.solve(R, Q[..., :-d, :].swapaxes(-1, -2) @ target[..., None])[..., 0]
    return Fit(theta, R)


def norms(R: Array, phi: Array) -> tuple[Array, Array]:
    """||phi||_(V^-1) and ||V^-1 phi|| for points phi (..., P, d)."""
    points = np.broadcast_to(phi, (*R.shape[:-2], *phi.shape[-2:])).swapaxes(-1, -2)
    u = np.linalg.solve(R.swapaxes(-1, -2), points)
    return np.linalg.norm(u, axis=-2), np.linalg.norm(np.linalg.solve(R, u), axis=-2)


def log_det(R: Array) -> Array:
    """ln det(V / RIDGE)."""
    diagonal = np.abs(np.diagonal(R, axis1=-2, axis2=-1))
    out: Array = 2 * np.log(diagonal).sum(axis=-1) - R.shape[-1] * np.log(RIDGE)
    return out
