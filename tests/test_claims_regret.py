"""Elimination and regret: formulas against the code, and rows that notice a wrong algorithm.

Runs are random with fixed seeds. What is asserted of them are deterministic inequalities, or statements whose
margin is many standard errors: another seed changes nothing but with probability below 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from lpcb.arrays import Array, Bools
from lpcb.engines import aggregate
from lpcb.problem import family_f
from lpcb.spec import REPAIRED, Spec
from verification import claim
from verification.claim import Setting
from verification.claims import elimination, theorem_3_2_regret, theorem_4_6, theorem_4_6_slope
from verification.experiments import (
    baseline_wholes,
    bound_tables,
    elimination_epochs,
    envelopes,
    families,
    levels,
    onset,
    regret,
    width_split,
)
from verification.row import run_row

CLAIMS = {
    c.id: c for m in (elimination, theorem_3_2_regret, theorem_4_6, theorem_4_6_slope) for c in m.CLAIMS
}


@pytest.fixture(autouse=True)
def _forget_shared_runs() -> Iterator[None]:
    """Experiments are cached in a process; a broken algorithm must not find the right one's results."""
    claim._all_shards.cache_clear()
    yield
    claim._all_shards.cache_clear()


def row(id: str, variant: Any = "repaired") -> dict[str, Any]:
    found = run_row(CLAIMS[id], variant, "quick", 0)
    assert found["error"] is None, found["error"]
    return found


# --- the rows notice a wrong algorithm --------------------------------------------------------------------


def swapped(active: Bools, f_hat: Array, delta: Array) -> Bools:
    floor = np.where(active, f_hat - delta, -np.inf).max(axis=-1, keepdims=True)
    kept = active & (f_hat + delta <= floor)
    return np.asarray(np.where(kept.any(axis=-1, keepdims=True), kept, active))


def over_all_actions(active: Bools, f_hat: Array, delta: Array) -> Bools:
    kept = active & (f_hat + delta >= (f_hat - delta).max(axis=-1, keepdims=True))
    return np.asarray(np.where(kept.any(axis=-1, keepdims=True), kept, active))


def without_best_width(active: Bools, f_hat: Array, delta: Array) -> Bools:
    floor = np.where(active, f_hat, -np.inf).max(axis=-1, keepdims=True)
    return np.asarray(active & (f_hat + delta >= floor))


def greedy(active: Bools) -> Array:
    return np.asarray(np.eye(active.shape[-1])[active.argmax(axis=-1)])


@pytest.mark.parametrize("mutant", [swapped, over_all_actions, without_best_width])
def test_wrong_elimination_is_noticed(mutant: Callable[..., Bools], monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("lpcb.elimination", "lpcb.engines.run", elimination.__name__, theorem_3_2_regret.__name__):
        monkeypatch.setattr(f"{where}.eliminate", mutant)
    found = row("lemma-A.2-survival")
    assert found["verdict"] == "REFUTED"
    refuting = {e["check"] for e in found["evidence"] if e["verdict"] == "REFUTED"}
    assert "the code's rule is Algorithm 1's" in refuting
    if mutant is not over_all_actions:  # while intervals cover, that one eliminates the same actions
        assert row("thm-3.2-regret")["verdict"] == "REFUTED", "the policy is not that of the printed sets"


def test_greedy_policy_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("lpcb.elimination", "lpcb.engines.run", theorem_3_2_regret.__name__):
        monkeypatch.setattr(f"{where}.uniform_policy", greedy)
    assert row("thm-3.2-regret")["verdict"] == "REFUTED"
    assert row("lemma-A.2-survival")["verdict"] == "REFUTED", "what is not played has not survived"


def test_a_proof_without_the_best_width_does_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    goal, hypotheses = elimination.PROOFS["gap"]
    less = {name: value for name, value in goal.items() if name != "d_star"}
    monkeypatch.setitem(elimination.PROOFS, "gap", (less, hypotheses))
    assert elimination.proof("gap").evidence[0].verdict == "REFUTED"


def test_rows_as_they_are() -> None:
    assert row("lemma-A.2-survival")["verdict"] == "HOLDS"
    assert row("lemma-A.2-gap")["verdict"] == "HOLDS"
    assert row("lemma-A.2-gap", "paper")["verdict"] == "REFUTED"
    found = row("thm-3.2-regret")
    assert found["verdict"] == "HOLDS"
    assert found["measures"]["first display, A = 3"]["value"] == pytest.approx(4 / 3)


def test_epochs_without_eliminations_say_nothing() -> None:
    problem = family_f(0.3)
    spec = REPAIRED(d=2, actions=2, horizon=10**6)
    rows = elimination_epochs.epoch_rows(regret.trace(problem, spec, 2, np.random.default_rng(0)), 0)
    context = claim.Context("x", Setting("repaired", "quick"), {elimination_epochs.EPOCHS.name: rows})
    assert elimination.simulated(context, "survival").evidence[0].verdict == "UNDECIDED"


# --- Theorem 4.6 ------------------------------------------------------------------------------------------


def test_a_bound_above_2T_is_no_evidence() -> None:
    """As printed nothing else decides; as repaired the proof does, and runs still say nothing."""
    runs = theorem_4_6.below_bound(claim.Context("thm-4.6-bound", Setting("repaired", "quick")))
    printed = [e for e in runs.evidence if "scaled" not in e.check]
    assert printed
    assert {(e.verdict, e.role) for e in printed} == {("UNDECIDED", "supports")}
    assert all("vacuous below" in e.note for e in printed)
    found = row("thm-4.6-bound", "paper")
    assert found["verdict"] == "UNDECIDED"
    assert "vacuous below" in found["reason"]


def fabricated(power: float, interior: bool = True, level: float = 1.0) -> dict[str, Array]:
    """An envelope of exactly this power, with two per cent of noise."""
    rng = np.random.default_rng(0)
    T = np.array([1e8, 1e11, 1e14, 1e18])
    noise = rng.normal(1, 0.02, (40, 4))
    parts = {
        "horizon": T[None],
        "interior": np.full((1, 4), interior),
        "predicted": np.zeros((1, 4)),
        "regret": level * T**power * noise,
    }
    return {f"{envelopes.SCALED_1.name}:{k}": v for k, v in (parts | {"covered": np.ones((40, 4))}).items()}


@pytest.mark.parametrize(
    ("power", "interior", "verdict"),
    [
        (0.5, True, "HOLDS"),
        (0.75, True, "REFUTED"),
        (0.3, True, "REFUTED"),
        (0.58, True, "UNDECIDED"),
        (0.5, False, "UNDECIDED"),
    ],
)
def test_exponents_are_judged(
    power: float, interior: bool, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theorem_4_6_slope, "cases", lambda setting: (envelopes.SCALED_1,))
    data = {envelopes.ENVELOPES.name: fabricated(power, interior)}
    context = claim.Context("x", Setting("repaired", "quick"), data)
    assert theorem_4_6_slope.exponents(context).evidence[0].verdict == verdict


@pytest.mark.parametrize(
    ("power", "level", "interior", "verdict"),
    [
        (0.6, 1.0, True, "HOLDS"),
        (0.6, 1.5, True, "UNDECIDED"),
        (0.6, 1.0, False, "UNDECIDED"),
        (0.64, 1.0, True, "UNDECIDED"),
        (0.75, 1.0, True, "REFUTED"),
    ],
)
def test_runs_must_follow_the_formula(
    power: float, level: float, interior: bool, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Predicted is T^0.6: what counts is the distance from the prediction, not the exponent itself."""
    case = envelopes.LEVELS_1
    monkeypatch.setattr(theorem_4_6_slope, "cases", lambda setting: (case,))
    made = {
        f"{case.name}:{key.split(':')[1]}": v
        for key, v in fabricated(power, interior, level * 1e8 ** (0.6 - power)).items()
    }
    made[f"{case.name}:predicted"] = made[f"{case.name}:horizon"] ** 0.6
    context = claim.Context("x", Setting("repaired", "quick"), {envelopes.ENVELOPES.name: made})
    assert theorem_4_6_slope.exponents(context).evidence[0].verdict == verdict


@pytest.mark.parametrize("name", sorted(levels.FAMILIES))
def test_levels_fill_the_bins_that_the_formula_counts(name: str) -> None:
    """Every row of shares is a bin of its own for each action, on each layer, at the true directions."""
    family, s = levels.FAMILIES[name], 1e-4
    problem, shares = family.build(s), family.shares(s)
    assert problem.d == family.d
    depth = 1 if family.make is levels.on_line else family.d  # on a line the other layers see errors only
    for a in range(2):
        left = [np.linalg.norm(problem.features[:, a, h:], axis=1) for h in range(depth)]
        level = np.floor(-np.log(left)).astype(int)
        for h in range(depth):
            cells = ["/".join(map(str, column)) for column in level[: h + 1].T]
            share = {cell: problem.weights[np.array(cells) == cell].sum() / 2 for cell in cells}
            found = np.array([share[cell] for cell in cells])
            np.testing.assert_allclose(np.repeat(shares[:, h], len(found) // len(shares)), found)
        assert len(set(cells)) == len(shares)
    np.testing.assert_allclose(problem.gaps.max(axis=1), 2 * s)


def test_levels_runs_cost_what_is_predicted() -> None:
    """Well beside the sizes at which an interval equals a gap runs cost exactly that, seed by seed."""
    for name, factor in (("d=1", 0.5), ("d=1", 1.3), ("d=3 line", 0.5), ("d=3 triples", 1.5)):
        family = levels.FAMILIES[name]
        horizon = 10**13 if family.d == 1 else 10**15
        spec = REPAIRED(d=family.d, actions=2, horizon=horizon, **regret.SCALED[family.d])
        s = factor * levels.worst_size(spec, family)
        run = aggregate.run(family.build(s), spec, 2, np.random.default_rng(0))
        np.testing.assert_allclose(run.total_regret, levels.predicted(spec, family, s), rtol=0.02)


@pytest.mark.parametrize("peak", [0.4, 3e-3, 2e-7, 0.9])
def test_the_worst_size_is_found_wherever_it_is(peak: float) -> None:
    """Costs that rise like the size up to a peak and fall beyond it, as regret does."""
    tried: list[float] = []

    def cost(s: float) -> float:
        tried.append(s)
        return min(s, peak**3 / s**2)

    size, inside = baseline_wholes.worst_size(cost, lambda s: s, 0.5, 1e-9)
    assert inside is (peak < 0.5)
    best = max(cost(0.5 * 2 ** (-j / 2)) for j in range(80))
    assert cost(size) == pytest.approx(best)
    assert len(tried) < 30 + 80


def test_a_search_that_finds_no_regret_ends() -> None:
    assert baseline_wholes.worst_size(lambda s: 0.0, lambda s: s, 0.5, 1e-9) == (0.5, False)


def test_baselines_are_run_where_the_algorithm_is() -> None:
    assert set(baseline_wholes.PLACES) >= {f.name for f in families.FAMILIES[2]} - {"F(s)"}
    assert {"levels on a line", "pairs of levels"} <= set(baseline_wholes.PLACES)
    for build, largest in baseline_wholes.PLACES.values():
        problem = build(largest / 8)
        assert problem.d == 2
        assert problem.gaps.max() > 0
    straight, turned = (baseline_wholes.PLACES[name][0](0.1) for name in ("line", "line reversed"))
    np.testing.assert_array_equal(straight.means, -turned.means)


def test_a_random_problem_is_the_same_at_every_size_but_for_its_gaps() -> None:
    small, large = (families.scattered(s, 3, 1) for s in (0.01, 0.1))
    np.testing.assert_allclose(10 * small.gaps, large.gaps)
    np.testing.assert_array_equal(small.weights, large.weights)
    other = families.scattered(0.1, 3, 2)
    assert not np.allclose(other.gaps, large.gaps)


def test_a_run_above_the_bound_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theorem_4_6, "cases", lambda setting: (envelopes.SCALED_1,))
    data = {envelopes.ENVELOPES.name: fabricated(1.0, level=1e6)}
    context = claim.Context("x", Setting("repaired", "quick"), data)
    assert theorem_4_6.below_bound(context).evidence[0].verdict == "REFUTED"


# --- formulas ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("horizon", [10**7, 10**18])
@pytest.mark.parametrize(("variant", "growth"), [("paper", 2.54), ("repaired", 3.02)])
def test_formula_is_the_specification_and_the_sum_over_epochs(
    d: int, horizon: int, variant: Any, growth: float
) -> None:
    spec = Spec(d, 3, horizon, 0.5, activation=0.3, width=0.2)
    formula = onset.Formula(d, 3, 0.5, math.log(horizon), 0.3, 0.2, variant)
    g = spec.gamma
    K = spec.kappa3 * g**2 * (d + 1) ** 4 + spec.kappa2 * g * d**2
    K += max(spec.kappa1 * g**2 * (d + 1) ** 3, spec.kappa1_prime * g * d**1.5)
    assert pytest.approx(K) == formula.K
    assert formula.M == spec.M
    assert formula.threshold == pytest.approx(spec.kappa1 * g**2 * (d + 1) ** 3)
    mad = (growth * spec.M) ** d * 12 * K
    rest = sum(r * mad / math.sqrt(spec.epoch_length(tau - 1) / (2 * d)) for tau, r in spec.epochs()[1:])
    assert math.exp(formula.chain()) == pytest.approx(
        2 * spec.first_epoch + 2 * (1 - 1 / 3) * 9 * rest, rel=1e-6
    )
    bound = (growth / spec.b) ** d * 9 * d**5 * math.log(48 * d * horizon / spec.b) ** 2 / 0.5
    assert math.exp(formula.shape()) == pytest.approx(bound * horizon ** (0.5 + 2 * spec.b))


@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_onset_formulas_name_the_epoch(variant: Any) -> None:
    assert bound_tables.misses(variant, 1) == 0
    assert bound_tables.reached(variant, 1) >= 15
    table = bound_tables.onset_table(variant, 1)
    assert len(table.rows) == 9


def test_a_wrong_onset_formula_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(onset.EVENTS, "first active bin", lambda f: 2 * f.threshold)
    assert bound_tables.misses("repaired", 1) > 0


def test_width_table_names_its_sources() -> None:
    table = bound_tables.width_table()
    names = " ".join(row[0] for row in table.rows)
    for source in (
        "count",
        "vector",
        "matrix",
        "interval batch",
        "action",
        "batches",
        "bin",
        "union",
        "layers",
    ):
        assert source in names
    assert table.rows[-1][0] == "printed constants"


def test_onset_formulas_agree_with_runs() -> None:
    """Printed constants at T = 3e15, d = 1; epochs double, so a factor of 4 either way is agreement."""
    run = aggregate.run(
        families.dense_1(0.5), REPAIRED(d=1, actions=2, horizon=3 * 10**15), 3, np.random.default_rng(0)
    )
    seen, expected = run.onset(), onset.onset(1, 1.0)
    pairs = {
        "first_active_bin": "first active bin",
        "regret_half_of_uniform": "regret half of uniform, gap 1",
    }
    for name, formula in pairs.items():
        for T in seen[name]:
            assert T is not None
            assert expected[formula] / 4 < T < expected[formula] * 4


def test_onsets_are_ordered_and_scale_with_alpha() -> None:
    for d in (1, 2, 3):
        values = list(onset.onset(d, 1.0).values())
        assert values == sorted(values)
        assert onset.onset(d, 0.1)["first active bin"] > 100 * values[0]


def test_width_sources_build_up() -> None:
    found = width_split.split(10**10)
    names = list(found)
    chain = [n for n in names if n.startswith("sampling,")] + names[names.index("sampling and privacy") :]
    values = [found[name] for name in chain]
    assert values == sorted(values)
    sources = [v for n, v in found.items() if n.startswith("privacy noise of the ") and "interval" not in n]
    assert max(sources) < found["sampling and privacy"] * 1.001


@pytest.mark.parametrize("about", [1e7, 1e12, 4e18])
def test_horizons_end_with_an_epoch(about: float) -> None:
    def spec(horizon: int) -> Spec:
        return REPAIRED(d=2, actions=2, horizon=horizon)

    horizon = regret.whole_epochs(spec, about)
    tau, rounds = spec(horizon).epochs()[-1]
    assert rounds == spec(horizon).epoch_length(tau)
    assert about / 2 < horizon < about * 2


def test_trace_is_the_run() -> None:
    spec = REPAIRED(d=1, actions=2, horizon=10**10, **regret.SCALED[1])
    traced = regret.trace(families.dense_1(0.3), spec, 3, np.random.default_rng(5))
    plain = aggregate.run(families.dense_1(0.3), spec, 3, np.random.default_rng(5))
    np.testing.assert_array_equal(traced.run.regret, plain.regret)
    problem = traced.run.problem
    rates = (problem.weights[:, None] * traced.policy * problem.gaps).sum(axis=(2, 3))
    epochs = len(rates)
    np.testing.assert_allclose(rates * plain.rounds[:epochs, None], plain.regret.T[:epochs])
    np.testing.assert_array_equal(traced.success, np.logical_and.accumulate(plain.covered.T[:epochs], axis=0))
