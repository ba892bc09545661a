"""JUnit and Markdown reports, and the sentences that all reports share."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from lpcb.spec import REPAIRS
from tests.data_report import evidence, measure, report, row
from verification.registry import load
from verification.report import constants, junit, markdown, model, summary
from verification.report.prose import clean


def small(*rows: dict, **rest: object) -> dict:
    return {**report(0), "rows": list(rows), "repairs": [], **rest}


def statement(verdict: str, variant: str = "paper", name: str = "a", **rest: object) -> dict:
    return row(name, variant, "Lemma 1", "$x$ is small", verdict, **rest)


def test_junit_has_one_case_per_row_and_counts_them():
    given = clean(report())
    suites = ElementTree.fromstring(junit.render(given).encode())
    cases = list(suites.iter("testcase"))
    names = [(case.attrib["classname"], case.attrib["name"]) for case in cases]
    assert names == [(f"lpcb.{r['variant']}", r["id"]) for r in given["rows"]]
    suite = suites.find("testsuite")
    assert suite.attrib == {"name": "lpcb", "tests": str(len(cases)), "failures": "2", "errors": "1"}
    assert len(list(suites.iter("failure"))) == 2
    assert "ZeroDivisionError" in next(suites.iter("error")).text
    assert not any("time" in element.attrib for element in suites.iter())


@pytest.mark.parametrize(
    ("rest", "kind", "message"),
    [
        ({}, None, ""),
        ({"expected": "REFUTED", "passed": False}, "failure", "expected REFUTED, found HOLDS"),
        ({"expected": None, "passed": False}, "failure", "no expectation"),
        ({"passed": False}, "failure", "measure"),
        ({"error": "boom", "passed": False}, "error", "error"),
        ({"error": "boom", "passed": True}, "error", "error"),
    ],
)
def test_junit_tells_failures_from_errors(rest, kind, message):
    case = next(ElementTree.fromstring(junit.render(small(statement("HOLDS", **rest)))).iter("testcase"))
    assert [child.tag for child in case] == ([kind] if kind else [])
    if kind:
        assert message in case[0].attrib["message"]


def test_junit_says_when_a_run_is_incomplete():
    assert "incomplete" in junit.render(small(complete=False))
    assert "incomplete" not in junit.render(small())


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        (["HOLDS"], "The statement as printed holds."),
        (["UNDECIDED"], "The statement as printed is undecided."),
        (
            ["HOLDS", "HOLDS", "REFUTED", "UNDECIDED"],
            "Of 4 statements of the paper as printed, 2 hold, 1 is refuted and 1 is undecided.",
        ),
        ([], "No statement of the paper as printed was checked."),
    ],
)
def test_the_summary_counts_the_printed_statements(verdicts, sentence):
    rows = [statement(verdict, name=f"c{i}") for i, verdict in enumerate(verdicts)]
    assert model.sentences(small(*rows))[0] == sentence


def test_the_summary_counts_the_repaired_statements():
    rows = [statement("HOLDS", "repaired", "a"), statement("UNDECIDED", "repaired", "b")]
    assert (
        model.sentences(small(*rows))[1]
        == "2 statements have a repaired form: with the repairs, 1 holds, 0 are refuted and 1 is undecided."
    )
    all_ = [statement("HOLDS", "repaired", name) for name in "abc"]
    printed = [statement("REFUTED", name=name) for name in "abcd"]
    assert model.sentences(small(*all_[:2]))[1].endswith("with the repairs both hold.")
    assert model.sentences(small(*all_, *printed))[1] == (
        "3 have a repaired form, and with the repairs all 3 hold. "
        "1 refuted one has no repaired form: steps of proofs, remarks and the like."
    )


def test_the_summary_of_one_claim_speaks_of_it_alone():
    one = [statement("REFUTED", name="a"), statement("HOLDS", "repaired", "a")]
    said = model.sentences(small(*one))[:2]
    assert said == ["The statement as printed is refuted.", "As repaired it holds."]


def test_all_repairs_are_spoken_of_only_where_all_were_put_to_the_test():
    rows = [statement("HOLDS", "repaired", name) for name in "abc"]
    tried = [{"repair": name, "id": "a", "verdict": "REFUTED", "reason": ""} for name in sorted(REPAIRS)]
    whole = small(*rows) | {"repairs": tried}
    assert f"after {len(REPAIRS)} repairs all 3 hold" in model.sentences(whole)[1]
    assert "repairs all 3" in model.sentences(whole | {"repairs": tried[1:]})[1]
    assert f"{len(REPAIRS)} repairs" not in model.sentences(whole | {"repairs": tried[1:]})[1]


def test_rows_of_our_own_are_not_statements_of_the_paper():
    rows = [
        statement("HOLDS", name="a"),
        statement("HOLDS", name="b"),
        statement("HOLDS", "repaired", "a"),
        statement("HOLDS", "repaired", "conf-noise"),
        statement("REFUTED", name="thm-2.2-sharpness"),
    ]
    printed, repaired, *_ = model.sentences(small(*rows))
    assert printed == "Of 2 statements of the paper as printed, 2 hold, 0 are refuted and 0 are undecided."
    assert repaired == (
        "1 has a repaired form, which holds. 1 further row checks our own code: it holds. "
        "1 further row answers a question of our own: it is refuted."
    )
    assert model.view(small(*rows)).errata == []


def test_our_own_questions_say_so_in_their_statement():
    claims = load().claims
    assert all("Our question" in str(claims[id_].statement) for id_ in summary.OWN_QUESTIONS)


def test_what_holds_rests_on_the_tightest_check_of_the_weakest_grade():
    checks = [
        evidence("proof", "proved", "HOLDS"),
        evidence("far", "tested", "HOLDS") | {"value": 0.0, "bound": 0.05, "interval": [0.0, 0.01]},
        evidence("near", "tested", "HOLDS") | {"value": 0.0, "bound": 0.05, "interval": [0.0, 0.04]},
        evidence("extra", "fitted", "HOLDS", role="supports"),
    ]
    held = statement("HOLDS", evidence=checks)
    assert model.weakest(held)["check"] == "near"
    assert model.weakest(statement("UNDECIDED", evidence=checks)) is None
    assert model.weakest(statement("HOLDS")) is None
    shown = markdown.render(small(held))
    assert "weakest grade, *tested*: near. Seen 0, allowed 0.05, interval \\[0, 0.04\\]" in shown
    assert "lpcb replay" in shown


def test_faults_that_differ_in_numbers_alone_are_told_once():
    alike = [
        evidence(f"failure at delta = {x}", "exact", "REFUTED") | {"note": f"{n} of {n} fits failed"}
        for x, n in ((0.5, 30), (0.01, 40))
    ]
    other = evidence("closed form", "exact", "REFUTED") | {"note": "another reason"}
    made = small(statement("REFUTED", evidence=[alike[0], other, alike[1]]))
    (claim,) = model.view(made).errata
    assert [len(group) for group in claim.fault_groups] == [2, 1]
    text = markdown.render(made)
    assert "30 of 30 fits failed. Likewise: failure at δ = 0.01" in text


def test_the_false_alarm_probability_is_the_sum_over_all_evidence():
    checks = [evidence(f"check {i}", "tested", "HOLDS") for i in range(37)]
    sentences = model.sentences(small(statement("HOLDS", evidence=checks), statement("HOLDS", "repaired")))
    assert "at most 3.7×10⁻⁸" in sentences[3]
    assert "as expected" in sentences[2]
    assert "No verdict rests on chance" in model.sentences(small(statement("HOLDS")))[3]


def test_grades_beside_a_verdict_are_those_it_rests_on():
    checks = [
        evidence("a", "fitted", "HOLDS"),
        evidence("b", "proved", "HOLDS", role="supports"),
        evidence("c", "exact", "REFUTED"),
        evidence("d", "tested", "HOLDS"),
    ]
    assert model.grades(statement("HOLDS", evidence=checks)) == ["tested", "fitted"]
    assert model.grades(statement("REFUTED", evidence=checks)) == ["exact"]
    assert model.grades(statement("UNDECIDED", evidence=checks)) == []


def test_different_claims_have_different_anchors():
    ids = ["a b", "a_b", "a_20_b", "a-b", "a.b", "A.b", "é", "e"]
    anchors = [model.anchor(id_) for id_ in ids]
    assert len(set(anchors)) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", anchor) for anchor in anchors)


def cells(line: str) -> list[str]:
    """The cells of a table's line; bars after a backslash do not end one."""
    return re.split(r"(?<!\\)\|", line.strip())[1:-1]


def test_markdown_tables_have_the_same_number_of_cells_in_every_line():
    lines = markdown.render(clean(report())).splitlines()
    tables = [i for i, line in enumerate(lines) if re.fullmatch(r"\|(:?-+:?\|)+", line)]
    assert len(tables) > 20
    for start in tables:
        width = len(cells(lines[start]))
        end = next(i for i in range(start, len(lines) + 1) if i == len(lines) or not lines[i].startswith("|"))
        assert end > start + 1
        assert {len(cells(line)) for line in lines[start - 1 : end]} == {width}


def test_markdown_says_all_that_the_report_holds():
    given = clean(report())
    text = markdown.render(given)
    anchors = set(re.findall(r'<a id="([^"]+)"', text))
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) == anchors
    assert anchors == {model.anchor(r["id"]) for r in given["rows"]}
    for sentence in model.sentences(given):
        assert sentence in text
    for r in given["rows"]:
        assert f"lpcb replay {r['id']}:{r['variant']}" in text or "<" in r["id"]
    assert text.count("no claim guards this repair yet") == len(REPAIRS) - len(
        {o["repair"] for o in given["repairs"]}
    )
    assert "lpcb verify --profile standard --seed 0" in text
    assert r"$\mathbb{E}[\hat\Delta]$" in text
    assert "∞" in text
    assert "3 of 20 rows not as expected" in text


def test_markdown_never_holds_markup_of_the_claims():
    text = markdown.render(clean(report()))
    outside_code = re.sub(r"(?s)(`{3,}).*?\n\1", "", text)
    outside_code = re.sub(r"(`+) ?.*?\1", "", outside_code)
    assert "<script" not in outside_code


def test_markdown_of_nothing_and_of_half_a_run():
    text = markdown.render(small(complete=False))
    assert "**This run is incomplete.**" in text
    assert "as far as this incomplete run went" in text
    assert "not as expected" not in text


def test_errata_are_the_refuted_printed_statements_in_order():
    given = report()
    refuted = [r["id"] for r in given["rows"] if r["variant"] == "paper" and r["verdict"] == "REFUTED"]
    assert [claim.id for claim in model.view(given).errata] == refuted
    assert len(refuted) == 5


def test_errata_name_every_fault_of_a_statement():
    given = report(claims=12)
    refuted = next(r for r in given["rows"] if r["variant"] == "paper" and r["verdict"] == "REFUTED")
    fault = next(e for e in refuted["evidence"] if e["role"] == "decides" and e["verdict"] == "REFUTED")
    refuted["evidence"].append(fault | {"check": "a second fault", "note": "and why it is one"})
    faults = next(claim for claim in model.view(given).errata if claim.id == refuted["id"]).faults
    assert [e["check"] for e in faults][-1] == "a second fault"
    assert "a second fault" in markdown.render(given)


def test_constants_are_looked_up_in_the_rows():
    value = measure(1 / 6, 0.16666, 0.16667)
    made = statement("HOLDS", "repaired", "lemma-A.1") | {"measures": {"sharp constant of KL": value}}
    (line,) = constants.table(small(made))
    assert line.cell("sharp") == "0.1667"
    assert line.cell("needed") == "–"
    made["measures"] = {"sharp constant of KL": measure(0.2, 0.1, "inf")}
    assert constants.table(small(made))[0].cell("sharp") == "0.2 in [0.1, ∞)"
    assert constants.table(small()) == []


def test_every_constant_names_a_claim():
    assert {constant.claim for constant in constants.CONSTANTS} <= set(load().claims)
