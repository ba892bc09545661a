"""Plots of simulated runs: regret against rounds, with bands over seeds."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from lpcb.arrays import Array, Ints


@dataclass(frozen=True, eq=False)
class RegretCurve:
    """Cumulative regret of several seeds (rows) after ``rounds`` (columns)."""

    label: str
    rounds: Ints
    regret: Array
    dashed: bool = False


def regret_svg(curves: Sequence[RegretCurve], title: str) -> str:
    """Log-log plot: median over seeds, shaded from the smallest to the largest. Reproducible text."""
    with mpl.rc_context({"svg.hashsalt": "lpcb", "svg.fonttype": "none"}):
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
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
