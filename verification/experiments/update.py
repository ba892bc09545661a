"""Named simulations that several claims look at, computed once per shard and shared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lpcb import problem as problems
from lpcb.arrays import Array
from lpcb.engines.aggregate import Crowd, fit_layer
from lpcb.lplr.ci import interval
from lpcb.lplr.update import Statistics, mechanisms, statistics
from lpcb.partition import Bins, descend, enter, layer_keys
from lpcb.problem import Problem
from lpcb.spec import Spec
from verification.claim import Arrays, Experiment, Setting
from verification.verdict import Profile

HORIZON = 10**6
"""Fixes the number of levels (M = 7); batches may be longer than this horizon would allow."""


def settings_run(pairs: Iterable[tuple[int, float]]) -> str:
    """Which alpha were run with which d, in words.

    >>> settings_run([(1, 1.0), (2, 1.0), (1, 0.1), (2, 0.1)]), settings_run([(1, 1.0), (3, 0.1)])
    ('d = 1, 2 each with alpha = 0.1, 1', 'd = 1 with alpha = 1; d = 3 with alpha = 0.1')
    """
    run: dict[int, set[float]] = {}
    for d, alpha in pairs:
        run.setdefault(d, set()).add(alpha)
    words = {d: ", ".join(f"{alpha:g}" for alpha in sorted(alphas)) for d, alphas in sorted(run.items())}
    if len(words) > 1 and len(set(words.values())) == 1:
        return f"d = {', '.join(map(str, words))} each with alpha = {words[min(words)]}"
    return "; ".join(f"d = {d} with alpha = {alphas}" for d, alphas in words.items())


@dataclass(frozen=True)
class Batch:
    """An update batch of n users on layer h, after h - 1 layers were fitted."""

    d: int
    h: int
    alpha: float
    n: int

    @property
    def name(self) -> str:
        return f"d={self.d}, h={self.h}, alpha={self.alpha:g}, n={self.n:g}"

    def spec(self, setting: Setting) -> Spec:
        """Thresholds scaled down, so that layers below the first exist at every n."""
        return setting.spec(d=self.d, actions=1, horizon=HORIZON, alpha=self.alpha, activation=1e-4)

    @property
    def problem(self) -> Problem:
        """Half the users in one bin, where counts vary most, the rest spread out."""
        built = problems.random(self.d, 1, 8, seed=self.d)
        weights = np.full(8, 0.5 / 7)
        weights[0] = 0.5
        return Problem(built.features, weights, built.theta, name="half in one bin")


QUICK = (Batch(1, 1, 1.0, 300), Batch(2, 2, 1.0, 10**6), Batch(3, 1, 0.1, 10**12))
STANDARD = (
    *QUICK,
    *(
        Batch(d, h, alpha, n)
        for d in (1, 2)
        for h in range(1, d + 1)
        for alpha in (0.1, 1.0)
        for n in (500, 10**9)
    ),
    Batch(3, 3, 0.5, 10**15),
    Batch(4, 2, 0.5, 10**5),
    # What is left of d = 1 to 4 with alpha = 0.1, 0.5 and 1.
    Batch(1, 1, 0.5, 500),
    Batch(2, 2, 0.5, 10**9),
    Batch(3, 2, 1.0, 10**12),
    Batch(4, 1, 1.0, 500),
    Batch(4, 2, 0.1, 10**15),
)
BATCHES: dict[Profile, tuple[Batch, ...]] = {"quick": QUICK, "standard": STANDARD, "thorough": STANDARD}
REPEATS = 1300
"""Independent batches per shard and configuration."""


def update_batch(batch: Batch, setting: Setting, rng: np.random.Generator) -> dict[str, Array]:
    """Largest error of the frequencies over all bins of the layer, for each of REPEATS fits.

    ``psi`` is max |c_hat/n - psi| and ``psi_printed`` max |c_hat/sqrt(n) - psi|, both times sqrt(n).
    """
    spec = batch.spec(setting)
    private, truth = private_and_true(batch.problem, spec, batch.h, batch.n, REPEATS, rng)
    root = np.sqrt(batch.n)
    return {
        "psi": np.abs(private.count / batch.n - truth.count).max(axis=1) * root,
        "psi_printed": np.abs(private.count / root - truth.count).max(axis=1) * root,
    }


def private_and_true(
    problem: Problem, spec: Spec, h: int, n: int, fits: int, rng: np.random.Generator
) -> tuple[Statistics, Statistics]:
    """What a server knows of every bin of layer h after the update batch, and the population's values.

    Row i is the i-th independent fit; its tree above layer h is its own.
    """
    crowd = Crowd(problem, spec, np.ones((fits, problem.contexts, problem.actions)) / problem.actions, n, rng)
    at = enter(spec, *crowd.points)
    layers: list[Bins] = []
    for layer in range(1, h):
        keys = layer_keys(spec, layer, fits * spec.actions)
        parents = layers[-1] if layers else None
        layers.append(fit_layer(spec, n, layer, keys, parents, at, crowd.batch, rng))
        at = descend(spec, at, layers[-1], interval(spec, at, layers[-1]))
    keys = layer_keys(spec, h, fits * spec.actions)
    private = mechanisms(spec, h, keys).release_sum(statistics(spec, at, keys, *crowd.batch()), n, rng)
    return _by_fit(private, fits), _by_fit(statistics(spec, at, keys, *crowd.population()), fits)


def _by_fit(table: Statistics, fits: int) -> Statistics:
    def split(x: Array) -> Array:
        return x.reshape(fits, -1, *x.shape[1:])

    return Statistics(split(table.count), split(table.vector), split(table.matrix))


def _run_update(setting: Setting, rng: np.random.Generator) -> Arrays:
    columns = [update_batch(batch, setting, rng) for batch in BATCHES[setting.profile]]
    return {name: np.stack([column[name] for column in columns], axis=1) for name in columns[0]}


UPDATE = Experiment("update-batch", _run_update, {"quick": 2, "standard": 4, "thorough": 40})
