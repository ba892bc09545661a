"""The stream engine: real clients, real reports, one user at a time. The reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from lpcb.arrays import Array
from lpcb.boundary import checked, short
from lpcb.engines.run import Run, check, check_policy, play
from lpcb.lplr.aggregate import Oracle
from lpcb.problem import Problem
from lpcb.protocol import Client, Report, Server
from lpcb.spec import Spec

MAX_ROUNDS = 10**7
"""Beyond this a run would take hours; the aggregate engine has the same law."""
MAX_CELLS = 10**6
MAX_USERS = 10**9
"""Rounds of all seeds together: days."""


@checked
def run(
    problem: Problem,
    spec: Spec,
    seeds: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """``seeds`` independent runs of Algorithm 1, one after the other."""
    if seeds < 1:
        raise ValueError(f"seeds is at least 1, not {seeds}")
    if spec.horizon > MAX_ROUNDS:
        raise ValueError(
            f"horizon {spec.horizon} is more than the {MAX_ROUNDS} rounds that the stream engine represents"
        )
    if seeds * spec.horizon > MAX_USERS:
        raise ValueError(
            f"seeds times the horizon of {spec.horizon} is at most {MAX_USERS:.0e}, not {seeds} times"
        )
    cells = spec.actions * (spec.M + 1) ** spec.d
    if cells > MAX_CELLS:
        raise ValueError(f"{cells} cells in one report; the stream engine takes at most {MAX_CELLS}")
    runs = [_run_one(problem, spec, rng, progress) for _ in range(seeds)]
    stacked = {
        field.name: np.concatenate([getattr(one, field.name) for one in runs])
        for field in fields(Run)
        if field.name not in ("problem", "spec", "rounds")
    }
    return Run(problem=problem, spec=spec, rounds=runs[0].rounds, **stacked)


def _run_one(
    problem: Problem, spec: Spec, rng: np.random.Generator, progress: Callable[[int, int], None] | None
) -> Run:
    server = Server(spec)

    def collect(tau: int, policy: Array) -> Oracle:
        collect_epoch(problem, server, policy[0], rng)
        return server.oracles[tau - 1]

    return play(problem, spec, 1, collect, progress)


@checked
def collect_epoch(
    problem: Problem,
    server: Server,
    policy: Array,
    rng: np.random.Generator,
    record: Callable[[Report], None] | None = None,
) -> None:
    """Users who act by ``policy`` (K, A) report until the server's epoch is over.

    The few users left over when the epoch is cut into 2d equal batches play but send nothing.
    """
    if not isinstance(server, Server):
        raise ValueError(f"server is a Server, not {short(server)}")
    check(problem, server.spec)
    policy = check_policy(problem, policy, seeds=False)
    chance = (problem.weights[:, None] * policy).ravel()
    means = problem.means.ravel()
    for _ in range(2 * problem.d):
        cells = rng.choice(len(chance), size=server.batch, p=chance / chance.sum())
        rewards = problem.draw_reward(means[cells], rng)
        for cell, y in zip(cells.tolist(), rewards.tolist(), strict=True):
            x, a = divmod(cell, problem.actions)
            client = Client(len(server.ids), server.spec)
            report = client.report(server.view, problem.features[x, a], a, y, rng)
            server.receive(report)
            if record is not None:
                record(report)
