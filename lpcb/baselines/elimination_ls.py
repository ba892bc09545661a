"""Action elimination (Algorithm 1 of the paper) on ridge regressions, one for each action; not private."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines._data import Cells, Draw, drawn_cells, summed_cells
from lpcb.baselines._epochs import LIMIT, play_elimination
from lpcb.baselines._least_squares import RIDGE, fit, norms
from lpcb.baselines._run import Curve, Run
from lpcb.problem import Problem

NAME = "elimination_ls"
PRIVACY = "none"
FORM = "epochs of doubling length"


def intervals(problem: Problem, cells: Cells, failure: float) -> tuple[Array, Array]:
    """Estimates and widths on all contexts and actions, shape (seeds, K, A).

    With G = sum phi phi', V = G + rho I and s = V^-1 phi: phi'(theta_hat - theta*) = s' sum phi_i e_i -
    rho s'theta*. Given the design the e_i are independent, centred, of range 2, so the sum is sub-Gaussian
    with variance s'Gs <= ||phi||_(V^-1)^2 (Hoeffding) and at most sqrt(2 ln(2/p)) ||phi||_(V^-1) but for
    probability p; the second term is at most rho ||s||. A union over the pairs gives p = failure / (K A).
    """
    phi = problem.features.swapaxes(0, 1)  # (A, K, d)
    theta, R = fit(phi, cells.counts.swapaxes(1, 2), cells.sums.swapaxes(1, 2))
    norm, size = norms(R, phi)
    log = math.log(2 * problem.contexts * problem.actions / failure)
    width = math.sqrt(2 * log) * norm + RIDGE * size
    f_hat = np.clip((phi @ theta[..., None])[..., 0], -1, 1)
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
        return intervals(run.problem, draw(run, policy, n), failure)

    return play_elimination(NAME, run, oracle)
