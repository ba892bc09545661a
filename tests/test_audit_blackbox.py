"""Audits by samples alone: calibrated, strong enough, and undisturbed by odd outputs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.support.zoo import BROKEN, CORRECT, Animal, laplace, randomized_response
from verification import audit
from verification.evidence.privacy.blackbox import observe
from verification.evidence.privacy.outputs import encode
from verification.evidence.privacy.scores import Column


def name_of(animal: Animal) -> str:
    return animal.name


def false_refutations(animal: Animal, level: float, audits: int, samples: int) -> int:
    """Whole audits (pilot, choice of events, fresh sample, test) that refute what is true."""
    wrong = 0
    for seed in range(audits):
        seen, _ = observe(animal.draw, animal.pair, animal.epsilon, 0.0, level, samples, seed)
        wrong += any(one.refutes(animal.epsilon, 0.0) for one in seen)
    return wrong


NOISE = Animal("noise", lambda v, rng, n: rng.standard_normal(n), (0, 1), 0.0, 0.0, True)


@pytest.mark.parametrize("animal", [CORRECT[0], NOISE], ids=name_of)
def test_2000_small_audits_of_a_correct_mechanism(animal: Animal) -> None:
    """Laplace's loss is all of the claimed epsilon. In pure noise an event that looks good is good by chance:
    one tested on the samples that it was chosen by would refute far too often.

    Fails by chance once in 10^9 runs.
    """
    wrong = false_refutations(animal, 0.05, 2000, 480)
    assert wrong <= stats.binom.isf(1e-9, 2000, 0.05)


@pytest.mark.parametrize("animal", CORRECT, ids=name_of)
def test_correct_mechanisms_are_not_refuted_nor_approved(animal: Animal) -> None:
    """A wrong refutation happens once in 10^9 runs."""
    result = audit(animal.draw, animal.epsilon, pair=animal.pair, samples=40_000, confidence=1 - 1e-9)
    assert result.verdict == "UNDECIDED"
    assert result.epsilon_low <= animal.epsilon < result.detectable


@pytest.mark.parametrize("animal", BROKEN, ids=name_of)
def test_broken_mechanisms_are_refuted(animal: Animal) -> None:
    result = audit(animal.draw, animal.epsilon, pair=animal.pair, samples=400_000, confidence=1 - 1e-6)
    assert result.verdict == "REFUTED"
    assert result.samples <= 400_000
    if animal.loss is not None:
        assert animal.epsilon < result.epsilon_low <= animal.loss


def test_a_loss_of_1_05_is_told_from_1() -> None:
    result = audit(laplace(1.05), 1.0, pair=(0.0, 1.0), samples=1_000_000, confidence=1 - 1e-6)
    assert result.refuted
    assert 1.0 < result.epsilon_low <= 1.05


def test_one_coordinate_of_twenty_is_found() -> None:
    one, two = np.zeros(20), np.eye(20)[7]
    result = audit(laplace(1.2), 1.0, pair=(one, two), samples=200_000, confidence=1 - 1e-6)
    assert result.refuted
    assert 1.0 < result.epsilon_low <= 1.2


def test_bounds_come_close_to_the_truth() -> None:
    """About 4 standard deviations of the log-ratio are left for the level, the choice and bad luck."""
    result = audit(laplace(0.1), 0.1, pair=(0.0, 1.0), samples=1_000_000, seed=3)
    n = 400_000
    spread = math.sqrt((1 - 0.5) / (0.5 * n) + (1 - 0.4524) / (0.4524 * n))
    assert 0.1 - 8 * spread < result.epsilon_low <= 0.1
    leak = audit(randomized_response(2.0, 2), 1.0, 0.0, pair=(0, 1), samples=100_000)
    p = math.exp(2) / (1 + math.exp(2))
    assert 0.9 < leak.delta_low / (p - math.e * (1 - p)) <= 1


def test_a_rare_leak_is_given_a_chance() -> None:
    """Some 120 outputs of 400 000 show the input; too few in the pilot to be sure of."""

    def draw(value: int, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.where(rng.random(size) < 3e-4, 50.0 + value, rng.laplace(size=size))

    result = audit(draw, 0.5, pair=(0, 1), samples=1_000_000)
    assert result.refuted
    assert result.epsilon_low > 2


def test_delta_is_respected() -> None:
    """A mechanism that fails with probability 0.02 is (0, 0.02)-private, and not (0, 0.015)-private."""

    def draw(value: int, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.where(rng.random(size) < 0.02, value, 2)

    for delta, verdict in ((0.015, "REFUTED"), (0.02, "UNDECIDED")):
        assert audit(draw, 0.0, delta, pair=(0, 1), samples=200_000, confidence=1 - 1e-9).verdict == verdict


def test_floating_point_is_looked_at_only_on_request() -> None:
    """1 + noise has coarser low bits than 0 + noise: with them every textbook Laplace mechanism is broken."""
    claim = {"epsilon": 1.0, "pair": (0.0, 1.0), "samples": 50_000, "confidence": 1 - 1e-9}
    assert not audit(laplace(1.0), **claim).refuted
    assert audit(laplace(1.0), **claim, bits=True).epsilon_low > 5


def test_computed_columns_have_no_rounding_errors() -> None:
    x = np.random.default_rng(0).laplace(size=(1000, 1))
    outputs = encode(np.concatenate([x, x + 0.25], axis=1), 1000)
    assert len(np.unique(outputs.numbers[:, 1] - outputs.numbers[:, 0])) > 1
    assert (Column("difference", 1, 0)(outputs) == 0.25).all()
    assert (Column("total")(encode(np.concatenate([x, -x / 3, -x / 3, -x / 3], axis=1), 1000)) == 0).all()


def postprocessed(value: float, rng: np.random.Generator, size: int) -> np.ndarray:
    """Private, since it is computed from a private number; its rounding errors show that number's bits."""
    noisy = value + rng.laplace(size=size)
    return np.stack([noisy, noisy + 5, noisy * 3, noisy / 7], axis=1)


def test_rounding_errors_of_post_processing_refute_nothing() -> None:
    result = audit(postprocessed, 1.0, pair=(0.0, 1.0), samples=200_000, confidence=1 - 1e-9)
    assert result.verdict == "UNDECIDED"


def test_an_audit_can_be_repeated() -> None:
    claim = {"epsilon": 1.0, "pair": (0.0, 1.0), "samples": 30_000}
    one, two = (audit(laplace(1.0), **claim, seed=7).to_dict() for _ in range(2))
    assert json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert one != audit(laplace(1.0), **claim, seed=8).to_dict()
    assert json.loads(json.dumps(one))["samples"] <= 30_000


Rng = np.random.Generator
LEAKS: dict[str, Any] = {
    "constant": lambda v, rng, n: np.full(n, v),
    "bits": lambda v, rng, n: rng.random(n) < 0.2 + 0.6 * v,
    "text": lambda v, rng, n: np.where(rng.random(n) < 0.2 + 0.6 * v, "yes", "no"),
    "text of two letters": lambda v, rng, n: np.where(rng.random(n) < 0.2 + 0.6 * v, "ab", "ba"),
    "None or text": lambda v, rng, n: np.array(
        [None if u < 0.2 + 0.6 * v else "x" for u in rng.random(n)], dtype=object
    ),
    "lists of varying length": lambda v, rng, n: [[1] * k for k in rng.integers(1, 3 + v, n)],
    "NaN": lambda v, rng, n: np.where(rng.random(n) < 0.1 + 0.6 * v, np.nan, rng.random(n)),
    "infinity": lambda v, rng, n: np.where(rng.random(n) < 0.5, np.inf * (1 - 2 * v), rng.random(n)),
    "complex": lambda v, rng, n: rng.random(n) + 1j * (v + rng.random(n)),
    "tuple": lambda v, rng, n: (rng.random(n), rng.integers(0, 2 + v, n)),
    "mapping": lambda v, rng, n: {"a": rng.random((n, 2)), "b": rng.integers(0, 2 + v, n)},
    "structured": lambda v, rng, n: np.array(
        list(zip(rng.random(n), rng.integers(0, 2 + v, n), strict=True)), dtype=[("a", float), ("b", int)]
    ),
    "large integers": lambda v, rng, n: 2**60 + rng.integers(0, 2 + v, n),
    "matrices": lambda v, rng, n: rng.random((n, 3, 2)) + v,
    "spread of a matrix": lambda v, rng, n: (
        (1 + 3 * v) * (lambda x: x + x.swapaxes(1, 2))(rng.standard_normal((n, 2, 2)))
    ),
    "a shape that depends on the input": lambda v, rng, n: rng.random((n, 2 + v)),
    "a third decimal": lambda v, rng, n: np.round(rng.laplace(size=n), 2) + 0.001 * v,
    "agreement of two bits": lambda v, rng, n: (
        lambda b: np.stack([b, b ^ v ^ (rng.random(n) < 0.1)], axis=1)
    )(rng.integers(0, 2, n)),
    "half of a ring": lambda v, rng, n: (lambda x: x / np.abs(x) * (1 + v * (x.real > 0)))(
        rng.standard_normal(n) + 1j * rng.standard_normal(n)
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_leaks_in_odd_outputs_are_seen(name: str) -> None:
    result = audit(LEAKS[name], 0.5, pair=(0, 1), samples=30_000, confidence=1 - 1e-6)
    assert result.verdict == "REFUTED"
    json.dumps(result.to_dict())


@pytest.mark.parametrize(
    "draw",
    [
        lambda v, rng, n: np.zeros(n),
        lambda v, rng, n: np.full(n, np.nan),
        lambda v, rng, n: np.zeros((n, 0)),
        lambda v, rng, n: np.full((n, 2, 2), np.inf),
        lambda v, rng, n: np.full(n, "same"),
        lambda v, rng, n: np.where(rng.random(n) < 0.5, np.nan, 1.0),
    ],
)
def test_outputs_that_say_nothing_show_nothing(draw: Any) -> None:
    """Wrong once in 10^9 runs."""
    result = audit(draw, 0.5, pair=(0, 1), samples=5000, confidence=1 - 1e-9)
    assert (result.verdict, result.epsilon_low, result.delta_low) == ("UNDECIDED", 0.0, 0.0)


def varying(value: int, rng: Rng, size: int) -> np.ndarray:
    return rng.random((size, int(rng.integers(1, 1000))))


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda v, rng, n: 1.0, "first axis"),
        (lambda v, rng, n: np.zeros(3), r"shape is \(3,\)"),
        (lambda v, rng, n: np.zeros((2, n)), "first axis is the sample"),
        (lambda v, rng, n: {}, "empty"),
        (lambda v, rng, n: 1 / 0, "ZeroDivisionError"),
        (lambda v: 1, "TypeError"),
        (varying, "in one call and"),
        (3, "callable"),
    ],
)
def test_useless_randomizers_are_named(draw: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        audit(draw, 0.5, pair=(0, 1), samples=5000)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0.0}, "confidence"),
        ({"samples": 10}, "samples"),
        ({"samples": 1e6 + 0.5}, "samples"),
        ({"pair": None}, "exactly one of pair"),
        ({"pairs": [(0, 1)]}, "exactly one of pair"),
        ({"pair": (0, 1, 2)}, "pair is two inputs"),
        ({"pair": "01"}, "pair is two inputs"),
        ({"pair": None, "pairs": []}, "pairs"),
        ({"pair": None, "domain": [1]}, "domain"),
        ({"pair": None, "domain": 7}, "domain"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        audit(laplace(1.0), **({"epsilon": 1.0, "pair": (0.0, 1.0)} | arguments))
