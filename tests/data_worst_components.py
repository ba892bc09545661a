"""Bins on which Algorithm 4 comes closest to the bounds of Lemma 4.3, and how an instance becomes a bin.

Statistics are as far from the population as Lemma 4.2, repaired, allows; an instance says where they point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lpcb.lplr.pcr import pcr
from lpcb.lplr.update import Statistics
from lpcb.spec import REPAIRED
from verification.experiments.components import omega_bound
from verification.experiments.moments import MATRIX, VECTOR, ell, psi_constant


@dataclass(frozen=True)
class Instance:
    """Contexts along the axes of a bin on the first layer; all numbers from 0 to 1 or from -1 to 1.

    ``lengths`` go from the inner to the outer edge and ``masses`` are relative; ``matrix`` and ``vector`` are
    the errors in units of the largest allowed, along the axes; ``theta`` is the direction of theta*.
    """

    alpha: float
    deep: bool
    lengths: tuple[float, ...]
    masses: tuple[float, ...]
    matrix: tuple[float, ...]
    vector: tuple[float, ...]
    theta: tuple[float, ...]


def ratios(one: Instance) -> tuple[float, float]:
    """1/s and |omega_B|, each over its bound; infinite if the algorithm gives the bin up."""
    d = len(one.lengths)
    spec = REPAIRED(d=d, actions=1, horizon=10**6, alpha=one.alpha)
    delta, k = spec.failure, spec.M - 1 if one.deep else 0
    threshold = spec.kappa1 * spec.gamma**2 * (d + 1) ** 3
    n = math.ceil((2 * threshold) ** 2)
    root, outer = math.sqrt(n), spec.gamma**-k
    psi_hat = threshold / root * (1 + 1e-9)
    psi = psi_hat - psi_constant(d) * ell(d, spec.b, delta) / (spec.alpha * root)
    length = outer / spec.gamma * (1 + 1e-9) + np.array(one.lengths) * outer * (1 - 1 / spec.gamma) * 0.999
    mass = np.array(one.masses) + 1e-9
    true = length**2 * mass / mass.sum()
    error = np.array(one.matrix) * MATRIX.limit(spec, delta, False) * outer**2 / (psi * root)
    direction = np.array(one.theta) / max(1.0, float(np.linalg.norm(one.theta)))
    shift = np.array(one.vector) / max(1.0, float(np.linalg.norm(one.vector)))
    vector = true * direction + shift * VECTOR.limit(spec, delta, False) * outer / (psi * root)
    sums = Statistics(
        np.array([psi_hat * n]), vector[None] * psi_hat * n, np.diag(true + error)[None] * psi_hat * n
    )
    fit = pcr(spec, n, np.array([k]), sums, np.ones(1, dtype=bool), np.eye(d)[None])
    if not fit.active[0]:
        return math.inf, math.inf
    u = fit.u[0]
    omega = float(np.linalg.norm(fit.theta[0] - u * (u @ direction)))
    allowed = omega_bound(spec, delta) * spec.gamma ** (k + 2) / (psi * root)
    return outer**2 / (2 * d * spec.gamma**2) / float(fit.s[0]), omega / allowed


WORST: tuple[tuple[Instance, float, float], ...] = (
    (
        Instance(
            alpha=0.5, deep=True, lengths=(0.0,), masses=(0.6,), matrix=(-1.0,), vector=(-1.0,), theta=(0.63,)
        ),
        0.65199825,
        0.032515065,
    ),
    (
        Instance(
            alpha=0.5,
            deep=True,
            lengths=(0.0, 0.0),
            masses=(0.0, 0.0),
            matrix=(-0.41, -0.87),
            vector=(-0.69, 0.0),
            theta=(0.97, 0.0),
        ),
        0.572944949,
        0.021758364,
    ),
    (
        Instance(
            alpha=0.1,
            deep=False,
            lengths=(0.0,),
            masses=(0.0,),
            matrix=(-0.94,),
            vector=(0.96,),
            theta=(0.86,),
        ),
        0.640318966,
        0.0738714648,
    ),
    (
        Instance(
            alpha=1.0,
            deep=False,
            lengths=(0.0, 0.0, 0.0),
            masses=(0.0, 0.0, 0.0),
            matrix=(-0.58, 0.0, 0.0),
            vector=(-0.64, 0.28, -0.99),
            theta=(0.0, -1.0, -0.31),
        ),
        0.499999999,
        0.0205862444,
    ),
    (
        Instance(
            alpha=0.5,
            deep=False,
            lengths=(0.27, 0.25, 0.0, 0.0),
            masses=(0.84, 0.0, 0.35, 0.91),
            matrix=(-0.93, 0.03, 0.0, 0.0),
            vector=(-0.69, -0.06, 0.0, 0.0),
            theta=(-0.87, 0.02, -0.62, 0.34),
        ),
        0.162309285,
        0.0112636334,
    ),
)
"""(instance, 1/s, |omega_B|) with rounded numbers: the largest that the search met, for either ratio."""
