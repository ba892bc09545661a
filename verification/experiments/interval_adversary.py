r"""The worst noise inside Lemma 4.2's event: what a claim made *given* that event must withstand.

One bin, k = 0, a hair above the activity threshold or as frequent as asked for. Its users stand at the
inner edge, at $\pm e_j/\gamma$ for j = 1..m, so $\Lambda_B = I_m/(m\gamma^2)$. Noise lowers the count
and shrinks the top eigenvalue as far as allowed and pushes $\hat\lambda$ along $e_1$. The point looked at
stands at the outer edge, where nobody is. The eigenvalue stays above $\gamma^{-2}/(2d)$ where something says
so: the eigenvalue guard, or, as printed, Lemma 4.3, whose inequalities the supplement assumes throughout the
proof of Lemma 4.4. Lemma 4.2 alone does not imply them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpcb.arrays import Array
from lpcb.lplr import ci
from lpcb.lplr.aggregate import estimate
from lpcb.lplr.pcr import pcr
from lpcb.lplr.update import Statistics
from lpcb.partition import Bins, descend, enter
from lpcb.spec import Spec

N = 10**17


@dataclass(frozen=True, eq=False)
class Adversary:
    """Private statistics of the bin inside the event, and the fit made from them."""

    spec: Spec
    theta: Array
    psi: float
    psi_hat: float
    vector: Array
    matrix: Array
    bins: Bins

    @property
    def partial_error(self) -> float:
        """|phi'(theta_hat_B - theta*_B)| at phi = u, the largest in the bin."""
        return abs(float(self.bins.u[0] @ (self.bins.theta[0] - self.theta)))

    @property
    def partial_width(self) -> float:
        """bar-epsilon |u'phi|/sqrt(s) + 300 (d+1)^4 ... of Corollary A.6 at the same point."""
        spec, bins = self.spec, self.bins
        along = float(bins.error[0]) / math.sqrt(float(bins.s[0]))
        second = 300 * (spec.d + 1) ** 4 * spec.gamma**2 * spec.log_term(48)
        return along + second / (spec.alpha * float(bins.psi[0]) * math.sqrt(bins.n))

    def record(self) -> dict[str, Any]:
        """What it takes to do it again."""
        return {
            "d": self.spec.d,
            "theta": self.theta.tolist(),
            "psi": self.psi,
            "psi_hat": self.psi_hat,
            "lambda_hat": self.vector.tolist(),
            "Lambda_hat": self.matrix.tolist(),
            "n": self.bins.n,
        }

    def error_at(self, phi: Array) -> tuple[float, float]:
        """Error and interval of the whole oracle at ``phi``, when bins further down have no users."""
        spec, d = self.spec, self.spec.d
        at = enter(spec, phi[None], np.zeros(1, dtype=np.int64))
        bins = self.bins
        for _ in range(2, d + 1):
            at = descend(spec, at, bins, ci.interval(spec, at, bins))
            nobody = Statistics(np.zeros(1), np.zeros((1, d)), np.zeros((1, d, d)))
            fit = pcr(spec, N, at.keys, nobody, bins.open, bins.rest)
            bins = ci.bins(spec, N, at.keys, fit, bins.rest, np.zeros(0))
        at = descend(spec, at, bins, ci.interval(spec, at, bins))
        f_hat, width = estimate(spec, at)
        return abs(float(f_hat[0] - phi @ self.theta)), float(width[0])


def adversary(
    spec: Spec, theta: Array, m: int, share_of_users: float | None = None, given_pcr: bool = True
) -> Adversary:
    """The construction above, for users in the first ``m`` directions.

    ``share_of_users`` is psi_hat, by default at the threshold; Lemma 4.3 is assumed if ``given_pcr``.
    """
    d, log, root = spec.d, spec.log_term(48), math.sqrt(N)
    threshold = spec.kappa1 * spec.gamma**2 * (d + 1) ** 3 / root * (1 + 1e-9)
    psi_hat = threshold if share_of_users is None else max(threshold, share_of_users)
    psi = psi_hat - 6.2 * d * log / (spec.alpha * root)
    short = math.log(48 * d) - math.log(spec.failure)  # Lemma 4.2 prints no beta here
    most = (7 * (d + 1) ** 3 + 29 * d) * short / (spec.alpha * psi * root)
    push = (19 * d**2 + 29 * d) * log / (spec.alpha * psi * root)
    share = 1 / (m * spec.gamma**2) * (1 + 1e-9)
    floor = 1e-6 * share  # an eigenvalue of 0 would leave Algorithm 4 undefined
    if given_pcr or spec.has("eigenvalue-guard"):
        floor = (1 + 1e-6) / (2 * d * spec.gamma**2)
    shrink = min(most, share - floor)
    users = np.diag([1.0] * m + [0.0] * (d - m))
    matrix = share * users - shrink * users
    matrix[0, 0] += 1e-9 * shrink  # or the top direction would be left to rounding
    vector = share * users @ theta + push * np.eye(d)[0]
    count = psi_hat * N
    sums = Statistics(np.array([count]), count * vector[None], count * matrix[None])
    keys = np.zeros(1, dtype=np.int64)
    fit = pcr(spec, N, keys, sums, np.ones(1, dtype=bool), np.eye(d)[None])
    bins = ci.bins(spec, N, keys, fit, np.eye(d)[None], np.zeros(int(fit.active.sum())))
    return Adversary(spec, theta, psi, psi_hat, vector, matrix, bins)
