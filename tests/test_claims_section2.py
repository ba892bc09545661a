"""Section 2: formulas against independent numerics, and checks that fail when they should."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate as quadrature

from verification.claim import Claim
from verification.claims import (
    lemma_a1,
    lemma_a1_steps,
    theorem_2_1,
    theorem_2_1_contraction,
    theorem_2_2,
)
from verification.evidence import laplace_mixture as mixture
from verification.evidence import ldp_channels as channels
from verification.evidence.enclosure import ExpSum, ball, divide_cube, lower, upper
from verification.row import run_row

CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for module in (lemma_a1, lemma_a1_steps, theorem_2_1, theorem_2_1_contraction, theorem_2_2)
    for claim in module.CLAIMS
}
LENGTHS = st.tuples(st.fractions(0, 1, max_denominator=64), st.fractions(0, 1, max_denominator=64)).map(
    lambda uv: (uv[0] * uv[1], uv[0] * (1 - uv[1]))
)
"""(s, t) with s + t ≤ 1."""


def row(id: str, variant: Any = "paper") -> dict[str, Any]:
    return run_row(CLAIMS[id], variant, "quick", 0)


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {e["check"]: e["verdict"] for e in found["evidence"]}


# --- the mixture ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("j", "k"), [(0, 0), (1, 0), (2, 0), (1, 1), (3, 1), (0, 4), (2, 3)])
def test_joint_moments_by_quadrature(j: int, k: int) -> None:
    s = 0.6

    def integrand(u: float) -> float:
        plus, minus = np.exp(abs(u) - abs(u - s)), np.exp(abs(u) - abs(u + s))
        return float(np.exp(-abs(u)) / 2 * plus**j * minus**k)

    value = sum(
        quadrature.quad(integrand, a, b, epsabs=1e-12)[0] for a, b in ((-60, -s), (-s, 0), (0, s), (s, 60))
    )
    closed = sum(float(c) * np.exp(a * s) for a, c in mixture.joint_moment(j, k).items())
    assert value == pytest.approx(closed, abs=1e-10)


def test_chi_square_closed_form() -> None:
    """χ² = ½(A(s)A(t) + B(s)B(t)) − 1 with A(t) = (2e^t + e^{−2t})/3, B(t) = 2e^{−t} − e^{−2t}."""
    assert mixture.joint_moment(2, 0) == {1: Fraction(2, 3), -2: Fraction(1, 3)}
    assert mixture.joint_moment(1, 1) == {-1: Fraction(2), -2: Fraction(-1)}
    assert mixture.moment(0).terms == mixture.moment(1).terms == {(0, 0): 1}


@settings(max_examples=25, deadline=None)
@given(point=LENGTHS)
def test_majorant_contains_the_ratio(point: tuple[Fraction, Fraction]) -> None:
    """E_0[p(L − 1)]/r³ evaluated directly lies within the polynomial's stated error."""
    s, t = point
    r = s + t
    if r < Fraction(1, 20):
        return
    # Short polynomials too, where the stated error is all that keeps the bound true.
    for p, order, drop in (
        (mixture.CHI_SQUARE, 24, 1e-12),
        (mixture.CHI_SQUARE, 6, 0.0),
        (mixture.CHI_SQUARE, 24, 0.05),
        (mixture.FORWARD, 34, 1e-11),
    ):
        found = mixture.majorant(p, order=order, drop=drop)
        direct = mixture.expectation(p)(ball(s), ball(t)) / ball(r) ** 3
        bound = found(ball(r), ball(s * t / r**2))
        assert lower(bound - 2 * found.error) <= upper(direct)
        assert lower(direct) <= upper(bound)


@settings(max_examples=20, deadline=None)
@given(point=LENGTHS)
def test_kl_is_below_its_bounds(point: tuple[Fraction, Fraction]) -> None:
    """Rigorous quadrature of KL never exceeds the polynomial bound, chi-square, or r³/6."""
    s, t = point
    r = s + t
    if r == 0:
        return
    for direction, p in ((mixture.FORWARD_KL, mixture.FORWARD), (mixture.REVERSE_KL, mixture.REVERSE)):
        value = mixture.kl(direction, s, t)
        assert lower(value) <= upper(mixture.expectation(p)(ball(s), ball(t)))
        assert lower(value) <= float(r) ** 3 / 6 * (1 + 1e-9) + 1e-15
        assert value.overlaps(mixture.kl(direction, t, s))


def test_kl_on_the_axis() -> None:
    for t in (Fraction(1, 3), Fraction(1)):
        forward, reverse = mixture.kl_forward_on_axis(ball(t)), mixture.kl_reverse_on_axis(ball(t))
        assert mixture.kl(mixture.FORWARD_KL, t, Fraction(0)).overlaps(forward)
        assert mixture.kl(mixture.REVERSE_KL, Fraction(0), t).overlaps(reverse)


def test_cube_is_divided_only_where_it_divides() -> None:
    with pytest.raises(ValueError, match="third order"):
        divide_cube(ExpSum({(1, 0): Fraction(1), (0, 1): Fraction(1)}), order=6, drop=0.0)
    with pytest.raises(ValueError, match="symmetric"):
        divide_cube(ExpSum({(1, 0): Fraction(1), (0, 0): Fraction(-1)}), order=6, drop=0.0)


# --- private channels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.05, 0.6, 0.8, 1.0, 3.0])
@pytest.mark.parametrize("tau", [0.01, 0.3, 1.0])
def test_sharp_divergence_is_the_programme(alpha: float, tau: float) -> None:
    """Closed form, linear programme over all patterns, and the extremal channels themselves agree."""
    p0, p1 = np.array([1 - tau, tau, 0.0]), np.array([1 - tau, 0.0, tau])
    closed = channels.sharp_divergence(alpha, tau)
    assert channels.best_channel(p0, p1, alpha) == pytest.approx(closed, rel=1e-6)
    exact = [channels.divergence(c, Fraction(alpha), Fraction(tau)) for c in channels.EXTREMAL]
    assert max(float(x) for x in exact) == pytest.approx(closed, rel=1e-9)


def test_sharp_constant_bounds_all_tau() -> None:
    for alpha in np.linspace(0.01, 6, 60):
        constant = float(channels.sharp_constant(arb(float(alpha))))
        taus = np.linspace(1e-3, 1, 200)
        ratios = [channels.sharp_divergence(alpha, t) / (np.expm1(alpha) * t) ** 2 for t in taus]
        assert max(ratios) <= constant * (1 + 1e-9)
        assert max(ratios) >= constant * 0.99 / (1 + np.expm1(alpha) * 1e-3)


def test_random_channels_are_private() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        q = channels.random_channel(rng, 4, 6, 1.0)
        assert q.sum(axis=1) == pytest.approx(np.ones(4))
        assert (q[:, None, :] / q[None, :, :]).max() <= np.e * (1 + 1e-12)


def test_unbalanced_sets_are_no_channel() -> None:
    odd = channels.Staircase("odd", (frozenset({1}), frozenset({2})))
    with pytest.raises(ValueError, match="equally many"):
        odd.weight(arb(1))


# --- the claims can fail ----------------------------------------------------------------------------------


def test_lemma_with_too_small_a_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    for constant, verdict in (("0.3334", "HOLDS"), ("0.3333", "REFUTED"), ("0.16", "REFUTED")):
        monkeypatch.setattr(lemma_a1, "PRINTED", constant)
        assert row("lemma-A.1")["verdict"] == verdict


def test_lemma_between_the_brackets_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemma_a1, "REPAIRED_KL", "0.16666667")
    found = row("lemma-A.1", "repaired")
    assert found["verdict"] == "UNDECIDED"
    assert verdicts(found)["KL(P_mu || P_0)"] == "UNDECIDED"


def test_lemma_notices_a_wrong_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Monte Carlo and cubature contradict a quadrature that is off by a fifth."""
    truth = mixture.kl
    monkeypatch.setattr(lemma_a1, "kl", lambda *args: truth(*args) * ball("1.2"))
    found = verdicts(row("lemma-A.1"))
    assert found["KL by scipy's cubature"] == "REFUTED"
    assert found["KL by Monte Carlo"] == "REFUTED"


REFUTED_STEPS = {
    "Case 2, (proof-mixture-2) holds too",
    "proof-mixture-4, middle",
    "proof-mixture-5, equality",
}


def test_steps_of_the_lemma() -> None:
    found = row("lemma-A.1-steps")
    assert {name for name, v in verdicts(found).items() if v == "REFUTED"} == REFUTED_STEPS
    assert "UNDECIDED" not in verdicts(found).values()


def test_counterexamples_of_the_steps_hold_in_floating_point() -> None:
    found = {e["check"]: e["counterexample"] for e in row("lemma-A.1-steps")["evidence"]}
    a, m1, m2 = (found["Case 2, (proof-mixture-2) holds too"][k] for k in ("alpha", "mu1", "mu2"))
    assert 0 < a <= 1
    assert abs(m1) + abs(m2) <= 1
    # The likelihood ratio itself, at a point of Case 2.
    ratio = float(np.exp(lemma_a1.log_ratio(a, (m1, m2), np.array(2.0), np.array(-2.0))))
    assert abs(ratio - 1) > np.e / 2 * a**2 * (m1 + m2) ** 2
    a, m1, m2 = (found["proof-mixture-4, middle"][k] for k in ("alpha", "mu1", "mu2"))
    inside = 2 - np.exp(-a * abs(m1)) - np.exp(-a * abs(m2))
    assert inside > 2 * (a**2 / 4) * (2 * abs(m1) + 2 * abs(m2))


def test_a_wrong_constant_in_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemma_a1_steps, "final_constant", lambda r: ball("16.62") + 0 * r - ball("16.6"))
    assert verdicts(row("lemma-A.1-steps"))["proof-mixture-5, constant"] == "REFUTED"


def test_two_point_with_another_c(monkeypatch: pytest.MonkeyPatch) -> None:
    assert row("thm-2.1-two-point")["counterexample"]["input"] == {"alpha": 0.1, "n": 1.0}
    assert row("thm-2.1-two-point", "repaired")["verdict"] == "HOLDS"
    monkeypatch.setattr(theorem_2_1, "c_squared", lambda k: 1 / (31 * k**2))
    assert verdicts(row("thm-2.1-two-point", "repaired"))["proof-mse-1"] == "REFUTED"


def test_bound_of_theorem_2_1() -> None:
    found = row("thm-2.1-bound")
    assert found["verdict"] == "REFUTED"
    for evidence in found["evidence"]:
        point = evidence["counterexample"]
        assert point["C_1"] / (np.expm1(point["alpha"]) * np.sqrt(point["n"])) > 1.9
        assert 0 < point["alpha"] <= 1
    assert row("thm-2.1-bound", "repaired")["verdict"] == "HOLDS"


def test_a_larger_lower_bound_meets_an_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    """If randomised response erred by half as much, it would contradict the lower bound."""
    truth = theorem_2_1._shrunk_response
    monkeypatch.setattr(theorem_2_1, "_shrunk_response", lambda a, n: truth(a, n) / 2)
    assert verdicts(row("thm-2.1-bound", "repaired"))["against a private estimator"] == "REFUTED"


def test_contraction_without_its_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert row("thm-2.1-contraction")["verdict"] == "HOLDS"
    missing = replace(theorem_2_1_contraction.CONTRACTION, name="absent")
    monkeypatch.setattr(theorem_2_1_contraction, "CONTRACTION", missing)
    found = row("thm-2.1-contraction")
    assert found["verdict"] == "UNDECIDED"
    assert "no certificate" in found["reason"]


def test_search_notices_a_bound_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = channels.sharp_divergence
    monkeypatch.setattr(theorem_2_1_contraction, "sharp_divergence", lambda a, t: 0.99 * truth(a, t))
    assert verdicts(row("thm-2.1-contraction"))["contraction, search"] == "REFUTED"


def test_constants_of_theorem_2_2(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdicts(row("thm-2.2-constants"))
    assert {name for name, v in found.items() if v != "HOLDS"} == {"law of y under H_1", "law of y under H_2"}
    assert row("thm-2.2-constants", "repaired")["verdict"] == "HOLDS"
    monkeypatch.setattr(theorem_2_2, "PRINTED_K", Fraction(17))
    assert verdicts(row("thm-2.2-constants"))["proof-mad-3"] == "REFUTED"
