"""Comparisons by hand say what differs; and the hand's own numbers are looked at once more."""

import math

import numpy as np
import pytest

from verification.claims.conformance_comparison import CHECKPOINTS, EPOCHS, lost, scripted
from verification.claims.conformance_instances import designs, hoeffding
from verification.claims.conformance_scales import Compared, Printed, distance, gaussian_delta, pairs
from verification.claims.conformance_sums import CASES, law


def test_what_differs_is_named() -> None:
    seen = Compared()
    seen.add("one", 1.0, 1.0 + 1e-12)
    seen.all("two", [[1.0, 2.0]], [[1.0, 2.5]])
    (evidence,) = seen.finding("check", "scope").evidence
    assert evidence.verdict == "REFUTED"
    assert evidence.counterexample == {"where": "two [0, 1]", "wanted": 2.0, "found": 2.5}
    assert evidence.samples == 3


@pytest.mark.parametrize(("wanted", "found"), [(math.inf, 1.0), (1.0, math.inf), (-math.inf, math.inf)])
def test_infinite_numbers_are_far_from_others(wanted: float, found: float) -> None:
    seen = Compared()
    seen.add("same", wanted, wanted)
    assert seen.worst == 0
    seen.add("apart", wanted, found)
    assert seen.finding("check", "scope").evidence[0].verdict == "REFUTED"


def test_shapes_that_differ_are_far_apart() -> None:
    seen = Compared()
    seen.all("table", [1.0, 2.0], [[1.0], [2.0]])
    assert seen.finding("check", "scope").evidence[0].verdict == "REFUTED"


def test_what_agrees_holds_only_if_it_tells() -> None:
    assert Compared().finding("check", "scope").evidence[0].verdict == "HOLDS"
    assert Compared().finding("check", "scope", telling=False).evidence[0].verdict == "UNDECIDED"


def test_gammas_are_not_e() -> None:
    gammas = [Printed(1, 1.0, beta).gamma for beta in (0.05, 0.25, 0.4)]
    assert gammas == pytest.approx([10**0.2, 10, 10**1.6])
    assert [Printed(1, 1.0, beta).levels for beta in (0.05, 0.25, 0.4)] == [10, 2, 2]


def test_distances_of_users_of_linucb() -> None:
    assert distance(1) == pytest.approx(2)
    assert distance(2) == pytest.approx(math.sqrt(4.5))
    # At epsilon = 0 delta is the total variation of two normals one sensitivity apart.
    assert gaussian_delta(0.0, 0.5) == pytest.approx(math.erf(1 / math.sqrt(2)))


def test_tables_show_finite_and_infinite_losses() -> None:
    assert {pair.loss for pair in pairs()} == {0.0, 0.5, 1.0, math.inf}


def test_designs_have_norms_of_at_most_one_and_weights_that_add_up() -> None:
    for name, _, features, weights, theta in designs():
        assert math.fsum(weights) == pytest.approx(1), name
        assert max(math.hypot(*phi) for row in features for phi in row) <= 1 + 1e-12, name
        assert math.hypot(*theta) <= 1, name


def test_scripted_policies_lose_something_else_in_every_epoch() -> None:
    problem, policies = scripted()
    assert sum(EPOCHS) == CHECKPOINTS[-1]
    for seed in range(2):
        rates = [lost(problem, policy[seed]) for policy in policies]
        assert len(set(rates)) == len(rates)


def test_a_law_of_counts_notices_a_tenth_of_a_deviation() -> None:
    rng = np.random.default_rng(0)
    for n, p in ((10**17, 0.5), (2**25, 3 / 2**25)):
        assert (n, p) in CASES
        deviation = math.sqrt(n * p * (1 - p))
        x = rng.normal(n * p, deviation, 20_000) if p == 0.5 else rng.poisson(3, 20_000).astype(np.float64)
        assert law(x, n, p)[1] > 1e-9
        moved = x + (0.1 * deviation if p == 0.5 else 1)
        assert law(moved, n, p)[1] < 1e-9


def test_means_by_hoeffding() -> None:
    x = np.tile([0.0, 1.0], 5000)
    assert hoeffding(x, 0.5) == (0.0, 1.0, 10_000)
    assert hoeffding(x, 0.55)[1] < 1e-9
