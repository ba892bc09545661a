"""The report as one HTML page that needs no network and no script."""

from __future__ import annotations

from importlib.resources import files
from itertools import count
from typing import Any

import numpy as np
from markupsafe import Markup

from verification.report import prose
from verification.report.constants import table
from verification.report.environment import environment
from verification.report.gate import Studies, gate_view
from verification.report.model import sentences, view

Json = dict[str, Any]


def render(report: Json, studies: Studies | None = None) -> str:
    """``studies`` about the gate itself: the committed ones unless given."""
    from verification.report import drawing  # matplotlib loads slowly, and who only reads reports never draws

    env = environment(autoescape=True)
    numbers = count(1)
    env.filters["prose"] = prose.html
    failed = dict[int, str]()

    def draw(figure: Json) -> Markup | None:
        """A figure that the library cannot draw is left out, and does not cost the page."""
        try:
            with np.errstate(all="ignore"):
                return drawing.draw(figure, f"f{next(numbers)}")
        except Exception as error:
            failed[id(figure)] = f"its values cannot be drawn ({type(error).__name__})"
            return None

    env.filters["draw"] = draw
    env.filters["missing"] = lambda figure: 0 if id(figure) in failed else drawing.missing(figure)
    env.filters["undrawn"] = lambda figure: failed.get(id(figure)) or drawing.undrawn(figure)
    return env.get_template("report.html.j2").render(
        report=report,
        view=view(report),
        sentences=sentences(report),
        gate=gate_view(report, studies),
        constants=table(report),
        style=Markup(stylesheet()),
    )


def stylesheet() -> str:
    return files("verification.report").joinpath("templates/style.css").read_text(encoding="utf-8")
