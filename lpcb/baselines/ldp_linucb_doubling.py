"""Locally private LinUCB that changes its policy only between epochs of doubling length.

Users, noise and ellipsoid are those of :mod:`lpcb.baselines.ldp_linucb`, statistics accumulate over all
epochs, and the ellipsoid is looked at once an epoch. As with LinUCB, its regret bound does not carry over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lpcb.arrays import Array, dot
from lpcb.baselines._data import Users, grams, moments, summed_cells, users
from lpcb.baselines._epochs import LIMIT, lengths, play
from lpcb.baselines._run import Curve, Run
from lpcb.baselines.ldp_linucb import State, ellipsoid, noise, noise_scale, start
from lpcb.baselines.linucb_doubling import greedy
from lpcb.problem import Problem

NAME = "ldp_linucb_doubling"
PRIVACY = "(alpha, delta)-LDP, delta = min(1e-6, 1/T)"


def stream(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    return _run(Run(problem, horizon, alpha, seeds, rng, checkpoints).streamed(LIMIT), drawn_reports)


def aggregate(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    return _run(Run(problem, horizon, alpha, seeds, rng, checkpoints).aggregated(), summed_reports)


def drawn_reports(run: Run, policy: Array, n: int, sigma: float) -> tuple[Array, Array]:
    """Sums of n users' reports, every report drawn."""
    state = start(run.seeds, run.problem.d)
    gram, moment = state.gram, state.moment
    for batch in users(run, policy, n):
        M, v = _reports(run, batch, sigma)
        gram, moment = gram + M.sum(axis=1), moment + v.sum(axis=1)
    return gram, moment


def summed_reports(run: Run, policy: Array, n: int, sigma: float) -> tuple[Array, Array]:
    """The same law at a cost that does not depend on n."""
    cells = summed_cells(run, policy, n)
    W, xi = noise(sigma, n, run.problem.d, run.rng, run.seeds)
    return grams(run.problem, cells).sum(axis=1) + W, moments(run.problem, cells).sum(axis=1) + xi


def _reports(run: Run, batch: Users, sigma: float) -> tuple[Array, Array]:
    phi = run.problem.features[batch.x, batch.a]
    W, xi = noise(sigma, 1, run.problem.d, run.rng, batch.y.size)
    outer = phi[..., :, None] * phi[..., None, :]
    return outer + W.reshape(outer.shape), batch.y[..., None] * phi + xi.reshape(phi.shape)


def _run(run: Run, draw: Callable[[Run, Array, int, float], tuple[Array, Array]]) -> Curve:
    problem = run.problem
    sigma = noise_scale(problem.d, run.alpha, run.horizon)
    p = run.failure / (3 * len(lengths(run.horizon)))

    def policy(state: State) -> Array:
        theta, inverse, beta = ellipsoid(state, sigma, p)
        norm = np.sqrt(np.maximum(dot(problem.features @ inverse[:, None], problem.features), 0))
        return greedy((problem.features @ theta[:, None, :, None])[..., 0] + beta * norm)

    def update(state: State, policy: Array, n: int) -> State:
        gram, moment = draw(run, policy, n, sigma)
        return State(state.t + n, state.gram + gram, state.moment + moment)

    return play(NAME, run, start(run.seeds, problem.d), policy, update)
