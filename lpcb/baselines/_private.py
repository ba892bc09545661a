"""Intervals from private sufficient statistics, given how large their noise can be."""

from __future__ import annotations

import math

import numpy as np

from lpcb.arrays import Array, dot
from lpcb.problem import Problem


def intervals(
    problem: Problem, gram: Array, moment: Array, U: float, r: float, p: float
) -> tuple[Array, Array]:
    """Estimates and widths on all contexts and actions, shape (seeds, K, A), for one regression an action.

    ``gram`` = Lambda + W (seeds, A, d, d) and ``moment`` = sum y phi + xi (seeds, A, d), on the event
    ||W|| <= U and ||xi|| <= r. Let N = W + 2 U I, so that U I <= N <= 3 U I, and H = gram + 2 U I =
    Lambda + N. With s = H^-1 phi, phi'(theta_hat - theta*) = s' sum phi_i e_i + s'xi - s'N theta*, and
    - given design and noise the first term is sub-Gaussian with variance s'Lambda s <= s'H s = phi's:
      at most sqrt(2 ln(2/p) phi's), but for probability p at each (x, a);
    - |s'xi| <= ||s|| r, also <= sqrt(phi's) r / sqrt(U), as H >= U I;
    - |s'N theta*| <= ||s|| 3 U, also <= sqrt(phi's) sqrt(3 U), as H >= N.
    Where an eigenvalue of H below U shows that the event has failed, the width is that of no data.
    """
    H = gram + 2 * U * np.eye(problem.d)
    phi = problem.features.swapaxes(0, 1)  # (A, K, d)
    s = phi @ np.linalg.inv(H)
    norm, square = np.linalg.norm(s, axis=-1), np.maximum(dot(s, phi), 0)
    bias = np.minimum(norm * (r + 3 * U), np.sqrt(square) * (r / math.sqrt(U) + math.sqrt(3 * U)))
    width = np.sqrt(2 * math.log(2 / p) * square) + bias
    sound = np.linalg.eigvalsh(H)[..., :1] >= U
    f_hat = np.where(sound, np.clip((s @ moment[..., None])[..., 0], -1, 1), 0.0)
    return f_hat.swapaxes(1, 2), np.where(sound, np.minimum(width, 2), 2.0).swapaxes(1, 2)


def symmetric(upper: Array, d: int) -> Array:
    """Symmetric matrices from their upper triangles, row by row, on the last axis."""
    out = np.empty((*upper.shape[:-1], d, d))
    i, j = np.triu_indices(d)
    out[..., i, j] = upper
    out[..., j, i] = upper
    return out
