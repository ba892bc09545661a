"""What a user would run instead: exponents of the baselines, and when the algorithm overtakes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lpcb.arrays import Array
from verification.claim import Context
from verification.evidence.scaling import slope, slope_detectable
from verification.experiments.baseline_bend import BASELINE_BEND, bend_table
from verification.experiments.baseline_envelopes import BASELINE_ENVELOPES, BaselineGrid, baseline_grids
from verification.experiments.baseline_wholes import BASELINE_WHOLES, column, elsewhere
from verification.experiments.envelopes import ENVELOPES, band, cases, columns
from verification.experiments.overtaking import FACTORS, SLOW, overtakes, overtakes_simulated
from verification.experiments.whole_envelope import Part, whole_envelopes, worst_of
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure, Table

BELOW, ABOVE = 0.05, 0.08
"""An exponent is what theory says if its interval lies within this of it; as for the algorithm itself."""

ELSEWHERE = (
    "Worst regret on each family over worst regret on F(s), the largest ratio over all T, d = 2; below 1 "
    "F(s) is the harder. Reversed families have the best action at the shorter features, which optimism "
    "does not prefer; where it does, nothing is lost"
)


def baselines(context: Context) -> Finding:
    """Each baseline at its own worst instance, its exponent against theory's; and where it is overtaken."""
    data, grids = context.result(BASELINE_ENVELOPES), baseline_grids(context.setting)
    rest, (names, places) = context.result(BASELINE_WHOLES), elsewhere(context.setting)
    wholes = whole_envelopes(context.result(ENVELOPES), cases(context.setting))
    ours = [(whole.horizon, whole.regret.mean(axis=0)) for whole in wholes if whole.d == 2]
    evidence, measures, curves, rows = [], {}, [], []
    for grid in grids:
        T, on_f, more = columns(data, grid.key)
        parts: dict[str, Part] = {"F(s)": (T, on_f, more)}
        if grid.key in names:
            parts |= {place: columns(rest, column(grid.key, place)) for place in places}
            rows.append((grid.key, *(_share(parts, place) for place in places)))
        regret, inside, where = worst_of(T, parts)
        found = _exponent(grid, T, regret, inside, where, FALSE_ALARM / len(grids))
        evidence.append(found)
        measures[f"exponent, {grid.key}"] = Measure(found.value, found.interval, "", found.note)
        curves.append(band(grid.key, T, regret))
        if grid.key in SLOW:
            measures |= _overtaking(grid.key, T, on_f, regret, ours)
    caption = "Worst instance for each baseline at each T; user by user to T = 1e6, in aggregate beyond."
    figure = Figure("Baselines", caption, "T", "regret", tuple(curves), xlog=True, ylog=True)
    bend = context.result(BASELINE_BEND)
    tables = ((_table(places, rows),) if rows else ()) + ((bend_table(bend),) if bend else ())
    return Finding(tuple(evidence), measures, (figure,), tables)


def _share(parts: Mapping[str, Part], place: str) -> str:
    """Worst regret there over that on F(s), the largest over all T."""
    (_, here, _), (_, on_f, _) = parts[place], parts["F(s)"]
    return f"{float((here.mean(axis=0) / on_f.mean(axis=0)).max()):.2g}"


def _table(places: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table("Baselines elsewhere", ELSEWHERE, ("baseline", *places), tuple(rows))


def _overtaking(
    key: str, T: Array, on_f: Array, regret: Array, ours: Sequence[tuple[Array, Array]]
) -> dict[str, Measure]:
    found = {}
    for name, width in FACTORS.items():
        where = overtakes(T, on_f, width)
        note = "d = 2, a fixed number of bins; width formula against the baseline's T^(3/4) on F(s)"
        found[f"overtakes {key}, {name} constants"] = Measure(where, (where, where), "rounds", note)
    for our in ours:
        where = overtakes_simulated(our, (T, regret.mean(axis=0)))
        note = "d = 2, scaled constants: both simulated, each the worst of all families at each T"
        found[f"overtakes {key}, simulated"] = Measure(where, (where, where), "rounds", note)
    return found


def _exponent(
    grid: BaselineGrid, T: Array, regret: Array, inside: bool, where: Sequence[str], level: float
) -> Evidence:
    fit = slope(T, regret, level, shared=False)
    low, high = grid.expected - BELOW, grid.expected + ABOVE
    shown = inside and low <= fit.interval[0] and fit.interval[1] <= high
    edge = "" if inside else "; the maximum is on the edge of the grid: not its worst case"
    return Evidence(
        check=f"exponent of {grid.key}",
        grade="fitted",
        role="supports",
        scope=f"worst of {', '.join(dict.fromkeys(where))}, T = {T.min():.2g} to {T.max():.2g}",
        verdict="HOLDS" if shown else "UNDECIDED",
        value=fit.value,
        bound=high,
        interval=fit.interval,
        false_alarm=level,
        detectable=slope_detectable(fit),
        samples=fit.seeds,
        note=f"expected {grid.expected:g}{'; ' if grid.why else ''}{grid.why}{edge}",
    )
