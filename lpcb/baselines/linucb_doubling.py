"""LinUCB that changes its policy only between epochs of doubling length, for horizons beyond streaming.

Statistics accumulate over all epochs and upper bounds are valid as in LinUCB. What is lost is LinUCB's
regret bound: an action found worth trying is played for a whole epoch, on the contexts where its upper
bound is largest, before anything is learned from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lpcb.arrays import Array, dot
from lpcb.baselines._data import Draw, drawn_cells, grams, moments, ridge, summed_cells
from lpcb.baselines._epochs import LIMIT, lengths, play
from lpcb.baselines._run import Curve, Run
from lpcb.problem import Problem

NAME = "linucb_doubling"
PRIVACY = "none"


class State(NamedTuple):
    """Users so far, and their sums of phi phi' (seeds, d, d) and y phi (seeds, d)."""

    t: int
    gram: Array
    moment: Array


def greedy(scores: Array) -> Array:
    """The policy that takes the action with the largest score, (seeds, K, A) to one-hot rows."""
    out: Array = np.eye(scores.shape[-1])[scores.argmax(axis=-1)]
    return out


def upper(state: State, features: Array, failure: float) -> Array:
    """Upper confidence bounds on all contexts and actions, shape (seeds, K, A).

    With V = gram + rho I: phi'(theta_hat - theta*) = phi'V^-1 sum phi_i e_i - rho phi'V^-1 theta*, at most
    ||phi||_(V^-1) sqrt(2 ln(1/failure) + ln det(V/rho)) + rho ||V^-1 phi||. The second term is sharper
    than LinUCB's sqrt(rho) ||phi||_(V^-1); as rho depends on t, each look takes its own failure.
    """
    rho = ridge(state.t)
    V = state.gram + rho * np.eye(features.shape[-1])
    s = features @ np.linalg.inv(V)[:, None]
    square = np.maximum(dot(s, features), 0)
    rewards = np.sqrt(2 * math.log(1 / failure) + np.linalg.slogdet(V / rho)[1])[:, None, None]
    f_hat = (s @ state.moment[:, None, :, None])[..., 0]
    out: Array = f_hat + rewards * np.sqrt(square) + rho * np.linalg.norm(s, axis=-1)
    return out


def stream(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    return _run(Run(problem, horizon, alpha, seeds, rng, checkpoints).streamed(LIMIT), drawn_cells)


def aggregate(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    return _run(Run(problem, horizon, alpha, seeds, rng, checkpoints).aggregated(), summed_cells)


def _run(run: Run, draw: Draw) -> Curve:
    problem, d = run.problem, run.problem.d
    failure = run.failure / len(lengths(run.horizon))
    start = State(0, np.zeros((run.seeds, d, d)), np.zeros((run.seeds, d)))

    def policy(state: State) -> Array:
        return greedy(upper(state, problem.features, failure))

    def update(state: State, policy: Array, n: int) -> State:
        cells = draw(run, policy, n)
        gram, moment = grams(problem, cells).sum(axis=1), moments(problem, cells).sum(axis=1)
        return State(state.t + n, state.gram + gram, state.moment + moment)

    return play(NAME, run, start, policy, update)
