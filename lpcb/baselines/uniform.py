"""Uniformly random actions: what learning nothing costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lpcb.baselines._run import Curve, Run
from lpcb.problem import Problem

NAME = "uniform"
PRIVACY = "nothing is sent"
FORM = "nothing to draw"


def stream(
    problem: Problem,
    horizon: int,
    alpha: float,
    seeds: int,
    rng: np.random.Generator,
    checkpoints: Sequence[int],
) -> Curve:
    """Expected regret is linear, and the same for every seed: there is nothing to draw."""
    run = Run(problem, horizon, alpha, seeds, rng, checkpoints)
    per_round = np.full((seeds, 1), problem.uniform_regret)
    return run.curve(NAME, per_round * np.array([float(c) for c in checkpoints]))


aggregate = stream
