"""Every registered claim has the one shape that runner, reports and readers rely on."""

import inspect

import pytest

from verification import baseline
from verification.claim import Claim
from verification.gate import stale
from verification.registry import load
from verification.verdict import MAX_RANDOM_CHECKS, PROFILES

REGISTRY = load()
EACH = pytest.mark.parametrize("claim", REGISTRY.claims.values(), ids=REGISTRY.claims.keys())


@EACH
def test_a_claim_says_what_it_is(claim: Claim) -> None:
    assert claim.title
    assert claim.method
    for variant in claim.variants:
        text = claim.text(variant)
        assert text.strip() == text != ""
        assert text.count("$") % 2 == 0, "an unclosed formula"
    assert not claim.guards or "repaired" in claim.variants, "repairs guard the repaired statement"


@EACH
def test_checks_are_functions_of_their_context(claim: Claim) -> None:
    for check in claim.checks:
        assert check.name
        required = [
            p
            for p in inspect.signature(check.run).parameters.values()
            if p.default is inspect.Parameter.empty
        ]
        assert len(required) == 1, f"{check.name} takes a Context and nothing else"
        assert type(check.random) is bool


@EACH
def test_experiments_have_shards_for_every_profile(claim: Claim) -> None:
    for experiment in claim.experiments:
        assert set(experiment.shards) == set(PROFILES)
        assert min(experiment.shards.values()) >= 1


def test_the_false_alarm_budget_is_kept() -> None:
    assert (
        sum(check.random for claim in REGISTRY.claims.values() for check in claim.checks) <= MAX_RANDOM_CHECKS
    )


def test_the_baseline_expects_nothing_of_rows_that_do_not_exist() -> None:
    assert stale(baseline.expectations(), REGISTRY) == []


def test_baselined_measures_are_those_that_claims_name() -> None:
    for id, variants in baseline.expectations().items():
        for profiles in variants.values():
            for expectation in profiles.values():
                assert set(expectation["measures"]) <= REGISTRY.claims[id].baselined
