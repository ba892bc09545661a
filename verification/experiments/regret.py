"""Whole bandit runs that claims look at, traced epoch by epoch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array, Bools
from lpcb.compare import scaled_factors
from lpcb.engines import aggregate
from lpcb.engines.run import Run, covers, play, points
from lpcb.lplr.aggregate import Oracle, estimate
from lpcb.problem import Problem
from lpcb.spec import Spec

SCALED: dict[int, dict[str, float]] = {
    d: dict(zip(("activation", "width"), scaled_factors(d), strict=True)) for d in (1, 2, 3)
}
"""Parameters of the scaled specification, per dimension; :func:`scaled_factors` says why these."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A run with what was in force in each epoch: policy, f_hat and Delta, shape (epochs, seeds, K, A)."""

    run: Run
    policy: Array
    f_hat: Array
    delta: Array

    @property
    def success(self) -> Bools:
        """Whether all intervals so far contained f*, shape (epochs, seeds)."""
        inside = covers(self.f_hat, self.delta, self.run.problem.means).all(axis=(2, 3))
        return np.logical_and.accumulate(inside, axis=0)


def trace(problem: Problem, spec: Spec, seeds: int, rng: np.random.Generator) -> Trace:
    """Algorithm 1 on the aggregate engine; a truncated last epoch is not recorded."""
    shape = (seeds, problem.contexts, problem.actions)
    phi, index = points(problem, seeds)
    policies: list[Array] = []
    oracles = [(np.zeros(shape), np.ones(shape))]

    def collect(tau: int, policy: Array) -> Oracle:
        oracle = aggregate.fit(problem, spec, policy, spec.batch(tau), rng)
        f_hat, delta = estimate(spec, oracle.route(phi, index)[-1])
        policies.append(policy)
        oracles.append((f_hat.reshape(shape), delta.reshape(shape)))
        return oracle

    run = play(problem, spec, seeds, collect)
    f_hat, delta = (np.stack(column) for column in zip(*oracles[: len(policies)], strict=True))
    return Trace(run, np.stack(policies), f_hat, delta)


SpecOf = Callable[[int], Spec]
"""A specification for every horizon."""


def whole_epochs(spec: SpecOf, about: float) -> int:
    """A horizon near ``about`` at which an epoch ends.

    Between such horizons the worst regret divided by sqrt(T) rises and falls by sqrt(2), because the last
    epoch's data are used late; at one phase of the schedule powers of T are seen undisturbed.
    """
    n0 = spec(int(about)).n0
    epochs = max(2, round(math.log2(about / n0 + 2) - 1))
    for _ in range(30):
        horizon = (n0 << (epochs + 1)) - 2 * n0
        if spec(horizon).n0 == n0:
            return horizon
        n0 = spec(horizon).n0
    raise ValueError(f"no horizon near {about:g} ends an epoch")
