"""Steps of the proofs about LPLR: every label is covered, wrong constants are not proved, tails are exact."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import integrate, stats

from verification.claim import Claim, Context, Setting
from verification.claims import (
    definition_3_1_failure,
    lemma_4_2_steps,
    lemma_4_3_steps,
    lemma_4_4_remark,
    lemma_4_4_steps,
    lemma_4_5_constants,
    proposition_4_1_steps,
    theorem_4_6_remark,
)
from verification.evidence.enclosure import Ball, Box, Proved, Refuted, Undecided, ball, prove
from verification.evidence.lplr_proof import (
    bins,
    components,
    constants,
    errors,
    frequencies,
    matrices,
    recursion,
    validity,
    vectors,
)
from verification.evidence.lplr_proof.probabilities import (
    binomial_tail,
    coin_tail,
    laplace_sum_tail,
    log_binomial_atom,
)
from verification.evidence.lplr_proof.tools import (
    UNIT,
    at_most,
    counterexample,
    hoeffding,
    identity,
    inverse_log,
    inverse_root_log,
    settled,
    vanishes,
)
from verification.row import run_row
from verification.verdict import Evidence, Variant

UPDATE = [*map(str, range(1, 19)), "4half", "8half", "16half"]
PCR = ["1", "2", "3", "4", "4half", "9", "10", "11", "12"]
EPSIC = [*map(str, range(1, 12)), "10half", "11half"]
EPSI = [*map(str, range(1, 10)), "4quart", "4half"]
LABELS = {
    "lemma-4.2-steps": [f"proof-lplr-update-{x}" for x in UPDATE],
    "lemma-4.3-steps": [f"proof-pcr-{x}" for x in PCR],
    "lemma-4.4-steps": [f"proof-epsic-{x}" for x in EPSIC] + [f"proof-epsi-{x}" for x in EPSI],
}
SECOND = {
    "lemma-4.2-steps": ["proof-lplr-update-4", "proof-lplr-update-5"],
    "lemma-4.4-steps": ["proof-epsi-4half", "proof-epsi-5", "proof-epsi-6"],
}
"""Labels that the supplement uses for two displays."""

MODULES = (
    proposition_4_1_steps,
    lemma_4_2_steps,
    lemma_4_3_steps,
    lemma_4_4_steps,
    lemma_4_4_remark,
    lemma_4_5_constants,
    theorem_4_6_remark,
    definition_3_1_failure,
)
CLAIMS = {claim.id: claim for module in MODULES for claim in module.CLAIMS}


def evidence(claim: Claim, variant: Variant = "paper") -> list[Evidence]:
    context = Context(claim.id, Setting(variant, "quick"))
    return [e for check in claim.checks for e in check.run(context).evidence]


@pytest.mark.parametrize("id", sorted(LABELS))
def test_every_label_has_its_evidence(id: str) -> None:
    checks = [e.check for e in evidence(CLAIMS[id])]
    for label in LABELS[id]:
        found = [c for c in checks if c == label or c.startswith(f"{label},")]
        assert [c for c in found if "second display" not in c], f"{label} of {id} is not checked"
    for label in SECOND.get(id, []):
        assert [c for c in checks if c.startswith(f"{label}, second display")], f"{label}, second, of {id}"


@pytest.mark.parametrize("id", sorted(CLAIMS))
def test_every_step_is_decided_and_every_refuted_one_has_point_and_correction(id: str) -> None:
    for variant in CLAIMS[id].variants:
        for e in evidence(CLAIMS[id], variant):
            assert e.verdict != "UNDECIDED", f"{e.check}: {e.note}"
            assert e.grade in ("proved", "exact")
            if e.verdict == "REFUTED":
                assert e.counterexample, e.check
                assert "Corrected: " in e.note, e.check
            if "corrected" in e.check:
                assert e.verdict == "HOLDS", f"{e.check} is a correction and must be true"


def test_the_repaired_budget_holds_and_the_printed_one_does_not() -> None:
    claim = CLAIMS["def-3.1-failure"]
    assert run_row(claim, "paper", "quick", 0)["verdict"] == "REFUTED"
    assert run_row(claim, "repaired", "quick", 0)["verdict"] == "HOLDS"


# --- constants that are wrong must not be proved ------------------------------------------------------------

CORNER = Box(t=UNIT, g=UNIT)
SG = Box(s=UNIT, g=UNIT)
CASES: list[tuple[object, Box, dict[str, object], dict[str, object]]] = [
    (frequencies.sub_exponential, Box(y=(0, "0.25")), {}, {"variance": 2}),
    (frequencies.printed_sum, Box(r=UNIT, v=(0, inverse_root_log(12))), {}, {"end": "5.3"}),
    (frequencies.corrected_sum, Box(r=UNIT, v=(0, inverse_root_log(96))), {}, {"end": "6.1"}),
    (vectors.noise_tail, Box(u=(0, inverse_log(24)), r=UNIT), {}, {"room": 3}),
    (vectors.shrunk, Box(t=UNIT), {}, {"keep": "0.66"}),
    (vectors.printed_vector, Box(v=(0, inverse_root_log(24)), s=UNIT), {}, {"per_d": 18}),
    (vectors.corrected_vector, Box(v=(0, inverse_root_log(24)), s=UNIT), {}, {"per_d": 18}),
    (matrices.wishart_size, Box(s=UNIT, v=(0, inverse_root_log(12)), r=UNIT), {}, {"constant": 2}),
    (matrices.direct_size, Box(t=UNIT, v=(0, inverse_root_log(12))), {}, {"constant": 5}),
    (matrices.matrix_sum, Box(t=UNIT, v=(0, inverse_root_log(24))), {}, {"constant": 6}),
    (components.lemmas_threshold, CORNER, {}, {"kappa": 36}),
    (components.projected, Box(t=UNIT), {"constant": "21.3"}, {"constant": "21.2"}),
    (components.corrected_gap, CORNER, {}, {"kappa": 43}),
    (components.omega, Box(t=UNIT, y=UNIT), {}, {"constant": 41}),
    (errors.error_noise, Box(u=(0, inverse_log(6)), r=UNIT), {}, {"room": 4}),
    (errors.active_kept, CORNER, {}, {"keep": "0.98"}),
    (errors.total_error, Box(v=(0, inverse_root_log(12))), {}, {"constant": 46}),
    (validity.frequency, SG, {}, {"room": 14}),
    (validity.sandwich_low, SG, {"factor": "0.7"}, {"factor": "0.71"}),
    (validity.sandwich_high, SG, {"factor": "1.71"}, {"factor": "1.7"}),
    (validity.upper_end, SG, {}, {"end": "1.8"}),
    (recursion.spectral_ratio, CORNER, {"kappa": 73, "end": "1.42"}, {"kappa": 73, "end": "1.418"}),
    (recursion.spectral_ratio, CORNER, {"kappa": 44, "end": "2"}, {"kappa": 43, "end": "2"}),
    (recursion.inactive_mass, CORNER, {}, {"kappa": 0}),
    (constants.remark, CORNER, {}, {"constant": 63143}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}{case[3]}")
def test_right_constant_is_proved_and_wrong_constant_is_refuted(
    case: tuple[object, Box, dict[str, object], dict[str, object]],
) -> None:
    f, box, right, wrong = case
    assert callable(f)

    def with_constants(values: dict[str, object]) -> object:
        def g(**x: Ball) -> Ball:
            return f(**x, **values)

        return prove(g, box)

    assert isinstance(with_constants(right), Proved)
    assert isinstance(with_constants(wrong), Refuted)


def test_logarithms_of_the_lemmas_are_as_small_as_they_can_be_nearly() -> None:
    assert isinstance(bins.log_step(24, 48), Proved)
    assert isinstance(bins.log_step(24, 35), Refuted)


def test_facts_can_fail() -> None:
    assert isinstance(hoeffding("0.2499"), Refuted)
    assert isinstance(at_most("9.54", Fraction(62, 10) / Fraction(65, 100)), Refuted)
    assert isinstance(settled(lambda: ball("1e-9")), Refuted)
    assert isinstance(identity(lambda x: x * (x - 1) * (x - 2), x=2), Refuted)
    assert isinstance(vanishes([(Fraction(0),), (Fraction(1),)]), Refuted)


def test_one_point_never_proves() -> None:
    assert isinstance(counterexample(lambda x: x, x=-1), Undecided)
    assert isinstance(counterexample(lambda x: x, x=0), Undecided)
    assert isinstance(counterexample(lambda x: ball(x).exp() - 1, x=Fraction(1, 10**9)), Refuted)


@pytest.mark.parametrize(("q", "refuted"), [("1.001", True), (1, False), ("0.5", False)])
def test_the_root_is_lost_only_where_the_eigenvalue_is_underestimated(q: str | int, refuted: bool) -> None:
    assert isinstance(counterexample(recursion.lost_root, q=q), Refuted) is refuted


# --- exact tails --------------------------------------------------------------------------------------------


def test_laplace_sum_tail_of_one_and_two() -> None:
    for t in (0.0, 0.3, 2.0, 20.0):
        assert float(laplace_sum_tail(1, arb(t))) == pytest.approx(math.exp(-t) / 2, rel=1e-12)
        assert float(laplace_sum_tail(2, arb(t))) == pytest.approx((2 + t) * math.exp(-t) / 4, rel=1e-12)


@pytest.mark.parametrize(("n", "t"), [(10, 10.0), (25, 3.0), (25, 30.0)])
def test_laplace_sum_tail_is_that_of_a_difference_of_gammas(n: int, t: float) -> None:
    law = stats.gamma(n)
    value, _ = integrate.quad(lambda x: law.pdf(x) * law.sf(x + t), 0, n + 40 * math.sqrt(n), epsabs=1e-13)
    assert float(laplace_sum_tail(n, arb(t))) == pytest.approx(value, rel=1e-6)


def test_binomial_tails() -> None:
    assert float(binomial_tail(4, Fraction(1, 4), 2)) == pytest.approx(stats.binom.sf(2, 4, 0.25))
    tosses = stats.binom(3600, 0.5)
    assert float(coin_tail(3600, 76)) == pytest.approx(2 * tosses.cdf((3600 - 76) // 2), rel=1e-9)
    atom = float(log_binomial_atom(1000, Fraction(3, 10), 301))
    assert atom == pytest.approx(stats.binom.logpmf(301, 1000, 0.3), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 10, 25, 60])
def test_corrected_bernstein_covers_the_exact_tail(n: int) -> None:
    """The exact tail is below the corrected bound everywhere, above the printed one from n = 7 on."""
    epsilons = np.linspace(0.1, 12, 60)
    exact = np.array([2 * float(laplace_sum_tail(n, arb(n * e / 3))) for e in epsilons])
    corrected = 2 * np.exp(-n * epsilons**2 / (2 * (36 + 6 * epsilons)))
    printed = 2 * np.exp(-n * epsilons**2 / (2 * (4 + 2 * epsilons)))
    assert (exact <= corrected).all()
    assert (exact > printed).any() == (n >= 7)


@pytest.mark.parametrize(("n", "delta_0"), [(3, 1.0), (5, 0.1), (25, 0.1), (60, 1e-6)])
def test_the_end_of_update_3_covers_the_exact_tail(n: int, delta_0: float) -> None:
    limit = 6.2 * math.log(12 / delta_0) / math.sqrt(n) - math.sqrt(math.log(12 / delta_0) / (2 * n))
    assert 2 * float(laplace_sum_tail(n, arb(n * limit / 3))) <= delta_0 / 6


# --- the tail of the Wishart noise, which the third bound rests on ------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5])
def test_moments_of_a_gaussian_outer_product(d: int) -> None:
    """E exp(theta g g') = (1 + ((1 - 2 theta)^(-d/2) - 1)/d) I, term by term; terms grow as claimed."""
    theta, terms = 0.05, [1.0, 0.05]
    for k in range(1, 60):
        ratio = (d + 2 * k) / (k + 1)
        terms.append(terms[-1] * theta * ratio)
        assert k < 2 or ratio <= (d + 5) / 3
    assert sum(terms) == pytest.approx(1 + ((1 - 2 * theta) ** (-d / 2) - 1) / d, rel=1e-12)


@pytest.mark.parametrize(("d", "n"), [(1, 1), (2, 3), (4, 2)])
def test_wishart_tail_by_simulation(d: int, n: int) -> None:
    """4000 draws; a frequency 0.05 above a bound that holds has probability below e^-20 (Hoeffding)."""
    rng = np.random.default_rng(20240)
    size, draws, shift = n * (d + 1), 4000, math.log(24 * d)
    g = rng.standard_normal((draws, size, d))
    off = np.linalg.eigvalsh(np.einsum("nki,nkj->nij", g, g) / size - np.eye(d))
    limit = math.sqrt(2 * (d + 2) * shift / size) + (d + 5) / 3 * shift / size
    assert (np.abs(off).max(axis=1) >= limit).mean() <= 2 * d * math.exp(-shift) + 0.05
