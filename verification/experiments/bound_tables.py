"""Theorem 4.6 in tables: when something first happens, and where the width of an interval comes from."""

from __future__ import annotations

from itertools import pairwise

from lpcb.spec import MAX_HORIZON
from verification.experiments.onset import EVENTS, onset
from verification.experiments.onset_runs import predicted, rounds, simulated
from verification.experiments.width_split import shares, split
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
    share = shares(HORIZONS[-1])
    part = {_line(name): _percent(value) for name, value in share.items()}
    rows = tuple(
        (name, *(f"{column[name]:.3g}" for column in columns), factors.get(name, ""), part.get(name, ""))
        for name in columns[0]
    )
    loudest, second = sorted((name for name in share if name != "sampling"), key=lambda n: -share[n])[:2]
    caption = (
        "d = 2, A = 2, 16 contexts, alpha = 1; mean width by source, each line with what it names and all "
        "splits above it. The factor is on the line before in the chain of sampling, confidence and "
        "constants, the share is of the mean variance of sampling and all four noises together (their "
        "variances add); both at the longer horizon. What to improve next: the constants first "
        f"({factors['printed constants']}), then the {loudest}'s noise ({_percent(share[loudest])} of that "
        f"variance; the {second}'s has {_percent(share[second])}, sampling {_percent(share['sampling'])}) "
        "and the confidence of 1 - 1/T^2 at every point; the union bound over bins "
        f"({factors['... for all bins (union bound)']}) and splitting by actions, batches and bins matter "
        "little"
    )
    header = ("source", *(f"T = {T:.0e}" for T in HORIZONS), "factor", "share of variance")
    return Table("Where the width comes from", caption, header, rows)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _line(source: str) -> str:
    """The line of the split that shows a source."""
    return "sampling, one fit per bin" if source == "sampling" else f"privacy noise of the {source}"


def _factors(column: dict[str, float]) -> list[tuple[str, str]]:
    """How much each step of a chain of widths adds; single noises are no steps."""
    chain = [name for name in column if not name.startswith("privacy noise")]
    return [(name, f"x {column[name] / column[before]:.3g}") for before, name in pairwise(chain)]
