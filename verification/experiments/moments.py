r"""The second and third bound of Lemma 4.2 as data: constants, conditions, and their closed-form union bound.

Write $\ell = \ln(48d/\beta\delta)$. With N the noise sums, and B the bin (levels scale out, take $k_h = 0$),

    lambda_hat/(psi_hat n) - lambda_B = [S + N_v - N_c lambda_B] / (psi_hat n),
    S = sum 1_B (y_h phi_h - lambda_B),

and the same with $\phi_h\phi_h^\top$. Coordinates of S are sums of n independent centred variables with a
range of width at most 2R (vector) or 1 (matrix entries: squares lie in [0, 1], products of two coordinates of
a unit vector in [-1/2, 1/2]), so Hoeffding's inequality holds; a vector has norm at most $\sqrt d$ times its
largest coordinate, a symmetric matrix at most d times its largest entry. $\|\lambda_B\| \le R$ and
$\|\Lambda_B\| \le 1$. The denominator is $\psi_B$ less the count's error; the bound times $\hat\psi_B/\psi_B$
grows with $\psi_B$, so a bin at the edge of the condition is the worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

from lpcb.arrays import Array
from lpcb.lplr.update import Statistics, UpdateMechanisms, mechanisms, residual_range
from lpcb.mechanisms import Laplace, SymmetricLaplace, Wishart
from lpcb.spec import Spec
from verification.evidence.chernoff import laplace_sum_deviation, laplace_sum_log_tail_ball
from verification.evidence.enclosure.balls import ball, upper


def ell(d: int, beta: float, delta: float, c: float = 48) -> float:
    """ln(c d / (beta delta)); beta = 1 leaves it out."""
    return math.log(c * d) - math.log(beta) - math.log(delta)


def psi_constant(d: int) -> float:
    """Of the first bound of Lemma 4.2."""
    return 6.2 * d


def vector_constant(d: int) -> float:
    return 19.0 * d**2 + 29.0 * d


def matrix_constant(d: int) -> float:
    """As printed."""
    return 7.0 * (d + 1) ** 3 + 29.0 * d


def repaired_matrix_constant(d: int) -> float:
    """Smaller than printed from d = 1 on: the eigenvalue bound of Lemma 4.3 needs this at kappa_1 = 43."""
    return 20.0 * (d + 1) ** 2


@dataclass(frozen=True)
class Moment:
    """One of the two bounds: error <= constant * log * gamma^(-power k) / (alpha psi sqrt(n))."""

    name: str
    power: int
    constant: Callable[[int], float]
    repaired: Callable[[int], float]
    beta_in_log: bool
    error: Callable[[Statistics, Statistics, Array], Array]

    def log(self, spec: Spec, delta: float, printed: bool) -> float:
        return ell(spec.d, spec.b if self.beta_in_log or not printed else 1.0, delta)

    def limit(self, spec: Spec, delta: float, printed: bool) -> float:
        """The bound at k = 0, times psi sqrt(n)."""
        constant = (self.constant if printed else self.repaired)(spec.d)
        return constant * self.log(spec, delta, printed) / spec.alpha

    def threshold(self, spec: Spec, delta: float) -> float:
        """psi_B sqrt(n) from which the bound is claimed."""
        if self.power == 1:
            return 18 * spec.d**2 * ell(spec.d, spec.b, delta) / spec.alpha
        return 18 * (spec.d + 1) ** 3 * ell(spec.d, spec.b, delta, 24) / spec.alpha


def vector_error(private: Statistics, truth: Statistics, scale: Array) -> Array:
    """|lambda_hat / scale - lambda_B|; scale is psi_hat n."""
    psi = np.maximum(truth.count, 1e-300)
    error = private.vector / scale[..., None] - truth.vector / psi[..., None]
    return np.asarray(np.linalg.norm(error, axis=-1))


def matrix_error(private: Statistics, truth: Statistics, scale: Array) -> Array:
    """Operator norm of Lambda_hat / scale - Lambda_B."""
    psi = np.maximum(truth.count, 1e-300)
    error = private.matrix / scale[..., None, None] - truth.matrix / psi[..., None, None]
    return np.asarray(np.abs(np.linalg.eigvalsh(error)).max(axis=-1))


VECTOR = Moment("lambda", 1, vector_constant, vector_constant, True, vector_error)
MATRIX = Moment("Lambda", 2, matrix_constant, repaired_matrix_constant, False, matrix_error)


# --- the union bound -------------------------------------------------------------------------------------


def share_used(moment: Moment, spec: Spec, n: float, psi: float, delta: float, printed: bool) -> float:
    """What of the bound the errors use at most, with probability 1 - delta over all bins of the last layer.

    Four events share delta equally: the noise of the count, the count itself, the moment's noise, and its
    sampling error. At most 1 proves the claim at these parameters; infinite if psi_hat may be 0.
    """
    per_bin = math.log(delta) - spec.d * math.log(spec.M + 1) - math.log(4)
    count, noise = noise_deviations(moment, spec, spec.d, n, per_bin)
    low = psi - count - math.sqrt(-per_bin / (2 * n))
    if low <= 0:
        return math.inf
    if moment.power == 1:
        largest = residual_range(spec, spec.d)
        sampling = _hoeffding(2 * largest * math.sqrt(spec.d), spec.d, n, per_bin)
    else:
        largest = 1.0
        sampling = _hoeffding(spec.d, spec.d * (spec.d + 1) // 2, n, per_bin)
    limit = moment.limit(spec, delta, printed) / math.sqrt(n)
    return (noise + sampling + largest * count) * psi / low / limit


def noise_deviations(moment: Moment, spec: Spec, h: int, n: float, log_p: float) -> tuple[float, float]:
    """What the noise of the count and of the moment, over n, exceed with probability exp(log_p) at most."""
    noise = mechanisms(spec, h, np.zeros(1, dtype=np.int64))
    count = laplace_sum_deviation(n, float(noise.count.scale.max()), log_p, two_sided=True) / n
    if moment.power == 1:
        return count, _vector_noise(noise.vector, spec.d, n, log_p)
    return count, _matrix_noise(noise.matrix, spec.d, n, log_p)


def _hoeffding(width: float, coordinates: int, n: float, log_p: float) -> float:
    """Deviation of the mean, times ``width``, of every coordinate, two-sided."""
    return width * math.sqrt((math.log(2 * coordinates) - log_p) / (2 * n))


def _vector_noise(noise: Laplace, d: int, n: float, log_p: float) -> float:
    scale = float(noise.scale.max())
    return math.sqrt(d) * laplace_sum_deviation(n, scale, log_p - math.log(d), two_sided=True) / n


def _matrix_noise(noise: object, d: int, n: float, log_p: float) -> float:
    """Operator norm. Wishart: Davidson & Szarek, |W/v - N I| <= 2 sqrt(N) r + r^2 with r = sqrt(d) + t."""
    if isinstance(noise, SymmetricLaplace):
        scale = float(noise.unit.max() * noise.sensitivity / noise.epsilon)
        entries = math.log(d * (d + 1) / 2)
        return d * laplace_sum_deviation(n, scale, log_p - entries, two_sided=True) / n
    assert isinstance(noise, Wishart)
    r = math.sqrt(d) + math.sqrt(2 * (math.log(2) - log_p))
    return float(noise.unit.max()) * noise.v * (2 * math.sqrt(n * (d + 1)) * r + r**2) / n


# --- the same, enclosed ----------------------------------------------------------------------------------

PRECISION = 256
ROUNDED = arb(1, 2**-48)
"""Times a double that a few operations made: contains the number that is meant."""
WIDER = 1 + 1e-9
"""Deviations are taken this much larger than the solver found; then their tails are enclosed."""


def share_enclosed(
    moment: Moment, spec: Spec, n: int, edge: float, delta: float, least: float, printed: bool
) -> float:
    """An upper bound on :func:`share_used` at psi = edge/sqrt(n), in ball arithmetic; inf if it is not seen.

    It holds for every failure probability in [least, delta]: the events leave no more than ``least``, while
    the condition and the bound, which grow as delta falls, are those of ``delta``.

    At a given d, beta and delta the worst are alpha = 1 and the smallest n. In units of sqrt(n) noise falls
    with n (:func:`laplace_sum_log_tail_ball`; Wishart noise has r^2/sqrt(n) besides what is constant) and
    sampling does not change; psi, noise and the bound are multiples of 1/alpha, and sampling is none.
    """
    d, b = spec.d, spec.b
    with ctx.workprec(PRECISION):
        log_p = ball(least).log() - d * arb(spec.M + 1).log() - arb(4).log()
        root, users = arb(n).sqrt(), arb(n)
        noise = mechanisms(spec, d, np.zeros(1, dtype=np.int64))
        count = _enclosed_sum(users, float(noise.count.scale.max()), log_p)
        psi = ball(edge) * ROUNDED / root
        low = psi - count - (-log_p / (2 * users)).sqrt()
        if not low > 0:
            return math.inf
        largest = residual_range(spec, d) if moment.power == 1 else 1.0
        coordinates = d if moment.power == 1 else d * (d + 1) // 2
        width = 2 * ball(largest) * arb(d).sqrt() if moment.power == 1 else arb(d)
        sampling = width * ((arb(2 * coordinates).log() - log_p) / (2 * users)).sqrt()
        drawn = _enclosed_noise(moment, noise, d, users, log_p - arb(coordinates).log(), log_p)
        log = (arb(48 * d) / (ball(b) if moment.beta_in_log or not printed else 1) / ball(delta)).log()
        limit = ball((moment.constant if printed else moment.repaired)(d)) * log / ball(spec.alpha) / root
        return upper((drawn + sampling + ball(largest) * count) * psi / low / limit)


def _enclosed_sum(n: arb, scale: float, log_p: arb) -> arb:
    """A deviation of the mean of Laplace noise whose two-sided tail is certainly at most exp(log_p)."""
    found = laplace_sum_deviation(float(n.mid()), 1.0, float(log_p.mid()), two_sided=True) * WIDER
    certain = laplace_sum_log_tail_ball(n, ball(found)) <= log_p
    return ball(found) * ball(scale) * ROUNDED / n if certain else arb("inf")


def _enclosed_noise(
    moment: Moment, noise: UpdateMechanisms, d: int, n: arb, per_coordinate: arb, log_p: arb
) -> arb:
    if moment.power == 1:
        return arb(d).sqrt() * _enclosed_sum(n, float(noise.vector.scale.max()), per_coordinate)
    matrix = noise.matrix
    if isinstance(matrix, SymmetricLaplace):
        scale = float(matrix.unit.max() * matrix.sensitivity / matrix.epsilon)
        return d * _enclosed_sum(n, scale, per_coordinate)
    assert isinstance(matrix, Wishart)
    r = arb(d).sqrt() + (2 * (arb(2).log() - log_p)).sqrt()
    return ball(float(matrix.unit.max()) * matrix.v) * ROUNDED * (2 * (n * (d + 1)).sqrt() * r + r * r) / n
