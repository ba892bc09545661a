"""Policies that change after every user, for many seeds side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines._data import contexts
from lpcb.baselines._run import Curve, Run

LIMIT = 10**6
"""Longest horizon that is played round by round."""
BLOCK = 256
"""Rounds whose contexts are drawn at once."""

State = TypeVar("State")


def play(
    label: str,
    run: Run,
    state: State,
    score: Callable[[State, Array], Array],
    update: Callable[[State, Array, Array], State],
) -> Curve:
    """Take the action with the largest score(state, phi), phi (seeds, A, d), then update(state, phi, y).

    Regret is the gap of the action taken at the context drawn.
    """
    problem, rng, seed = run.problem, run.rng, np.arange(run.seeds)
    features, means, gaps = problem.features, problem.means, problem.gaps
    column = {int(c): i for i, c in enumerate(run.checkpoints)}
    regret = np.zeros((run.seeds, len(column)))
    past = np.zeros(run.seeds)
    for t in range(run.horizon):
        if t % BLOCK == 0:
            block = contexts(problem, rng, (BLOCK, run.seeds))
        x = block[t % BLOCK]
        phi = features[x]
        a = score(state, phi).argmax(axis=-1)
        state = update(state, phi[seed, a], problem.draw_reward(means[x, a], rng))
        past = past + gaps[x, a]
        if t + 1 in column:
            regret[:, column[t + 1]] = past
    return run.curve(label, regret)
