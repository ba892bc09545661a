"""Errors and widths of fitted oracles along n, over a family of instances some of which move with n."""

from __future__ import annotations

import math

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines._private import intervals
from lpcb.baselines._run import Run
from lpcb.baselines.private_statistics import bounds, l1_sensitivity, summed_statistics
from lpcb.problem import Problem
from lpcb.spec import Spec
from verification.claim import Arrays, Experiment, Setting
from verification.experiments.coverage import simulate
from verification.experiments.interval_cases import DELTA, HORIZON, examine_means

GRID = (10**4, 10**6, 10**8, 10**11, 10**14, 10**17)
FITTED_FROM = 10**6
"""At 10^4 a bin needs psi > 1.9 to be active even with scaled thresholds: errors are those of no data."""
ACTIVATION, WIDTH = 2e-3, 3e-4
REPEATS = 60


def family(n: int) -> list[Problem]:
    """Residuals of size s with mass one, and a second direction of probability c / sqrt(n)."""
    sizes = [0.3, n ** (-1 / 6), n ** (-1 / 4), n ** (-1 / 3), n ** (-1 / 2)]
    root = math.sqrt(n)
    theta = np.array([0.5, math.sqrt(0.75)])
    out = [
        Problem(np.array([[[0.5, s]], [[0.5, -s]]]), np.array([0.5, 0.5]), theta, "sign", f"residual {s:.2g}")
        for s in sizes
    ]
    for c in (1.0, 30.0, 250.0, 2000.0):
        rare = min(c / root, 0.5)
        points = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
        out.append(Problem(points, np.array([1 - rare, rare]), theta, "sign", f"probability {c:g}/sqrt(n)"))
    return out


MEMBERS = len(family(10**6))


def _statistics(problem: Problem, n: int, rng: np.random.Generator) -> Array:
    """E|f_hat - f*| of least squares on private sums, one action, one number for each fit."""
    b = l1_sensitivity(problem.d) / 1.0
    run = Run(problem, n, 1.0, REPEATS, rng, (n,))
    policy = np.ones((REPEATS, problem.contexts, 1))
    gram, moment = summed_statistics(run, policy, n, b)
    p = DELTA / 4
    U, r = bounds(n, problem.d, b, p)
    f_hat, _ = intervals(problem, gram, moment, U, r, p / problem.contexts)
    error: Array = np.abs(f_hat - problem.means)[:, :, 0] @ problem.weights
    return error


def _spec(setting: Setting) -> Spec:
    return setting.spec(d=2, actions=1, horizon=HORIZON, delta=DELTA, activation=ACTIVATION, width=WIDTH)


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    shape = (REPEATS, len(GRID), MEMBERS)
    out = {name: np.empty(shape) for name in ("error", "width", "statistics")}
    spec = _spec(setting)
    for j, n in enumerate(GRID):
        for i, problem in enumerate(family(n)):
            means = examine_means(simulate(spec, problem, n, REPEATS, rng))
            out["error"][:, j, i], out["width"][:, j, i] = means["mean_error"], means["mean_width"]
            out["statistics"][:, j, i] = _statistics(problem, n, rng)
    return out


RATES = Experiment("rates-in-n", _run, {"quick": 2, "standard": 6, "thorough": 40})
