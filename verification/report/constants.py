"""The constants of the paper: as printed, needed, sharp, and how loose, from the report's own measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from verification.report.quantities import interval, number

Kind = Literal["needed", "sharp", "slack"]


@dataclass(frozen=True)
class Constant:
    """A printed constant, and the measure of a claim that says what is true of it.

    "needed" is what makes the statement true in its place, "sharp" the best possible, "slack" the printed
    bound over what was seen. Where ``stated`` is given, it is what the repaired statement has in its place.
    """

    what: str
    meaning: str
    printed: str
    kind: Kind
    claim: str
    measure: str = ""
    stated: str = ""


TIGHTNESS = "tightness at d=1, h=1, alpha=1"
EDGES = f"{TIGHTNESS}, k=0,6, edges, 0.01"

CONSTANTS = (
    Constant(
        r"$C$ in KL $\le C\alpha^3\|\mu\|_1^3$ (Lemma A.1)",
        "how fast two inputs hidden by Laplace noise become alike; the smallest constant that serves",
        "16.7",
        "sharp",
        "lemma-A.1",
        "sharp constant of KL",
    ),
    Constant(
        r"$C$ in $\chi^2 \le C\alpha^3\|\mu\|_1^3$ (Lemma A.1)",
        "the same for the larger divergence that the proof bounds",
        "16.7",
        "sharp",
        "lemma-A.1",
        "sharp constant of chi-square",
    ),
    Constant(
        r"$\min\{4, e^{2\alpha}\}$ at $\alpha = 1$ (Theorem 2.1)",
        "how much of a divergence passes a private channel; one constant for every $\\alpha$",
        "4",
        "needed",
        "thm-2.1-contraction",
        "constant in place of min{4, e^2a}",
    ),
    Constant(
        r"$\min\{4, e^{2\alpha}\}$ at $\alpha = 1$ (Theorem 2.1)",
        "the best possible at this $\\alpha$",
        "4",
        "sharp",
        "thm-2.1-contraction",
        "sharp constant at alpha = 1",
    ),
    Constant(
        r"$c$ of the construction (Theorem 2.2)",
        "how far apart the two hypotheses are; the largest for which they cannot be told apart",
        "0.07",
        "needed",
        "thm-2.2-constants",
        "largest c, K = 1/6, true laws",
    ),
    *(
        Constant(
            what,
            "a bound that fails in at most one fit of twenty, over what is seen, at $d = 1$",
            printed,
            "slack",
            claim,
            measure,
        )
        for what, printed, claim, measure in (
            (r"$6.2d$, error of $\hat\psi_B$ (Lemma 4.2)", "6.2", "lemma-4.2-psi", f"{TIGHTNESS}, n=300"),
            (r"$19d^2+29d$, of $\hat\lambda_B$ (Lemma 4.2)", "48", "lemma-4.2-lambda", EDGES),
            (r"$7(d+1)^3+29d$, of $\hat\Lambda_B$ (Lemma 4.2)", "85", "lemma-4.2-Lambda", EDGES),
            (r"$120(d+1)^4$, of $\omega_B$ (Lemma 4.3)", "1920", "lemma-4.3-omega", EDGES),
            (r"$47$, of error sums (Lemma A.3); gives $\kappa_2$", "47", "lemma-A.3", "tightness, d = 1"),
            (
                r"$118$ of $\kappa_2$ and $300$ of $\kappa_3$, together in $\hat\chi_B$ (Lemma 4.4)",
                "118, 300",
                "lemma-4.4-validity",
                "tightness, d = 1",
            ),
        )
    ),
    Constant(
        r"$43$ of the threshold $\kappa_1$ (Lemma 4.3)",
        r"a bin with fewer users is not fitted; what the proof needs, in units of "
        r"$d\,\alpha^{-1}\ln(48d/\beta\delta)$",
        "43/d",
        "needed",
        "lemma-4.3-steps",
        "needed kappa_1",
    ),
    Constant(
        "growth of errors from layer to layer (Lemma 4.4)",
        "enters the bounds to the power $d$; what the repaired statement has",
        "2.54",
        "needed",
        "lemma-4.4-recursion",
        stated="3.02",
    ),
    Constant(
        r"$C$ of the simplified recursion (after Lemma 4.4)",
        "the smallest that serves all parameters",
        "below 10⁴",
        "sharp",
        "lemma-4.4-remark",
        "sharp constant",
    ),
    *(
        Constant(
            rf"factor on $\kappa_2$ and $\kappa_3$, $d = {d}$ (Lemma 4.5)",
            "the share of the printed width that covers in 95 % of fits",
            "1",
            "needed",
            "lemma-4.5-coverage",
            f"needed width, d = {d}, alpha = 1, activation 1",
        )
        for d in (1, 2, 3, 4)
    ),
    Constant(
        r"$C$ at $d = 1$ (Theorem 4.6)",
        "the theorem says only that it is finite; the largest met over all $T$",
        "no value",
        "needed",
        "thm-4.6-bound",
        "C, d = 1",
    ),
)


@dataclass(frozen=True)
class Line:
    """One line of the table, with the measure that was found, or with what the repaired statement says."""

    constant: Constant
    found: Mapping[str, Any] | None

    def cell(self, kind: str) -> str:
        """Four digits, and the interval where they do not say it all."""
        if kind != self.constant.kind:
            return "–"
        if self.found is None:
            return self.constant.stated
        value, low, high = (number(x) for x in (self.found["value"], *self.found["interval"]))
        return value if low == high else f"{value} in {interval(low, high)}"


def table(report: Mapping[str, Any]) -> list[Line]:
    """The constants that this report measured: as repaired where it can be, slack as printed."""
    rows = sorted(report["rows"], key=lambda row: row["variant"] != "repaired")
    out = []
    for constant in CONSTANTS:
        own = [row for row in rows if row["id"] == constant.claim]
        if constant.kind == "slack":
            own = [row for row in own if row["variant"] == "paper"]
        found = next(
            (row["measures"][constant.measure] for row in own if constant.measure in row["measures"]), None
        )
        if found is not None or (constant.stated and any(_states(row, constant.stated) for row in own)):
            out.append(Line(constant, found))
    return out


def _states(row: Mapping[str, Any], text: str) -> bool:
    return row["variant"] == "repaired" and row["verdict"] == "HOLDS" and text in row["statement"]
