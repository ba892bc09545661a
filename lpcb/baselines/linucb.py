"""LinUCB (OFUL), not private: optimism over a self-normalised confidence ellipsoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lpcb.arrays import Array, dot
from lpcb.baselines._least_squares import RIDGE
from lpcb.baselines._rounds import LIMIT, play
from lpcb.baselines._run import Curve, Run
from lpcb.problem import Problem

NAME = "linucb"
PRIVACY = "none"
FORM = "round by round"


class State(NamedTuple):
    """V^-1 with V = RIDGE I + sum phi phi', the ridge estimate, and ln det(V / RIDGE), for each seed."""

    inverse: Array
    theta: Array
    logdet: Array


def radius(logdet: ArrayLike, failure: float) -> Array:
    """Abbasi-Yadkori, Pal & Szepesvari (2011), Theorem 2, with R = 1 (|y| <= 1) and S = 1.

    With probability 1 - failure, for all t: ||theta_hat - theta*||_V <= R sqrt(2 ln(det(V)^(1/2)
    det(RIDGE I)^(-1/2) / failure)) + sqrt(RIDGE) S.
    """
    out: Array = np.sqrt(2 * np.log(1 / failure) + np.asarray(logdet)) + np.sqrt(RIDGE)
    return out


def start(seeds: int, d: int) -> State:
    return State(np.tile(np.eye(d) / RIDGE, (seeds, 1, 1)), np.zeros((seeds, d)), np.zeros(seeds))


def learn(state: State, phi: Array, y: Array) -> State:
    """One user for each seed, phi of shape (seeds, d), by the Sherman-Morrison formula."""
    w = (state.inverse @ phi[..., None])[..., 0]
    grown = 1 + dot(w, phi)
    gain = w / grown[:, None]
    return State(
        state.inverse - w[:, :, None] * gain[:, None, :],
        state.theta + gain * (y - dot(state.theta, phi))[:, None],
        state.logdet + np.log(grown),
    )


def upper(state: State, phi: Array, failure: float) -> Array:
    """Upper confidence bounds on the means of actions with features phi (seeds, A, d)."""
    norm = np.sqrt(np.maximum(dot(phi @ state.inverse, phi), 0))
    means = (phi @ state.theta[:, :, None])[..., 0]
    out: Array = means + radius(state.logdet, failure)[:, None] * norm
    return out


def stream(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    run = Run(problem, horizon, alpha, seeds, rng, checkpoints).streamed(LIMIT)
    return play(NAME, run, start(seeds, problem.d), lambda state, phi: upper(state, phi, run.failure), learn)


aggregate = None
"""The policy changes every round; :mod:`lpcb.baselines.linucb_doubling` is the form for long horizons."""
