"""Theorem 4.6 put together from its parts: the certified constant against the sum that the algorithm has."""

import math

import pytest

from lpcb.spec import REPAIRED, Spec
from verification.evidence.enclosure import Proved, step_evidence
from verification.evidence.lplr_proof import chain


def chain_sum(spec: Spec) -> float:
    """Written out once more: 2 n_1, 2 (1 - 1/A) A^2 sum of r_tau E(n_{tau-1}), and failures."""
    d, gamma, A = spec.d, spec.gamma, spec.actions
    increment = spec.kappa3 * gamma**2 * (d + 1) ** 4 + spec.kappa2 * gamma * d**2
    increment += max(spec.kappa1 * gamma**2 * (d + 1) ** 3, spec.kappa1_prime * gamma * d**1.5)
    mad = (3.02 * spec.M) ** d * 12 * increment
    later = sum(rounds * mad / math.sqrt(spec.batch(tau - 1)) for tau, rounds in spec.epochs()[1:])
    failing = 4 * d * spec.failure * A * len(spec.epochs())
    return 2 * spec.epochs()[0][1] + 2 * (1 - 1 / A) * A**2 * later + 2 * spec.horizon * failing


def bound(spec: Spec) -> float:
    log = math.log(48 * spec.d * spec.horizon / spec.b)
    size = (float(chain.GROWTH) / spec.b) ** spec.d * spec.actions**2 * spec.d**5 * log / spec.alpha
    return chain.CONSTANT * size * float(spec.horizon) ** (0.5 + 2 * spec.b)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("actions", [2, 5])
@pytest.mark.parametrize("horizon", [10**5, 10**9, 3 * 10**12, 10**18])
@pytest.mark.parametrize("beta", [None, 0.1, 0.4999])
def test_the_bound_is_above_the_sum_as_run(d: int, actions: int, horizon: int, beta: float | None) -> None:
    spec = REPAIRED(d=d, actions=actions, horizon=horizon, alpha=0.7, beta=beta)
    assert chain_sum(spec) <= bound(spec)
    assert chain.as_run(spec) == pytest.approx(chain_sum(spec))
    assert chain.over_bound(spec) == pytest.approx(chain_sum(spec) / bound(spec))


def test_the_constant_is_nearly_needed() -> None:
    """d = 1, many actions, beta just below 1/2 (two levels): what is lost is the logarithm and the phase."""
    spec = REPAIRED(d=1, actions=10**4, horizon=10**18, beta=0.499999)
    assert chain_sum(spec) >= 0.4 * bound(spec)


@pytest.mark.parametrize("step", chain.CHAIN, ids=lambda step: step.label)
def test_every_step_is_proved(step: chain.Step) -> None:
    assert isinstance(step.decide(), Proved)


@pytest.mark.parametrize(
    ("name", "value"), [("EPOCHS", "2.41"), ("CONSTANT", 1_242_000), ("SHORTEST", 33), ("FAILING", 9)]
)
def test_a_little_less_would_be_noticed(name: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, name, value)
    assert any(step_evidence(step).verdict != "HOLDS" for step in chain.CHAIN)
