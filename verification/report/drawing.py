"""Figures as inline SVG: drawn by matplotlib from nothing but the data, whatever the user's settings."""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import matplotlib.style
from markupsafe import Markup
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import AutoLocator, Formatter, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from verification.report.prose import lettered
from verification.report.quantities import apart, finite, number, power_of_ten
from verification.report.svg import GRID, INK, SERIES, inline

Json = dict[str, Any]

HUGE = 1e200
"""A logarithmic axis is drawn between 1/HUGE and HUGE; with its margins it then stays finite."""
WIDTH, HEIGHT = 4.8, 2.9
LABEL = 34
"""Signs of a label that fit beside the vertical axis; longer ones are wrapped."""
MARKERS, DASHES = "osD^vP", ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "lpcb",
    "svg.fonttype": "none",  # text stays text: small, selectable, and in the page's own font
    "text.parse_math": False,
    "font.size": 9,
    "legend.fontsize": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
}


def draw(figure: Json, prefix: str) -> Markup | None:
    """``figure`` as one <svg>, every id in it starting with ``prefix``; None when no point can be drawn."""
    figure = _worded(figure)
    curves = [drawable(series, figure["xlog"], figure["ylog"]) for series in figure["series"]]
    curves = [curve for curve in curves if curve["x"]]
    if all(curve["style"] == "dashed" for curve in curves):
        return None  # lines to compare with, and nothing to compare
    with matplotlib.style.context(["default", _STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's browser has fonts of its own
        canvas = Figure(figsize=(WIDTH, HEIGHT), layout="constrained", facecolor="none")
        axes = canvas.add_subplot()
        _axes(axes, figure, curves)
        handles = [_curve(axes, curve, index, len(curves)) for index, curve in enumerate(curves)]
        _bands(axes, curves, figure["ylog"])
        _legend(canvas, handles, [curve["label"] for curve in curves])
        stream = io.BytesIO()
        canvas.savefig(stream, format="svg", metadata={"Date": None})
    return inline(stream.getvalue().decode(), figure["title"], describe(figure), prefix)


def _worded(figure: Json) -> Json:
    """``figure`` with its formulas as plain text, which any font sets and any screen reader reads."""
    words = {key: lettered(figure[key]) for key in ("title", "xlabel", "ylabel")}
    return figure | words | {"series": [s | {"label": lettered(s["label"])} for s in figure["series"]]}


def drawable(series: Json, xlog: bool, ylog: bool) -> Json:
    """``series`` without its infinite points, and without what a logarithmic axis cannot show."""
    bands = [series[name] or [None] * len(series["x"]) for name in ("low", "high")]
    points = zip(series["x"], series["y"], *bands, strict=True)
    kept = [point for point in points if _shown(point[0], xlog) and _shown(point[1], ylog)]
    return series | {name: [point[i] for point in kept] for i, name in enumerate(("x", "y", "low", "high"))}


def missing(figure: Json) -> int:
    """How many points are left out of the drawing."""
    return sum(
        len(series["x"]) - len(drawable(series, figure["xlog"], figure["ylog"])["x"])
        for series in figure["series"]
    )


def undrawn(figure: Json) -> str:
    """Why a figure is not drawn."""
    values = [value for series in figure["series"] if series["style"] != "dashed" for value in series["y"]]
    if all(finite(value) is None for value in values):
        return f"infinite at every {figure['xlabel']}"
    return "every value is infinite or beyond a logarithmic axis"


def describe(figure: Json) -> str:
    """What the drawing shows, for those who do not see it."""
    text = [
        f"Horizontal axis: {figure['xlabel']}{', logarithmic' if figure['xlog'] else ''}.",
        f"Vertical axis: {figure['ylabel']}{', logarithmic' if figure['ylog'] else ''}.",
    ]
    for series in figure["series"]:
        curve = drawable(series, figure["xlog"], figure["ylog"])
        if curve["x"]:
            ends = [f"{number(curve['y'][i])} at {number(curve['x'][i])}" for i in (0, -1)]
            text.append(f"{series['label']}: {len(curve['x'])} points from {ends[0]} to {ends[1]}.")
    return " ".join(text)


def _shown(x: float | str, log: bool) -> bool:
    value = finite(x)
    return value is not None and (not log or 1 / HUGE < value < HUGE)


def _axes(axes: Axes, figure: Json, curves: Sequence[Json]) -> None:
    axes.set_xscale("log" if figure["xlog"] else "linear")
    axes.set_yscale("log" if figure["ylog"] else "linear")
    axes.set_xlabel(textwrap.fill(figure["xlabel"], 2 * LABEL))
    axes.set_ylabel(textwrap.fill(figure["ylabel"], LABEL))
    for axis, log, name in ((axes.xaxis, figure["xlog"], "x"), (axes.yaxis, figure["ylog"], "y")):
        values = [value for curve in curves for value in curve[name]]
        if log:
            _log_ticks(axis, max(values) / min(values))
        else:
            whole = figure[f"{name}label"] in COUNTED
            axis.set_major_locator(MaxNLocator(6, integer=True) if whole else AutoLocator())
            axis.set_major_formatter(_Distinct())


COUNTED = ("layer", "d", "instance")
"""Axes of things that come in whole numbers, though points may be drawn beside them."""


class _Distinct(Formatter):
    """Tick labels with digits enough to differ."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return number(float(x))

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        return apart([float(f"{value:.12g}") for value in values])


def _widened(bottom: float, top: float) -> tuple[float, float]:
    """Numbers that differ by rounding alone are shown as one number, not magnified."""
    size = max(abs(bottom), abs(top))
    return (bottom - 0.05 * size, top + 0.05 * size) if top - bottom < 1e-3 * size else (bottom, top)


def _log_ticks(axis: Axis, span: float) -> None:
    """Powers of ten; below a decade or two they are too few to read a value off."""
    subs = (1, 2, 5) if span < 50 else (1,)
    axis.set_major_locator(AutoLocator() if span < 5 else LogLocator(subs=subs, numticks=8))
    axis.set_minor_locator(NullLocator())
    powers = span >= 10**4
    axis.set_major_formatter(FuncFormatter(lambda x, _: _power(x) if powers else number(float(x))))


def _power(x: float) -> str:
    return power_of_ten(round(math.log10(x)))


def _curve(axes: Axes, curve: Json, index: int, count: int) -> Artist:
    """Draws one curve without its band; what it returns stands in the legend."""
    x, y, colour = curve["x"], curve["y"], SERIES[index % len(SERIES)]
    if curve["style"] == "bars":
        return axes.bar(_bar_positions(x, index, count), y, _bar_width(x, count), color=colour).patches[0]
    if curve["style"] == "points":
        return axes.plot(x, y, linestyle="none", marker=MARKERS[index % len(MARKERS)], color=colour)[0]
    dash = (0, (4, 2.5)) if curve["style"] == "dashed" else DASHES[index // len(SERIES) % len(DASHES)]
    return axes.plot(x, y, linestyle=dash, color=colour)[0]


def _bar_width(x: Sequence[float], count: int) -> float:
    ends = sorted(set(x))
    return 0.8 * min((b - a for a, b in pairwise(ends)), default=1.0) / count


def _bar_positions(x: Sequence[float], index: int, count: int) -> list[float]:
    return [value + (index - (count - 1) / 2) * _bar_width(x, count) for value in x]


def _bands(axes: Axes, curves: Sequence[Json], ylog: bool) -> None:
    """Bands around lines, whiskers on points and bars. An end that cannot be drawn runs to the axes' edge."""
    for curve in curves:
        ends = [(x, end) for name in ("low", "high") for x, end in zip(curve["x"], curve[name], strict=True)]
        if drawn := [(x, end) for x, end in ends if end is not None and _shown(end, ylog)]:
            axes.update_datalim(drawn)
    axes.autoscale_view()
    if axes.get_xscale() == "linear":
        axes.set_xlim(*_widened(*axes.get_xlim()))
    bottom, top = axes.get_ylim() if ylog else _widened(*axes.get_ylim())
    for index, curve in enumerate(curves):
        if not curve["low"] or curve["low"][0] is None:
            continue
        low = [end if _shown(end, ylog) else bottom for end in curve["low"]]
        high = [end if _shown(end, ylog) else top for end in curve["high"]]
        colour = SERIES[index % len(SERIES)]
        if curve["style"] in ("line", "dashed"):
            axes.fill_between(curve["x"], low, high, color=colour, alpha=0.18, linewidth=0)
        else:
            bars = curve["style"] == "bars"
            x = _bar_positions(curve["x"], index, len(curves)) if bars else curve["x"]
            axes.vlines(x, low, high, color=INK if bars else colour, linewidth=1)
    axes.set_ylim(bottom, top)


def _legend(figure: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    columns = 2 if max(len(label) for label in labels) < 24 else 1
    figure.set_figheight(HEIGHT + 0.17 * math.ceil(len(labels) / columns))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns)
