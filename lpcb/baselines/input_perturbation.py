"""Elimination on perturbed inputs: noisy features and rewards, corrected by the server; alpha-LDP.

What a user sends. A table with one row (phi, y) for each action: the row of the action taken is filled, the
others are zeros, and all entries get Laplace noise, so nothing is sent that shows the action otherwise.
Another user moves the table by at most 2 max(||phi||_1 + |y|) = 2 (sqrt(d) + 1) in l1, attained with
phi' = -phi, y' = -y or with another action; the scale is b = 2 (sqrt(d) + 1) / alpha.

What the server computes. For each action, sum phi~ phi~' - 2 n b^2 I = Lambda + W and sum phi~ y~ =
sum y phi + xi over all n users, with E W = 0, E xi = 0.

How large W and xi are. Let xi_ij be the noise of user i in coordinate j (the last is the reward's), and
let each of the following events fail with probability e^-x.
- All |xi_ij| <= B = b (x + ln(n (d + 1))).
- |sum_i c_i xi_ij| <= L = sqrt(4 b^2 n x) + b x for given |c_i| <= 1: ln E e^(l c xi) = -ln(1 - l^2 b^2 c^2)
  <= l^2 b^2 c^2 / (1 - l b) is sub-gamma with variance 2 b^2 c^2 and scale b.
- |sum_i xi_ij^2 - 2 n b^2| <= D = sqrt(48 n x) b^2 + B^2 x / 3: Bernstein, as E xi^4 = 24 b^4, cut at B^2
  above; nonnegative variables need no cut below.
- |sum_i xi_ij xi_ik| <= P = sqrt(4 b^2 (2 n b^2 + D) x) + b B x for j != k: as L, with c_i = xi_ij.
So |W_jj| <= 2 L + D, |W_jk| <= 2 L + P, |xi_j| <= 2 L + P, with 3 d^2 + 7 d + 1 events, two for each |.|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines._data import Users, summed_cells, users
from lpcb.baselines._epochs import LIMIT, play_elimination
from lpcb.baselines._private import intervals
from lpcb.baselines._run import Count, Curve, Dimension, Failure, Run, Scale, check_scale
from lpcb.boundary import checked
from lpcb.problem import Problem

NAME = "input_perturbation"
PRIVACY = "alpha-LDP"
FORM = "epochs of doubling length, in aggregate their normal limit"
EXACT = 2**12
"""Users of an epoch up to whom every report is drawn in the aggregate form too."""


@checked
def l1_sensitivity(d: Dimension) -> float:
    """Of the whole table under replacement of a user."""
    return 2 * (math.sqrt(d) + 1)


@checked
def bounds(n: Count, d: Dimension, b: Scale, p: Failure) -> tuple[float, float]:
    """U >= ||W|| and r >= ||xi||, but for probability p, by the derivation above."""
    check_scale(b)
    x = math.log((3 * d * d + 7 * d + 1) / p)
    B = b * (x + math.log(n * (d + 1)))
    L = 2 * b * math.sqrt(n * x) + b * x
    D = b * b * math.sqrt(48 * n * x) + B * B * x / 3
    P = 2 * b * math.sqrt((2 * n * b * b + D) * x) + b * B * x
    U = math.sqrt(d * (2 * L + D) ** 2 + d * (d - 1) * (2 * L + P) ** 2)
    return U, math.sqrt(d) * (2 * L + P)


def reports(problem: Problem, batch: Users, b: float, rng: np.random.Generator) -> Array:
    """One noisy table for each user, shape (seeds, m, A, d + 1)."""
    phi = problem.features[batch.x, batch.a]
    table = rng.laplace(0.0, b, (*batch.x.shape, problem.actions, problem.d + 1))
    seed, user = np.indices(batch.x.shape)
    table[seed, user, batch.a] += np.concatenate([phi, batch.y[..., None]], axis=-1)
    return table


def drawn_statistics(run: Run, policy: Array, n: int, b: float) -> tuple[Array, Array]:
    """Corrected Gram matrices and moments of n users' tables, every table drawn."""
    d = run.problem.d
    total = np.zeros((run.seeds, run.problem.actions, d + 1, d + 1))
    for batch in users(run, policy, n):
        rows = reports(run.problem, batch, b, run.rng).swapaxes(1, 2)  # (seeds, A, m, d + 1)
        total += rows.swapaxes(2, 3) @ rows
    return total[..., :d, :d] - 2 * n * b * b * np.eye(d), total[..., :d, d]


def summed_statistics(run: Run, policy: Array, n: int, b: float) -> tuple[Array, Array]:
    """The same at a cost that does not depend on n: exact up to EXACT users, then in its normal limit.

    With z = (phi, y) of the row that is filled and noise xi, sum (z + xi)(z + xi)' has a fixed part, a linear
    part whose law is known (for each z, sums of Laplace variables), and sums of xi_j^2 - 2 b^2 (variance
    20 b^4 a user) and xi_j xi_k (4 b^4), uncorrelated with each other and the rest. Only these are drawn as
    normals: their standardised absolute third moments are at most 6.71, so each is within
    0.4748 * 6.71 / sqrt(n) of normal (Berry and Esseen), 5 % at n = EXACT and 3.2e-4 at n = 10^8.
    """
    if n <= EXACT:
        return drawn_statistics(run, policy, n, b)
    problem, d, rng = run.problem, run.problem.d, run.rng
    cells = summed_cells(run, policy, n)
    if problem.reward == "sign":
        y, counts = (
            np.array([1.0, -1.0]),
            np.stack([cells.counts + cells.sums, cells.counts - cells.sums]) / 2,
        )
    else:
        y, counts = np.ones(1), cells.counts[None]
    means = np.ones_like(problem.means) if problem.reward == "sign" else problem.means
    shape = (len(y), *problem.features.shape)
    rewards = np.broadcast_to(y[:, None, None] * means, shape[:-1])
    z = np.concatenate([np.broadcast_to(problem.features, shape), rewards[..., None]], axis=-1)
    linear = b * np.sqrt(2 * rng.standard_gamma(counts))[..., None]  # (g, seeds, K, A, 1), as laplace_sum
    xi = linear * rng.standard_normal((*counts.shape, d + 1))
    cross = np.einsum("gkai,gskaj->saij", z, xi)
    normal = rng.standard_normal((run.seeds, problem.actions, d + 1, d + 1))
    square = 2 * b * b * math.sqrt(n) * np.triu(normal, 1)
    square = square + square.swapaxes(2, 3)
    each = np.arange(d + 1)
    square[..., each, each] = math.sqrt(20 * n) * b * b * normal[..., each, each]
    fixed = np.einsum("gska,gkai,gkaj->saij", counts, z, z)
    total = fixed + cross + cross.swapaxes(2, 3) + square
    return total[..., :d, :d], total[..., :d, d]


def stream(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    return _run(Run(problem, horizon, alpha, seeds, rng, checkpoints).streamed(LIMIT), drawn_statistics)


def aggregate(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    return _run(Run(problem, horizon, alpha, seeds, rng, checkpoints).aggregated(), summed_statistics)


def _run(run: Run, draw: Callable[[Run, Array, int, float], tuple[Array, Array]]) -> Curve:
    problem = run.problem
    b = l1_sensitivity(problem.d) / run.alpha

    def oracle(policy: Array, n: int, failure: float) -> tuple[Array, Array]:
        p = failure / (2 * problem.actions)
        U, r = bounds(n, problem.d, b, p)
        return intervals(problem, *draw(run, policy, n, b), U, r, p / problem.contexts)

    return play_elimination(NAME, run, oracle)
