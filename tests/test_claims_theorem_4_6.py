"""Theorem 4.6: what decides its rows can fail, and says nothing where its premises are refuted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lpcb.arrays import Array
from lpcb.spec import REPAIRED, Spec
from verification.claim import Context, Setting
from verification.claims import theorem_2_1_rate, theorem_4_6, theorem_4_6_slope
from verification.evidence.lplr_proof import chain
from verification.experiments import envelopes, far_levels, levels, whole_envelope
from verification.experiments.regret import SCALED
from verification.verdict import Evidence, decide

QUICK = Setting("repaired", "quick")
PRINTED = Setting("paper", "quick")
WITHOUT = Setting("repaired", "quick", without=frozenset({"inactive-width"}))


def as_run(setting: Setting = QUICK) -> Evidence:
    return theorem_4_6.chain_as_run(Context("thm-4.6-bound", setting)).evidence[0]


# --- the chain with the code's numbers ----------------------------------------------------------------------


def test_the_chain_speaks_of_the_code_as_it_is() -> None:
    found = as_run()
    assert (found.verdict, found.role) == ("HOLDS", "decides")
    assert 0.8 < found.value < 1, "little to spare, so that a change is noticed"
    assert found.samples > 10_000


@pytest.mark.parametrize(("name", "factor"), [("kappa3", 1.2), ("gamma", 1.1), ("M", 2)])
def test_a_change_of_the_specification_is_noticed(
    name: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(Spec, name).func
    monkeypatch.setattr(Spec, name, property(lambda spec: factor * right(spec)))
    found = as_run()
    assert found.verdict == "REFUTED"
    assert found.counterexample is not None
    assert decide([found])[0] == "REFUTED"


def test_shorter_batches_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spec, "batch", lambda spec, tau: spec.epoch_length(tau) // (3 * spec.d))
    assert as_run().verdict == "REFUTED"


@pytest.mark.parametrize("setting", [PRINTED, WITHOUT])
def test_without_premises_the_chain_says_nothing(setting: Setting) -> None:
    context = Context("x", setting)
    for check in (
        theorem_4_6.proof_chain,
        theorem_4_6.chain_as_run,
        theorem_4_6.constant,
        theorem_4_6_slope.logarithms,
    ):
        for found in check(context).evidence:
            assert (found.verdict, found.role) == ("UNDECIDED", "supports")
            assert theorem_4_6.unsupported(setting) in found.note + found.scope
    assert theorem_4_6.unsupported(QUICK) == ""


def test_repaired_rows_are_implications() -> None:
    for claim in (theorem_4_6.BOUND, theorem_4_6_slope.SLOPE):
        assert claim.text("repaired").startswith("If Lemma 4.5 holds as repaired")
        for premise in ("lemma-4.5-coverage", "lemma-4.5-mad", "thm-3.2-regret", "def-3.1-failure"):
            assert premise in claim.text("repaired")
            assert premise in theorem_4_6.IF


# --- logarithms ---------------------------------------------------------------------------------------------


def logarithms() -> Evidence:
    return theorem_4_6_slope.logarithms(Context("x", QUICK)).evidence[0]


def test_what_is_left_of_the_bound_is_sqrt_T() -> None:
    found = logarithms()
    assert (found.verdict, found.role) == ("HOLDS", "decides")
    assert 0.499 < found.value < 0.5
    assert "1.2e+21 (d = 1)" in found.scope
    log_T = 100.0
    derived = 0.5 + (1 + 1 / log_T) / (math.log(48 * log_T) + log_T) - 1 / log_T
    assert theorem_4_6_slope.power_left(1, log_T) == pytest.approx(derived, abs=1e-8)


def test_another_power_or_a_step_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def steeper(d: int, A: int, alpha: float, beta: float, log_T: float) -> float:
        return chain.log_bound(d, A, alpha, beta, log_T) + 0.01 * log_T

    with monkeypatch.context() as patch:
        patch.setattr(theorem_4_6_slope, "log_bound", steeper)
        assert logarithms().verdict == "UNDECIDED"
    monkeypatch.setattr(chain, "CONSTANT", 1_000_000)
    assert logarithms().verdict == "UNDECIDED"


# --- the whole envelope -------------------------------------------------------------------------------------

T = np.array([1e10, 1e12, 1e14, 3e16])


def made(name: str, mean: Array, predicted: Array) -> dict[str, Array]:
    noise = np.random.default_rng(0).normal(1, 0.01, (40, len(T)))
    parts = {
        "horizon": T[None],
        "interior": np.ones((1, len(T)), dtype=bool),
        "predicted": predicted[None],
        "regret": mean * noise,
        "covered": np.ones((40, len(T))),
    }
    return {f"{name}:{key}": value for key, value in parts.items()}


def whole(power: float) -> whole_envelope.Whole:
    """Fixed bins with 10 T^0.53; levels with T^power from 1e8 on, predicted to have T^0.6."""
    fixed, spread = envelopes.SCALED_1, envelopes.LEVELS_1
    data = made(fixed.name, 10 * T**0.53, np.zeros(len(T)))
    data |= made(spread.name, 1e8 ** (0.6 - power) * T**power, T**0.6)
    (found,) = whole_envelope.whole_envelopes(data, (fixed, spread))
    return found


def test_the_whole_envelope_is_the_worst_at_each_horizon() -> None:
    found = whole(0.6)
    larger = [10 * t**0.53 > t**0.6 for t in T]
    assert len(set(larger)) == 2
    names = [envelopes.SCALED_1.name if fixed else envelopes.LEVELS_1.name for fixed in larger]
    assert list(found.names) == names
    np.testing.assert_allclose(found.regret.mean(axis=0), np.maximum(10 * T**0.53, T**0.6), rtol=0.01)
    np.testing.assert_allclose(found.predicted, T**0.6)


@pytest.mark.parametrize(("power", "verdict"), [(0.3, "HOLDS"), (0.62, "UNDECIDED"), (0.85, "REFUTED")])
def test_the_whole_envelope_is_judged_by_its_formula(power: float, verdict: str) -> None:
    evidence, measures = whole_envelope.whole_evidence(whole(power), 1e-9)
    assert (evidence.verdict, evidence.role) == (verdict, "supports")
    assert evidence.value == measures["exponent of the whole envelope, d=1 scaled"].value
    if verdict == "UNDECIDED":
        assert "plain exponent not inside [0.45, 0.58]" in evidence.note


@pytest.mark.parametrize(("d", "name"), [(1, "d=1"), (2, "d=2 pairs")])
def test_the_continued_formula_is_the_one_of_runs(d: int, name: str) -> None:
    """Levels are whole numbers and epochs double there: within a factor of 2.5, the same one at both ends."""
    family, off = levels.FAMILIES[name], []
    for horizon in (10**15, 4 * 10**18):
        spec = REPAIRED(d=d, actions=2, horizon=horizon, **SCALED[d])
        exact = levels.predicted(spec, family, levels.worst_size(spec, family))
        off.append(math.log(exact) - far_levels.log_regret(d, math.log(horizon)))
    assert max(abs(v) for v in off) < math.log(2.5)
    assert abs(off[1] - off[0]) < 0.5


@pytest.mark.parametrize("d", [1, 2])
def test_slopes_come_down_to_one_half(d: int) -> None:
    slopes = [far_levels.local_slope(d, k * math.log(10)) for k in (18, 20, 30, 40, 60, 100, 1000)]
    assert slopes == sorted(slopes, reverse=True)
    assert slopes[-1] == pytest.approx(0.5, abs=0.002)
    assert slopes[0] > 0.56
    assert len(far_levels.far_table().rows) == len(far_levels.DECADES)


# --- best actions lost for good, and what is not private ----------------------------------------------------


def lost(regret: Array, setting: Setting) -> Evidence:
    data = {"regret": regret, "horizon": np.array([[1e15, 1e17, 1e18]]), "covered": np.ones((48, 3))}
    context = Context("x", setting, {envelopes.LOST.name: data})
    return theorem_4_6_slope.lost_actions(context).evidence[0]


def test_that_none_was_lost_only_supports() -> None:
    found = lost(np.zeros((48, 3)), QUICK)
    assert (found.verdict, found.role, found.value) == ("UNDECIDED", "supports", 0.0)
    assert found.interval[1] == pytest.approx(1 - (0.5e-9) ** (1 / 144))
    assert found.detectable == pytest.approx(1 - 0.01 ** (1 / 144))
    one = np.zeros((48, 3))
    one[0, 0] = 1.0
    assert lost(one, QUICK).verdict == "UNDECIDED"


def test_actions_lost_decide_and_the_bound_is_passed_by_extrapolation() -> None:
    T = np.array([1e15, 1e17, 1e18])
    linear = 1e-3 * T * np.random.default_rng(0).normal(1, 0.05, (48, 3))
    for setting in (QUICK, PRINTED):
        found = lost(linear, setting)
        assert (found.verdict, found.role) == ("REFUTED", "decides")
        assert "extrapolation" in found.scope


def test_what_is_not_private_may_beat_the_lower_bound() -> None:
    def knows(design: Any, n: int, seeds: int, rng: np.random.Generator) -> Array:
        return np.tile(design.theta, (seeds, 1))

    rng = np.random.default_rng(0)
    found = theorem_2_1_rate._above_bound(theorem_2_1_rate.PRINTED, knows, 1e-11, rng)
    assert (found.verdict, found.role) == ("UNDECIDED", "supports")
    found = theorem_2_1_rate._above_bound("LPLR repaired", knows, 1e-11, rng)
    assert (found.verdict, found.role) == ("REFUTED", "decides")
