"""How reports show numbers, formulas and text from anywhere."""

from __future__ import annotations

import doctest
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data_report import HOSTILE
from verification.report import markdown, mathml, prose, quantities, signs
from verification.report.environment import measured, readings
from verification.report.quantities import apart, interval, number


@pytest.mark.parametrize("module", [markdown, mathml, prose, quantities, signs])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("inf", "∞"),
        ("-inf", "−∞"),
        (0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (-3.5, "−3.5"),
        (0.1 + 0.2, "0.3"),
        (2 / 3, "0.6667"),
        (0.00123456, "0.001235"),
        (0.000123456, "1.235×10⁻⁴"),
        (1e-9, "10⁻⁹"),
        (3.7e-8, "3.7×10⁻⁸"),
        (9.99996e-9, "10⁻⁸"),
        (4096, "4096"),
        (20000, "20\u202f000"),
        (12345.6, "12\u202f350"),
        (999999, "999\u202f999"),
        (2896000, "2.896×10⁶"),
        (10**18, "10¹⁸"),
        (5e-324, "4.941×10⁻³²⁴"),
        (1.7976931348623157e308, "1.798×10³⁰⁸"),
    ],
)
def test_numbers_are_short_and_typographic(value, shown):
    assert number(value) == shown


@pytest.mark.parametrize("text", ["nan", "NaN", "1", "infinity", ""])
def test_no_other_string_is_a_number(text):
    with pytest.raises(ValueError, match="inf"):
        number(text)


def _value(text: str) -> float:
    """What a reader takes the text for."""
    powers = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    text = text.replace("−", "-").replace("\u202f", "").replace("×10", "e")
    head, _, tail = (
        text.partition("10") if text.removeprefix("-")[2:3] in tuple("⁻⁰¹²³⁴⁵⁶⁷⁸⁹") else (text, "", "")
    )
    return float(f"{head}1e{tail.translate(powers)}" if tail else text.translate(powers))


@given(st.floats(-1e300, 1e300))
def test_what_is_shown_is_the_number_to_four_digits(x):
    assert _value(number(x)) == pytest.approx(x, rel=5.1e-4, abs=5e-324)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=4))
def test_different_numbers_look_different(numbers):
    shown = apart(numbers)
    assert len(set(shown)) == len(set(numbers))


def test_a_near_miss_is_not_rounded_into_equality():
    shown = readings(seen(0.333334, 1 / 3, 0.333334, 0.333334))
    assert (shown["seen"], shown["allowed"]) == ("0.333334", "0.333333")
    shown = readings(seen(1 - 2**-50, 1.0, 0.5, 1 + 2**-40))
    assert (shown["seen"], shown["allowed"]) == ("1 − 8.9×10⁻¹⁶", "1")
    assert shown["interval"] == "[0.5, 1 + 9.1×10⁻¹³]"


def seen(value: float, bound: float, low: float, high: float, grade: str = "tested") -> dict:
    return {"value": value, "bound": bound, "interval": [low, high], "grade": grade}


@pytest.mark.parametrize(
    ("grade", "shown"), [("proved", "exact"), ("exact", "exact"), ("tested", "–"), ("fitted", "–")]
)
def test_only_a_grade_makes_a_number_exact(grade, shown):
    assert readings(seen(0.5, 1.0, 0.5, 0.5, grade))["interval"] == shown
    assert readings(seen(0.5, 1.0, 0.4, 0.6, grade))["interval"] == "[0.4, 0.6]"


def test_intervals_and_measures():
    assert interval("−∞", "∞") == "(−∞, ∞)"
    assert interval("0", "0.5") == "[0, 0.5]"
    assert measured({"value": 5.1, "interval": [4.9, "inf"]}) == {"value": "5.1", "interval": "[4.9, ∞)"}
    assert measured({"value": 3, "interval": [3, 3]})["interval"] == "–"
    close = measured({"value": 0.25, "interval": [0.25 - 2**-40, 0.25]})
    assert close == {"value": "0.25", "interval": "value ± 9.1×10⁻¹³"}
    assert measured({"value": "inf", "interval": ["inf", "inf"]}) == {"value": "∞", "interval": "–"}


@pytest.mark.parametrize(
    "latex", [r"\frac{1}{", r"\nosuchcommand{x}", r"\left( x", "", r"\text{<b>x</b>}", "^"]
)
def test_a_formula_that_cannot_be_parsed_is_shown_as_its_source(latex):
    assert mathml.parse(latex) is None
    shown = prose.formula(latex)
    assert str(shown) == f'<code class="latex">{latex.replace("<", "&lt;").replace(">", "&gt;")}</code>'
    assert mathml.spelled(latex) == latex


def test_a_formula_holds_mathml_and_nothing_else():
    markup = prose.html(r"$\href{javascript:alert(1)}{x} + \hat\theta_B$ is shown")
    math = ElementTree.fromstring(str(markup).removesuffix(" is shown"))
    tags = {element.tag for element in math.iter()}
    assert all(tag.startswith(f"{{{mathml.MATHML}}}m") for tag in tags)
    assert not any("href" in element.attrib for element in math.iter())


def test_functions_stand_apart_and_slashes_do_not():
    math = mathml.parse(r"2d\ln(24d/\beta)")
    children = list(math[0])
    assert [child.tag for child in children[:4]] == ["mn", "mi", "mspace", "mi"]
    thin = mathml.parse(r"d\,\ln n")
    assert [child.tag for child in thin[0]] == ["mi", "mspace", "mi", "mspace", "mi"]
    slash = next(child for child in children if child.text == "/")
    assert slash.attrib["lspace"] == slash.attrib["rspace"] == "0"


@given(st.text())
def test_text_is_never_markup(text):
    plain = text.replace("$", "")
    assert prose.html(plain).unescape() == signs.typeset(plain)
    assert "<" not in prose.html(plain)


@given(st.text(alphabet=r"\${}^_<>&ab1 "))
def test_any_mixture_of_dollars_and_braces_is_well_formed(text):
    ElementTree.fromstring(f"<p>{prose.html(text)}</p>")
    prose.plain(text)


@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_cleaned_data_fits_into_xml(value):
    ElementTree.fromstring(f"<p>{prose.escape(str(prose.clean(value)))}</p>".encode())
    cleaned = prose.clean({"text": "bell \x07, half a pair \ud83d, \ufffe, emoji 😀"})
    assert cleaned["text"] == "bell \ufffd, half a pair \ufffd, \ufffd, emoji 😀"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1. not a list", r"1\. not a list"),
        ("- not a list", r"\- not a list"),
        ("a | b * c_d `e` #1", r"a \| b \* c\_d \`e\` \#1"),
        ("two\n\nlines", "two lines"),
        (r"$\{x : \|x\| < 1\}$", r"$\lbrace x : \Vert x\Vert  \lt  1\rbrace$"),
        ("five \\$ and $x$", r"five \$ and $x$"),
        (HOSTILE, '&lt;script&gt;document.title = "pwned"&lt;/script&gt;'),
    ],
)
def test_markdown_signs_are_escaped(text, shown):
    assert prose.markdown(text) == shown


def test_code_keeps_backticks_and_bars_inside():
    assert markdown.code("a|b") == r"`a\|b`"
    assert markdown.fenced("```\nx\n```").splitlines()[0] == "````"
