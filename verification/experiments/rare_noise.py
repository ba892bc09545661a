"""Lemma 4.2 at delta = 1e-9: the tails that its union bound rests on, by importance sampling.

The union bound gives each of four events in each bin its share of delta and takes the deviation from a
Chernoff bound. Here the probability of that deviation is estimated, for d = 1 and 2, with an interval that
needs no approximation: a bound that was too small, or noise of another scale, would show.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lpcb.lplr.update import mechanisms
from lpcb.mechanisms import SymmetricLaplace, Wishart
from lpcb.spec import Spec
from verification.claim import Context
from verification.evidence.rare import RareEvent, binomial_rare, laplace_sum_rare
from verification.evidence.rare_norms import laplace_matrix_rare, laplace_norm_rare, wishart_rare
from verification.experiments.moments import MATRIX, VECTOR, Moment, noise_deviations
from verification.verdict import FALSE_ALARM, Evidence, Finding

DELTA = 1e-9
HORIZON = 10**6
SAMPLES = 20_000

Tail = Callable[[Spec, int, float, np.random.Generator], tuple[RareEvent, float]]
"""(spec, n, ln p, rng) -> the estimate, and the deviation over n that is claimed to be that rare."""


def counts(context: Context) -> Finding:
    """Noise of a count, and the count itself at psi = 1/2, where it varies most."""
    asked: tuple[tuple[str, int, Tail], ...] = (("noise of a count", 1, _count), ("a count", 1, _binomial))
    return _finding(context, asked, lambda spec: 36.0 * spec.d**2 * spec.log_term(48) ** 2)


def vectors(context: Context) -> Finding:
    asked = tuple((f"noise of a vector, d = {d}", d, _vector) for d in (1, 2))
    return _finding(context, asked, lambda spec: VECTOR.threshold(spec, DELTA) ** 2)


def matrices(context: Context) -> Finding:
    asked = tuple((f"noise of a matrix, d = {d}", d, _matrix) for d in (1, 2))
    return _finding(context, asked, lambda spec: MATRIX.threshold(spec, DELTA) ** 2)


def _finding(
    context: Context, asked: tuple[tuple[str, int, Tail], ...], users: Callable[[Spec], float]
) -> Finding:
    out = []
    for what, d, tail in asked:
        spec = context.setting.spec(d=d, actions=1, horizon=HORIZON, delta=DELTA)
        n = math.ceil(users(spec))
        log_p = math.log(DELTA) - d * math.log(spec.M + 1) - math.log(4)
        found, deviation = tail(spec, n, log_p, context.rng(what))
        out.append(_evidence(what, found, n, log_p, deviation))
    return Finding(tuple(out))


def _evidence(what: str, found: RareEvent, n: int, log_p: float, deviation: float) -> Evidence:
    low, high = found.log_interval
    beyond = low > log_p
    return Evidence(
        check=f"importance sampling at delta = {DELTA:g}, {what}",
        grade="tested",
        role="supports",
        scope=f"alpha = 1, n = {n}, the share of delta of one event in one bin",
        # Chernoff's bound is attained up to rounding where there is nothing to integrate.
        verdict="REFUTED" if beyond else "HOLDS" if high <= log_p + 1e-9 else "UNDECIDED",
        value=found.log_p,
        bound=log_p,
        interval=found.log_interval,
        false_alarm=found.alpha,
        detectable=found.detectable(log_p),
        samples=found.samples,
        note=f"ln P of a deviation of {deviation:.3g}; the union bound takes it to be {log_p:.2f}",
        counterexample={"n": n, "deviation": deviation} if beyond else None,
    )


def _count(spec: Spec, n: int, log_p: float, rng: np.random.Generator) -> tuple[RareEvent, float]:
    deviation, _ = noise_deviations(VECTOR, spec, 1, n, log_p)
    scale = float(mechanisms(spec, 1, np.zeros(1, dtype=np.int64)).count.scale.max())
    return laplace_sum_rare(n, scale, deviation * n, SAMPLES, rng, FALSE_ALARM / 2, two_sided=True), deviation


def _binomial(spec: Spec, n: int, log_p: float, rng: np.random.Generator) -> tuple[RareEvent, float]:
    """Hoeffding's deviation below the mean, as the union bound takes it; by symmetry that above."""
    deviation = math.sqrt(-log_p / (2 * n))
    k = math.ceil(n * (0.5 + deviation))
    return binomial_rare(n, 0.5, k, SAMPLES, rng, FALSE_ALARM / 2), deviation


def _vector(spec: Spec, n: int, log_p: float, rng: np.random.Generator) -> tuple[RareEvent, float]:
    _, deviation = noise_deviations(VECTOR, spec, 1, n, log_p)
    scale = float(mechanisms(spec, 1, np.zeros(1, dtype=np.int64)).vector.scale.max())
    return laplace_norm_rare(n, scale, spec.d, deviation * n, SAMPLES, rng, FALSE_ALARM / 2), deviation


def _matrix(spec: Spec, n: int, log_p: float, rng: np.random.Generator) -> tuple[RareEvent, float]:
    _, deviation = noise_deviations(MATRIX, spec, 1, n, log_p)
    noise = mechanisms(spec, 1, np.zeros(1, dtype=np.int64)).matrix
    if isinstance(noise, SymmetricLaplace):
        scale = float(noise.unit.max() * noise.sensitivity / noise.epsilon)
        found = laplace_matrix_rare(n, scale, spec.d, deviation * n, SAMPLES, rng, FALSE_ALARM / 2)
    else:
        assert isinstance(noise, Wishart)
        r = deviation * n / (float(noise.unit.max()) * noise.v)
        found = wishart_rare(n * (spec.d + 1), spec.d, r, SAMPLES, rng, FALSE_ALARM / 2)
    return found, deviation


def of(moment: Moment) -> Callable[[Context], Finding]:
    return vectors if moment.power == 1 else matrices
