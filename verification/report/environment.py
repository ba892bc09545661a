"""The template environment that the HTML page and the Markdown file share."""

from __future__ import annotations

import shlex
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from verification.report import model
from verification.report.quantities import apart, interval, number
from verification.serialise import canonical_json

Json = dict[str, Any]


def environment(autoescape: bool) -> Environment:
    env = Environment(
        loader=PackageLoader("verification.report"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters["number"] = number
    env.filters["probability"] = lambda p: number(p, 3) if p else "0"
    env.filters["json"] = lambda value: canonical_json(value).rstrip()
    env.filters["readings"] = readings
    env.filters["measured"] = measured
    env.filters["failure"] = model.failure
    env.filters["grades"] = model.grades
    env.tests["failed"] = model.failed
    env.globals["replay"] = replay
    env.globals["anchor"] = model.anchor
    env.globals["variant_names"] = model.VARIANT_NAMES
    return env


def readings(evidence: Json) -> dict[str, str]:
    """What was seen, what is allowed, and where the truth lies, with digits enough to tell them apart."""
    seen, allowed, low, high = apart([evidence["value"], evidence["bound"], *evidence["interval"]])
    return {"seen": seen, "allowed": allowed, "interval": _interval(low, high)}


def measured(measure: Json) -> dict[str, str]:
    """A measure's value and interval, alike."""
    value, low, high = apart([measure["value"], *measure["interval"]])
    return {"value": value, "interval": _interval(low, high)}


def _interval(low: str, high: str) -> str:
    return "exact" if low == high else interval(low, high)


def replay(row: Json) -> str:
    """The command that runs this row again."""
    target = f"{row['id']}:{row['variant']}"
    return f"lpcb replay {shlex.quote(target)}"
