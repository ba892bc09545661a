"""The sentences on what is wrong: one for every statement that is expected to be refuted, and no other."""

from __future__ import annotations

import pytest

from verification import baseline
from verification.registry import load
from verification.report.prose import plain
from verification.wrong import OPEN, WRONG


@pytest.mark.parametrize(("verdict", "said"), [("REFUTED", WRONG), ("UNDECIDED", OPEN)])
def test_exactly_the_statements_that_are_expected_to_fail_have_a_sentence(
    verdict: str, said: dict[str, str]
) -> None:
    kept = baseline.expectations()
    expected = {
        id
        for id, variants in kept.items()
        if any(entry["verdict"] == verdict for entry in variants.get("paper", {}).values())
    }
    assert set(said) == expected
    assert set(said) <= set(load().claims)


@pytest.mark.parametrize("id", [*WRONG, *OPEN])
def test_a_sentence_is_readable(id: str) -> None:
    text = (WRONG | OPEN)[id]
    assert text.endswith(".")
    assert len(text) < 260
    shown = plain(text)
    assert "$" not in shown
    assert "\\" not in shown
