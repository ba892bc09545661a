"""Speed of the streamed baselines, in seed-rounds per second, against coba's LinUCB.

coba plays one learner on one environment, so its unit is a round; ours plays 200 seeds side by side, so its
unit is a round of one seed. Both do the same work for a unit: draw a context, score all actions, draw a
reward, update a d by d inverse. coba's learner is called directly, without its experiment machinery.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from coba.learners import LinUCBLearner  # type: ignore[import-untyped]  # coba ships no types

from lpcb import problem
from lpcb.baselines import BASELINES

PROBLEM = problem.random(d=3, actions=4, contexts=10, seed=0)
SEEDS = 200
ROUNDS = 2000
REPEATS = 3
WANTED = 50.0


def best(play: Callable[[], None], units: int) -> float:
    """Units per second in the fastest of a few repetitions: what else the machine does only slows."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        play()
        times.append(time.perf_counter() - start)
    return units / min(times)


def coba_linucb() -> None:
    """The same problem and draws: action features only, as ours scores phi(x, a)."""
    rng = np.random.default_rng(0)
    learner = LinUCBLearner(alpha=1, features=["a"])
    actions = [[tuple(row) for row in table] for table in PROBLEM.features.tolist()]
    index = [{row: a for a, row in enumerate(table)} for table in actions]
    means = PROBLEM.means
    for x in rng.choice(PROBLEM.contexts, ROUNDS, p=PROBLEM.weights):
        action, probability = learner.predict(None, actions[x])[:2]
        mean = means[x, index[x][tuple(action)]]
        learner.learn(None, action, 1.0 if rng.random() < (1 + mean) / 2 else -1.0, probability)


def main() -> None:
    theirs = best(coba_linucb, ROUNDS)
    print(f"d={PROBLEM.d}, A={PROBLEM.actions}, {ROUNDS} rounds, best of {REPEATS}")
    print(f"{'coba LinUCBLearner':24}{theirs:14,.0f} rounds/s")
    for name, baseline in BASELINES.items():
        if name == "uniform":  # draws nothing, so there is no speed to speak of
            continue

        def ours(stream: Callable[..., object] = baseline.stream) -> None:
            stream(PROBLEM, ROUNDS, 1.0, SEEDS, np.random.default_rng(0), [ROUNDS])

        speed = best(ours, ROUNDS * SEEDS)
        verdict = "" if speed >= WANTED * theirs else f"  BELOW the {WANTED:.0f} wanted"
        print(f"{name:24}{speed:14,.0f} seed-rounds/s ({SEEDS} seeds){speed / theirs:10,.0f} x coba{verdict}")
