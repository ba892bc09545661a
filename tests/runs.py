"""Small runs shared by tests: thresholds scaled down so that bins are active at a few hundred users."""

from __future__ import annotations

from typing import Any

import numpy as np

from lpcb import problem as problems
from lpcb.arrays import Array
from lpcb.engines.stream import collect_epoch
from lpcb.problem import Problem
from lpcb.protocol import Report, Server, View
from lpcb.spec import REPAIRS, Spec
from verification.experiments import views

SMALL = {"horizon": 700, "delta": 0.5, "activation": 3e-5, "width": 1e-4}


def small_spec(d: int = 2, actions: int = 2, repairs: frozenset[str] = REPAIRS, **more: Any) -> Spec:
    return Spec(**(SMALL | {"d": d, "actions": actions, "repairs": repairs} | more))


def small_problem(d: int = 2, actions: int = 2, seed: int = 0) -> Problem:
    return problems.random(d, actions, 4, seed)


def served(spec: Spec, problem: Problem, seed: int, epochs: int = 1) -> tuple[Server, list[Report]]:
    """A server after ``epochs`` full epochs of uniformly acting users, and what they sent."""
    rng = np.random.default_rng(seed)
    server = Server(spec)
    reports: list[Report] = []
    for _ in range(epochs):
        collect_epoch(problem, server, uniform(problem), rng, reports.append)
    return server, reports


def view_after(spec: Spec, problem: Problem, batches: int, seed: int = 0) -> View:
    """What a server publishes after ``batches`` batches of very many users: bins are active."""
    return views.view_after(spec, problem, batches, np.random.default_rng(seed))


def uniform(problem: Problem) -> Array:
    return np.full((problem.contexts, problem.actions), 1 / problem.actions)
