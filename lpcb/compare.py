"""The algorithm beside what one would run instead, on one problem: PAPER, REPAIRED, scaled, and baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpcb.arrays import Array, Ints
from lpcb.baselines import BASELINES
from lpcb.baselines._rounds import LIMIT as ROUNDS
from lpcb.boundary import check_number, checked, short
from lpcb.engines import aggregate
from lpcb.plots import RegretCurve
from lpcb.problem import Problem
from lpcb.spec import REPAIRS, Spec

PRINTED_PRIVACY = "claimed alpha-LDP, and is not"
OURS = "epochs of doubling length"
STREAMED = 200_000
"""Longest horizon at which :func:`compare` plays what acts round by round, unless asked for more: 20 s."""
STREAMED_SEEDS = 20
"""So many seeds of what acts round by round: up to here they cost next to nothing side by side."""


@checked
def scaled_factors(d: int) -> tuple[float, float]:
    """Factors on the printed (activation, width) constants at which intervals still held in simulations.

    About the widths that fits on the hardest known instances need to cover in 95 of 100 cases, or more, for d
    up to 4 and T from 1e10 on: `lpcb verify lemma-4.5-coverage` shows the ratio of the two with its interval
    ("scaled specification over needed width"). No theorem stands behind them; every run reports its own
    coverage.
    """
    return (1e-4, 1e-4) if d <= 2 else (1e-4, 4e-5)


def factors_of(scale: tuple[float, float] | None, d: int) -> tuple[float, float]:
    """``scale`` if it is given, and :func:`scaled_factors` otherwise.

    >>> factors_of(None, 2), factors_of((0.5, 0.25), 2)
    ((0.0001, 0.0001), (0.5, 0.25))
    """
    if scale is None:
        return scaled_factors(d)
    if not isinstance(scale, tuple | list) or len(scale) != 2:
        raise ValueError(f"scale is two factors, (activation, width), not {short(scale)}")
    activation, width = scale
    return check_number("activation of scale", activation), check_number("width of scale", width)


@dataclass(frozen=True, eq=False)
class Competitor:
    """Cumulative regret of one algorithm, one row per seed; ``covered`` is the share of seeds whose intervals
    always held, ``form`` says how it was simulated."""

    name: str
    privacy: str
    form: str
    rounds: Ints
    regret: Array
    covered: float | None
    parameters: dict[str, Any] | None

    @property
    def total(self) -> Array:
        last: Array = self.regret[:, -1]
        return last

    @property
    def seeds(self) -> int:
        return len(self.regret)

    @property
    def private(self) -> bool:
        """Whether nobody's data are seen; the printed algorithm only claims it."""
        return self.privacy not in ("none", PRINTED_PRIVACY)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Who ran, and who could not and why."""

    problem: Problem
    horizon: int
    alpha: float
    seeds: int
    seed: int
    competitors: tuple[Competitor, ...]
    left_out: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Everything, JSON-able."""
        return {
            "schema": 1,
            "problem": {
                "name": self.problem.name,
                "reward": self.problem.reward,
                "features": self.problem.features.tolist(),
                "weights": self.problem.weights.tolist(),
                "theta": self.problem.theta.tolist(),
                "uniform_regret_per_round": self.problem.uniform_regret,
            },
            "horizon": self.horizon,
            "alpha": self.alpha,
            "seeds": self.seeds,
            "seed": self.seed,
            "algorithms": [
                {
                    "name": one.name,
                    "privacy": one.privacy,
                    "form": one.form,
                    "seeds": one.seeds,
                    "rounds": one.rounds.tolist(),
                    "regret": one.regret.tolist(),
                    "total_regret": one.total.tolist(),
                    "covered": one.covered,
                    "parameters": one.parameters,
                }
                for one in self.competitors
            ],
            "left_out": self.left_out,
        }

    def curves(self) -> list[RegretCurve]:
        """For the plot; what is not private is dashed, and so is what only claims to be."""
        return [
            RegretCurve(
                one.name + (", claimed private" if one.privacy == PRINTED_PRIVACY else ""),
                one.rounds,
                one.regret,
                dashed=not one.private,
            )
            for one in self.competitors
        ]


Progress = Callable[[str, int, int], None]
"""(what is run now, its number from 1, how many there are)"""


@checked
def compare(
    problem: Problem,
    horizon: int,
    alpha: float = 1.0,
    beta: float | None = None,
    scale: tuple[float, float] | None = None,
    seeds: int = 20,
    seed: int = 0,
    progress: Progress | None = None,
    streamed: int = STREAMED,
) -> Comparison:
    """Run everything that can be run at this horizon: what acts round by round up to ``streamed`` rounds and
    with at most :data:`STREAMED_SEEDS` seeds, the rest in aggregate. ``scale`` is (activation, width) of the
    scaled algorithm.

    Every algorithm has randomness of its own, so that one more or less changes nothing for the others.
    """
    if not 1 <= streamed <= ROUNDS:
        raise ValueError(f"streamed is a number of rounds from 1 to {ROUNDS:.0e}, not {streamed}")
    factors = factors_of(scale, problem.d)
    runs: dict[str, Callable[[np.random.Generator], Competitor]] = {}
    for name, repairs, factor in (
        ("paper", frozenset[str](), (1.0, 1.0)),
        ("repaired", REPAIRS, (1.0, 1.0)),
        ("scaled", REPAIRS, factors),
    ):
        spec = Spec(
            problem.d,
            problem.actions,
            horizon,
            alpha,
            beta,
            activation=factor[0],
            width=factor[1],
            repairs=repairs,
        )
        runs[name] = _ours(name, problem, spec, seeds)
    for name in BASELINES:
        runs[name] = _baseline(name, problem, horizon, alpha, seeds, streamed)
    found, left_out = [], {}
    for index, (name, run) in enumerate(runs.items()):
        if progress is not None:
            progress(name, index + 1, len(runs))
        try:
            found.append(run(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))))
        except (ArithmeticError, LookupError) as error:
            left_out[name] = str(error.args[0])
    return Comparison(problem, horizon, alpha, seeds, seed, tuple(found), left_out)


def _ours(name: str, problem: Problem, spec: Spec, seeds: int) -> Callable[[np.random.Generator], Competitor]:
    def run(rng: np.random.Generator) -> Competitor:
        done = aggregate.run(problem, spec, seeds, rng)
        privacy = "alpha-LDP" if spec.repairs == REPAIRS else PRINTED_PRIVACY
        covered = float(done.covered.all(axis=1).mean())
        total = np.cumsum(done.regret, axis=1)
        return Competitor(name, privacy, OURS, done.elapsed, total, covered, spec.as_dict())

    return run


def _baseline(
    name: str, problem: Problem, horizon: int, alpha: float, seeds: int, streamed: int
) -> Callable[[np.random.Generator], Competitor]:
    baseline = BASELINES[name]

    def run(rng: np.random.Generator) -> Competitor:
        if baseline.aggregate is not None:
            curve = baseline.aggregate(problem, horizon, alpha, seeds, rng, checkpoints(horizon))
        elif horizon <= streamed:
            few = min(seeds, STREAMED_SEEDS)
            curve = baseline.stream(problem, horizon, alpha, few, rng, checkpoints(horizon))
        else:
            raise LookupError(
                f"acts round by round, which is run up to {streamed:.0e} rounds; see {name}_doubling"
            )
        rounds = np.array(curve.checkpoints, dtype=np.int64)
        return Competitor(name, baseline.privacy, baseline.form, rounds, curve.regret, None, None)

    return run


@checked
def checkpoints(horizon: int) -> list[int]:
    """Powers of two from 64 on, and the horizon.

    >>> checkpoints(300)
    [64, 128, 256, 300]
    """
    marks = [2**k for k in range(6, horizon.bit_length()) if 2**k < horizon]
    return [*marks, horizon]
