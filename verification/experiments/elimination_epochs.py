"""Every epoch of simulated runs, and what Lemma A.2 and Theorem 3.2 say about it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from lpcb import problem as problems
from lpcb.arrays import Array, Bools
from lpcb.engines import aggregate
from lpcb.engines.run import play, points
from lpcb.lplr.aggregate import Oracle, estimate
from lpcb.problem import Problem
from lpcb.spec import Spec
from verification.claim import Arrays, Experiment, Setting
from verification.experiments.regret import SCALED, Trace, whole_epochs
from verification.verdict import Evidence, Grade, Role, Verdict

ROUNDING = 1e-11
"""Intervals are compared with f* up to twice 1e-12 (norms of features); four of them enter a gap."""


def printed_rule(active: Bools, f_hat: Array, delta: Array) -> Bools:
    """A_tau as Algorithm 1 prints it, action by action."""
    kept = np.zeros_like(active)
    for a in range(active.shape[-1]):
        beaten = np.zeros(active.shape[:-1], dtype=bool)
        for other in range(active.shape[-1]):
            worse = f_hat[..., a] + delta[..., a] < f_hat[..., other] - delta[..., other]
            beaten |= active[..., other] & worse
        kept[..., a] = active[..., a] & ~beaten
    return kept


def violations(name: str, f: Array, f_hat: Array, delta: Array, kept: Bools) -> Array:
    """By how much each case violates Lemma A.2; at most 0 is as claimed. Last axis: actions."""
    gap = f.max(axis=-1, keepdims=True) - f
    if name == "survival":
        lost: Array = ((gap == 0) & ~kept).any(axis=-1).astype(np.float64)
        return lost
    star = np.where(gap == 0, delta, np.inf).min(axis=-1, keepdims=True)  # every best action: the narrowest
    worst: Array = np.where(kept, gap - 2 * (delta + star), -np.inf).max(axis=-1)
    return worst


def _instances(setting: Setting) -> list[tuple[Problem, dict[str, Any], float]]:
    """(problem, parameters, horizon): actions are eliminated in all of them."""
    three = problems.random(1, 3, 6, seed=1)
    out: list[tuple[Problem, dict[str, Any], float]] = [(three, {}, 4e18)]
    if setting.variant == "repaired":
        out += [
            (problems.random(2, 4, 5, seed=2), SCALED[2], 1e15),
            (problems.random(1, 5, 8, seed=3), SCALED[1], 1e11),
        ]
    if setting.profile != "quick":
        out += [(problems.random(1, A, 8, seed=A), {}, 4e18) for A in (2, 4)]
        if setting.variant == "repaired":
            out += [(problems.random(2, A, 8, seed=A), SCALED[2], T) for A in (2, 3) for T in (1e12, 4e18)]
    return out


def _spec(setting: Setting, parameters: dict[str, Any], horizon: int) -> Spec:
    return setting.spec(**parameters, horizon=horizon)


SEEDS = {"quick": 6, "standard": 20, "thorough": 40}


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    """One row per epoch of a run: what Lemma A.2 and Theorem 3.2 say about it.

    Every instance is run to the end of an epoch, and to a horizon inside it.
    """
    rows = []
    for number, (problem, parameters, about) in enumerate(_instances(setting)):
        spec_of = partial(_spec, setting, {"d": problem.d, "actions": problem.actions, **parameters})
        whole = whole_epochs(spec_of, about)
        seeds = SEEDS[setting.profile]
        for part, (horizon, runs) in enumerate(((whole, seeds), (inside_epoch(whole), seeds // 2))):
            rows.append(epoch_rows(trace_all(problem, spec_of(horizon), runs, rng), number, part))
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def inside_epoch(whole: int) -> int:
    """A horizon inside the last epoch, which takes half of ``whole``: some 30 % of it are played."""
    return int(whole * 0.65)


def trace_all(problem: Problem, spec: Spec, seeds: int, rng: np.random.Generator) -> Trace:
    """Algorithm 1 on the aggregate engine with what was in force in every epoch, also in one that is cut off.

    The engine fits nothing after such an epoch and hands out no policy of it: Algorithm 1's set stands there.
    """
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
    if len(policies) < len(run.rounds):
        f_hat, delta = oracles[-1]
        policies.append(_uniform(printed_rule(policies[-1] > 0, f_hat, delta)))
    f_hat, delta = (np.stack(column) for column in zip(*oracles[: len(policies)], strict=True))
    return Trace(run, np.stack(policies), f_hat, delta)


def _uniform(active: Bools) -> Array:
    return np.asarray(active / np.maximum(active.sum(axis=-1, keepdims=True), 1))


def epoch_rows(traced: Trace, number: int, part: int = 0) -> dict[str, Array]:
    problem, spec = traced.run.problem, traced.run.spec
    epochs, seeds = traced.policy.shape[:2]
    played = traced.policy > 0
    active = np.ones(traced.policy.shape[1:], dtype=bool)
    away = np.zeros((epochs, seeds))
    for tau in range(epochs):
        active = printed_rule(active, traced.f_hat[tau], traced.delta[tau])
        away[tau] = np.abs(traced.policy[tau] - _uniform(active)).max(axis=(1, 2))
    means = np.broadcast_to(problem.means, played.shape)
    out = {
        name: violations(name, means, traced.f_hat, traced.delta, played).max(axis=-1)
        for name in ("survival", "gap")
    }
    chance = problem.weights[:, None] * traced.policy
    mad = np.full((epochs, seeds), np.inf)  # sum over actions of E[Delta] under the epoch before
    mad[1:] = (chance[:-1] * traced.delta[1:]).sum(axis=(2, 3))
    rounds = traced.run.rounds[:epochs, None].astype(np.float64)
    regret = traced.run.regret[:, :epochs].T / rounds
    # A cut-off epoch's policy is known by its regret only; elsewhere the two say the same.
    away = np.maximum(away, np.abs(regret - (chance * problem.gaps).sum(axis=(2, 3))))
    full = np.array([spec.epoch_length(tau) for tau, _ in spec.epochs()[:epochs]], dtype=np.float64)
    out |= {
        "success": traced.success,
        "eliminated": 1 - played.mean(axis=(2, 3)),
        "policy": away,
        "regret": regret,
        "mad": mad,
        "rounds": np.broadcast_to(rounds, (epochs, seeds)),
        "cut": np.broadcast_to(rounds < full[:, None], (epochs, seeds)),
        "actions": np.full((epochs, seeds), float(problem.actions)),
        "instance": np.full((epochs, seeds), number),
        "run": (2 * number + part) * 1000 + np.broadcast_to(np.arange(seeds), (epochs, seeds)),
    }
    return {name: np.asarray(value).reshape(-1) for name, value in out.items()}


def looked_at(data: Arrays, which: Bools) -> str:
    """How many epochs, how many of them cut off by the horizon, and of how many instances."""
    cut = int((data["cut"].astype(bool) & which).sum())
    instances = len(np.unique(data["instance"][which]))
    of = "1 instance" if instances == 1 else f"{instances} instances"
    return f"{int(which.sum())} epochs ({cut} cut off by the horizon) of {of}"


EPOCHS = Experiment("elimination-epochs", _run, {"quick": 1, "standard": 2, "thorough": 8})


def evidence(
    check: str,
    grade: Grade,
    scope: str,
    value: float,
    bound: float,
    *,
    role: Role = "decides",
    samples: int = 0,
    telling: bool = True,
    note: str = "",
    counterexample: Mapping[str, Any],
) -> Evidence:
    """HOLDS if value <= bound on data that could have shown otherwise."""
    verdict: Verdict = "REFUTED" if value > bound else "HOLDS" if telling else "UNDECIDED"
    example = counterexample if verdict == "REFUTED" else None
    return Evidence(
        check,
        grade,
        role,
        scope,
        verdict,
        value,
        bound,
        (value, value),
        samples=samples,
        note=note,
        counterexample=example,
    )
