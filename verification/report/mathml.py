"""LaTeX formulas as MathML that is safe to put in a page, and as plain characters."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

from latex2mathml.converter import convert

MATHML = "http://www.w3.org/1998/Math/MathML"
_ELEMENT = re.compile(
    "math|mrow|mi|mn|mo|mtext|mspace|msub|msup|msubsup|munder|mover|munderover|mfrac|msqrt|mroot|"
    "mtable|mtr|mtd|mstyle|mpadded|mphantom|menclose|mmultiscripts|mprescripts|none"
)
_ATTRIBUTE = re.compile(
    "accent|columnalign|columnlines|columnspacing|depth|display|displaystyle|fence|form|height|largeop|"
    "linethickness|lspace|mathcolor|mathsize|mathvariant|maxsize|minsize|movablelimits|notation|rowlines|"
    "rowspacing|rspace|scriptlevel|separator|stretchy|symmetric|voffset|width"
)


def parse(latex: str) -> ElementTree.Element | None:
    """``latex`` as MathML that is nothing but MathML, or None where it cannot be parsed.

    The converter lets markup inside \\text and links through, and unknown commands; this does not.
    """
    try:
        math = ElementTree.fromstring(convert(latex))
    except Exception:  # the converter raises StopIteration and a dozen errors without a common base
        return None
    for element in math.iter():
        name = element.tag.removeprefix(f"{{{MATHML}}}")
        if not _ELEMENT.fullmatch(name) or "\\" in (element.text or ""):
            return None
        element.tag = name
        element.attrib = {key: value for key, value in element.attrib.items() if _ATTRIBUTE.fullmatch(key)}
    for element in list(math.iter()):
        _space(element)
    math.set("xmlns", MATHML)
    return math


def _space(element: ElementTree.Element) -> None:
    """Spacing as TeX has it: none around slashes and bars, a thin space beside the name of a function."""
    if element.tag == "mo" and element.text in ("/", "|", "‖"):
        element.attrib |= {"lspace": "0", "rspace": "0"}
    if element.tag == "mover" and element.attrib.get("accent"):
        element[1].set("stretchy", "false")  # \hat, not \widehat
    if element.tag not in ("math", "mrow", "msqrt", "mtd"):
        return
    children = list(element)
    spaced = children[:1]
    for left, right in pairwise(children):
        before = _is_function(right) and (left.tag not in ("mo", "mspace") or left.text == ")")
        after = _is_function(left) and right.tag not in ("mo", "mspace")
        if before or after:
            spaced.append(ElementTree.Element("mspace", {"width": "0.17em"}))
        spaced.append(right)
    element[:] = spaced


def _is_function(element: ElementTree.Element) -> bool:
    if element.tag == "mi":
        return len(element.text or "") > 1
    return element.tag in ("msub", "msup", "msubsup", "munder") and _is_function(element[0])


def spelled(latex: str) -> str:
    """One formula in Unicode characters on one line, or its source where it cannot be parsed."""
    math = parse(latex)
    return (
        latex if math is None else _SIGN.sub("−", " ".join(_spell(math).split())).strip().replace(" {", "{")
    )


def _spell(element: ElementTree.Element) -> str:
    parts = [_spell(child) for child in element]
    match element.tag, parts:
        case "msub" | "munder", [base, low]:
            return base.rstrip() + _script(low, "_") + (" " if base.endswith(" ") else "")
        case "msup", [base, high]:
            return base + _script(high, "^")
        case "msubsup" | "munderover", [base, low, high]:
            return base + _script(low, "_") + _script(high, "^")
        case "mover", [base, accent]:
            return base + _ACCENTS[accent] if accent in _ACCENTS else base + _script(accent, "^")
        case "mfrac", [top, bottom]:
            return f"{_grouped(top)}/{_grouped(bottom)}"
        case "msqrt", _:
            return f"√{_grouped(''.join(parts))}"
        case "mspace", _:
            return " "
    text = element.text or ""
    if element.tag == "mo" and text == ",":
        return ", "
    if element.tag == "mo" and len(text) > 1 and text.isalpha():
        return f" {text} "
    return f" {text} " if element.tag == "mo" and text in _SPACED else text + "".join(parts)


def _script(text: str, mark: str) -> str:
    raised = text.replace(" ", "")
    if mark == "^" and all(sign in _RAISED for sign in raised):
        return "".join(_RAISED[sign] for sign in raised)
    return mark + _grouped(text)


def _grouped(text: str) -> str:
    """As it is where it reads as one sign, one number or one word; in brackets elsewhere."""
    whole = len(text.strip()) == 1 or text.isdigit() or text.isalpha()
    return text if whole else f"({text.strip()})"


_SIGN = re.compile(r"(?:^|(?<=[(\[{])|(?<=, )) ?− ")
_SPACED = frozenset("=≤≥<>≈∼≪≫+−±×→∈")
_ACCENTS = {"^": "\u0302", "~": "\u0303", "\u02dc": "\u0303", "\u00af": "\u0304", "\u02c9": "\u0304"}
_RAISED = dict(zip("−0123456789+n⋆∗*⊤′", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹⁺ⁿ⋆**ᵀ′", strict=True))
