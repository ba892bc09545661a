"""Users' data under a fixed policy: drawn one by one, or as the exact law of their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from lpcb.arrays import Array, Ints
from lpcb.baselines._run import Run
from lpcb.problem import Problem
from lpcb.sums import multinomial_counts, sign_sum

BATCH = 2**14
"""Users of all seeds that are held in memory at a time."""


class Users(NamedTuple):
    """Contexts, actions and rewards of m users for each seed, shape (seeds, m)."""

    x: Ints
    a: Ints
    y: Array


class Cells(NamedTuple):
    """How often each context met each action, and the sum of rewards, shape (seeds, K, A)."""

    counts: Array
    sums: Array


Draw = Callable[[Run, Array, int], Cells]
"""(run, policy, n) -> Cells"""


def users(run: Run, policy: Array, n: int) -> Iterator[Users]:
    """n users for each seed under ``policy``, p(a | x) of shape (seeds, K, A), in batches."""
    problem, rng = run.problem, run.rng
    below = np.cumsum(policy, axis=-1)
    below[below > 1 - 1e-12] = 1.0  # or rounding could pick an action of probability zero
    seed = np.arange(run.seeds)[:, None]
    means = problem.means
    batch = max(1, BATCH // run.seeds)
    for start in range(0, n, batch):
        x = contexts(problem, rng, (run.seeds, min(batch, n - start)))
        a = (rng.random(x.shape)[..., None] >= below[seed, x]).sum(axis=-1)
        yield Users(x, a, problem.draw_reward(means[x, a], rng))


def contexts(problem: Problem, rng: np.random.Generator, shape: tuple[int, ...]) -> Ints:
    """Contexts drawn with the problem's weights."""
    below = np.cumsum(problem.weights)
    return np.searchsorted(below / below[-1], rng.random(shape), side="right")


def drawn_cells(run: Run, policy: Array, n: int) -> Cells:
    """Cells of n users for each seed, every user drawn."""
    K, A = run.problem.contexts, run.problem.actions
    size = run.seeds * K * A
    counts, sums = np.zeros(size), np.zeros(size)
    for user in users(run, policy, n):
        cell = ((np.arange(run.seeds)[:, None] * K + user.x) * A + user.a).ravel()
        counts += np.bincount(cell, minlength=size)
        sums += np.bincount(cell, weights=user.y.ravel(), minlength=size)
    shape = (run.seeds, K, A)
    return Cells(counts.reshape(shape), sums.reshape(shape))


def summed_cells(run: Run, policy: Array, n: int | Ints) -> Cells:
    """The same law at a cost that does not depend on n: multinomial contexts, then actions, then rewards.

    An array ``n`` holds the number of users of each seed.
    """
    problem, rng = run.problem, run.rng
    weights = np.broadcast_to(problem.weights, (run.seeds, problem.contexts))
    counts = multinomial_counts(multinomial_counts(n, weights, rng), policy, rng)
    means = np.broadcast_to(problem.means, counts.shape)
    sums = sign_sum(counts, means, rng) if problem.reward == "sign" else counts * means
    return Cells(counts.astype(np.float64), sums)


def grams(problem: Problem, cells: Cells) -> Array:
    """Sums of phi phi' for each action, shape (seeds, A, d, d)."""
    phi = problem.features
    out: Array = np.einsum("ska,kai,kaj->saij", cells.counts, phi, phi, optimize=True)
    return out


def moments(problem: Problem, cells: Cells) -> Array:
    """Sums of y phi for each action, shape (seeds, A, d)."""
    out: Array = np.einsum("ska,kai->sai", cells.sums, problem.features)
    return out
