"""Audits with a log-density: exact losses, witnesses, delta(epsilon), and contradictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lpcb.mechanisms import Laplace, SymmetricLaplace, Wishart
from verification import audit
from verification.evidence.privacy.whitebox import whitebox

ONE = np.array(1.0)
ZERO, UNIT = np.zeros((2, 2)), np.diag([1.0, 0.0])


@dataclass(frozen=True)
class Gaussian:
    sigma: float

    def release(self, value: float, rng: np.random.Generator, size: int) -> np.ndarray:
        return value + self.sigma * rng.standard_normal(size)

    def log_density(self, output: np.ndarray, value: float) -> np.ndarray:
        return stats.norm.logpdf(output, value, self.sigma)

    def delta(self, epsilon: float) -> float:
        """Balle and Wang's closed form for two means at distance one."""
        a, b = 1 / (2 * self.sigma), epsilon * self.sigma
        return float(stats.norm.cdf(a - b) - math.exp(epsilon) * stats.norm.cdf(-a - b))


@dataclass(frozen=True)
class Coin:
    """Randomized response on one bit, with all its outputs listed."""

    epsilon: float
    outputs: tuple[int, ...] = (0, 1)

    def release(self, value: int, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.where(rng.random(size) < 1 / (1 + math.exp(-self.epsilon)), value, 1 - value)

    def log_density(self, output: np.ndarray, value: int) -> np.ndarray:
        return np.where(np.asarray(output) == value, 0.0, -self.epsilon) - math.log1p(math.exp(-self.epsilon))


@pytest.mark.parametrize(
    ("mechanism", "pair", "loss"),
    [
        (Laplace(ONE, 1.0, 0.5), (0.0, 1.0), 0.5),
        (Laplace(np.ones(3), 2.0, 1.0), (np.zeros(3), np.array([1.0, 0.0, 0.5])), 0.75),
        (SymmetricLaplace(ONE, 3.0, 1.0, 2), (ZERO, UNIT), 1 / 3),
        (Coin(0.5), (0, 1), 0.5),
    ],
)
def test_closed_forms_decide(mechanism: Any, pair: tuple[Any, Any], loss: float) -> None:
    holds = audit(mechanism, loss, pair=pair, samples=20_000, confidence=1 - 1e-9)
    assert (holds.verdict, holds.decided_by) == ("HOLDS", "closed form")
    assert holds.whitebox is not None
    assert holds.whitebox.exact == pytest.approx(loss)
    assert holds.whitebox.largest <= loss * (1 + 1e-9)
    assert holds.epsilon_low <= loss
    broken = audit(mechanism, 0.9 * loss, pair=pair, samples=20_000)
    assert (broken.verdict, broken.decided_by) == ("REFUTED", "closed form")


def test_a_density_alone_refutes_but_never_approves() -> None:
    class Bare:
        release = staticmethod(Laplace(ONE, 1.0, 1.0).release)
        log_density = staticmethod(Laplace(ONE, 1.0, 1.0).log_density)

    below = audit(Bare(), 0.999, pair=(0.0, 1.0), samples=20_000)
    assert (below.verdict, below.decided_by) == ("REFUTED", "log-density")
    above = audit(Bare(), 1.0, pair=(0.0, 1.0), samples=20_000, confidence=1 - 1e-9)
    assert above.verdict == "UNDECIDED"
    assert above.whitebox is not None
    assert above.whitebox.largest == pytest.approx(1.0)


def test_a_loss_that_no_sample_meets_is_climbed_to() -> None:
    """With sigma = 1 losses are N(1/2, 1): 20 never occurs among samples, but it has positive density."""
    result = audit(Gaussian(1.0), 20.0, pair=(0.0, 1.0), samples=20_000)
    assert result.whitebox is not None
    assert (result.verdict, result.decided_by) == ("REFUTED", "log-density")
    assert max(result.whitebox.quantiles[0]) < 10 < 20 < result.whitebox.attained


def test_wishart_witnesses_have_the_probability_of_the_closed_form() -> None:
    """Under 0 an output is impossible under u u' with probability 1 − e^{−1/(2v)}, never the reverse.

    The interval misses once in 10^9 runs.
    """
    mechanism = Wishart(ONE, 1.0, 1.0, 2)
    found = whitebox(mechanism, mechanism.release, (ZERO, UNIT), 1.0, 1e-9, 40_000, 0)
    assert found.exact == found.largest == math.inf
    (witness,) = found.witnesses
    assert witness.under == 0
    assert witness.interval[0] <= 1 - math.exp(-1 / (2 * mechanism.v)) <= witness.interval[1]
    output = np.array(witness.output)
    assert np.isfinite(mechanism.log_density(output, ZERO))
    assert mechanism.log_density(output, UNIT) == -math.inf
    assert found.delta_low > 0.2
    result = audit(mechanism, 1.0, pair=(ZERO, UNIT), samples=50_000)
    assert result.refuted
    assert result.epsilon_low > 5  # black box, through the exact likelihood ratio
    assert audit(mechanism, 1.0, 0.2, pair=(ZERO, UNIT), samples=50_000).decided_by == "log-density"


@pytest.mark.parametrize("sigma", [0.7, 2.0])
def test_hockey_stick_of_the_gaussian(sigma: float) -> None:
    """The closed form lies in the band everywhere; it does not once in 10^9 runs."""
    mechanism = Gaussian(sigma)
    found = whitebox(mechanism, mechanism.release, (0.0, 1.0), 1.0, 1e-9, 60_000, 1)
    for curve in found.curves:
        exact = np.array([mechanism.delta(e) for e in curve.epsilon])
        assert (np.array(curve.low) <= exact).all()
        assert (exact <= np.array(curve.high)).all()
        assert np.max(np.array(curve.high) - np.array(curve.low)) < 0.05
    assert found.delta_low <= mechanism.delta(1.0) <= found.delta_high


def test_delta_claims_are_judged_by_the_density() -> None:
    mechanism = Gaussian(1.0)
    true = mechanism.delta(1.0)
    assert audit(mechanism, 1.0, 0.8 * true, pair=(0.0, 1.0), samples=400_000).refuted
    assert (
        audit(mechanism, 1.0, true, pair=(0.0, 1.0), samples=400_000, confidence=1 - 1e-9).verdict
        == "UNDECIDED"
    )


def test_samples_contradict_a_wrong_closed_form() -> None:
    class Liar:
        release = staticmethod(Laplace(ONE, 1.0, 2.0).release)

        def loss(self, value: float, other: float) -> float:
            return 1.0

    result = audit(Liar(), 1.0, pair=(0.0, 1.0), samples=100_000)
    assert (result.verdict, result.decided_by) == ("REFUTED", "samples")
    assert "contradicts" in result.reason


class Odd(Gaussian):
    def __init__(self, log: Any) -> None:
        super().__init__(1.0)
        object.__setattr__(self, "log", log)

    def log_density(self, output: np.ndarray, value: float) -> np.ndarray:
        found: np.ndarray = self.log(output)  # type: ignore[attr-defined]
        return found


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (Odd(lambda z: 0.0), "one number per sample"),
        (Odd(lambda z: np.zeros((len(z), 2))), "one number per sample"),
        (Odd(lambda z: np.full(len(z), np.nan)), "NaN"),
        (Coin(0.5, outputs=(0,)), "total probability"),
    ],
)
def test_useless_densities_are_named(mechanism: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        audit(mechanism, 1.0, pair=(0, 1), samples=5000)


def test_a_density_that_forbids_its_own_samples_is_noted() -> None:
    mechanism = Odd(lambda z: np.where(z > 0, 0.0, -np.inf))
    result = audit(mechanism, 1.0, pair=(0.0, 1.0), samples=5000, confidence=1 - 1e-9)
    assert [note.split("of input")[1] for note in result.notes] == [" 0 impossible", " 1 impossible"]
