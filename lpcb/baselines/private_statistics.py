"""Elimination on private sufficient statistics with Laplace noise; alpha-LDP.

What a user sends. A table with one row v = (upper triangle of phi phi', y phi) for each action: the row of
the action taken is filled with phi = phi(x, a), the others with zeros; all entries get Laplace noise.
Another user changes two rows: the l1 distance is at most ||v|| + ||v'||, attained when the actions
differ. ||v||_1 = (||phi||_2^2 + ||phi||_1^2) / 2 + |y| ||phi||_1 <= (1 + d)/2 + sqrt(d), attained at
phi = (1, ..., 1)/sqrt(d), so the sensitivity is (1 + sqrt(d))^2 and the scale b = (1 + sqrt(d))^2 / alpha.

What it does to n users' sums. Given exponential mixing variables the sum of a noise entry is normal with
variance 2 b^2 Gamma(n), and Gamma(n) <= n + sqrt(2 n x) + x but for probability e^-x; so all m = d(d+3)/2
entries of a row are normal with variance at most V^2 = 2 b^2 (n + sqrt(2 n x) + x), x = ln(m/p), but for
probability p. Then E lambda_max(W) <= 2 V sqrt(d) (Sudakov-Fernique: increments of u'Wu are at most those
of 2 V g'u) and Var(u'Wu) <= 2 V^2, so ||W|| <= U = 2 V (sqrt(d) + sqrt(ln(2/p))) and
||xi|| <= r = V (sqrt(d) + sqrt(2 ln(1/p))), each but for probability p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines._data import Users, grams, moments, summed_cells, users
from lpcb.baselines._epochs import LIMIT, play_elimination
from lpcb.baselines._private import intervals, symmetric
from lpcb.baselines._run import Count, Curve, Dimension, Failure, Run, Scale, check_scale
from lpcb.boundary import checked
from lpcb.problem import Problem
from lpcb.sums import laplace_sum

NAME = "private_statistics"
PRIVACY = "alpha-LDP"
FORM = "epochs of doubling length"


@checked
def l1_sensitivity(d: Dimension) -> float:
    """Of the whole table under replacement of a user, for two or more actions."""
    return (1 + math.sqrt(d)) ** 2


@checked
def bounds(n: Count, d: Dimension, b: Scale, p: Failure) -> tuple[float, float]:
    """U and r of the derivation above; together they fail with probability at most 3 p."""
    check_scale(b)
    x = math.log(d * (d + 3) / 2 / p)
    V = b * math.sqrt(2 * (n + math.sqrt(2 * n * x) + x))
    U = 2 * V * (math.sqrt(d) + math.sqrt(math.log(2 / p)))
    return U, V * (math.sqrt(d) + math.sqrt(2 * math.log(1 / p)))


def reports(problem: Problem, batch: Users, b: float, rng: np.random.Generator) -> Array:
    """One noisy table for each user, shape (seeds, m, A, d(d+3)/2)."""
    phi = problem.features[batch.x, batch.a]
    i, j = np.triu_indices(problem.d)
    row = np.concatenate([phi[..., i] * phi[..., j], batch.y[..., None] * phi], axis=-1)
    table = rng.laplace(0.0, b, (*batch.x.shape, problem.actions, row.shape[-1]))
    seed, user = np.indices(batch.x.shape)
    table[seed, user, batch.a] += row
    return table


def drawn_statistics(run: Run, policy: Array, n: int, b: float) -> tuple[Array, Array]:
    """Sums of n users' tables, every table drawn: Gram matrices and moments."""
    d = run.problem.d
    total = np.zeros((run.seeds, run.problem.actions, d * (d + 3) // 2))
    for batch in users(run, policy, n):
        total += reports(run.problem, batch, b, run.rng).sum(axis=1)
    return symmetric(total[..., :-d], d), total[..., -d:]


def summed_statistics(run: Run, policy: Array, n: int, b: float) -> tuple[Array, Array]:
    """The same law at a cost that does not depend on n."""
    problem, d = run.problem, run.problem.d
    cells = summed_cells(run, policy, n)
    noise = laplace_sum(b, n, run.rng, (run.seeds, problem.actions, d * (d + 3) // 2))
    return grams(problem, cells) + symmetric(noise[..., :-d], d), moments(problem, cells) + noise[..., -d:]


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
        p = failure / (4 * problem.actions)
        U, r = bounds(n, problem.d, b, p)
        return intervals(problem, *draw(run, policy, n, b), U, r, p / problem.contexts)

    return play_elimination(NAME, run, oracle)
