"""The constants of the paper: as printed, needed and sharp, from the report's own measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from verification.report.quantities import interval, number


@dataclass(frozen=True)
class Constant:
    """A printed constant, and the measure of a claim that says what is true of it.

    "needed" is what suffices or is wanted in its place, "sharp" what cannot be improved on.
    """

    what: str
    printed: str
    kind: Literal["needed", "sharp"]
    claim: str
    measure: str


CONSTANTS = (
    Constant(
        r"$C$ in KL $\le C\alpha^3\|\mu\|_1^3$ (Lemma A.1)",
        "16.7",
        "sharp",
        "lemma-A.1",
        "sharp constant of KL",
    ),
    Constant(
        r"$C$ in $\chi^2 \le C\alpha^3\|\mu\|_1^3$ (Lemma A.1)",
        "16.7",
        "sharp",
        "lemma-A.1",
        "sharp constant of chi-square",
    ),
    Constant(
        r"contraction at $\alpha = 1$, printed $\min\{4, e^{2\alpha}\}$ (Theorem 2.1)",
        "4",
        "needed",
        "thm-2.1-contraction",
        "constant in place of min{4, e^2a}",
    ),
    Constant(
        r"contraction at $\alpha = 1$, as a function of $\alpha$ (Theorem 2.1)",
        "4",
        "sharp",
        "thm-2.1-contraction",
        "sharp constant at alpha = 1",
    ),
    Constant(
        r"largest $c$ of the construction (Theorem 2.2)",
        "0.07",
        "needed",
        "thm-2.2-constants",
        "largest c, K = 1/6, true laws",
    ),
    Constant(
        r"$\kappa_1$ in units of $d\,\alpha^{-1}\ln(48d/\beta\delta)$ (Lemma 4.3)",
        "43/d",
        "needed",
        "lemma-4.3-steps",
        "needed kappa_1",
    ),
    Constant(
        r"$C$ of the simplified recursion (after Lemma 4.4)",
        "below 10⁴",
        "sharp",
        "lemma-4.4-remark",
        "sharp constant",
    ),
    *(
        Constant(
            rf"factor on $\kappa_2$ and $\kappa_3$, $d = {d}$ (Lemma 4.5)",
            "1",
            "needed",
            "lemma-4.5-coverage",
            f"needed width, d = {d}, alpha = 1, activation 1",
        )
        for d in (1, 2, 3, 4)
    ),
    Constant(
        r"$C$ at $d = 1$, largest over $T$ (Theorem 4.6)", "finite", "needed", "thm-4.6-bound", "C, d = 1"
    ),
)


@dataclass(frozen=True)
class Line:
    """One line of the table, with the measure that was found."""

    constant: Constant
    found: Mapping[str, Any]

    def cell(self, kind: str) -> str:
        """Four digits, and the interval where they do not say it all."""
        if kind != self.constant.kind:
            return "–"
        value, low, high = (number(x) for x in (self.found["value"], *self.found["interval"]))
        return value if low == high else f"{value} in {interval(low, high)}"


def table(report: Mapping[str, Any]) -> list[Line]:
    """The constants that this report measured; the repaired row goes before the printed one."""
    rows = sorted(report["rows"], key=lambda row: row["variant"] != "repaired")
    out = []
    for constant in CONSTANTS:
        measures = (row["measures"] for row in rows if row["id"] == constant.claim)
        found = next((m[constant.measure] for m in measures if constant.measure in m), None)
        if found is not None:
            out.append(Line(constant, found))
    return out
