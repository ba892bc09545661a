"""The full regret figure as SVG and as Markdown tables, from the curves of a regret study."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from verification.evidence.scaling import Slope, local_slopes, slope
from verification.experiments.bound_tables import onset_table, width_table
from verification.experiments.overtaking import FACTORS, SLOW, overtakes
from verification.verdict import Table

Json = dict[str, Any]
LEVEL = 1e-9
STYLES = {"paper": ":", "repaired": "-", "baseline": "--"}
TITLES = {"paper": "as printed", "repaired": "repaired", "baseline": "baseline"}


def label(curve: Json) -> str:
    """A curve's name; the algorithm's own say which variant they are."""
    name = str(curve["name"])
    return name if curve["group"] == "baseline" else f"{TITLES[curve['group']]}, {name}"


def fitted(curve: Json) -> Slope:
    return slope(curve["horizon"], np.array(curve["regret"]), LEVEL, shared=False)


def svg(curves: list[Json]) -> str:
    """Log-log: mean over seeds, shaded from the smallest to the largest; exponents in the legend."""
    with mpl.rc_context({"svg.hashsalt": "lpcb", "svg.fonttype": "none"}):
        figure = Figure(figsize=(11, 7), layout="constrained")
        axes = figure.add_subplot(xscale="log", yscale="log")
        colours = mpl.colormaps["tab20"].colors  # type: ignore[attr-defined]
        for index, curve in enumerate(curves):
            T, regret, colour = curve["horizon"], np.array(curve["regret"]), colours[index % 20]
            text = f"{label(curve)}: {fitted(curve).value:.3f}"
            axes.plot(T, regret.mean(axis=0), STYLES[curve["group"]], marker=".", color=colour, label=text)
            if (regret > 0).all():  # a seed without regret has no place on a logarithmic scale
                low, high = regret.min(axis=0), regret.max(axis=0)
                axes.fill_between(T, low, high, alpha=0.2, color=colour, linewidth=0)
        axes.set(xlabel="T", ylabel="worst-case regret", title="Worst-case regret against T, with exponents")
        axes.grid(alpha=0.3)
        figure.legend(loc="outside right upper", fontsize="small")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def exponent_table(curves: list[Json]) -> Table:
    rows = []
    for curve in curves:
        fit, T = fitted(curve), np.array(curve["horizon"])
        steps = local_slopes(T, np.array(curve["regret"]), LEVEL, shared=False)
        inside = "no grid" if "interior" not in curve else "yes" if all(curve["interior"]) else "no"
        expected = f"{curve.get('expected', 0.5):g}"
        if curve["group"] != "baseline" and not curve["name"].endswith("lost"):
            expected += " and logarithms"
        rows.append(
            (
                label(curve),
                f"{T.min():.1e} to {T.max():.1e}",
                f"{fit.value:.3f}",
                f"[{fit.interval[0]:.3f}, {fit.interval[1]:.3f}]",
                expected,
                ", ".join(f"{step.value:.2f}" for step in steps),
                inside,
                str(curve.get("why", "")),
            )
        )
    header = (
        "algorithm",
        "T",
        "exponent",
        "interval",
        "expected",
        "local slopes",
        "worst inside grid",
        "note",
    )
    caption = (
        "Straight lines through ln(mean regret) at the worst instance of each T, intervals at level 1e-9"
    )
    return Table("Exponents", caption, header, tuple(rows))


def levels_table(curves: list[Json]) -> Table:
    """Simulated against predicted regret where bins grow with ln T."""
    rows = []
    for curve in curves:
        expected = np.array(curve.get("predicted", [0.0]))
        if not expected.all():
            continue
        T, mean = np.array(curve["horizon"]), np.array(curve["regret"]).mean(axis=0)
        seen, said = (np.diff(np.log(v)) / np.diff(np.log(T)) for v in (mean, expected))
        for j, horizon in enumerate(T):
            slopes = ("", "") if j == 0 else (f"{seen[j - 1]:.3f}", f"{said[j - 1]:.3f}")
            ratio = f"{mean[j] / expected[j]:.3f}"
            rows.append(
                (curve["name"], f"{horizon:.1e}", f"{mean[j]:.3e}", f"{expected[j]:.3e}", ratio, *slopes)
            )
    header = ("instances", "T", "simulated", "predicted", "ratio", "local slope", "predicted slope")
    caption = (
        "Regret by a formula in which nothing is fitted, of order sqrt(T) ln(T)^(d+1); levels start at one "
        "when learning starts, so local slopes fall towards 1/2 from above"
    )
    return Table("Bins that grow with ln T", caption, header, tuple(rows))


def overtaking_table(curves: list[Json]) -> Table:
    rows = []
    for curve in curves:
        if curve["name"] in SLOW:
            T, regret = np.array(curve["horizon"]), np.array(curve["regret"])
            found = [f"{overtakes(T, regret, width):.1e}" for width in FACTORS.values()]
            rows.append((str(curve["name"]), *found))
    header = ("baseline", *(f"{name} constants" for name in FACTORS))
    caption = (
        "T from which the repaired algorithm has less worst-case regret on F(s), d = 2, alpha = 1: width "
        "formula against the baseline continued as T^(3/4); an extrapolation beyond 4.6e18"
    )
    return Table("Overtaking", caption, header, tuple(rows))


def markdown(curves: list[Json]) -> str:
    tables = [exponent_table(curves), levels_table(curves), overtaking_table(curves)]
    onsets = [("as printed", onset_table("paper", 0)), ("repaired", onset_table("repaired", 0))]
    parts = [
        "# Worst-case regret of all algorithms",
        "Made by `python -m verification.regret_study --out reports`; `regret.json` has every seed's regret. "
        "The worst instance at each T is searched in families that scale with T, and other seeds are run on "
        "it. Baselines are run on F(s): streamed user by user to T = 1e6, beyond in forms that change their "
        "policy rarely.",
        "![Worst-case regret against T](regret.svg)",
        *(_markdown(table) for table in tables),
        *(_markdown(table, f", {variant}") for variant, table in onsets),
        _markdown(width_table()),
    ]
    return "\n\n".join(parts) + "\n"


def _markdown(table: Table, suffix: str = "") -> str:
    lines = [f"## {table.title}{suffix}", "", f"{table.caption.rstrip('.')}.", ""]
    lines += [f"| {' | '.join(table.header)} |", "|" + "---|" * len(table.header)]
    lines += [f"| {' | '.join(row)} |" for row in table.rows]
    return "\n".join(lines)
