"""Policies that change only between epochs of doubling length, and elimination by intervals among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from lpcb.arrays import Array, Bools
from lpcb.baselines._run import Curve, Run
from lpcb.elimination import eliminate, uniform_policy

FIRST = 64
"""Rounds of the first epoch."""
LIMIT = 10**8
"""Longest horizon for which all users of an epoch are drawn."""

State = TypeVar("State")
Oracle = Callable[[Array, int, float], tuple[Array, Array]]
"""(policy, n, failure) -> f_hat and Delta on all contexts and actions, shape (seeds, K, A)."""


def lengths(horizon: int) -> list[int]:
    """Epochs FIRST, 2 FIRST, 4 FIRST, ...; the horizon truncates the last."""
    out: list[int] = []
    left = horizon
    while left > 0:
        out.append(min(left, FIRST << len(out)))
        left -= out[-1]
    return out


def play(
    label: str,
    run: Run,
    state: State,
    policy: Callable[[State], Array],
    update: Callable[[State, Array, int], State],
) -> Curve:
    """Play policy(state) for an epoch, update the state with its n users, and so on.

    Given the policy, expected regret is linear inside an epoch, so checkpoints need no draws.
    """
    problem = run.problem
    checkpoints = np.array([int(c) for c in run.checkpoints])
    regret = np.zeros((run.seeds, len(checkpoints)))
    past, start = np.zeros(run.seeds), 0
    for n in lengths(int(run.horizon)):
        p = policy(state)
        rate = np.einsum("k,ska,ka->s", problem.weights, p, problem.gaps)
        inside = (checkpoints > start) & (checkpoints <= start + n)
        regret[:, inside] = past[:, None] + rate[:, None] * (checkpoints[inside] - start)
        past, start = past + rate * n, start + n
        if start < run.horizon:
            state = update(state, p, n)
    return run.curve(label, regret)


def play_elimination(label: str, run: Run, oracle: Oracle) -> Curve:
    """Algorithm 1 of the paper with the given oracle: fresh data each epoch, uniform on active actions."""
    failure = run.failure / len(lengths(int(run.horizon)))

    def update(active: Bools, policy: Array, n: int) -> Bools:
        f_hat, width = oracle(policy, n, failure)
        return eliminate(active, f_hat, width)

    everything = np.ones((run.seeds, run.problem.contexts, run.problem.actions), dtype=np.bool_)
    return play(label, run, everything, uniform_policy, update)
