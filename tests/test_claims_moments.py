"""Lemmas 4.2 and 4.3, Figure 2 and conformance: the rows notice what is broken; their formulas are right.

Each mutation is caught by the quick profile. Where a check is random it catches it with a probability that
differs from 1 by less than 1e-9: the mutated failure rates are 1, the distances far above what is detected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import cvxpy
import numpy as np
import pytest

from lpcb import partition, protocol
from lpcb.lplr import pcr, update
from lpcb.mechanisms import Laplace, laplace
from lpcb.spec import REPAIRS, Spec
from verification.claim import Claim, Setting, _all_shards
from verification.claims import (
    conformance,
    conformance_baselines,
    conformance_noise,
    figure_2_routing,
    lemma_4_2,
    lemma_4_2_moments,
    lemma_4_3,
    lemma_4_3_identity,
    lemma_4_3_projection,
)
from verification.experiments import components, fits, moments
from verification.row import run_row
from verification.verdict import Variant

MODULES = (
    conformance,
    conformance_noise,
    figure_2_routing,
    lemma_4_2_moments,
    lemma_4_3,
    lemma_4_3_identity,
    lemma_4_3_projection,
)
CLAIM: dict[str, Claim] = {claim.id: claim for module in MODULES for claim in module.CLAIMS}


@pytest.fixture
def verdict(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a row of the quick profile afresh: experiments of unbroken code must not be reused."""

    def run(id: str, variant: Variant = "repaired", without: frozenset[str] = frozenset()) -> str:
        _all_shards.cache_clear()
        try:
            row = run_row(CLAIM[id], variant, "quick", 0, without=without)
        finally:
            _all_shards.cache_clear()
        assert row["error"] is None, row["error"]
        return str(row["verdict"])

    return run


# --- teeth ------------------------------------------------------------------------------------------------


def test_a_constant_below_the_needed_one_is_noticed(
    verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Needed at delta = 0.01 are about 1/20 of the vector's constant and 1/30 of the matrix's; take half."""
    for moment, name, factor in (
        (moments.VECTOR, "lemma-4.2-lambda", 1 / 40),
        (moments.MATRIX, "lemma-4.2-Lambda", 1 / 72),
    ):
        weak = replace(moment, repaired=partial(_scaled, moment.constant, factor))
        experiment = lemma_4_2_moments.VECTORS if moment.power == 1 else lemma_4_2_moments.MATRICES
        texts = (name, "as printed", "with half of the needed constant")
        monkeypatch.setitem(CLAIM, name, lemma_4_2_moments._claim(weak, experiment, texts, set()))
        assert verdict(name) == "REFUTED"


def _scaled(constant: Callable[[int], float], factor: float, d: int) -> float:
    return factor * constant(d)


def test_more_noise_than_stated_is_noticed(
    verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty times the noise on everything: the closed forms ask the algorithm itself for its scales."""
    monkeypatch.setattr(update, "touched_cells", lambda spec: 80)
    for name in ("lemma-4.2-lambda", "lemma-4.2-Lambda"):
        assert verdict(name) != "HOLDS"


def test_every_guard_is_needed(verdict: Callable[..., str]) -> None:
    for name, claim in CLAIM.items():
        for repair in claim.guards:
            assert verdict(name, without=frozenset({repair})) == "REFUTED", (name, repair)


def test_dropping_the_projection_is_noticed(
    verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = pcr.project

    def unprojected(matrix: Any, rest: Any) -> Any:
        return right(matrix, np.broadcast_to(np.eye(rest.shape[-1]), rest.shape))

    monkeypatch.setattr(pcr, "project", unprojected)
    assert verdict("lemma-4.3-projection") == "REFUTED"
    assert verdict("lemma-4.3-identity") == "REFUTED"


@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_misrouting_one_edge_is_noticed(
    variant: Variant, verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_edge(spec: Spec, norm: Any) -> Any:
        """norm < gamma^-k in place of <=, at one level only."""
        k = np.clip(spec.M - np.searchsorted(partition.edges(spec)[::-1], norm, side="left"), 0, spec.M)
        edge = partition.edges(spec)[min(1, spec.M)]
        return np.where((norm == edge) & (k > 0), k - 1, k)

    monkeypatch.setattr(partition, "level", open_edge)
    assert verdict("fig-2-routing", variant) == "REFUTED"


def test_a_residual_that_forgets_a_direction_is_noticed(
    verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = partition.descend

    def lazy(spec: Spec, at: Any, bins: Any, eta: Any) -> Any:
        down = right(spec, at, bins, eta)
        return replace(down, rest=0.999 * down.rest + 0.001 * at.rest)

    monkeypatch.setattr(partition, "descend", lazy)
    assert verdict("fig-2-routing") == "REFUTED"


def test_a_wrong_coefficient_breaks_the_identity(
    verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = pcr.pcr

    def off(*arguments: Any) -> Any:
        fit = right(*arguments)
        return replace(fit, theta=fit.theta * (1 + 1e-9))

    monkeypatch.setattr(lemma_4_3_identity, "pcr", off)
    assert verdict("lemma-4.3-identity") == "REFUTED"


def test_a_small_activation_constant_is_noticed(
    verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """kappa_1 at half its printed value: the worst noise inside the event gets past the eigenvalue bound."""
    monkeypatch.setattr(Spec, "kappa1", property(lambda spec: 21.5 / spec.alpha * spec.log_term(48)))
    assert verdict("lemma-4.3-eigenvalue") == "REFUTED"


def test_an_engine_with_another_law_is_noticed(
    verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums almost without noise; subtler differences need the longer profiles."""
    right = laplace.laplace_sum
    monkeypatch.setattr(laplace, "laplace_sum", lambda *arguments: 0.02 * right(*arguments))
    assert verdict("conf-engines") == "REFUTED"


def test_noise_of_another_scale_is_noticed(
    verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wide(self: Laplace, value: Any, rng: Any, size: int | None = None) -> Any:
        shape = np.shape(value) if size is None else (size, *np.shape(value))
        return value + 1.2 * self.scale * rng.laplace(size=shape)

    monkeypatch.setattr(Laplace, "release", wide)
    assert verdict("conf-noise") == "REFUTED"


def test_a_report_that_leaks_is_noticed(verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The reward's sign decides how much randomness is used: the noise of the next user would tell."""
    right = protocol.Client.report

    def leaky(self: Any, view: Any, phi: Any, action: int, y: float, rng: Any) -> Any:
        report = right(self, view, phi, action, y, rng)
        if y > 0:
            rng.standard_normal()
        return report

    monkeypatch.setattr(protocol.Client, "report", leaky)
    assert verdict("conf-trust") == "REFUTED"


def test_a_server_that_remembers_order_is_noticed(
    verdict: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right, seen = protocol.Server.receive, [0]

    def forgetful(self: Any, report: Any) -> None:
        seen[0] += 1
        if seen[0] == 300:  # in the middle of the replay
            report = replace(report, tables={n: t * (1 + 1e-15) for n, t in report.tables.items()})
        right(self, report)

    monkeypatch.setattr(protocol.Server, "receive", forgetful)
    assert verdict("conf-replay") == "REFUTED"


# --- formulas ---------------------------------------------------------------------------------------------


def test_the_printed_argmin_agrees_with_a_convex_solver() -> None:
    for case in lemma_4_3_projection.cases(24, np.random.default_rng(5)):
        d = len(case.X)
        matrix = cvxpy.Variable((d, d), PSD=True)
        constraints = [matrix @ case.U == 0] if case.U.shape[1] else []
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sigma_max(matrix - case.X)), constraints)
        least = problem.solve(solver=cvxpy.CLARABEL)
        best = lemma_4_3_projection.printed_argmin(case.X, case.U)
        assert best.distance == pytest.approx(least, abs=1e-6 * case.size)
        assert best.top[0] <= best.top[1] + 1e-9


def test_the_worst_noise_is_inside_the_event_and_nothing_found_is_worse() -> None:
    """Random noise inside the event, on random bins, never does more than the closed form."""
    rng = np.random.default_rng(0)
    for d in (1, 2, 3, 4):
        spec = Spec(d=d, actions=1, horizon=10**6, repairs=REPAIRS)
        worst = components.worst_inside(spec, 0, printed=False)
        size = moments.MATRIX.limit(spec, spec.failure, False) / (worst.psi * math.sqrt(worst.n))
        assert worst.s is not None
        for _ in range(50):
            points = rng.standard_normal((d, 6))
            points *= rng.uniform(1 / spec.gamma, 1, 6) / np.linalg.norm(points, axis=0)
            noise = rng.standard_normal((d, d))
            noise = (noise + noise.T) / np.linalg.norm(noise + noise.T, 2) * size
            X = points @ points.T / 6 + noise
            assert np.linalg.eigvalsh(X)[-1] >= worst.s * (1 - 1e-6)


def test_the_union_bound_is_above_what_is_seen() -> None:
    """At delta = 0.05 the 0.95-quantile of simulated errors stays below the share that is promised."""
    setting = Setting("repaired", "quick")
    for moment in (moments.VECTOR, moments.MATRIX):
        hard = fits.QUICK[1]
        spec = hard.spec(setting)
        n = hard.users(partial(moment.threshold, delta=hard.edge), setting)
        seen, _ = lemma_4_2_moments._errors(moment, hard, setting, np.random.default_rng(1))
        limit = moment.limit(spec, 0.05, printed=False) * hard.alpha
        share = moments.share_used(moment, spec, n, hard.mass, 0.05, printed=False)
        assert 0.02 * share < np.quantile(seen, 0.95) / limit <= share


@pytest.mark.parametrize("moment", [moments.VECTOR, moments.MATRIX], ids=["vector", "matrix"])
@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_the_enclosed_share_is_the_share_and_worst_at_the_ends(
    variant: Variant, moment: moments.Moment
) -> None:
    """Larger alpha, smaller n and a wider range of delta are worse; a single delta gives the plain value."""
    printed = variant == "paper"

    def enclosed(alpha: float, times: int, least: float, d: int) -> float:
        spec = Setting(variant, "quick").spec(d=d, actions=1, horizon=10**6, alpha=alpha, delta=1e-3)
        edge = moment.threshold(spec, 1e-3)
        n = math.ceil(times * edge**2)
        found = moments.share_enclosed(moment, spec, n, edge, 1e-3, least, printed)
        if least == 1e-3:
            plain = moments.share_used(moment, spec, n, edge / math.sqrt(n), 1e-3, printed)
            assert plain <= found <= plain * (1 + 1e-6)
        return found

    for d in (1, 3):
        for worse, better in (((1.0, 4), (0.3, 400)), ((1.0, 1), (1.0, 50)), ((0.5, 9), (0.1, 9 * 25))):
            assert enclosed(*worse, 1e-3, d) >= enclosed(*better, 1e-3, d)
        inner = [enclosed(1.0, 2, least, d) for least in (1e-3, 1e-5, 1e-9)]
        assert inner == sorted(inner)


@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_the_union_bound_on_counts_is_worst_at_alpha_1_and_the_smallest_n(variant: Variant) -> None:
    for d, delta in ((1, 1.0), (2, 1e-9), (4, 1e-36)):
        found = {
            (alpha, n): lemma_4_2.log_failure(
                Setting(variant, "quick").spec(d=d, actions=1, horizon=10**6, alpha=alpha), d, n, delta
            )
            for alpha in (1.0, 0.5, 0.1)
            for n in (1, 2, 3, 10, 10**6, 10**18)
        }
        assert max(found.values()) <= max(found[1.0, 1], found[1.0, 2]) + 1e-9


def test_hard_bins_are_where_they_should_be() -> None:
    """One bin for each level asked for, of equal mass, at the edge of the condition."""
    setting = Setting("repaired", "standard")
    for hard in fits.HARD["standard"]:
        spec = hard.spec(setting)
        n = hard.users(partial(moments.VECTOR.threshold, delta=hard.edge), setting)
        drawn = fits.draw(hard, spec, n, 2, np.random.default_rng(0))
        met = np.isclose(drawn.truth.count[0], hard.mass)
        levels = drawn.k[0][met & (drawn.k[0] < spec.M)]
        assert sorted(levels.tolist()) == sorted(hard.levels), hard.name
        assert hard.mass >= moments.VECTOR.threshold(spec, hard.edge) / math.sqrt(n)


def test_the_sum_of_laplace_variables_has_the_cdf_that_is_used() -> None:
    t = np.linspace(-12, 12, 41)
    right = np.where(t < 0, (2 - t) / 4 * np.exp(t), 1 - (2 + t) / 4 * np.exp(-t))
    assert conformance_noise.laplace_sum_cdf(2)(t) == pytest.approx(right, abs=2e-6)


def test_gaps_of_the_bandit_are_what_they_are_called() -> None:
    for s in (0.1, 0.5):
        assert conformance_baselines.two_actions(s).gaps.max() == pytest.approx(s)
