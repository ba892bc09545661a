r"""Lemma 4.3 as data: the terms of its decomposition bin by bin, and the worst noise in Lemma 4.2's event.

With $X = \hat\Lambda_B/(\hat\psi_B n)$ and $R = I - \hat U\hat U^\top$, the pair $(\hat s, \hat u)$ is the
top eigenpair of $RXR$, and $\|RXR - \Lambda_B\| = \|R(X - \Lambda_B)R\| \le \|X - \Lambda_B\| =: e$, so $\hat
s \ge s_B - e$ with $s_B \ge \mathrm{tr}\,\Lambda_B/d > \gamma^{-2k-2}/d$. Both are attained together:
contexts $\pm r e_i$ with r just above $\gamma^{-k-1}$ and $X = \Lambda_B - eI$. Then, with $\theta^*$ and the
error v of the vector along $\hat u$, $\|\omega_B\| = (e + v)/\hat s$, the most that the triangle inequality
allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array, Ints, group_sum
from lpcb.lplr.pcr import Components, pcr
from lpcb.lplr.update import Statistics
from lpcb.partition import Routed, edges, key_level, prediction
from lpcb.spec import Spec
from verification.experiments.fits import Hard, Sums, flat
from verification.experiments.moments import MATRIX, VECTOR, ell, psi_constant


@dataclass(frozen=True, eq=False)
class Decomposition:
    """theta_hat - theta*_B and its two parts, for the active bins ``rows``.

    ``scale`` is what rounding is measured against: the sizes of all that is added up, over s.
    """

    rows: Ints
    error: Array
    bias: Array
    omega: Array
    scale: Array


def decompose(
    spec: Spec,
    n: int,
    keys: Ints,
    private: Statistics,
    truth: Statistics,
    at: Routed,
    weights: Array,
    parent_rest: Array,
    theta: Array,
    fit: Components,
) -> Decomposition:
    """Every term from its definition; ``weights`` are the population's masses of the points ``at``."""
    rows = np.flatnonzero(fit.active & (truth.count > 0))
    u, s, R = fit.u[rows], fit.s[rows], parent_rest[rows]
    size = (fit.psi[rows] * n)[:, None]
    X, x = private.matrix[rows] / size[..., None], private.vector[rows] / size
    psi = truth.count[rows][:, None]
    Lambda, lam = truth.matrix[rows] / psi[..., None], truth.vector[rows] / psi
    values, vectors = np.linalg.eigh(R @ (X + X.swapaxes(1, 2)) @ R / 2)
    tilde = np.einsum("nij,nj,nkj->nik", vectors, np.maximum(values, 0), vectors)
    where = np.searchsorted(keys, at.keys)
    above = np.eye(spec.d) - parent_rest[where]
    eta = prediction(spec, at.total) - np.einsum("ni,nij,j->n", at.phi, above, theta)
    moment = group_sum((weights * eta)[:, None] * at.rest, where, len(keys))[rows] / psi

    def along(v: Array) -> Array:
        return np.asarray(u * (np.einsum("ni,ni->n", u, v) / s)[:, None])

    unit = edges(spec)[key_level(spec, keys[rows])]
    reach = 1 + np.abs(prediction(spec, at.total)).max()
    return Decomposition(
        rows,
        fit.theta[rows] - u * (u @ theta)[:, None],
        -along(moment),
        along((Lambda - tilde) @ theta) + along(x - lam),
        (np.abs(values).max(axis=1) + np.linalg.norm(x, axis=1) + unit * reach) / s,
    )


def fit_drawn(hard: Hard, spec: Spec, drawn: Sums) -> tuple[Components, Decomposition]:
    """Algorithm 4 on the bins of :func:`verification.experiments.fits.draw`, and the terms of its error."""
    rest = np.eye(spec.d)
    rest[: hard.h - 1, : hard.h - 1] = 0.0
    rests = np.tile(rest, (len(drawn.keys), 1, 1))
    private, truth = flat(drawn.private), flat(drawn.truth)
    fit = pcr(spec, drawn.n, drawn.keys, private, np.ones(len(drawn.keys), dtype=bool), rests)
    where = (drawn.at, drawn.weights, rests, drawn.theta)
    return fit, decompose(spec, drawn.n, drawn.keys, private, truth, *where, fit)


# --- the worst noise inside the event ---------------------------------------------------------------------


@dataclass(frozen=True)
class Worst:
    """A bin of the first layer whose statistics satisfy all three bounds of Lemma 4.2 with equality.

    ``s`` is what Algorithm 4 returns there, None if it makes the bin inactive; ``omega`` the size of omega_B.
    """

    n: int
    psi: float
    psi_hat: float
    k: int
    s: float | None
    omega: float
    need: float
    allowed: float

    @property
    def inverse_over_bound(self) -> float:
        """s^-1 over its bound; infinite for a bin that the algorithm gave up."""
        return math.inf if self.s is None else self.need / self.s

    @property
    def omega_over_bound(self) -> float:
        return self.omega / self.allowed


def omega_bound(spec: Spec, delta: float) -> float:
    """Lemma 4.3's bound on the size of omega_B, times psi sqrt(n) gamma^(-k-2)."""
    return 120 * (spec.d + 1) ** 4 * ell(spec.d, spec.b, delta) / spec.alpha


def worst_inside(spec: Spec, k: int, printed: bool) -> Worst:
    """The algorithm on the worst statistics; if they would allow s = 0, on some with s just above."""
    d, delta = spec.d, spec.failure
    threshold = spec.kappa1 * spec.gamma**2 * (d + 1) ** 3
    n = math.ceil((2 * threshold) ** 2)
    psi_hat = threshold / math.sqrt(n) * (1 + 1e-9)
    psi = psi_hat - psi_constant(d) * ell(d, spec.b, delta) / (spec.alpha * math.sqrt(n))
    unit = spec.gamma**-k
    v = VECTOR.limit(spec, delta, printed) * unit / (psi * math.sqrt(n))
    s_B = (unit / spec.gamma) ** 2 / d * (1 + 1e-9)
    e = MATRIX.limit(spec, delta, printed) * unit**2 / (psi * math.sqrt(n))
    e = min(e, s_B * (1 - 1e-6))
    # The smallest tilt that makes the top direction e_1.
    X = (s_B - e) * np.eye(d)
    X[0, 0] *= 1 + 1e-9
    theta = -np.eye(d)[0]
    # lambda_B = Lambda_B theta on the first layer; its error points away from theta like the matrix's.
    x = s_B * theta + v * theta
    key = np.array([k], dtype=np.int64)
    sums = Statistics(np.array([psi_hat * n]), x[None] * psi_hat * n, X[None] * psi_hat * n)
    fit = pcr(spec, n, key, sums, np.ones(1, dtype=bool), np.eye(d)[None])
    allowed = omega_bound(spec, delta) * spec.gamma ** (k + 2) / (psi * math.sqrt(n))
    need = unit**2 / (2 * d * spec.gamma**2)
    s = float(fit.s[0]) if fit.active[0] else None
    omega = float(np.linalg.norm(fit.theta[0] - theta)) if s is not None else 0.0
    return Worst(n, psi, psi_hat, k, s, omega, need, allowed)
