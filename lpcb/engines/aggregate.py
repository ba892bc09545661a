"""The aggregate engine: draws the sums over an epoch's users directly, exact in law at any horizon.

Within a batch the policy is fixed, so users fall on (context, action) pairs as a multinomial, jointly over
actions; rewards +-1 add up to a binomial; noise sums have closed laws (lpcb.sums). Seeds are run side by
side as further oracles. Float64 keeps sums of n users to n 2^-53, against noise of order sqrt(n): the loss is
sqrt(n) 2^-53 of the noise, 3.5e-8 at n = 10^17, and would reach it only at n = 2^106.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated

import numpy as np

from lpcb.arrays import Array, Ints, group_sum
from lpcb.boundary import Range, checked
from lpcb.engines.run import Run, check, check_policy, play, points
from lpcb.lplr import ci
from lpcb.lplr.aggregate import Oracle, parents_of
from lpcb.lplr.pcr import Components, pcr
from lpcb.lplr.update import mechanisms, statistics
from lpcb.partition import Bins, Routed, descend, enter
from lpcb.problem import Problem
from lpcb.spec import MAX_HORIZON, Spec
from lpcb.sums import multinomial_counts, sign_sum

Users = Annotated[int, Range(1, MAX_HORIZON)]


@checked
def run(
    problem: Problem,
    spec: Spec,
    seeds: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """``seeds`` independent runs of Algorithm 1, side by side."""
    if seeds < 1:
        raise ValueError(f"seeds is at least 1, not {seeds}")
    check_reward(problem)

    def collect(tau: int, policy: Array) -> Oracle:
        return fit(problem, spec, policy, spec.batch(tau), rng)

    return play(problem, spec, seeds, collect, progress)


@checked
def check_reward(problem: Problem) -> None:
    if problem.reward not in ("sign", "noiseless"):
        raise ValueError(
            f"the aggregate engine needs reward 'sign' or 'noiseless', not {problem.reward!r}: "
            "sums of other laws have no closed form; use the stream engine"
        )


@checked
def fit(problem: Problem, spec: Spec, policy: Array, n: Users, rng: np.random.Generator) -> Oracle:
    """The oracles fitted by Algorithm 2 from 2d batches of n users who act by ``policy`` (S, K, A).

    Rewards are +1 or -1 with the problem's means, or with reward "noiseless" the means; :func:`run` refuses
    problems with another law.
    """
    check(problem, spec)
    policy = check_policy(problem, policy, seeds=True)
    crowd = Crowd(problem, spec, policy, n, rng)
    absent = _Absent(spec, n, int(rng.integers(2**62)))
    at = enter(spec, *crowd.points)
    layers: list[Bins] = []
    for h in range(1, spec.d + 1):
        parents = layers[-1] if layers else None
        layers.append(fit_layer(spec, n, h, np.unique(at.keys), parents, at, crowd.batch, rng))
        at = descend(spec, at, layers[-1], ci.interval(spec, at, layers[-1]))
    return Oracle(spec, tuple(layers), absent, crowd.seeds)


Batch = Callable[[], tuple[Array, Array]]
"""() -> (users at each point, sum of their rewards), a fresh batch at every call."""


def fit_components(
    spec: Spec,
    n: int,
    h: int,
    keys: Ints,
    parents: Bins | None,
    at: Routed,
    batch: Batch,
    rng: np.random.Generator,
) -> Components:
    """The update batch of a layer, Algorithms 3 and 4, for the bins ``keys`` that the points fall into."""
    sums = mechanisms(spec, h, keys).release_sum(statistics(spec, at, keys, *batch()), n, rng)
    return pcr(spec, n, keys, sums, *parents_of(spec, keys, parents))


def fit_layer(
    spec: Spec,
    n: int,
    h: int,
    keys: Ints,
    parents: Bins | None,
    at: Routed,
    batch: Batch,
    rng: np.random.Generator,
) -> Bins:
    """One pass of Algorithm 2's loop: the update batch, then the interval batch of Algorithm 5."""
    components = fit_components(spec, n, h, keys, parents, at, batch, rng)
    rows = np.searchsorted(keys, at.keys)
    count, _ = batch()
    share = ci.error_share(at, rows, components)
    errors = group_sum(count * share, rows, len(keys))[components.active]
    errors = ci.mechanism(spec, keys, components).release_sum(errors, n, rng)
    _, parent_rest = parents_of(spec, keys, parents)
    return ci.bins(spec, n, keys, components, parent_rest, errors)


class Crowd:
    """The users of a batch: how many stand at each point, and the sum of their rewards."""

    def __init__(self, problem: Problem, spec: Spec, policy: Array, n: int, rng: np.random.Generator) -> None:
        self.problem, self.spec, self.n, self.rng = problem, spec, n, rng
        self.seeds = len(policy)
        self.chance = (problem.weights[:, None] * policy).reshape(self.seeds, -1)
        self.chance = self.chance / self.chance.sum(axis=1, keepdims=True)
        self.points = points(problem, self.seeds)
        if not spec.has("joint-actions"):
            # As printed, the other actions' oracles receive the zero vector and count it.
            dummies = np.arange(self.seeds * spec.actions, dtype=np.int64)
            phi, oracle = self.points
            self.points = np.vstack([phi, np.zeros((len(dummies), spec.d))]), np.append(oracle, dummies)

    def batch(self) -> tuple[Array, Array]:
        """(count, sum of rewards) at each point, for a fresh batch."""
        shape = (self.seeds, self.problem.contexts, self.problem.actions)
        counts = multinomial_counts(self.n, self.chance, self.rng).reshape(shape)
        means = np.broadcast_to(self.problem.means, shape)
        total = counts * means if self.problem.reward == "noiseless" else sign_sum(counts, means, self.rng)
        count, total = counts.reshape(-1).astype(np.float64), total.reshape(-1)
        if not self.spec.has("joint-actions"):
            dummies = (self.n - counts.sum(axis=1)).reshape(-1).astype(np.float64)
            count, total = np.append(count, dummies), np.append(total, np.zeros(len(dummies)))
        return count, total

    def population(self) -> tuple[Array, Array]:
        """What :meth:`batch` over n estimates: (probability, its product with the mean) at each point."""
        chance = self.chance.reshape(self.seeds, self.problem.contexts, self.problem.actions)
        total = (chance * self.problem.means).ravel()
        if self.spec.has("joint-actions"):
            return chance.ravel(), total
        dummies = (1 - chance.sum(axis=1)).ravel()
        return np.append(chance.ravel(), dummies), np.append(total, np.zeros(len(dummies)))


class _Absent:
    """Draws bins that no context reaches when they are asked for: noise alone, from a seed of their own."""

    def __init__(self, spec: Spec, n: int, seed: int) -> None:
        self.spec, self.n, self.seed = spec, n, seed
        self.nobody = enter(spec, np.zeros((0, spec.d)), np.zeros(0, dtype=np.int64))

    def __call__(self, h: int, layer: Bins, missing: Ints, parents: Bins | None) -> Bins:
        parts = [layer]
        for key in missing:
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(h, int(key))))
            bins = np.array([key]), parents, self.nobody, lambda: (np.zeros(0), np.zeros(0))
            parts.append(fit_layer(self.spec, self.n, h, *bins, rng))
        order = np.argsort(np.concatenate([part.keys for part in parts]))
        columns = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])[order]
            for field in fields(Bins)
            if field.name != "n"
        }
        return Bins(n=self.n, **columns)
