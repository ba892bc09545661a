"""The HTML report as a document: complete, self-contained, escaped, well structured, legible."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from lpcb.spec import REPAIRS
from tests.data_report import HOSTILE, figure, report, row, series
from verification.report import drawing, model, page
from verification.report.prose import clean

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Every element with its attributes and the text in it, in document order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self.open: list[tuple[str, dict[str, str], list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = (tag, {key: value or "" for key, value in attrs}, [])
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        opened = self.open.pop()[0]
        assert opened == tag, f"<{opened}> closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        for _, _, text in self.open:
            text.append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        return [
            (attrs, " ".join("".join(text).split())) for name, attrs, text in self.elements if name == tag
        ]


@pytest.fixture(scope="module")
def given() -> dict:
    return clean(report())


@pytest.fixture(scope="module")
def text(given) -> str:
    return page.render(given)


@pytest.fixture(scope="module")
def outline(text) -> Outline:
    return Outline(text)


def alone(*rows: dict, **rest: object) -> str:
    return page.render({**report(0), "rows": list(rows), "repairs": [], **rest})


def test_elements_nest(outline):
    assert outline.open == []


def test_the_page_needs_nothing_from_outside_and_runs_nothing(text, outline):
    assert {"script", "iframe", "object", "img", "form"}.isdisjoint(tag for tag, _, _ in outline.elements)
    for _, attrs, _ in outline.elements:
        assert not any(name.startswith("on") or name in ("src", "srcset", "action") for name in attrs)
        assert attrs.get("href", "#").startswith(("#", "data:,"))
        assert "url(" not in attrs.get("style", "").replace("url(#", "")
    assert "url(" not in page.stylesheet()
    assert "@import" not in page.stylesheet()
    policy = next(attrs for attrs, _ in outline.all("meta") if "http-equiv" in attrs)
    assert policy["content"].startswith("default-src 'none'")


def test_hostile_text_is_shown_as_it_is(text, outline):
    assert HOSTILE not in text
    assert any(HOSTILE in heading for _, heading in outline.all("h3"))
    assert sum(HOSTILE in code for _, code in outline.all("code")) >= 3


def test_ids_are_unique_and_links_lead_somewhere(outline):
    ids = [attrs["id"] for _, attrs, _ in outline.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [attrs["href"][1:] for _, attrs, _ in outline.elements if attrs.get("href", "").startswith("#")]
    for _, attrs, _ in outline.elements:
        targets += attrs.get("aria-labelledby", "").split()
        targets += re.findall(r"url\(#([^)]+)\)", " ".join(attrs.values()))
    assert set(targets) <= set(ids)


def test_headings_go_down_one_level_at_a_time(outline):
    levels = [int(tag[1]) for tag, _, _ in outline.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tables_have_captions_and_headers_have_scopes(outline):
    assert len(outline.all("caption")) == len(outline.all("table")) > 20
    assert all(caption for _, caption in outline.all("caption"))
    assert all(attrs.get("scope") in ("row", "col") for attrs, _ in outline.all("th"))


def test_language_title_and_landmarks(outline):
    assert outline.all("html")[0][0]["lang"] == "en"
    assert len(outline.all("title")[0][1]) > 20
    assert len(outline.all("main")) == len(outline.all("header")) == 1
    skip = outline.all("a")[0][0]
    assert skip["href"] == f"#{outline.all('main')[0][0]['id']}"


def test_every_row_has_its_section_and_every_claim_its_line(given, outline):
    ids = {attrs.get("id") for _, attrs, _ in outline.elements}
    for r in given["rows"]:
        assert {model.anchor(r["id"]), f"{model.anchor(r['id'])}-{r['variant']}"} <= ids
    glance = next(text for attrs, text in outline.all("table") if attrs.get("class") == "glance")
    assert all(claim.id in glance for claim in model.view(given).claims)
    assert len(outline.all("h3")) == len(model.view(given).claims)
    assert len(outline.all("h4")) == len(given["rows"])


def test_evidence_shows_all_its_fields(given, outline):
    tables = [text for attrs, text in outline.all("table") if attrs.get("class") == "wide"]
    assert len(tables) == sum(bool(r["evidence"]) for r in given["rows"])
    matrix = next(text for text in tables if "support witness" in text)
    for part in ("∞", "0.3333", "[1.98, ∞)", "10⁶", "10⁻⁹", "0.0031", "proved", "decides", "negative"):
        assert part in matrix
    assert "0.99996" in matrix
    assert "0.99995" in matrix


def test_unexpected_rows_come_first(given, text):
    summary = text[text.index('id="summary"') : text.index('id="claims"')]
    for r in given["rows"]:
        listed = f'href="#{model.anchor(r["id"])}-{r["variant"]}"' in summary
        assert listed == (not r["passed"])
    assert summary.index("3 of 20 rows are not as expected") < summary.index("statements of the paper")
    assert "ZeroDivisionError" in text


def test_no_alarm_without_a_reason():
    good = row("a", "paper", "Lemma 1", "$x$", "REFUTED", reason="$x > 1$")
    summary = alone(good)
    summary = summary[summary.index("<body") :]
    assert "not as expected" not in summary
    assert "incomplete" not in summary
    assert "the row is as expected" in summary
    assert "This run is incomplete." in alone(good, complete=False)


def test_every_row_comes_with_its_command(given, text):
    for r in given["rows"]:
        if "<" not in r["id"]:
            assert f"lpcb replay {r['id']}:{r['variant']}" in text
    assert "&#34;psi_hat&#34;: 31.7" in text


def test_errata_in_order(given, text):
    errata = text[text.index('id="errata"') : text.index('id="details"')]
    anchors = re.findall(r'<p><a href="#([^"]+)"', errata)
    assert anchors == [claim.anchor for claim in model.view(given).errata]
    assert "No statement of the paper was refuted" in alone(row("a", "paper", "T", "$x$", "HOLDS"))


def test_the_repair_matrix_lists_every_repair(given, outline):
    matrix = next(text for attrs, text in outline.all("table") if attrs.get("class") == "matrix")
    assert all(repair in matrix for repair in REPAIRS)
    guarded = {outcome["repair"] for outcome in given["repairs"]}
    assert matrix.count("no claim guards this repair yet") == len(REPAIRS - guarded)
    assert matrix.count("REFUTED") == 3
    empty = Outline(alone())
    matrix = next(text for attrs, text in empty.all("table") if attrs.get("class") == "matrix")
    assert matrix.count("no claim guards this repair yet") == len(REPAIRS)


def test_the_environment_reproduces_the_report(text):
    assert "lpcb verify --profile standard --seed 0" in text
    assert "2.4.6" in text


def test_figures_have_words_for_those_who_do_not_see_them(given, outline):
    drawn = sum(len(r["figures"]) for r in given["rows"]) - 1
    images = [attrs for attrs, _ in outline.all("svg")]
    assert len(images) == drawn
    assert all(attrs["role"] == "img" for attrs in images)
    words = [text for _, text in outline.all("desc")]
    assert len(words) == drawn
    assert any("users n, logarithmic" in text and "layered regression: 8 points" in text for text in words)
    captions = [text for _, text in outline.all("figcaption")]
    assert len(captions) == drawn + 1


def test_what_a_figure_cannot_draw_is_said(outline):
    captions = [text for _, text in outline.all("figcaption")]
    assert sum("1 point is not drawn" in text for text in captions) == 2
    assert any("Nothing to draw" in text for _, text in outline.all("figure"))


def test_a_figure_holds_its_labels_its_curves_and_its_points():
    plot = figure(
        "Title",
        series("first", [1, 10, 100], [1, 0.1, 0.01]),
        series("second", [1, 10], [2, 3], "points", low=[1, "-inf"], high=["inf", 4]),
        series("third", [1, 10], [2, 3], "bars"),
        series("fourth", [1], ["inf"]),
    )
    svg = str(drawing.draw(plot, "f9"))
    for label in ("first", "second", "third", "users n", "error 𝔼|f̂ − f⋆|"):
        assert f">{label}</text>" in svg
    assert ">fourth</text>" not in svg
    assert drawing.missing(plot) == 1
    assert all(f"var(--series-{i})" in svg for i in (1, 2, 3))
    assert "#0" not in re.sub(r"#f9-\d+", "", svg)
    assert all(name.startswith("f9-") for name in re.findall(r'id="([^"]+)"', svg))


@pytest.mark.parametrize(
    "values", [[1.0, 1.0], [1e-199, 1e199], [1e-300, 1.0, 1e300], [5.0, 6.0], [0.001, 0.01]]
)
@pytest.mark.parametrize("log", [True, False])
def test_any_range_can_be_drawn_with_at_least_one_number_on_each_axis(values, log):
    plot = figure("Title", series("a", values, values), xlog=log, ylog=log, xlabel="x", ylabel="y")
    labels = re.findall(r">([^<]+)</text>", str(drawing.draw(plot, "f1")))
    assert len(labels) >= 5


def labels_of(plot: dict) -> list[str]:
    return re.findall(r">([^<]+)</text>", str(drawing.draw(plot, "f1")))


def test_a_figure_of_nothing_but_reference_lines_is_not_drawn():
    allowed = series("allowed", [1, 2], [1.0, 1.0], "dashed")
    words = {"xlabel": "layer", "ylabel": "loss", "xlog": False, "ylog": False}
    for infinite in ([], [series("d = 2", [1, 2], ["inf", "inf"], "points")]):
        plot = figure("Loss", *infinite, allowed, **words)
        assert drawing.draw(plot, "f1") is None
        assert drawing.undrawn(plot) == "infinite at every layer"
    assert drawing.draw(figure("Loss", series("a", [1], [0.5], "points"), allowed, **words), "f1")


def test_layers_are_counted_and_labels_differ():
    words = {"xlabel": "layer", "ylabel": "y", "xlog": False, "ylog": False}
    flat = series("a", [0.94, 1.06, 2], [-0.1111111111, -0.1111111112, -0.1111111113], "points")
    ticks = [x for x in labels_of(figure("T", flat, **words)) if re.fullmatch("[−0-9.]+", x)]
    assert len(ticks) == len(set(ticks)) >= 4
    assert [x for x in ticks if not x.startswith("−")] == ["1", "2"]


def test_long_labels_are_wrapped():
    long = "fraction of outputs with at most this loss, over all pairs of users"
    labels = labels_of(figure("T", series("a", [1, 2], [1, 2]), xlabel="x", ylabel=long))
    assert long not in labels
    assert {"fraction of outputs with at most", "this loss, over all pairs of users"} <= set(labels)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def palettes() -> dict[str, dict[str, str]]:
    css = page.stylesheet()
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in blocks)
    assert set(light) == set(dark)
    return {"light": light, "dark": dark}


def test_contrast_is_computed_as_wcag_does():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_contrast_enough(scheme):
    colour = palettes()[scheme]
    text = [(ink, paper) for ink in ("ink", "muted", "link") for paper in ("paper", "card", "code")]
    text += [(verdict, f"{verdict}-tint") for verdict in ("holds", "refuted", "undecided", "alarm")]
    text += [("ink", "refuted-tint"), ("link", "refuted-tint")]
    for ink, paper in text:
        assert contrast(colour[ink], colour[paper]) >= 4.5, (ink, paper)
    drawn = [name for name in colour if name.startswith("series-")]
    assert len(drawn) == 6
    for ink in (*drawn, "link", "holds", "refuted", "undecided"):
        assert contrast(colour[ink], colour["paper"]) >= 3, ink
    assert contrast(colour["alarm-tint"], colour["refuted-tint"]) >= (3 if scheme == "light" else 1)
