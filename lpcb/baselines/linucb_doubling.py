"""LinUCB that changes its policy only between epochs of doubling length, for horizons beyond streaming.

Statistics accumulate over all epochs and the ellipsoid is that of LinUCB, as valid as there. What is lost
is LinUCB's regret bound: an action found worth trying is played for a whole epoch, on the contexts where
its upper bound is largest, before anything is learned from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines._data import Cells, Draw, drawn_cells, summed_cells
from lpcb.baselines._epochs import LIMIT, play
from lpcb.baselines._least_squares import fit, log_det, norms
from lpcb.baselines._run import Curve, Run
from lpcb.baselines.linucb import radius
from lpcb.problem import Problem

NAME = "linucb_doubling"
PRIVACY = "none"


def greedy(scores: Array) -> Array:
    """The policy that takes the action with the largest score, (seeds, K, A) to one-hot rows."""
    out: Array = np.eye(scores.shape[-1])[scores.argmax(axis=-1)]
    return out


def upper(problem: Problem, cells: Cells, failure: float) -> Array:
    """LinUCB's upper confidence bounds on all contexts and actions, shape (seeds, K, A)."""
    seeds, points = len(cells.counts), problem.features.reshape(-1, problem.d)
    theta, R = fit(points, cells.counts.reshape(seeds, -1), cells.sums.reshape(seeds, -1))
    out = (points @ theta[..., None])[..., 0] + radius(log_det(R), failure)[:, None] * norms(R, points)[0]
    return out.reshape(cells.counts.shape)


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
    nobody = np.zeros((run.seeds, run.problem.contexts, run.problem.actions))

    def policy(past: Cells) -> Array:
        return greedy(upper(run.problem, past, run.failure))

    def update(past: Cells, policy: Array, n: int) -> Cells:
        new = draw(run, policy, n)
        return Cells(past.counts + new.counts, past.sums + new.sums)

    return play(NAME, run, Cells(nobody, nobody), policy, update)
