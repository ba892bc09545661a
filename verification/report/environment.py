"""The template environment that the HTML page and the Markdown file share."""

from __future__ import annotations

import shlex
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from verification.report import model
from verification.report.quantities import POINT, Number, apart, around, interval, number
from verification.serialise import canonical_json
from verification.wrong import WRONG

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
    env.filters["weakest"] = model.weakest
    env.tests["failed"] = model.failed
    env.globals["replay"] = replay
    env.globals["wrong"] = WRONG
    env.globals["anchor"] = model.anchor
    env.globals["variant_names"] = model.VARIANT_NAMES
    return env


def readings(evidence: Json) -> dict[str, str]:
    """What was seen, what is allowed, and where the truth lies, with digits enough to tell them apart.

    Only a grade makes a number exact; that the ends of an interval agree does not.
    """
    certain = evidence["grade"] in ("proved", "exact")
    (seen, allowed), where = _shown([evidence["value"], evidence["bound"]], evidence["interval"])
    return {"seen": seen, "allowed": allowed, "interval": where or ("exact" if certain else POINT)}


def measured(measure: Json) -> dict[str, str]:
    """A measure's value and interval, alike. Measures have no grade, so that none is called exact."""
    (value,), where = _shown([measure["value"]], measure["interval"])
    return {"value": value, "interval": where or POINT}


def _shown(numbers: list[Number], ends: list[Number]) -> tuple[list[str], str | None]:
    """``numbers``, the first of them inside the interval, and the interval unless its ends agree."""
    if ends[0] == ends[1]:
        return apart(numbers), None
    if (close := around(numbers[0], *ends)) is not None:
        return apart(numbers), close
    *texts, low, high = apart([*numbers, *ends])
    return texts, interval(low, high)


def replay(row: Json) -> str:
    """The command that runs this row's counterexample again, or all its evidence where it has none."""
    target = f"{row['id']}:{row['variant']}"
    return f"lpcb replay {shlex.quote(target)}"
