"""The aggregate engine against the stream engine, and its growth with the horizon."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from lpcb import problem as problems
from lpcb.engines import aggregate, stream
from lpcb.spec import REPAIRED


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The fastest of a few runs: other work on the machine only ever slows one down."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def run(d: int, actions: int, contexts: int, horizon: int, seeds: int = 1) -> Callable[[], object]:
    problem = problems.random(d, actions, contexts, seed=1)
    spec = REPAIRED(d=d, actions=actions, horizon=horizon)
    return lambda: aggregate.run(problem, spec, seeds, np.random.default_rng(0))


def main() -> None:
    rounds = 10**4
    problem, spec = problems.random(2, 2, 16, seed=1), REPAIRED(d=2, actions=2, horizon=rounds)
    # Only users who report cost anything: an unfinished last epoch is not streamed.
    streamed = 2 * 2 * sum(spec.batch(tau) for tau, n in spec.epochs() if n == spec.epoch_length(tau))
    one = seconds(lambda: stream.run(problem, spec, 1, np.random.default_rng(0)))
    hundred_thousand = one / streamed * 10**5
    whole = seconds(run(2, 2, 16, 10**18))
    print(f"stream: {streamed / one:,.0f} rounds/s, so 10^5 rounds take {hundred_thousand:.2f} s")
    print(f"aggregate, d=2, A=2, K=16, T=10^18, one seed: {whole:.3f} s")
    print(f"ratio (10^5 streamed rounds / aggregate at 10^18): {hundred_thousand / whole:.1f}")
    times = {power: seconds(run(2, 2, 16, 10**power)) for power in (6, 9, 12, 15, 18)}
    print("seconds by log10 T:", ", ".join(f"{power}: {value:.3f}" for power, value in times.items()))
    print("per epoch, in ms: " + ", ".join(f"{1000 * v / epochs(p):.2f}" for p, v in times.items()))
    print(f"d=3, A=4, K=64, T=10^12: {seconds(run(3, 4, 64, 10**12)):.2f} s")
    print(
        f"100 seeds side by side at T=10^18: {seconds(run(2, 2, 16, 10**18, 100), 1) / whole:.1f} x one seed"
    )


def epochs(power: int) -> int:
    return len(REPAIRED(d=2, actions=2, horizon=10**power).epochs())
