"""Algorithm 4, LPLR-PCR: one principal component and its coefficient in every active bin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array, Bools, Ints, dot, read_only
from lpcb.boundary import check_broadcast, numbers_of, short
from lpcb.lplr.update import Statistics
from lpcb.partition import edges, key_level
from lpcb.spec import Spec

LARGEST = 1e100
"""Products of matrices with larger entries could overflow, and eigenvalues of those are NaN."""


@dataclass(frozen=True, eq=False)
class Components:
    """What Algorithm 4 returns for each bin: psi_hat = c_hat / n, activity, u_hat, s_hat, theta_hat."""

    psi: Array
    active: Bools
    u: Array
    s: Array
    theta: Array

    def __post_init__(self) -> None:
        read_only(self)


def project(matrix: Array, rest: Array) -> tuple[Array, Array]:
    """Lambda_tilde, near ``matrix``, positive semi-definite with Lambda U = 0, as (eigenvalues, vectors).

    Algorithm 4 takes the argmin over Lambda in S_d^+, Lambda U = 0, of |Lambda - matrix|_op; this is near it.

    ``rest`` is I - U U': compress, then drop what is negative. The guarantee that the proof needs holds: if
    Lambda is positive semi-definite with Lambda U = 0, the compression R X R - Lambda = R (X - Lambda) R is
    no further from Lambda than X, and its top eigenpair, all that is used, is that of its positive part.
    """
    matrix, rest = _square("matrix", matrix), _square("rest", rest)
    check_broadcast(matrix=matrix, rest=rest)
    if matrix.shape[-1] != rest.shape[-1]:
        raise ValueError(f"rest has matrices of {matrix.shape[-1]} rows, not {rest.shape[-1]}")
    compressed = rest @ (matrix + np.swapaxes(matrix, -1, -2)) @ rest / 4
    values, vectors = np.linalg.eigh(compressed + np.swapaxes(compressed, -1, -2))
    return np.maximum(values, 0.0), vectors


def _square(name: str, value: Array) -> Array:
    found = numbers_of(name, value, copy=False)
    if found.ndim < 2 or not 1 <= found.shape[-1] == found.shape[-2]:
        raise ValueError(f"{name} holds square matrices, not numbers of shape {found.shape}")
    if not (np.abs(found) <= LARGEST).all():
        raise ValueError(f"{name} holds numbers of size at most {LARGEST:g}, not {short(value)}")
    return found


def top_component(matrix: Array, rest: Array) -> tuple[Array, Array]:
    """(s_B, u_B), the largest eigenvalue and eigenvector of Lambda_tilde_B (Algorithm 4).

    u is a unit vector orthogonal to U to rounding, with canonical sign.

    >>> top_component(np.diag([4.0, 1.0]), np.diag([0.0, 1.0]))
    (array(1.), array([0., 1.]))

    If nothing positive is left, the top eigenvector may lie along U and s is 0 up to rounding: then both
    are 0.
    """
    values, vectors = project(matrix, rest)
    u = np.einsum("...ij,...j->...i", rest, vectors[..., -1])
    norm = np.linalg.norm(u, axis=-1, keepdims=True)
    found = norm > 0.5
    u = np.divide(u, norm, out=np.zeros_like(u), where=found)
    largest = np.take_along_axis(u, np.abs(u).argmax(axis=-1)[..., None], axis=-1)
    return np.where(found[..., 0], values[..., -1], 0.0), np.where(largest < 0, -u, u)


def pcr(
    spec: Spec, n: int, keys: Ints, sums: Statistics, parent_open: Bools, parent_rest: Array
) -> Components:
    """theta_B = u_B s_B^-1 u_B' lambda_hat_B / (psi_hat_B n) in each bin ``keys``, from sums over n users.

    Algorithm 4, with Lemma 4.3 on how good it is. A bin is active if its parent is, k_h < M and
    psi_hat_B > kappa_1 gamma^2 (d + 1)^3 / sqrt(n), and with `eigenvalue-guard` only if
    s_B >= gamma^(-2 k_h - 2) / (2 d), what Lemma 4.3 claims of s_B.
    """
    d = spec.d
    k = key_level(spec, keys)
    psi = sums.count / n
    threshold = spec.kappa1 * spec.gamma**2 * (d + 1) ** 3 / math.sqrt(n)
    active = parent_open & (psi > threshold) & (k < spec.M)
    u, s, theta = np.zeros((len(keys), d)), np.zeros(len(keys)), np.zeros((len(keys), d))
    rows = np.flatnonzero(active)
    if len(rows):
        scale = (psi[rows] * n)[:, None]
        rest = parent_rest[rows]
        s_rows, u_rows = top_component(sums.matrix[rows] / scale[..., None], rest)
        if spec.has("eigenvalue-guard"):
            kept = s_rows >= edges(spec)[k[rows]] ** 2 / (2 * d * spec.gamma**2)
        elif (s_rows <= 0).any():
            raise ArithmeticError(
                "Algorithm 4 divides by s_B = 0 in an active bin (repair: eigenvalue-guard)"
            )
        else:
            kept = np.ones(len(rows), dtype=bool)
        active[rows] = kept
        rows, s_rows, u_rows, scale = rows[kept], s_rows[kept], u_rows[kept], scale[kept]
        s[rows], u[rows] = s_rows, u_rows
        slope = dot(u_rows, sums.vector[rows] / scale) / s_rows
        theta[rows] = u_rows * slope[:, None]
    return Components(psi, active, u, s, theta)
