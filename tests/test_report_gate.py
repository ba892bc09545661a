"""The report's section on the gate itself: what it says with all studies, with none, and with bad ones."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest

from tests.data_report import HOSTILE, report
from tests.data_studies import levels, mutants, seeds, studies
from tests.test_report_page import Outline
from verification.alarms.ledger import hashes
from verification.report import markdown, page
from verification.report.gate import gate_view
from verification.report.prose import clean
from verification.report.studies import STUDIES, read_all, read_levels, read_mutants, read_seeds

NONE = {"seeds": None, "levels": None, "mutants": None}


@pytest.fixture(scope="module")
def given() -> dict:
    return clean(report())


def section(given: dict, made: dict) -> str:
    text = page.render(given, made)
    return text[
        text.index('<section aria-labelledby="gate">') : text.index('<section aria-labelledby="source">')
    ]


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_the_whole_section_is_there(given):
    text = words(section(given, studies(hashes())))
    for part in (
        "0 of 30 runs of the quick profile with this code",
        "fewer than 9.5 % of runs do",
        "With earlier code it was 1 of 2.",
        "Seed 2 (2026-01-02): lemma-4.2-psi:paper.",
        "at a level of 5 % with few samples, over 200 to 2000 seeds",
        "1 is beyond the limit.",
        "2 of 3 small mistakes",
        "Not caught: ",
        "1 more changes nothing, provably.",
        "The fastest run of the quick profile took 97 s.",
        "The study of levels took 38 minutes",
        "The mutants took 2 minutes.",
    ):
        assert part in text, part


def test_what_was_not_made_is_said(given):
    html = words(section(given, NONE))
    assert "No whole runs at other root seeds were made with exactly this code." in html
    assert "The study of levels was not made." in html
    assert "The study of mutants was not made." in html
    md = markdown.render(given, NONE)
    assert "The study of levels was not made." in md
    assert "The study of mutants was not made." in md


def test_runs_with_other_code_do_not_count_for_this_code(given):
    view = gate_view(given, NONE | {"seeds": seeds(dict.fromkeys(hashes(), "someone else's"))})
    assert (view.here.runs, view.elsewhere.runs, view.elsewhere.unexpected) == (0, 33, 1)
    assert view.here.bound == 1.0


def test_checks_nearest_to_their_limits_come_first(given):
    view = gate_view(given, NONE | {"levels": levels()})
    assert [(line["what"], line["wrong"]) for line in view.rejections] == [
        ("tightness at $d = 1$", 151),
        ("", 88),
        ("", 3),
        ("", 0),
    ]
    assert [line["what"] for line in view.beyond] == ["tightness at $d = 1$"]


def test_every_row_lists_the_mutants_it_catches_once(given):
    view = gate_view(given, NONE | {"mutants": mutants()})
    assert view.killers == [
        ("conf-noise:repaired", ["scale-05", "budget-split"]),
        ("lemma-4.2-psi:repaired", ["scale-05"]),
    ]
    assert [m["name"] for m in view.survivors] == [HOSTILE]
    assert view.witnesses == (1, 1)
    assert view.blind == ["fig-2-routing:repaired", "lemma-4.2-psi:paper"]
    assert view.old_rows == 4
    assert gate_view(given, NONE).witnesses == (0, 0)


def test_all_evidence_with_stated_power_is_listed(given):
    stated = [e for row in given["rows"] for e in row["evidence"] if e["detectable"] is not None]
    assert [power.evidence for power in gate_view(given, NONE).powers] == stated
    assert len(stated) > 10


def test_the_page_stays_well_formed_and_hostile_text_is_shown_not_run(given):
    text = page.render(given, studies(hashes()))
    assert HOSTILE not in text
    outline = Outline(text)
    assert outline.open == []
    assert len(outline.all("caption")) == len(outline.all("table"))
    assert sum(HOSTILE in cell for _, cell in outline.all("td")) >= 1
    assert "script" not in {tag for tag, _, _ in outline.elements}
    ids = [attrs["id"] for _, attrs, _ in outline.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_markdown_tables_are_regular(given):
    text = markdown.render(given, studies(hashes()))
    part = text[text.index("## The gate itself") : text.index("## Where the numbers")]
    assert "<script" not in re.sub(r"(`+).+?\1", "", part), "only code spans show it as it is"
    lines = part.splitlines()
    heads = [i for i, line in enumerate(lines) if re.fullmatch(r"\|(:?-+:?\|)+", line)]
    assert len(heads) == 3
    for head in heads:
        width = lines[head].count("|")
        for line in lines[head:]:
            if not line.startswith("|"):
                break
            assert len(re.findall(r"(?<!\\)\|", line)) == width
    assert "None of" not in part
    assert "**1 of 4 beyond the exact binomial limit.**" in part
    assert "\n\n\n" not in part


@pytest.mark.parametrize("made", [NONE, studies(hashes())], ids=["none", "all"])
def test_markdown_headings_stand_on_lines_of_their_own(given, made):
    text = markdown.render(given, made)
    assert re.findall(r"[^#\n]#{2,4} [A-Z]|[^\n]\n#{2,4} [A-Z]", re.sub(r"`.*?`", "", text)) == []
    assert re.findall(r"(?m)^## .*$", text)[-2:] == ["## The gate itself", "## Where the numbers come from"]


def test_the_bytes_depend_on_the_studies_alone(given):
    made = studies(hashes())
    assert page.render(given, made) == page.render(copy.deepcopy(given), copy.deepcopy(made))
    assert page.render(given, made) != page.render(given, NONE)


def test_the_committed_studies_can_be_read():
    for kind, found in read_all().items():
        assert (found is None) == (not (STUDIES / f"{kind}.json").exists())


READERS = {
    "seeds": (read_seeds, seeds({"x": "y"})),
    "levels": (read_levels, levels()),
    "mutants": (read_mutants, mutants()),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_study_is_read_as_written(kind: str, tmp_path: Path):
    reader, content = READERS[kind]
    (tmp_path / f"{kind}.json").write_text(json.dumps(content))
    assert reader(tmp_path / f"{kind}.json") == content
    assert read_all(tmp_path)[kind] == content


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:40],
        lambda text: "[]",
        lambda text: "null",
        lambda text: text.replace('"schema": 1', '"schema": 2'),
        lambda text: re.sub(r'"(date|row)": "[^"]*", ', "", text),
        lambda text: re.sub(r'"(seeds|seed)": \d+', '"seed": NaN', text),
        lambda text: re.sub(r'"(seeds|seed)": \d+', '"seed": -1', text),
    ],
)
def test_a_damaged_study_is_refused_by_name(kind: str, damage, tmp_path: Path):
    reader, content = READERS[kind]
    path = tmp_path / f"{kind}.json"
    path.write_text(damage(json.dumps(content)))
    with pytest.raises(ValueError, match=re.escape(str(path))):
        reader(path)


def test_a_missing_study_is_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"nowhere\.json: cannot be read"):
        read_seeds(tmp_path / "nowhere.json")
