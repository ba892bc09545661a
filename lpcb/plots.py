"""Plots of simulated runs: regret against rounds, with bands over seeds."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from lpcb.arrays import Array, Ints


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Cumulative regret of several seeds (rows) after ``rounds`` (columns)."""

    label: str
    rounds: Ints | Array
    regret: Array
    dashed: bool = False


def share_svg(curves: Sequence[RegretCurve], target: float, title: str) -> str:
    """Regret as a share of uniform play's against users: median over seeds, shaded from end to end."""
    with _style():
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.add_subplot(xscale="log")
        for curve in curves:
            middle = np.median(curve.regret, axis=0)
            (line,) = axes.plot(curve.rounds, middle, "--" if curve.dashed else "-", label=curve.label)
            low, high = curve.regret.min(axis=0), curve.regret.max(axis=0)
            axes.fill_between(curve.rounds, low, high, alpha=0.25, color=line.get_color(), linewidth=0)
            axes.plot(curve.rounds[-1], middle[-1], "o", color=line.get_color())
        axes.axhline(target, color="0.4", linestyle=":", label=f"target {target:g}")
        axes.set(xlabel="users", ylabel="regret so far / uniform play's", title=title, ylim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
        return _svg(figure)


def regret_svg(curves: Sequence[RegretCurve], title: str) -> str:
    """Log-log plot: median over seeds, shaded from the smallest to the largest. Reproducible text."""
    with _style():
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.add_subplot(xscale="log", yscale="log")
        for curve in curves:
            positive = np.maximum(curve.regret, 1e-3)
            (line,) = axes.plot(
                curve.rounds, np.median(positive, axis=0), "--" if curve.dashed else "-", label=curve.label
            )
            axes.fill_between(
                curve.rounds,
                positive.min(axis=0),
                positive.max(axis=0),
                alpha=0.25,
                color=line.get_color(),
                linewidth=0,
            )
        axes.set(xlabel="rounds", ylabel="cumulative regret (median, range over seeds)", title=title)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small" if len(curves) > 3 else None)
        return _svg(figure)


def _style() -> AbstractContextManager[None]:
    return mpl.rc_context({"svg.hashsalt": "lpcb", "svg.fonttype": "none"})


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
