"""Action elimination (Algorithm 1 of the paper) on ridge regressions, one for each action; not private."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lpcb.arrays import Array, dot
from lpcb.baselines._data import Draw, drawn_cells, grams, moments, ridge, summed_cells
from lpcb.baselines._epochs import LIMIT, play_elimination
from lpcb.baselines._run import Curve, Run
from lpcb.problem import Problem

NAME = "elimination_ls"
PRIVACY = "none"


def intervals(problem: Problem, G: Array, b: Array, n: int, failure: float) -> tuple[Array, Array]:
    """Estimates and widths on all contexts and actions from G = sum phi phi' and b = sum y phi.

    With V = G + rho I and s = V^-1 phi: phi'(theta_hat - theta*) = s' sum phi_i e_i - rho s'theta*.
    Given the design, e_i is independent, centred, of range 2, so the sum is 1-sub-Gaussian with variance
    s'Gs (Hoeffding) and below sqrt(2 ln(2/p) s'Gs) but for probability p; the second term is at most
    rho ||s||. A union over the K A pairs gives p = failure / (K A).
    """
    phi = problem.features.swapaxes(0, 1)  # (A, K, d), beside matrices of shape (seeds, A, d, d)
    s = phi @ np.linalg.inv(G + ridge(n) * np.eye(problem.d))
    log = math.log(2 * problem.contexts * problem.actions / failure)
    width = np.sqrt(2 * log * np.maximum(dot(s @ G, s), 0)) + ridge(n) * np.linalg.norm(s, axis=-1)
    f_hat = np.clip((s @ b[..., None])[..., 0], -1, 1)
    return f_hat.swapaxes(1, 2), np.minimum(width, 2).swapaxes(1, 2)


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
    def oracle(policy: Array, n: int, failure: float) -> tuple[Array, Array]:
        cells = draw(run, policy, n)
        return intervals(run.problem, grams(run.problem, cells), moments(run.problem, cells), n, failure)

    return play_elimination(NAME, run, oracle)
