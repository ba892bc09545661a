"""Policies that change only when the determinant of their design matrix has doubled.

Abbasi-Yadkori, Pal & Szepesvari (2011), Section 5.1: while det V has less than doubled, norms in V^-1 have
fallen by less than sqrt(2), so an optimistic policy that is kept until then loses no more than that factor,
and changes O(d ln T) times. Here the determinant is looked at after m, 2m, 4m, ... users of a policy, so it
grows by at most 2^(d+1): V + 2G <= 2 (V + G).

Why not at the end of epochs of doubling length. Optimism tries an action once its bonus exceeds the gap; an
epoch then plays it t times where a few would do, and the horizon at which that happens can be chosen by the
gap. On F(s) some s of order one makes the last epoch such a trial: the worst regret is linear in T.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from lpcb.arrays import Array, Ints
from lpcb.baselines._data import Cells, drawn_cells
from lpcb.baselines._run import Curve, Run

State = TypeVar("State")


class Plan(NamedTuple):
    """What a state leads to, for each seed: a policy (seeds, K, A), squared norms of all points in the
    inverse of the design matrix (seeds, K, A), and the matrix's ln det (seeds,)."""

    policy: Array
    norms: Array
    log_det: Array


def first_look(plan: Plan, weights: Array, d: int) -> Ints:
    """Users of a policy with whom the determinant cannot double, at least one: V grows by at most a factor
    1 + n max ||phi||^2 and its determinant by the d-th power of that."""
    played = (plan.policy > 0) & (weights[:, None] > 0)
    largest = np.where(played, plan.norms, 0.0).max(axis=(1, 2))
    few = (2 ** (1 / d) - 1) / np.maximum(largest, 1e-18)
    out: Ints = np.clip(few, 1, 2**62).astype(np.int64)
    return out


def play(
    label: str,
    run: Run,
    state: State,
    plan: Callable[[State], Plan],
    update: Callable[[State, Array, Ints], State],
) -> Curve:
    """Play plan(state).policy until the determinant has doubled, then plan again; each seed in its own time.

    ``update(state, policy, n)`` adds n[seed] users. Given the policy, expected regret is linear between
    looks, so checkpoints need no draws.
    """
    problem, horizon = run.problem, int(run.horizon)
    checkpoints = np.array([int(c) for c in run.checkpoints], dtype=np.int64)
    regret = np.zeros((run.seeds, len(checkpoints)))
    past, t = np.zeros(run.seeds), np.zeros(run.seeds, dtype=np.int64)
    current = plan(state)
    look = first_look(current, problem.weights, problem.d)
    since = np.zeros_like(t)
    while (t < horizon).any():
        n = np.minimum(look, horizon - t)
        rate = np.einsum("k,ska,ka->s", problem.weights, current.policy, problem.gaps)
        inside = (checkpoints > t[:, None]) & (checkpoints <= (t + n)[:, None])
        at = past[:, None] + rate[:, None] * (checkpoints - t[:, None])
        regret = np.where(inside, at, regret)
        state = update(state, current.policy, n)
        past, t, since = past + rate * n, t + n, since + n
        new = plan(state)
        doubled = new.log_det - current.log_det >= np.log(2)
        since = np.where(doubled, 0, since)
        look = np.where(doubled, first_look(new, problem.weights, problem.d), since)
        current = Plan(*(_choose(doubled, a, b) for a, b in zip(new, current, strict=True)))
    return run.curve(label, regret)


def _choose(seeds: Array, new: Array, old: Array) -> Array:
    out: Array = np.where(seeds.reshape(-1, *[1] * (new.ndim - 1)), new, old)
    return out


Draw = Callable[[Run, Array, Ints], Cells]
"""(run, policy, n[seed]) -> Cells"""


def drawn_each(run: Run, policy: Array, n: Ints) -> Cells:
    """Cells of n[seed] users, every user drawn, one seed after the other."""
    one = replace(run, seeds=1)
    parts = [drawn_cells(one, policy[i : i + 1], int(n[i])) for i in range(run.seeds)]
    return Cells(*(np.concatenate(column) for column in zip(*parts, strict=True)))
