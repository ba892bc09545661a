"""Turns matplotlib's SVG into a part of the page: its colours, its font, accessible, ids of its own."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from markupsafe import Markup

INK, GRID = "#010101", "#020202"
SERIES = ("#030301", "#030302", "#030303", "#030304", "#030305", "#030306")
"""Stand-ins to draw with; the page's style sheet says what they look like, light and dark."""
_COLOURS = {INK: "currentColor", GRID: "var(--grid)"}
_COLOURS |= {stand_in: f"var(--series-{i})" for i, stand_in in enumerate(SERIES, 1)}

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"font: [^;]*?([\d.]+px)[^;]*|; font-family: [^;]*")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")


def inline(source: str, title: str, description: str, prefix: str) -> Markup:
    """``source`` as an <svg> element to stand in an HTML page, with alternative text."""
    root = ElementTree.fromstring(source)
    for child in (*root.findall(f"{_SVG}metadata"), *root.findall(f"{_SVG}defs[{_SVG}style]")):
        root.remove(child)
    names = _names(root, prefix)
    for element in root.iter():
        _rewrite(element, names)
    _flatten(root)
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-labelledby": f"{prefix}-title {prefix}-desc",
    }
    for tag, text in (("desc", description), ("title", title)):
        child = ElementTree.Element(tag, {"id": f"{prefix}-{tag}"})
        child.text = text
        root.insert(0, child)
    for element in root.iter():
        element.tail = "\n"
        element.text = (element.text or "").strip() or None
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _names(root: ElementTree.Element, prefix: str) -> dict[str, str]:
    """New ids for those that something in the drawing refers to, in order of appearance."""
    used = set()
    for element in root.iter():
        used.update(_REFERENCE.findall(" ".join(element.attrib.values())))
        used.add(element.attrib.get(_HREF, "").removeprefix("#"))
    ids = [element.attrib["id"] for element in root.iter() if element.attrib.get("id") in used]
    return {name: f"{prefix}-{i}" for i, name in enumerate(ids, 1)}


def _rewrite(element: ElementTree.Element, names: dict[str, str]) -> None:
    element.tag = element.tag.removeprefix(_SVG)
    attributes = dict(element.attrib)
    if (name := attributes.pop("id", None)) in names:
        attributes["id"] = names[str(name)]
    if (target := attributes.pop(_HREF, None)) is not None:
        attributes["href"] = f"#{names[target.removeprefix('#')]}"
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]
    element.attrib = {key: _value(value, names) for key, value in attributes.items()}


def _value(value: str, names: dict[str, str]) -> str:
    value = _REFERENCE.sub(lambda match: f"url(#{names[match[1]]})", value)
    for stand_in, colour in _COLOURS.items():
        value = value.replace(stand_in, colour)
    value = _FONT.sub(
        lambda match: f"font-size: {match[1]}" if match[1] else "", value
    )  # the page has a font
    return " ".join(_DECIMALS.sub(lambda match: f"{float(match[0]):.2f}", value).split())


def _flatten(element: ElementTree.Element) -> None:
    """Groups that say nothing give their place to what is in them; half the file is such groups."""
    children: list[ElementTree.Element] = []
    for child in element:
        _flatten(child)
        children += list(child) if child.tag == "g" and not child.attrib else [child]
    element[:] = children
