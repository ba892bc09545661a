"""The report under reports/ is the one that the committed baseline and the templates would give."""

import re
from pathlib import Path

import pytest

from verification import baseline
from verification.registry import load

REPORTS = Path(__file__).parents[1] / "reports"


def verdicts(text: str) -> dict[str, list[str]]:
    """The table at the top: claim id → what it says as printed and as repaired."""
    lines = re.findall(r"^\| \[.+?\]\(#claim-(.+?)\) \| (.+?) \| (.+?) \|$", text, flags=re.MULTILINE)
    return {
        claim: [word.group() if (word := re.search(r"[A-Z]{5,}", cell)) else "–" for cell in cells]
        for claim, *cells in lines
    }


@pytest.fixture(scope="module")
def markdown() -> str:
    return (REPORTS / "report.md").read_text(encoding="utf-8")


def test_it_says_what_is_expected(markdown: str) -> None:
    expected = baseline.expectations()
    wanted = {
        claim: [
            expected[claim][variant]["standard"]["verdict"] if variant in expected[claim] else "–"
            for variant in ("paper", "repaired")
        ]
        for claim in load().claims
    }
    assert verdicts(markdown) == wanted


def test_it_is_of_the_standard_profile_and_has_all_parts(markdown: str) -> None:
    html = (REPORTS / "report.html").read_text(encoding="utf-8")
    for text in (markdown, html):
        assert re.search(r"Profile\s*(\*\*|<\w+>)\s*standard", text)
        for part in ("Errata", "The gate itself", "Constants", "Where the numbers come from"):
            assert part in text, part
    for claim in load().claims:
        assert f'id="claim-{claim}"' in html, claim
