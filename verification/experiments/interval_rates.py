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
STARTED = 0.25
"""Fitted from the n on at which a bin with this share of users is active: 10^6 for d = 2 and alpha = 1. At
10^4 it would need psi > 1.9 even with scaled thresholds: errors are those of no data."""
Point = tuple[int, float]
"""d and alpha."""
FIRST: Point = (2, 1.0)
CROSS = (FIRST, *((d, a) for d in (1, 2, 3, 4) for a in (0.1, 0.5, 1.0) if (d, a) != FIRST))
ACTIVATION, WIDTH = 2e-3, 3e-4
CAP = 2.0
REPEATS = 60
DIVIDES = 1e-18
"""As printed, at most this is the probability that Algorithm 4 divides by zero in a bin: 1e-9 for 1e9 bins,
over 600 for each fit of the thorough profile, which has the most fits."""


def activation(setting: Setting, d: int) -> float:
    """ACTIVATION; as printed the factor at which an active bin has an eigenvalue but for DIVIDES.

    A bin of c users, on level k of a layer on which m <= d directions are left, is active if c + L > tau
    sqrt(n). There tr Lambda_B >= c gamma^(-2k-2), and s_B = 0 only if the noise on that trace outweighs it:
    gamma^-2k (4.5/alpha) (N - chi^2_N) with N = n (d+1) m. So L + gamma^2 (4.5/alpha) (N - chi^2_N) exceeds
    tau sqrt(n). N - chi^2_N is sub-Gaussian with 2N, and L, a sum of Lap(3/alpha), with 1.01 times its
    variance while (3/alpha)^2 s^2 <= 0.0099, which leaves n >= 100. Then P <= exp(-tau^2 / (2V)).
    """
    if setting.variant == "repaired":
        return ACTIVATION
    spec = _scaled(setting, (d, 1.0), 1.0)
    V = spec.gamma**4 * 2 * 4.5**2 * (d + 1) * d + 1.01 * 2 * 3.0**2
    return math.sqrt(2 * V * math.log(1 / DIVIDES)) / (spec.kappa1 * spec.gamma**2 * (d + 1) ** 3)


def family(n: int, d: int = 2, raised: float = 1.0) -> list[Problem]:
    """Residuals of size s with mass one, and directions of probability c / sqrt(n) in all.

    With d = 1 there is no second direction: the residuals are points of that size, the rare ones smaller.
    Where thresholds are ``raised`` by a factor, so is c: some are just seen and some are just not.
    """
    sizes = [0.3, n ** (-1 / 6), n ** (-1 / 4), n ** (-1 / 3), n ** (-1 / 2)]
    root, others = math.sqrt(n), max(d - 1, 1)
    first, rest = np.eye(d)[0], np.eye(d)[1:] if d > 1 else np.eye(1)
    theta = np.array([0.5] + [math.sqrt(0.75 / others)] * (d - 1)) if d > 1 else np.ones(1)
    half = 0.5 * first if d > 1 else np.zeros(1)
    out = []
    for s in sizes:
        points = np.stack([half + sign * s * axis for axis in rest for sign in (1, -1)])[:, None]
        weights = np.full(len(points), 1 / len(points))
        out.append(Problem(points, weights, theta, "sign", f"residual {s:.2g}"))
    for c in (1.0, 30.0, 250.0, 2000.0):
        rare = min(raised * c / root, 0.5)
        points = np.vstack([first, rest if d > 1 else 0.1 * rest])[:, None]
        weights = np.array([1 - rare] + [rare / others] * others)
        out.append(Problem(points, weights, theta, "sign", f"probability {raised * c:.3g}/sqrt(n)"))
    return out


MEMBERS = len(family(10**6))


def points(setting: Setting) -> tuple[Point, ...]:
    """FIRST in every profile, the others beside it in all but quick."""
    return (FIRST,) if setting.profile == "quick" else CROSS


def fitted_from(setting: Setting, point: Point) -> int:
    """The first n of the grid at which a bin with a share STARTED of the users is active."""
    spec = _spec(setting, point)
    threshold = spec.kappa1 * spec.gamma**2 * (spec.d + 1) ** 3
    return next(n for n in GRID if threshold / math.sqrt(n) < STARTED)


def widths_from(setting: Setting, point: Point) -> int:
    """The first such n at which intervals are below their cap, 2: there they begin to say something.

    If all users share a bin, eta_h = 2 eta_(h-1) + w/sqrt(n), so eta_d = (2^d - 1) w/sqrt(n). For d > 2 that
    is later than the first active bin. Put in after a look: fitted across the cap, d = 4 showed -0.41.
    """
    spec = _spec(setting, point)
    w = spec.kappa3 * spec.gamma**2 * (spec.d + 1) ** 4 + spec.kappa2 * spec.gamma * spec.d**1.5
    start = fitted_from(setting, point)
    return next(n for n in GRID if n >= start and (2**spec.d - 1) * w / math.sqrt(n) < CAP)


def _statistics(problem: Problem, n: int, alpha: float, rng: np.random.Generator) -> Array:
    """E|f_hat - f*| of least squares on private sums, one action, one number for each fit."""
    b = l1_sensitivity(problem.d) / alpha
    run = Run(problem, n, alpha, REPEATS, rng, (n,))
    policy = np.ones((REPEATS, problem.contexts, 1))
    gram, moment = summed_statistics(run, policy, n, b)
    p = DELTA / 4
    U, r = bounds(n, problem.d, b, p)
    f_hat, _ = intervals(problem, gram, moment, U, r, p / problem.contexts)
    error: Array = np.abs(f_hat - problem.means)[:, :, 0] @ problem.weights
    return error


def _spec(setting: Setting, point: Point) -> Spec:
    return _scaled(setting, point, activation(setting, point[0]))


def _scaled(setting: Setting, point: Point, factor: float) -> Spec:
    d, alpha = point
    return setting.spec(
        d=d, actions=1, horizon=HORIZON, alpha=alpha, delta=DELTA, activation=factor, width=WIDTH
    )


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    """Shapes are (fits, points, n, instances)."""
    shape = (REPEATS, len(points(setting)), len(GRID), MEMBERS)
    out = {name: np.empty(shape) for name in ("error", "width", "statistics")}
    for p, (d, alpha) in enumerate(points(setting)):
        spec = _spec(setting, (d, alpha))
        for j, n in enumerate(GRID):
            for i, problem in enumerate(family(n, d, spec.activation / ACTIVATION)):
                means = examine_means(simulate(spec, problem, n, REPEATS, rng))
                out["error"][:, p, j, i], out["width"][:, p, j, i] = means["mean_error"], means["mean_width"]
                out["statistics"][:, p, j, i] = _statistics(problem, n, alpha, rng)
    return out


RATES = Experiment("rates-in-n", _run, {"quick": 2, "standard": 6, "thorough": 40})
