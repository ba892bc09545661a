"""The search for the worst oracles stays inside Definition 3.1, and finds what is there to be found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lpcb.arrays import Array, Bools
from verification.claim import Context, Setting
from verification.claims import elimination, theorem_3_2_regret
from verification.experiments import elimination_epochs, elimination_search
from verification.experiments.elimination_search import Shape, decode, gap_ratio, regret_ratio, search
from verification.experiments.regret import SCALED
from verification.verdict import Variant


def keep_all(active: Bools, f_hat: Array, delta: Array) -> Bools:
    return active


def wide(active: Bools, f_hat: Array, delta: Array) -> Bools:
    """Algorithm 1 with intervals 2 % too wide."""
    floor = np.where(active, f_hat - 1.02 * delta, -np.inf).max(axis=-1, keepdims=True)
    return np.asarray(active & (f_hat + 1.02 * delta >= floor))


def narrow(active: Bools, f_hat: Array, delta: Array) -> Bools:
    """Algorithm 1 with intervals 2 % too narrow."""
    floor = np.where(active, f_hat - 0.98 * delta, -np.inf).max(axis=-1, keepdims=True)
    return np.asarray(active & (f_hat + 0.98 * delta >= floor))


@pytest.mark.parametrize("widest", [1.0, 2.0])
def test_oracles_are_those_of_definition_3_1(widest: float) -> None:
    shape, rng = Shape(3, 4, 2, widest), np.random.default_rng()
    cube = np.where(rng.random((500, shape.dimension)) < 0.3, rng.integers(2, size=(500, 1)), rng.random(1))
    found = decode(shape, cube)
    assert (np.abs(found.f_hat - found.f[:, None]) <= found.delta).all()
    assert found.delta.min() >= 0
    assert found.delta.max() <= widest
    assert max(np.abs(found.f).max(), np.abs(found.f_hat).max()) <= 1
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)


@pytest.mark.parametrize("actions", [2, 3])
def test_the_extremal_constant_is_found(actions: int) -> None:
    c = 2 * (1 - 1 / actions)
    found = search(regret_ratio, Shape(actions, actions, 2, 1.0), 1500, np.random.default_rng(0))
    assert found.start < 0.7 * c, "random oracles are far from it"
    assert 0.98 * c < found.value <= c * (1 + 1e-12)


def test_the_gap_is_tight() -> None:
    found = search(gap_ratio, Shape(1, 4, 3, 1.0), 400, np.random.default_rng(1))
    assert 0.99 < found.value <= 1


@pytest.mark.parametrize("variant", ["paper", "repaired"])
@pytest.mark.parametrize(("name", "mutant"), [("gap", keep_all), ("gap", wide), ("survival", narrow)])
def test_a_wrong_rule_is_found(
    name: str, mutant: Callable[..., Bools], variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elimination_search, "eliminate", mutant)
    found = elimination.worst_oracle(Context("lemma", Setting(variant, "quick")), name)
    assert found.evidence[0].verdict == "REFUTED"


def test_too_small_a_constant_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    constant = theorem_3_2_regret.constant
    monkeypatch.setattr(theorem_3_2_regret, "constant", lambda A: constant(A) * 19 / 20)
    found = theorem_3_2_regret.worst_oracle(Context("theorem", Setting("repaired", "quick")))
    assert found.evidence[0].verdict == "REFUTED"


@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_every_instance_is_also_cut_off_inside_an_epoch(variant: Variant) -> None:
    data = elimination_epochs.EPOCHS.shard(Setting(variant, "quick"), 0)
    cut = data["cut"].astype(bool)
    assert set(data["instance"][cut]) == set(data["instance"])
    assert (data["eliminated"][cut] > 0).all(), "something is left out where the horizon ends"
    text = elimination_epochs.looked_at(data, cut)
    assert text.startswith(f"{cut.sum()} epochs ({cut.sum()} cut off")


def test_regret_of_a_cut_off_epoch_is_looked_at() -> None:
    """The run's own regret stands in the row: playing everything after the last oracle is noticed."""
    problem = elimination_epochs._instances(Setting("repaired", "quick"))[2][0]
    spec = Setting("repaired", "quick").spec(d=1, actions=5, horizon=10**11, **SCALED[1])
    traced = elimination_epochs.trace_all(problem, spec, 2, np.random.default_rng(0))
    rows = elimination_epochs.epoch_rows(traced, 0)
    assert rows["cut"].sum() == 2
    assert rows["policy"].max() < 1e-12
    traced.run.regret[:, -1] *= 1.5
    assert elimination_epochs.epoch_rows(traced, 0)["policy"].max() > 1e-6
