"""The full regret figure as SVG and as Markdown tables, from the curves of a regret study."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from lpcb.arrays import Array
from verification.evidence.scaling import FEWEST, Slope, local_slopes, slope, slope_any_x
from verification.experiments.baseline_bend import bend_table
from verification.experiments.baseline_evidence import ELSEWHERE
from verification.experiments.bound_tables import onset_table, width_table
from verification.experiments.far_levels import ELSE, far_table
from verification.experiments.overtaking import FACTORS, SLOW, overtakes, overtakes_simulated
from verification.experiments.whole_envelope import theorem_logs
from verification.verdict import Table

Json = dict[str, Any]
LEVEL = 1e-9
STYLES = {"paper": ":", "repaired": "-", "baseline": "--"}
MARKERS = "osD^vP"
BESIDE = "d=2 scaled"
"""The algorithm's curve that baselines are shown with: F(s) and lines, a fixed number of bins."""
DESCRIPTION = (
    "Two panels of straight lines on logarithmic axes. Left: the algorithm as printed and repaired. Right: "
    "baselines. The table of exponents has the numbers."
)
BEND = ("horizon", "size", "regret")
TITLES = {"paper": "as printed", "repaired": "repaired", "baseline": "baseline"}


def label(curve: Json) -> str:
    """A curve's name; the algorithm's own say which variant they are."""
    name = str(curve["name"])
    return name if curve["group"] == "baseline" else f"{TITLES[curve['group']]}, {name}"


def fitted(curve: Json, divided: Array | float = 1.0) -> Slope:
    """The exponent once ``divided`` is taken out; the interval covers any one horizon left out, if it can."""
    fit = slope_any_x if len(curve["horizon"]) >= FEWEST else slope
    return fit(curve["horizon"], np.array(curve["regret"]) / divided, LEVEL, shared=False)


def dimension(curve: Json) -> int:
    """Of the instances: in the name of the algorithm's own curves, 2 for baselines on F(s)."""
    name = str(curve["name"])
    return int(name[2]) if name.startswith("d=") else 2


def with_whole(curves: list[Json]) -> list[Json]:
    """The curves, and after the algorithm's own the worst of all families of a dimension at each common T."""
    own = [c for c in curves if c["group"] == "repaired" and " scaled" in c["name"]]
    wholes = []
    for d in sorted({dimension(c) for c in own if np.any(c.get("predicted", 0))}):
        same = [c for c in own if dimension(c) == d]
        common = sorted(set.intersection(*(set(c["horizon"]) for c in same)))
        if len(same) > 1 and len(common) > 1:
            wholes.append(_worst_of(f"d={d} scaled, whole envelope", same, common))
    last = max((j for j, c in enumerate(curves) if c["group"] in ("paper", "repaired")), default=-1) + 1
    return curves[:last] + wholes + curves[last:]


def with_elsewhere(curves: list[Json]) -> list[Json]:
    """Baselines at the worst of F(s) and of all other families that they were run on, where there are any."""
    found = []
    for curve in curves:
        others = [c for c in curves if c["group"] == "elsewhere" and c["name"] == curve["name"]]
        if curve["group"] == "baseline" and others:
            worst = _worst_of(curve["name"], [curve, *others], curve["horizon"])
            curve = curve | {key: worst[key] for key in ("regret", "interior")}
        if curve["group"] not in ("elsewhere", "bend"):
            found.append(curve)
    return found


def _worst_of(name: str, curves: list[Json], horizons: list[float]) -> Json:
    columns, inside = [], []
    for T in horizons:
        at = [(c, c["horizon"].index(T)) for c in curves]
        curve, j = max(at, key=lambda one: float(np.array(one[0]["regret"])[:, one[1]].mean()))
        columns.append(np.array(curve["regret"])[:, j])
        inside.append(curve["interior"][j])
    regret = np.stack(columns, axis=1).tolist()
    return {"group": "repaired", "name": name, "horizon": horizons, "regret": regret, "interior": inside}


def svg(curves: list[Json]) -> str:
    """Log-log, the algorithm on the left, baselines on the right beside one curve of the algorithm.

    Mean over seeds, shaded from the smallest to the largest; exponents in the legend.
    """
    curves = with_elsewhere(curves)
    ours = [curve for curve in curves if curve["group"] != "baseline"]
    beside = [curve for curve in ours if curve["name"] == BESIDE]
    others = [curve for curve in curves if curve["group"] == "baseline"]
    with mpl.rc_context({"svg.hashsalt": "lpcb", "svg.fonttype": "none"}):
        figure = Figure(figsize=(13, 9), layout="constrained")
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, title, shown in ((left, "The algorithm", ours), (right, "Baselines", others + beside)):
            _draw(axes, shown)
            axes.set(xscale="log", yscale="log", xlabel="rounds T", title=title)
            axes.grid(alpha=0.3)
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), fontsize="small")
        left.set_ylabel("worst-case regret")
        figure.suptitle("Worst-case regret against T, with fitted exponents")
        out = io.StringIO()
        metadata = {"Date": None, "Title": "Worst-case regret against T", "Description": DESCRIPTION}
        figure.savefig(out, format="svg", metadata=metadata)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _draw(axes: Any, curves: list[Json]) -> None:
    colours = mpl.colormaps["tab10"].colors  # type: ignore[attr-defined]
    for index, curve in enumerate(curves):
        T, regret, colour = curve["horizon"], np.array(curve["regret"]), colours[index % 10]
        text = f"{label(curve)}: {fitted(curve).value:.3f}"
        marker = MARKERS[index % len(MARKERS)]
        style = STYLES[curve["group"]]
        axes.plot(T, regret.mean(axis=0), style, marker=marker, ms=5, color=colour, label=text)
        if (regret > 0).all():  # a seed without regret has no place on a logarithmic scale
            low, high = regret.min(axis=0), regret.max(axis=0)
            axes.fill_between(T, low, high, alpha=0.2, color=colour, linewidth=0)


def exponent_table(curves: list[Json]) -> Table:
    rows = []
    for curve in with_whole(curves):
        T, d = np.array(curve["horizon"]), dimension(curve)
        fit = fitted(curve)
        divided = [fitted(curve, np.log(T)).value, fitted(curve, theorem_logs(d, T)).value]
        steps = local_slopes(T, np.array(curve["regret"]), LEVEL, shared=False)
        inside = "no grid" if "interior" not in curve else "yes" if all(curve["interior"]) else "no"
        expected = f"{curve.get('expected', 0.5):g}"
        ours = curve["group"] != "baseline" and not curve["name"].endswith("lost")
        rows.append(
            (
                label(curve),
                f"{T.min():.1e} to {T.max():.1e}",
                f"{fit.value:.3f}",
                f"[{fit.interval[0]:.3f}, {fit.interval[1]:.3f}]",
                f"{expected} and logarithms" if ours else expected,
                *(f"{value:.3f}" if ours else "" for value in divided),
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
        "ln T divided out",
        "ln^(d+1) T divided out",
        "local slopes",
        "worst inside grid",
        "note",
    )
    caption = (
        "Straight lines through ln(mean regret) at the worst instance of each T. Intervals cover chance over "
        "seeds at level 1e-9 and any one horizon left out. Theorem 4.6's logarithms, ln^(d+1) T, are "
        "taken as (ln T)^d ln(48dT ln T). Curves without levels have a fixed number of bins; the whole "
        "envelope is the worst of all scaled families of a dimension"
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


def elsewhere_table(curves: list[Json]) -> Table:
    """Each baseline on the other families, beside F(s)."""
    others = [c for c in curves if c["group"] == "elsewhere"]
    places = list(dict.fromkeys(str(c["place"]) for c in others))
    rows = []
    for name in dict.fromkeys(str(c["name"]) for c in others):
        (on_f,) = (c for c in curves if c["group"] == "baseline" and c["name"] == name)
        shares = {c["place"]: float((_mean(c) / _mean(on_f)).max()) for c in others if c["name"] == name}
        rows.append((name, *(f"{shares[place]:.2g}" for place in places)))
    return Table("Baselines elsewhere", ELSEWHERE, ("baseline", *places), tuple(rows))


def overtaking_table(curves: list[Json]) -> Table:
    whole = [c for c in with_whole(curves) if c["name"] == "d=2 scaled, whole envelope"]
    worst = {c["name"]: c for c in with_elsewhere(curves) if c["group"] == "baseline"}
    rows = []
    for curve in curves:
        if curve["group"] == "baseline" and curve["name"] in SLOW:
            T, regret = np.array(curve["horizon"]), np.array(curve["regret"])
            found = [f"{overtakes(T, regret, width):.1e}" for width in FACTORS.values()]
            theirs = (T, _mean(worst[curve["name"]]))
            seen = [overtakes_simulated((np.array(c["horizon"]), _mean(c)), theirs) for c in whole]
            rows.append((str(curve["name"]), *found, *(f"{where:.1e}" for where in seen)))
    header = ("baseline", *(f"{name} constants, F(s) by formula" for name in FACTORS))
    header += ("scaled constants, whole envelopes simulated",) * len(whole)
    caption = (
        "T from which the repaired algorithm has less worst-case regret, d = 2, alpha = 1. By formula: "
        "both on F(s), the width formula against the baseline continued as T^(3/4); an extrapolation "
        "beyond 4.6e18. Simulated: the worst of all families for either, both interpolated, in the range "
        "that both cover"
    )
    return Table("Overtaking", caption, header, tuple(rows))


def _mean(curve: Json) -> Array:
    return np.asarray(np.array(curve["regret"]).mean(axis=0))


def markdown(curves: list[Json]) -> str:
    tables = [
        exponent_table(with_elsewhere(curves)),
        elsewhere_table(curves),
        levels_table(curves),
        far_table(),
        overtaking_table(curves),
        *(bend_table({key: np.array(c[key]) for key in BEND}) for c in curves if c["group"] == "bend"),
    ]
    onsets = [("as printed", onset_table("paper", 0)), ("repaired", onset_table("repaired", 0))]
    parts = [
        "# Worst-case regret of all algorithms",
        "Made by `python -m verification.regret_study --out reports`; `regret.json` has every seed's regret. "
        "The worst instance at each T is searched in families that scale with T, and other seeds are run on "
        "it. Baselines are streamed user by user to T = 1e6, on F(s); beyond they are run in forms that "
        "change their policy rarely, on F(s) and on all other families of d = 2.",
        "![Worst-case regret against T](regret.svg)",
        _markdown(tables[0]),
        f"## What else is going on\n\n{ELSE}.",
        *(_markdown(table) for table in tables[1:]),
        *(_markdown(table, f", {variant}") for variant, table in onsets),
        _markdown(width_table()),
    ]
    return "\n\n".join(parts) + "\n"


def _markdown(table: Table, suffix: str = "") -> str:
    lines = [f"## {table.title}{suffix}", "", f"{table.caption.rstrip('.')}.", ""]
    lines += [f"| {' | '.join(table.header)} |", "|" + "---|" * len(table.header)]
    lines += [f"| {' | '.join(row)} |" for row in table.rows]
    return "\n".join(lines)
