"""When things first happen in runs with printed constants, beside the epoch that the formulas name."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from lpcb.engines import aggregate
from lpcb.problem import Problem
from lpcb.spec import MAX_HORIZON, REPAIRS, Spec
from verification.experiments.onset import EVENTS, Formula
from verification.verdict import Variant

SEEDS = 2


def one_bin(d: int) -> Problem:
    """Two actions with gap 1, all users of an action in one bin on every layer."""
    features = {
        1: [[[0.5 * c * x] for c in (1, -1)] for x in (1, -1)],
        2: [[[0.5, 0.8 * c * x] for c in (1, -1)] for x in (1, -1)],
        3: [[[0.5, 0.65 * c * x, 0.4 * y] for c in (1, -1)] for x in (1, -1) for y in (1, -1)],
    }[d]
    theta = {1: [1.0], 2: [0.5, 0.625], 3: [0.5, 1 / 1.3, 0.0]}[d]
    return Problem(
        np.array(features), np.full(len(features), 1 / len(features)), np.array(theta), name="one-bin"
    )


def spec_of(variant: Variant, d: int, alpha: float) -> Spec:
    """Printed constants at the longest horizon that can be simulated."""
    repairs = REPAIRS if variant == "repaired" else frozenset()
    return Spec(d, 2, MAX_HORIZON, alpha, repairs=repairs)


def predicted(variant: Variant, d: int, alpha: float) -> dict[str, int]:
    """The first epoch whose batches have at least (size A)^2 users, for each event; 0 if there is none."""
    spec = spec_of(variant, d, alpha)
    formula = Formula(d, 2, alpha, math.log(spec.horizon), variant=variant)
    whole = [tau for tau, rounds in spec.epochs()[:-1] if rounds == spec.epoch_length(tau)]
    return {
        name: next((tau for tau in whole if math.sqrt(spec.batch(tau)) >= 2 * size(formula)), 0)
        for name, size in EVENTS.items()
    }


@cache
def simulated(variant: Variant, d: int, alpha: float, seed: int) -> dict[str, tuple[int, ...]]:
    """The epoch after which each event was first seen, for every seed; 0 if it never was."""
    run = aggregate.run(one_bin(d), spec_of(variant, d, alpha), SEEDS, np.random.default_rng([seed, d]))
    half = 0.5 * run.problem.uniform_regret * run.rounds
    seen = {
        "first active bin": run.active_bins > 0,
        "mean interval below 1": (run.active_bins > 0) & (run.width < 1),
        "regret half of uniform, gap 1": run.regret <= half,
    }
    # Column i is epoch i + 1, which plays by what epoch i has shown.
    return {name: tuple(int(row.argmax()) if row.any() else 0 for row in rows) for name, rows in seen.items()}


def rounds(variant: Variant, d: int, alpha: float, epoch: int) -> float:
    """Rounds played by the end of an epoch."""
    return float(spec_of(variant, d, alpha).n0 * (2 ** (epoch + 1) - 2))
