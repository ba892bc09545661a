"""The report as Markdown, for reading on a code host."""

from __future__ import annotations

import re
from typing import Any

from verification.report import prose
from verification.report.constants import table
from verification.report.environment import environment
from verification.report.gate import Studies, gate_view
from verification.report.model import sentences, view

Json = dict[str, Any]


def render(report: Json, studies: Studies | None = None) -> str:
    """``studies`` about the gate itself: the committed ones unless given."""
    env = environment(autoescape=False)
    env.filters["md"] = prose.markdown
    env.filters["code"] = code
    env.filters["fenced"] = fenced
    text = env.get_template("report.md.j2").render(
        report=report,
        view=view(report),
        sentences=sentences(report),
        constants=table(report),
        gate=gate_view(report, studies),
    )
    return text.rstrip() + "\n"


def code(text: str) -> str:
    """An inline code span, whatever backticks ``text`` holds; bars are escaped for tables.

    >>> code("a`b")
    '`` a`b ``'
    """
    line = " ".join(text.split()).replace("|", r"\|")
    ticks = "`" * (_longest_run(line) + 1)
    return f"{ticks}{line}{ticks}" if ticks == "`" else f"{ticks} {line} {ticks}"


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any in ``text``."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
