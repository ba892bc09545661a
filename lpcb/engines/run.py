"""What a run of Algorithm 1 leaves behind, whichever engine ran it, and the loop both engines share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array, Bools, Ints
from lpcb.boundary import check_broadcast, checked, numbers_of, short
from lpcb.elimination import eliminate, uniform_policy
from lpcb.lplr.aggregate import Oracle, estimate
from lpcb.partition import Routed
from lpcb.problem import TOLERANCE, Problem
from lpcb.spec import Spec


@dataclass(frozen=True, eq=False)
class Run:
    """One row per seed, one column per epoch.

    ``regret`` is expected regret given the policy of the epoch; ``covered`` says whether the intervals
    in force contained f* at every context and action; ``width`` is their mean under the epoch's policy
    and ``active_bins`` how many of the bins that contexts reach were active behind them (0 in epoch 1).
    """

    problem: Problem
    spec: Spec
    rounds: Ints
    regret: Array
    covered: Bools
    width: Array
    active_bins: Ints
    actions_left: Array

    @property
    def elapsed(self) -> Ints:
        """Rounds played by the end of each epoch."""
        return np.cumsum(self.rounds)

    @property
    def total_regret(self) -> Array:
        """Equation 1, sum over t of f*(x_t, a*) - f*(x_t, a_t), in expectation given each epoch's policy."""
        total: Array = self.regret.sum(axis=1)
        return total

    def onset(self) -> dict[str, list[int | None]]:
        """Per seed, after how many rounds each thing first happened; None if never.

        What an epoch plays by was known when it began, so these are rounds before the epoch. An oracle
        that has learned nothing may still say |f*| <= |phi|: ``mean_interval_below_norm`` is the first
        time that the intervals say more than that.
        """
        before = self.elapsed - self.rounds
        half = 0.5 * self.problem.uniform_regret * self.rounds
        unfitted = self.problem.weights @ np.linalg.norm(self.problem.features, axis=-1).mean(axis=1)
        events = {
            "first_active_bin": self.active_bins > 0,
            "mean_interval_below_1": (self.width < 1) & (before > 0),
            "mean_interval_below_norm": (self.width < unfitted) & (self.active_bins > 0),
            "regret_half_of_uniform": (self.regret <= half) & (half > 0),
        }
        return {name: [_first(row, before) for row in happened] for name, happened in events.items()}


def _first(happened: Bools, when: Ints) -> int | None:
    index = np.flatnonzero(happened)
    return int(when[index[0]]) if len(index) else None


MAX_NUMBERS = 10**8
"""Seeds times contexts times actions times d that are run side by side: several arrays of 800 MB."""

Collect = Callable[[int, Array], Oracle]
"""(epoch tau, policy (S, K, A)) -> the oracle fitted from that epoch's users."""


@checked
def points(problem: Problem, seeds: int) -> tuple[Array, Ints]:
    """Every (seed, context, action) as a vector and the index seed * A + action of its oracle."""
    K, A, d = problem.features.shape
    if not 1 <= seeds * K * A * d <= MAX_NUMBERS:
        raise ValueError(
            f"seeds is at least 1 and seeds * {K} contexts * {A} actions * {d} at most {MAX_NUMBERS:.0e}, "
            f"not {seeds}"
        )
    phi = np.broadcast_to(problem.features, (seeds, K, A, d)).reshape(-1, d)
    oracle = np.arange(seeds)[:, None, None] * A + np.arange(A)
    return phi, np.broadcast_to(oracle, (seeds, K, A)).reshape(-1).astype(np.int64)


@checked
def covers(f_hat: Array, delta: Array, truth: Array) -> Bools:
    """Whether |f_hat - f*| <= Delta, up to the rounding of norms that problems are allowed.

    An unfitted oracle says |f*| <= |phi|, with equality for phi along theta: there rounding would decide.
    """
    if not np.isfinite(truth).all():
        raise ValueError(f"truth holds finite numbers, not {short(truth)}")
    check_broadcast(f_hat=f_hat, delta=delta, truth=truth)
    inside: Bools = np.abs(f_hat - truth) <= delta + 2 * TOLERANCE
    return inside


@checked
def check(problem: Problem, spec: Spec) -> None:
    for name, have in (("d", problem.d), ("actions", problem.actions)):
        if getattr(spec, name) != have:
            raise ValueError(f"the problem has {name}={have}, the specification {name}={getattr(spec, name)}")


def check_policy(problem: Problem, policy: Array, seeds: bool) -> Array:
    """``policy`` as an array of chances (K, A), or (S, K, A) with ``seeds``; refuses what no user can act by.

    Rows need not sum to one: engines divide by the sum.
    """
    found = numbers_of("policy", policy, copy=False)
    if found.ndim != 2 + seeds or found.shape[-2:] != (problem.contexts, problem.actions) or not len(found):
        wanted = f"({'seeds, ' if seeds else ''}{problem.contexts}, {problem.actions})"
        raise ValueError(f"policy has shape {wanted}, not {found.shape}")
    if not ((found >= 0) & (found <= 1 + TOLERANCE)).all():
        raise ValueError(f"policy holds chances from 0 to 1, not {short(policy)}")
    if not ((problem.weights[:, None] * found).sum(axis=(-2, -1)) > 0).all():
        raise ValueError("policy gives some action a chance in a context that occurs, not 0 everywhere")
    return found


@checked
def play(
    problem: Problem,
    spec: Spec,
    seeds: int,
    collect: Collect,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Algorithm 1 on ``seeds`` independent runs side by side; ``collect`` is the engine.

    What ``collect`` returns is the Oracle of all ``seeds`` runs, and is not looked at before it is used.

    Starts from f_hat = 0 and Delta = 1. Theorem 3.2: regret O(n_1 + A^2 sum_{tau >= 2} n_tau E(n_{tau-1})).
    """
    check(problem, spec)
    schedule = spec.epochs()
    phi, oracle_index = points(problem, seeds)
    shape = (seeds, problem.contexts, problem.actions)
    active = np.ones(shape, dtype=bool)
    f_hat, delta, bins = np.zeros(shape), np.ones(shape), np.zeros(seeds, dtype=np.int64)
    columns = []
    for tau, rounds in schedule:
        active = eliminate(active, f_hat, delta)
        policy = uniform_policy(active)
        weighted = problem.weights[:, None] * policy
        regret = rounds * (weighted * problem.gaps).sum(axis=(1, 2))
        covered = covers(f_hat, delta, problem.means).all(axis=(1, 2))
        width = (weighted * delta).sum(axis=(1, 2))
        left = (problem.weights * active.sum(axis=2)).sum(axis=1)
        columns.append((regret, covered, width, bins, left))
        if progress is not None:
            progress(tau, len(schedule))
        if rounds == spec.epoch_length(tau):
            oracle = collect(tau, policy)
            path = oracle.route(phi, oracle_index)
            f_hat, delta = (v.reshape(shape) for v in estimate(spec, path[-1]))
            bins = active_bins(spec, oracle, path, seeds)
    regret, covered, width, bins_, left = (np.stack(column, axis=1) for column in zip(*columns, strict=True))
    played = np.array([rounds for _, rounds in schedule], dtype=np.int64)
    return Run(problem, spec, played, regret, covered, width, bins_, left)


def active_bins(spec: Spec, oracle: Oracle, path: list[Routed], seeds: int) -> Ints:
    """Active bins that some context reaches, per seed, over all actions and layers."""
    counts = np.zeros(seeds, dtype=np.int64)
    for at, layer in zip(path, oracle.layers, strict=False):
        keys = np.unique(at.keys[layer.active[layer.rows(at.keys)]])
        counts += np.bincount(keys // ((spec.M + 1) ** at.h * spec.actions), minlength=seeds)
    return counts
