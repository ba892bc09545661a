"""Plots of simulated runs: regret against rounds, with bands over seeds."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lpcb.arrays import Array, Ints
from lpcb.boundary import Range, check_fields, checked, numbers_of, short


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Cumulative regret of several seeds (rows) after ``rounds`` (columns)."""

    label: str
    rounds: Ints | Array
    regret: Array
    dashed: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "rounds", _rising(self.rounds))
        if not self.label.strip() or self.label.startswith("_"):
            raise ValueError(f"label is text that a legend shows, not {self.label!r}")
        shape = np.shape(self.regret)
        if len(shape) != 2 or shape[0] == 0 or shape[1] != len(self.rounds):
            raise ValueError(f"regret has shape (seeds, {len(self.rounds)}), a column a round, not {shape}")
        if not np.isfinite(self.regret).all():
            raise ValueError("regret holds finite numbers")


def _rising(rounds: Ints | Array) -> Ints | Array:
    numbers = numbers_of("rounds", rounds, copy=False)
    if numbers.ndim != 1 or not len(numbers) or not ((numbers > 0) & (numbers < np.inf)).all():
        raise ValueError(f"rounds are positive numbers in a row, at least one, not {short(rounds)}")
    if not (np.diff(numbers) >= 0).all():
        raise ValueError(f"rounds do not decrease, as in {short(rounds)}")
    return rounds if isinstance(rounds, np.ndarray) else numbers


def _check_curves(curves: Sequence[RegretCurve], least: int) -> None:
    if not isinstance(curves, list | tuple) or len(curves) < least:
        raise ValueError(f"curves is a list of at least {least} RegretCurve, not {short(curves)}")
    for curve in curves:
        if not isinstance(curve, RegretCurve):
            raise ValueError(f"curves holds RegretCurves, not {short(curve)}")


def _plain(text: str) -> str:
    """``text`` as it stands: dollars start no formula, and what XML cannot hold is replaced."""
    shown = (sign if sign.isprintable() or sign == "\n" else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return "".join(shown).replace("$", r"\$")


@checked
def share_svg(curves: Sequence[RegretCurve], target: Annotated[float, Range(0, 1)], title: str) -> str:
    """Regret as a share of uniform play's against users: median over seeds, shaded from end to end."""
    _check_curves(curves, 0)
    with _style():
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.add_subplot(xscale="log")
        for curve in curves:
            middle = np.median(curve.regret, axis=0)
            (line,) = axes.plot(
                curve.rounds, middle, "--" if curve.dashed else "-", label=_plain(curve.label)
            )
            low, high = curve.regret.min(axis=0), curve.regret.max(axis=0)
            axes.fill_between(curve.rounds, low, high, alpha=0.25, color=line.get_color(), linewidth=0)
            axes.plot(curve.rounds[-1], middle[-1], "o", color=line.get_color())
        axes.axhline(target, color="0.4", linestyle=":", label=f"target {target:g}")
        axes.set(xlabel="users", ylabel="regret so far / uniform play's", title=_plain(title), ylim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
        return _svg(figure)


GUIDES = ((1.0, "T"), (0.75, "T^3/4"), (0.5, "T^1/2"))
DECADES = 2.0
"""Exponents in the legend are fitted over so many of the last decades."""
COLOURS = (
    *("#1b6ca8", "#d1495b", "#2e933c", "#7a7a7a", "#8a5a00", "#e39b00"),
    *("#6a4c93", "#00798c", "#66a5ad", "#b5179e", "#222222"),
)
MARKERS = "osD^v<>phd8"


@checked
def last_exponent(rounds: Ints | Array, regret: Array) -> float | None:
    """Slope of ln regret in ln rounds over the last :data:`DECADES`; None where there is too little to fit.

    >>> t = 10.0 ** np.arange(1, 7)
    >>> round(last_exponent(t, 3 * t**0.75), 6)
    0.75
    """
    rounds = _rising(rounds)
    if np.shape(regret) != rounds.shape or not np.isfinite(regret).all():
        raise ValueError(f"regret is a finite number for each of the rounds, not {short(regret)}")
    late = (rounds >= rounds[-1] / 10**DECADES * (1 - 1e-9)) & (regret > 0)
    x, y = np.log(np.asarray(rounds, dtype=np.float64)[late]), np.log(regret[late])
    if len(np.unique(x)) < 3:
        return None
    return float(np.cov(x, y)[0, 1] / np.var(x, ddof=1))


@checked
def regret_svg(curves: Sequence[RegretCurve], title: str) -> str:
    """Log-log plot: median over seeds, shaded from the smallest to the largest. Reproducible text."""
    _check_curves(curves, 1)
    with _style():
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.add_subplot(xscale="log", yscale="log")
        for curve in curves:
            _draw(axes, curve, 1e-3, label=_plain(curve.label))
        axes.set(xlabel="rounds", ylabel="cumulative regret (median, range over seeds)", title=_plain(title))
        axes.grid(alpha=0.3)
        axes.legend()
        return _svg(figure)


@checked
def comparison_svg(curves: Sequence[RegretCurve], title: str) -> str:
    """:func:`regret_svg` for many curves, with thin guides of slope 1/2, 3/4 and 1 and fitted exponents.

    Curves that lie on each other stay visible: later ones are thinner, and markers, above all lines, stand at
    different rounds.
    """
    _check_curves(curves, 1)
    with _style():
        figure = Figure(figsize=(10, 5.2), layout="constrained")
        axes = figure.add_subplot(xscale="log", yscale="log")
        many, floor, span = len(curves), _floor(curves), _span(curves)
        handles = []
        for i, curve in enumerate(curves):
            exponent = last_exponent(curve.rounds, np.median(curve.regret, axis=0))
            label = _plain(curve.label) + (
                ", none" if exponent is None else f"  {round(exponent, 2) + 0.0:.2f}"
            )
            colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
            thick = 4.0 - 2.6 * i / max(1, many - 1)
            line = _draw(axes, curve, floor, color=colour, linewidth=thick, zorder=2 + i / many)
            look: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "markersize": 7,
                "markeredgecolor": "white",
            }
            axes.plot(*_marks(curve, floor, span, (i + 0.5) / many), linestyle="", zorder=4, **look)
            shown: dict[str, Any] = {"linestyle": line.get_linestyle(), "linewidth": thick, "label": label}
            handles.append(Line2D([], [], **look, **shown))
        axes.set(xlabel="rounds", ylabel="cumulative regret (median, range over seeds)", title=_plain(title))
        axes.grid(alpha=0.2)
        _guides(axes, curves, floor, span)
        for name, dashed, place in (("private", False, "upper"), ("not private", True, "lower")):
            of = [h for h, c in zip(handles, curves, strict=True) if c.dashed is dashed]
            _legend(figure, of, f"{name}, exponent*", f"outside right {place}")
        figure.supxlabel(
            f"* slope of the median over the last {DECADES:g} decades; dotted guides: T, T^3/4, T^1/2",
            fontsize="small",
            color="0.35",
        )
        return _svg(figure)


def _draw(axes: Axes, curve: RegretCurve, floor: float, **look: Any) -> Line2D:
    """Median and range over seeds; what is below ``floor``, zero for one, is drawn there."""
    shown = np.maximum(curve.regret, floor)
    style = "--" if curve.dashed else "-"
    (line,) = axes.plot(curve.rounds, np.median(shown, axis=0), style, **look)
    low, high = shown.min(axis=0), shown.max(axis=0)
    axes.fill_between(curve.rounds, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
    return line


def _floor(curves: Sequence[RegretCurve]) -> float:
    """A little below the smallest median that is not zero."""
    medians = np.concatenate([np.median(curve.regret, axis=0) for curve in curves])
    return float(medians[medians > 0].min() / 3) if (medians > 0).any() else 1e-3


def _span(curves: Sequence[RegretCurve]) -> tuple[float, float]:
    """First and last rounds of all curves."""
    return float(min(c.rounds[0] for c in curves)), float(max(c.rounds[-1] for c in curves))


def _marks(curve: RegretCurve, floor: float, span: tuple[float, float], share: float) -> tuple[Array, Array]:
    """Three points of a curve at most; ``share`` in (0, 1) keeps them between those of other curves."""
    x = np.log(np.asarray(curve.rounds, dtype=np.float64))
    y = np.log(np.maximum(np.median(curve.regret, axis=0), floor))
    first, last = np.log(span)
    place = first + (last - first) * (np.arange(3) + share) / 3
    place = place[(place >= x[0]) & (place <= x[-1])]
    return np.exp(place), np.exp(np.interp(place, x, y))


def _guides(axes: Axes, curves: Sequence[RegretCurve], floor: float, span: tuple[float, float]) -> None:
    """Thin lines of slope 1/2, 3/4 and 1 from where the line that ends highest would begin."""
    first, last = span
    top = max(float(np.median(curve.regret[:, -1])) for curve in curves) or 1.0
    height = top * first / last
    for slope, name in GUIDES:
        end = height * (last / first) ** slope
        axes.plot([first, last], [height, end], ":", color="0.5", linewidth=0.9, zorder=1.5)
        axes.text(last, end, f" {name}", va="center", color="0.4", fontsize="small")
    axes.set_xlim(first / 1.5, last * (last / first) ** 0.1)
    axes.set_ylim(floor, top * (top / floor) ** 0.04)


def _legend(figure: Figure, handles: Sequence[Line2D], title: str, place: Any) -> None:
    if handles:
        legend = figure.legend(
            handles=handles, title=title, loc=place, fontsize="small", handlelength=4, alignment="left"
        )
        legend.set_frame_on(False)


def _style() -> AbstractContextManager[None]:
    return mpl.rc_context({"svg.hashsalt": "lpcb", "svg.fonttype": "none"})


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
