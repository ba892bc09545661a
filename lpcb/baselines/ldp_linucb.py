"""Locally private LinUCB (Zheng et al. 2020): every user sends noisy sufficient statistics; regret T^(3/4).

What a user sends. M = phi phi' + W and v = y phi + xi, with phi = phi(x, a) and Gaussian noise: W has
standard deviation sigma on the diagonal and sigma/sqrt(2) off it, xi has sigma. In the isometric
coordinates (M_ii, sqrt(2) M_ij, v_i) all noise is N(0, sigma^2), so what counts is the Euclidean distance
of two users' statistics, Frobenius for M. The action shows in phi(x, a) alone and is covered with it.

Sensitivity. Two users with norms p, q <= 1 of phi, phi' and cosine c: ||phi phi' - psi psi'||_F^2 =
p^4 + q^4 - 2 p^2 q^2 c^2, and ||y phi - z psi||^2, convex in (y, z), is largest at a corner of [-1, 1]^2:
p^2 + q^2 + 2 p q |c|. With u = p q |c| the sum is p^4 + q^4 + p^2 + q^2 + 2u - 2u^2 <= 4 + 1/2, attained
at p = q = 1, c = 1/2. In one dimension |c| = 1, and (p^2 - q^2)^2 + (p + q)^2 is at most 4.

Confidence. After t users Lambda_hat = Lambda + W_t, W_t = sigma sqrt(t) (G + G')/2. By Sudakov-Fernique
E lambda_max <= sigma sqrt(2 d t), and sup_u Var(u'W_t u) = sigma^2 t, so ||W_t|| <= U but for
probability p with U = sigma sqrt(t) (sqrt(2d) + sqrt(2 ln(2/p))). Let N = W_t + 2 U I, so U I <= N <= 3 U I,
and H = Lambda_hat + 2 U I = Lambda + N. Then theta_hat = H^-1 b_hat has
    theta_hat - theta* = H^-1 (sum phi_i e_i + xi_t - N theta*),
and in the norm of H: ||sum phi_i e_i||_(H^-1) <= sqrt(2 ln(1/p) + ln det(I + Lambda/U)) (self-normalised
bound, H >= Lambda + U I), ||xi_t||_(H^-1) <= ||xi_t|| / sqrt(U), ||N theta*||_(H^-1) <= ||theta*||_N <=
sqrt(3 U). ||xi_t|| <= sigma sqrt(t) (sqrt(d) + sqrt(2 ln(1/p))). Each of the three events at each look
takes p = failure / (3 looks).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lpcb.arrays import Array, Ints, dot
from lpcb.baselines._gaussian import gaussian_scale
from lpcb.baselines._rounds import LIMIT, play
from lpcb.baselines._run import Alpha, Count, Curve, Dimension, Run
from lpcb.boundary import checked
from lpcb.problem import Problem

NAME = "ldp_linucb"
PRIVACY = "(alpha, delta)-LDP, delta = min(1e-6, 1/T)"
FORM = "round by round"


class State(NamedTuple):
    """Users so far (for all seeds or for each), and the sums of their reports: gram (seeds, d, d) and moment
    (seeds, d)."""

    t: int | Ints
    gram: Array
    moment: Array


@checked
def l2_sensitivity(d: Dimension) -> float:
    return 2.0 if d == 1 else math.sqrt(4.5)


@checked
def noise_scale(d: Dimension, alpha: Alpha, horizon: Count) -> float:
    """sigma of the analytic Gaussian mechanism at (alpha, min(1e-6, 1/T))."""
    return gaussian_scale(l2_sensitivity(d), alpha, min(1e-6, 1 / horizon))


def noise(sigma: float, n: int | Ints, d: int, rng: np.random.Generator, seeds: int) -> tuple[Array, Array]:
    """The sum of n users' noise on phi phi' and on y phi."""
    sd = np.broadcast_to(sigma * np.sqrt(n), seeds)[:, None]
    G = rng.standard_normal((seeds, d, d))
    return sd[..., None] / 2 * (G + G.swapaxes(1, 2)), sd * rng.standard_normal((seeds, d))


def shift(t: int | Ints, d: int, sigma: float, p: float) -> Array:
    """U of the derivation above; at least 1, so that the first policy has a matrix to divide by."""
    size = sigma * (math.sqrt(2 * d) + math.sqrt(2 * math.log(2 / p)))
    return np.asarray(np.maximum(1.0, size * np.sqrt(t)))


def radius(t: int | Ints, d: int, sigma: float, p: float) -> Array:
    """Bound on ||theta_hat - theta*||_H after t users, from ln det(I + Lambda/U) <= d ln(1 + t/(d U))."""
    U = shift(t, d, sigma, p)
    rewards = np.sqrt(2 * math.log(1 / p) + d * np.log1p(t / (d * U)))
    xi = sigma * (math.sqrt(d) + math.sqrt(2 * math.log(1 / p))) * np.sqrt(t)
    return np.asarray(rewards + xi / np.sqrt(U) + np.sqrt(3 * U))


def ellipsoid(state: State, sigma: float, p: float) -> tuple[Array, Array, Array]:
    """theta_hat, H^-1 and the radius."""
    d = state.moment.shape[-1]
    H = state.gram + 2 * shift(state.t, d, sigma, p)[..., None, None] * np.eye(d)
    inverse = np.asarray(np.linalg.inv(H), dtype=np.float64)
    return (inverse @ state.moment[..., None])[..., 0], inverse, radius(state.t, d, sigma, p)


def start(seeds: int, d: int) -> State:
    return State(0, np.zeros((seeds, d, d)), np.zeros((seeds, d)))


def stream(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    run = Run(problem, horizon, alpha, seeds, rng, checkpoints).streamed(LIMIT)
    seeds, horizon = run.seeds, run.horizon  # as Python's integers, which do not overflow
    d, sigma, p = problem.d, noise_scale(problem.d, alpha, horizon), run.failure / (3 * horizon)

    def score(state: State, phi: Array) -> Array:
        theta, inverse, beta = ellipsoid(state, sigma, p)
        norm = np.sqrt(np.maximum(dot(phi @ inverse, phi), 0))
        out: Array = (phi @ theta[..., None])[..., 0] + beta * norm
        return out

    def update(state: State, phi: Array, y: Array) -> State:
        W, xi = noise(sigma, 1, d, rng, seeds)
        gram = state.gram + (phi[:, :, None] * phi[:, None, :] + W)
        return State(state.t + 1, gram, state.moment + (y[:, None] * phi + xi))

    return play(NAME, run, start(seeds, d), score, update)


aggregate = None
"""The policy changes every round; :mod:`lpcb.baselines.ldp_linucb_doubling` is the form for long horizons."""
