"""Locally private LinUCB that changes its policy only when the determinant has doubled.

Users, noise and ellipsoid are those of :mod:`lpcb.baselines.ldp_linucb`, statistics accumulate over all
users. The matrix whose determinant counts is H, which grows with the noise too; by
:mod:`lpcb.baselines._switching` the regret bound carries over, up to a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from lpcb.arrays import Array, Ints, dot
from lpcb.baselines._data import Users, grams, moments, summed_cells, users
from lpcb.baselines._epochs import LIMIT
from lpcb.baselines._run import Curve, Run
from lpcb.baselines._switching import Plan, play
from lpcb.baselines.ldp_linucb import State, ellipsoid, noise, noise_scale, start
from lpcb.baselines.linucb_doubling import greedy
from lpcb.problem import Problem

NAME = "ldp_linucb_doubling"
PRIVACY = "(alpha, delta)-LDP, delta = min(1e-6, 1/T)"
FORM = "changes when a determinant doubles"


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


def drawn_reports(run: Run, policy: Array, n: Ints, sigma: float) -> tuple[Array, Array]:
    """Sums of n[seed] users' reports, every report drawn, one seed after the other."""
    d, one = run.problem.d, replace(run, seeds=1)
    gram, moment = np.zeros((run.seeds, d, d)), np.zeros((run.seeds, d))
    for seed in range(run.seeds):
        for batch in users(one, policy[seed : seed + 1], int(n[seed])):
            M, v = _reports(run, batch, sigma)
            gram[seed] += M.sum(axis=(0, 1))
            moment[seed] += v.sum(axis=(0, 1))
    return gram, moment


def summed_reports(run: Run, policy: Array, n: Ints, sigma: float) -> tuple[Array, Array]:
    """The same law at a cost that does not depend on n."""
    cells = summed_cells(run, policy, n)
    W, xi = noise(sigma, n, run.problem.d, run.rng, run.seeds)
    return grams(run.problem, cells).sum(axis=1) + W, moments(run.problem, cells).sum(axis=1) + xi


def _reports(run: Run, batch: Users, sigma: float) -> tuple[Array, Array]:
    phi = run.problem.features[batch.x, batch.a]
    W, xi = noise(sigma, 1, run.problem.d, run.rng, batch.y.size)
    outer = phi[..., :, None] * phi[..., None, :]
    return outer + W.reshape(outer.shape), batch.y[..., None] * phi + xi.reshape(phi.shape)


def _run(run: Run, draw: Callable[[Run, Array, Ints, float], tuple[Array, Array]]) -> Curve:
    problem = run.problem
    sigma, p = noise_scale(problem.d, run.alpha, run.horizon), run.failure / (3 * run.horizon)

    def plan(state: State) -> Plan:
        theta, inverse, beta = ellipsoid(state, sigma, p)
        square = np.maximum(dot(problem.features @ inverse[:, None], problem.features), 0)
        scores = (problem.features @ theta[:, None, :, None])[..., 0] + beta[:, None, None] * np.sqrt(square)
        return Plan(greedy(scores), square, -np.linalg.slogdet(inverse)[1])

    def update(state: State, policy: Array, n: Ints) -> State:
        gram, moment = draw(run, policy, n, sigma)
        return State(state.t + n, state.gram + gram, state.moment + moment)

    first = start(run.seeds, problem.d)._replace(t=np.zeros(run.seeds, dtype=np.int64))
    return play(NAME, run, first, plan, update)
