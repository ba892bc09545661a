"""Theorem 4.6 in tables: when something first happens, and where the width of an interval comes from."""

from __future__ import annotations

from itertools import pairwise

from lpcb.spec import MAX_HORIZON
from verification.experiments.onset import EVENTS, onset
from verification.experiments.onset_runs import predicted, rounds, simulated
from verification.experiments.width_split import split
from verification.verdict import Table, Variant

ALPHAS = (0.1, 0.5, 1.0)
DIMENSIONS = (1, 2, 3)
HORIZONS = (10**8, 10**12)
DIFFERS = {
    "paper": "Printed thresholds are those of the repaired algorithm and intervals lack a margin of less "
    "than 1 %; noise does not enter. That is so where a bin is filled on every layer; where a deeper one is "
    "not, printed intervals shrink as soon as the first layer is active, and do not cover (thm-4.6-slope)",
    "repaired": "Repairs change noise, caps and a margin of less than 1 % of the width, not the thresholds",
}


def misses(variant: Variant, seed: int) -> int:
    """By how many epochs, at most, a run's event is away from the epoch that the formula names."""
    return max(
        abs(seen - named)
        for d in DIMENSIONS
        for alpha in ALPHAS
        for name, named in predicted(variant, d, alpha).items()
        for seen in simulated(variant, d, alpha, seed)[name]
    )


def reached(variant: Variant, seed: int) -> int:
    """Events that runs have reached; the others lie beyond the longest horizon."""
    every = [simulated(variant, d, alpha, seed) for d in DIMENSIONS for alpha in ALPHAS]
    return sum(min(epochs) > 0 for found in every for epochs in found.values())


def onset_table(variant: Variant, seed: int) -> Table:
    rows = []
    for d in DIMENSIONS:
        for alpha in ALPHAS:
            formula, seen = onset(d, alpha, variant=variant), simulated(variant, d, alpha, seed)
            cells = [f"{d}", f"{alpha:g}"]
            for name in EVENTS:
                epoch = seen[name][0]
                run = f"{rounds(variant, d, alpha, epoch):.2g}" if epoch else "not reached"
                cells.append(f"{formula[name]:.2g}; {run}")
            rows.append((*cells, f"{formula['bound below 2T']:.2g}"))
    caption = (
        "Two actions with gap 1 whose users share a bin on every layer, printed constants. First the horizon "
        "by formula (right up to a factor of 2: epochs double), then the rounds played when it happened in "
        f"a run with horizon {MAX_HORIZON:.2g}, whose logarithms are larger; beyond that only formulas "
        f"speak, and so they do for the bound. {DIFFERS[variant]}."
    )
    header = ("d", "alpha", *(f"{name}: formula; run" for name in EVENTS), "bound below 2T")
    return Table("When something happens", caption, header, tuple(rows))


def width_table() -> Table:
    columns = [split(T) for T in HORIZONS]
    factors = dict(_factors(columns[-1]))
    rows = tuple(
        (name, *(f"{column[name]:.3g}" for column in columns), factors.get(name, "")) for name in columns[0]
    )
    last = columns[-1]
    noise = {n: v for n, v in last.items() if n.startswith("privacy noise")}
    loudest = max(noise, key=lambda name: noise[name]).removeprefix("privacy noise of the ")
    share = noise[f"privacy noise of the {loudest}"] / last["sampling and privacy"]
    caption = (
        "d = 2, A = 2, 16 contexts, alpha = 1; mean width by source, each line with what it names and all "
        "splits above it; the last column is the factor on the line before, at the longer horizon. What to "
        f"improve next: the constants first ({factors['printed constants']}), then the {loudest}'s noise "
        f"({share:.0%} of what sampling and privacy cost together) and the confidence of 1 - 1/T^2 at every "
        f"point; the union bound over bins ({factors['... for all bins (union bound)']}) and splitting by "
        "actions, batches and bins matter little"
    )
    header = ("source", *(f"T = {T:.0e}" for T in HORIZONS), "factor")
    return Table("Where the width comes from", caption, header, rows)


def _factors(column: dict[str, float]) -> list[tuple[str, str]]:
    """How much each step of a chain of widths adds; single noises are no steps."""
    chain = [name for name in column if not name.startswith("privacy noise")]
    return [(name, f"x {column[name] / column[before]:.3g}") for before, name in pairwise(chain)]
