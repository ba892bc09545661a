"""Text with LaTeX between dollar signs, for HTML (as MathML) and for Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup, escape

from verification.report.mathml import parse, spelled
from verification.report.signs import typeset

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FORMULA = re.compile(r"(?<!\\)(\$\$?)((?:[^$\\]|\\.)+)\1", re.DOTALL)
LONG = 16
"""Formulas with more signs than this may be wider than a phone and scroll on their own."""


def clean(value: Any) -> Any:
    """``value`` with every character that XML cannot hold replaced by U+FFFD, at any depth."""
    if isinstance(value, str):
        return _UNPRINTABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return value


def pieces(text: str) -> Iterator[tuple[bool, str]]:
    """``text`` cut into (is it a formula, content); a dollar sign without a partner is text.

    >>> list(pieces(r"at most $1/2$, not \\$3"))
    [(False, 'at most '), (True, '1/2'), (False, ', not $3')]
    """
    end = 0
    for match in _FORMULA.finditer(text):
        if match.start() > end:
            yield False, text[end : match.start()].replace(r"\$", "$")
        yield True, match[2].strip()
        end = match.end()
    if end < len(text):
        yield False, text[end:].replace(r"\$", "$")


def html(text: str) -> Markup:
    """``text`` escaped, its formulas as MathML. Punctuation sticks to the formula before it."""
    out, tail = [], ""
    for is_math, part in reversed(list(pieces(text))):
        if is_math:
            out.append(formula(part, tail))
            tail = ""
        else:
            rest = part.lstrip(".,;:)")
            tail = part[: len(part) - len(rest)]
            out.append(escape(typeset(rest)))
    return Markup("").join(reversed([*out, escape(tail)]))


@lru_cache(maxsize=4096)
def formula(latex: str, tail: str = "") -> Markup:
    """One formula as MathML, or its source where it cannot be parsed, and the punctuation after it."""
    math = parse(latex)
    if math is None:
        return Markup('<code class="latex">{}</code>{}').format(latex, tail)
    math.set("alttext", latex)
    markup = Markup(ElementTree.tostring(math, encoding="unicode"))
    if sum(len(text) for text in math.itertext()) <= LONG:
        return markup + tail
    return Markup('<span class="long">{}{}</span>').format(markup, tail)


def plain(text: str) -> str:
    """``text`` with its formulas spelled in Unicode, for places that hold nothing but characters.

    >>> plain(r"error $\\hat\\theta_B$ times $\\sqrt{n}\\,d^{-1/2}$")
    'error θ̂_B times √n d^(−1/2)'
    """
    return "".join(spelled(part) if is_math else part for is_math, part in pieces(text))


def lettered(text: str) -> str:
    """Like :func:`plain`, and with signs for mathematics that was typed in letters.

    >>> lettered(r"mean of $\\hat\\psi_B$, alpha <= 1")
    'mean of ψ̂_B, α ≤ 1'
    """
    return "".join(spelled(part) if is_math else typeset(part) for is_math, part in pieces(text))


_SPECIAL = re.compile(r"([\\`*_\[\]|~#$])")
_LINE_START = re.compile(r"^(\s*)([-+]|\d+(?=[.)]))")
_NAMED = {
    r"\{": r"\lbrace ",
    r"\}": r"\rbrace ",
    r"\|": r"\Vert ",
    r"\,": r"\thinspace ",
    r"\;": r"\thickspace ",
    r"\!": r"\negthinspace ",
    "|": r"\vert ",
    "*": r"\ast ",
    "<": r"\lt ",
    ">": r"\gt ",
}
_NEEDS_NAME = re.compile(r"\\[{}|,;!]|[|*<>]")


def markdown(text: str) -> str:
    """``text`` on one line with Markdown's own signs escaped; formulas stay between dollar signs.

    Inside a formula, signs that Markdown would take for its own (escapes, table bars) are written by name.

    >>> markdown(r"a_b is $\\|x\\| < 1$ | end")
    'a\\\\_b is $\\\\Vert x\\\\Vert  \\\\lt  1$ \\\\| end'
    """
    parts = []
    for is_math, part in pieces(" ".join(text.split())):
        if is_math:
            parts.append(f"${_NEEDS_NAME.sub(lambda match: _NAMED[match[0]], part).strip()}$")
        else:
            plain = typeset(part).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            parts.append(_SPECIAL.sub(r"\\\1", plain))
    return _LINE_START.sub(_protect, "".join(parts))


def _protect(match: re.Match[str]) -> str:
    return match[1] + (f"\\{match[2]}" if match[2] in "-+" else f"{match[2]}\\")
