"""How many users does it take? As printed, repaired, with scaled constants, and without privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lpcb import widths
from lpcb.arrays import Array
from lpcb.baselines import BASELINES
from lpcb.boundary import checked, short
from lpcb.compare import PRINTED_PRIVACY, checkpoints, factors_of
from lpcb.engines import aggregate
from lpcb.plan_search import Algorithm, Need, Played, Search
from lpcb.problem import Problem
from lpcb.spec import MAX_HORIZON, REPAIRS, Spec


@dataclass(frozen=True, eq=False)
class Plan:
    """Needs by algorithm, one for each candidate theta, and where the repaired interval comes from.

    ``shares`` are regret's shares of uniform play's over the horizon of the theta that takes most users: a
    row for every theta and seed, so that bands show both.
    """

    problems: tuple[Problem, ...]
    alpha: float
    target: float
    seeds: int
    seed: int
    algorithms: tuple[Algorithm, ...]
    needs: dict[str, tuple[Need, ...]]
    shares: dict[str, Array | None]
    width_horizon: int
    width: dict[str, float]

    def worst(self, name: str) -> tuple[int, Need]:
        """The theta, by index, for which ``name`` needs most users, and what it needs."""
        return _worst(self.needs[name])


@checked
def plan(
    problems: Sequence[Problem],
    alpha: float = 1.0,
    target: float = 0.5,
    seeds: int = 5,
    seed: int = 0,
    scale: tuple[float, float] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """``problems`` are the candidates for the truth: the same contexts, each with a theta of its own.

    >>> from lpcb.problem import random
    >>> needed = plan([random(1, 2, 4)], seeds=1).needs
    >>> [need.status for (need,) in needed.values()], f"{needed['repaired'][0].users:.0e}"
    (['reached', 'reached', 'reached', 'reached'], '3e+16')
    """
    _check_problems(problems)
    if not 0 < target < 1:
        raise ValueError(f"target is a share of uniform play's regret in (0, 1), not {target!r}")
    if seeds < 1:
        raise ValueError(f"seeds is at least 1, not {seeds}")
    chosen = algorithms(problems[0], alpha, scale)
    needs: dict[str, list[Need]] = {one.name: [] for one in chosen}
    searches: dict[str, list[Search]] = {one.name: [] for one in chosen}
    tasks = [(i, one) for one in chosen for i in range(len(problems))]
    for done, (i, one) in enumerate(tasks, 1):
        search = Search(one, problems[i], target, seeds, (seed, i, chosen.index(one)))
        needs[one.name].append(search.need(_last(needs[one.name])))
        searches[one.name].append(search)
        if progress is not None:
            progress(done, len(tasks))
    horizon = _width_horizon(needs["repaired"])
    return Plan(
        tuple(problems),
        alpha,
        target,
        seeds,
        seed,
        chosen,
        {name: tuple(found) for name, found in needs.items()},
        {name: _shares(needs[name], searches[name]) for name in needs},
        horizon,
        widths.split(problems[0], horizon, alpha),
    )


def _check_problems(problems: Sequence[Problem]) -> None:
    if not isinstance(problems, list | tuple) or not problems:
        raise ValueError(f"problems is a list of at least one Problem, not {short(problems)}")
    for one in problems:
        if not isinstance(one, Problem):
            raise ValueError(f"problems holds Problems, not {short(one)}")
        if not (_same(one.features, problems[0].features) and _same(one.weights, problems[0].weights)):
            raise ValueError("problems have the same contexts, each with a theta of its own")
    met = problems[0].features[problems[0].weights > 0]
    if np.linalg.norm(met, axis=-1).max() < widths.SMALLEST:
        raise ValueError("problems: the features of all contexts are zero, so that there is nothing to learn")


def _same(one: Array, other: Array) -> bool:
    return np.array_equal(one, other)


@checked
def algorithms(
    problem: Problem, alpha: float, scale: tuple[float, float] | None = None
) -> tuple[Algorithm, ...]:
    """Printed, repaired, repaired with scaled constants, and the same elimination without privacy."""
    kinds = (
        ("paper", PRINTED_PRIVACY, frozenset[str](), None),
        ("repaired", "alpha-LDP", REPAIRS, None),
        ("scaled", "alpha-LDP", REPAIRS, factors_of(scale, problem.d)),
    )
    ours = [_ours(name, privacy, repairs, factors, alpha) for name, privacy, repairs, factors in kinds]
    return (*ours, _not_private(alpha))


def _ours(
    name: str, privacy: str, repairs: frozenset[str], factors: tuple[float, float] | None, alpha: float
) -> Algorithm:
    activation, width = factors or (1.0, 1.0)

    def spec(problem: Problem, horizon: int, factor: float) -> Spec:
        return Spec(
            problem.d,
            problem.actions,
            horizon,
            alpha,
            activation=factor * activation,
            width=factor * width,
            repairs=repairs,
        )

    def play(problem: Problem, horizon: int, factor: float, seeds: int, rng: np.random.Generator) -> Played:
        run = aggregate.run(problem, spec(problem, horizon, factor), seeds, rng)
        uniform = problem.uniform_regret * run.elapsed
        covered = float(run.covered.all(axis=1).mean())
        return Played(run.elapsed, np.cumsum(run.regret, axis=1) / uniform, covered)

    def first(problem: Problem) -> int:
        """Two epochs: in the first everybody acts uniformly."""
        return 3 * spec(problem, MAX_HORIZON, 1.0).first_epoch

    return Algorithm(name, privacy, play, first, factors is None, repairs == REPAIRS, factors)


def _not_private(alpha: float) -> Algorithm:
    baseline = BASELINES["elimination_ls"]
    simulate = baseline.aggregate
    assert simulate is not None

    def play(problem: Problem, horizon: int, factor: float, seeds: int, rng: np.random.Generator) -> Played:
        curve = simulate(problem, horizon, alpha, seeds, rng, checkpoints(horizon))
        rounds = np.array(curve.checkpoints, dtype=np.int64)
        return Played(rounds, curve.regret / (problem.uniform_regret * rounds), None)

    return Algorithm("not private", baseline.privacy, play, lambda problem: 128, False, True, None)


def _last(needs: Sequence[Need]) -> float | None:
    users = [need.users for need in needs if need.users is not None]
    return math.log2(users[-1]) if users else None


def _worst(needs: Sequence[Need]) -> tuple[int, Need]:
    index = max(range(len(needs)), key=lambda i: _effort(needs[i]))
    return index, needs[index]


def _shares(needs: Sequence[Need], searches: Sequence[Search]) -> Array | None:
    """All theta over one horizon, hence after the same numbers of users."""
    _, worst = _worst(needs)
    if worst.x is None:
        return None
    x = worst.x
    return np.concatenate([s.at(x).share for s in searches if s.problem.uniform_regret > 0])


def _effort(need: Need) -> float:
    if need.status == "not reached":
        return math.inf
    return -1.0 if need.users is None else need.users


def _width_horizon(needs: Sequence[Need]) -> int:
    """Where the repaired algorithm reaches the target, or the longest horizon."""
    users = [need.users for need in needs if need.status == "reached"]
    known = [round(u) for u in users if u is not None]
    return max(known) if known and len(known) == len(needs) else MAX_HORIZON
