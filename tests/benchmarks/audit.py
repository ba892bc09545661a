"""How good the auditor is: what it finds in a zoo of mechanisms, how fast, and how often it is wrong.

Run ``python -m tests.benchmarks audit``. Targets: a median bound of 0.095 over 20 audits of a loss of 0.1
with 4 million samples; 1.05 told from 1 at a false alarm of 1e-6 with 1 million samples, and with 10 million
in twenty dimensions; all broken mechanisms refuted; false refutations within the exact binomial limit.
"""

from __future__ import annotations

import time

import numpy as np
from joblib import Parallel, delayed
from scipy import stats

from tests.support.zoo import CORRECT, ZOO, Animal, laplace
from verification import audit
from verification.evidence.privacy.blackbox import observe

SAMPLES = 1_000_000
AUDITS, LEVEL, SMALL = 2000, 0.05, 1000
LIMIT_ERROR = 1e-6


def main() -> None:
    print(sharpness())
    print(power())
    print(table())
    print(calibration())


def sharpness() -> str:
    """Laplace, claimed and true epsilon 0.1."""
    start = time.perf_counter()
    lows = [
        audit(laplace(0.1), 0.1, pair=(0.0, 1.0), samples=4_000_000, seed=s).epsilon_low for s in range(20)
    ]
    seconds = (time.perf_counter() - start) / len(lows)
    return (
        f"Laplace of loss 0.1, 20 audits of 4e6 samples at 0.99: median bound {np.median(lows):.4f}, "
        f"from {min(lows):.4f} to {max(lows):.4f}, {seconds:.1f} s each{_missed(np.median(lows) >= 0.095)}"
    )


def power() -> str:
    """A loss of 1.05 claimed to be 1."""
    lines = []
    for name, pair, samples in (
        ("one dimension", (0.0, 1.0), 1_000_000),
        ("twenty dimensions", (np.zeros(20), np.eye(20)[7]), 10_000_000),
    ):
        start = time.perf_counter()
        found = audit(laplace(1.05), 1.0, pair=pair, samples=samples, confidence=1 - 1e-6)
        lines.append(
            f"Laplace of loss 1.05 claimed 1, {name}, {found.samples} samples, false alarm 1e-6: "
            f"{found.verdict}, bound {found.epsilon_low:.4f}, {time.perf_counter() - start:.1f} s"
            f"{_missed(found.refuted)}"
        )
    return "\n".join(lines)


def table() -> str:
    """One audit of every mechanism."""
    lines = [f"{'mechanism':37}{'claim':>6}{'bound':>8}{'samples':>9}{'seconds':>8}  verdict"]
    for animal in ZOO:
        start = time.perf_counter()
        found = audit(animal.draw, animal.epsilon, pair=animal.pair, samples=SAMPLES)
        seconds = time.perf_counter() - start
        lines.append(
            f"{animal.name:37}{animal.epsilon:6g}{found.epsilon_low:8.3f}{found.samples:9d}{seconds:8.1f}  "
            f"{found.verdict}{_missed(found.refuted != animal.correct)}"
        )
    return "\n".join(lines)


def calibration() -> str:
    """How many of 2000 small audits refute a correct mechanism at level 0.05."""
    limit = int(stats.binom.isf(LIMIT_ERROR, AUDITS, LEVEL))
    counts = Parallel(n_jobs=-1)(delayed(_wrong)(animal) for animal in CORRECT)
    lines = [
        f"{AUDITS} audits of {SMALL} samples at level {LEVEL}: at most {limit} wrong "
        f"(beyond by chance: {LIMIT_ERROR:g})"
    ]
    for animal, count in zip(CORRECT, counts, strict=True):
        lines.append(f"{animal.name:37}{count:6d} wrong{_missed(count <= limit)}")
    return "\n".join(lines)


def _wrong(animal: Animal) -> int:
    wrong = 0
    for seed in range(AUDITS):
        seen, _ = observe(animal.draw, animal.pair, animal.epsilon, 0.0, LEVEL, SMALL, seed)
        wrong += any(one.refutes(animal.epsilon, 0.0) for one in seen)
    return wrong


def _missed(good: object) -> str:
    return "" if good else "  MISSED"
