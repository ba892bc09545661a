"""LinUCB that changes its policy only when the determinant has doubled, for horizons beyond streaming.

Statistics accumulate over all users, the ellipsoid is that of LinUCB and as valid as there, and so is its
regret bound up to a constant; see :mod:`lpcb.baselines._switching`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpcb.arrays import Array, Ints
from lpcb.baselines._data import Cells, summed_cells
from lpcb.baselines._epochs import LIMIT
from lpcb.baselines._least_squares import fit, log_det, norms
from lpcb.baselines._run import Curve, Run
from lpcb.baselines._switching import Draw, Plan, drawn_each, play
from lpcb.baselines.linucb import radius
from lpcb.problem import Problem

NAME = "linucb_doubling"
PRIVACY = "none"
FORM = "changes when a determinant doubles"


def greedy(scores: Array) -> Array:
    """The policy that takes the action with the largest score, (seeds, K, A) to one-hot rows."""
    out: Array = np.eye(scores.shape[-1])[scores.argmax(axis=-1)]
    return out


def upper(problem: Problem, cells: Cells, failure: float) -> tuple[Array, Array, Array]:
    """LinUCB's upper confidence bounds on all contexts and actions, their norms, shape (seeds, K, A), and
    ln det V."""
    seeds, points = len(cells.counts), problem.features.reshape(-1, problem.d)
    theta, R = fit(points, cells.counts.reshape(seeds, -1), cells.sums.reshape(seeds, -1))
    norm, size = norms(R, points)[0], log_det(R)
    out = (points @ theta[..., None])[..., 0] + radius(size, failure)[:, None] * norm
    return out.reshape(cells.counts.shape), norm.reshape(cells.counts.shape), size


def stream(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    return _run(Run(problem, horizon, alpha, seeds, rng, checkpoints).streamed(LIMIT), drawn_each)


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

    def plan(past: Cells) -> Plan:
        scores, norm, size = upper(run.problem, past, run.failure)
        return Plan(greedy(scores), norm**2, size)

    def update(past: Cells, policy: Array, n: Ints) -> Cells:
        new = draw(run, policy, n)
        return Cells(past.counts + new.counts, past.sums + new.sums)

    return play(NAME, run, Cells(nobody, nobody), plan, update)
