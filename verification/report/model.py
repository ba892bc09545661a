"""What all reports say, whatever they are written in: claims, counts, failures, repairs, sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from lpcb.spec import REPAIRS
from verification.report import summary
from verification.report.quantities import number
from verification.verdict import VARIANTS, Grade, Variant

Json = dict[str, Any]

GRADES: tuple[Grade, ...] = ("proved", "exact", "tested", "fitted")
VARIANT_NAMES: dict[Variant, str] = {"paper": "as printed", "repaired": "as repaired"}


_NUMBER = re.compile(r"[0-9][0-9.e+-]*")


@dataclass(frozen=True)
class ClaimView:
    """One claim with its rows, printed variant first."""

    id: str
    rows: tuple[Json, ...]

    @property
    def title(self) -> str:
        return str(self.rows[0]["title"]) or self.id

    @property
    def anchor(self) -> str:
        return anchor(self.id)

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row["method"] for row in self.rows if row["method"]))

    @property
    def faults(self) -> list[Json]:
        """Every piece of evidence that refutes the printed statement, each a fault of its own."""
        printed = self.row("paper")
        found = [] if printed is None else printed["evidence"]
        return [e for e in found if e["role"] == "decides" and e["verdict"] == "REFUTED"]

    @property
    def fault_groups(self) -> list[list[Json]]:
        """The faults, those together that say the same but for their numbers."""
        groups: dict[tuple[str, str], list[Json]] = {}
        for fault in self.faults:
            words = fault["note"] or fault["scope"]
            groups.setdefault((_NUMBER.sub("#", fault["check"]), _NUMBER.sub("#", words)), []).append(fault)
        return list(groups.values())

    def row(self, variant: Variant) -> Json | None:
        return next((row for row in self.rows if row["variant"] == variant), None)


@dataclass(frozen=True)
class RepairView:
    """One repair, and what becomes of the claims that guard it when it is switched off."""

    name: str
    outcomes: tuple[Json, ...]

    @property
    def necessary(self) -> bool:
        return any(outcome["verdict"] == "REFUTED" for outcome in self.outcomes)

    def outcome(self, claim: str) -> Json | None:
        return next((outcome for outcome in self.outcomes if outcome["id"] == claim), None)


@dataclass(frozen=True)
class View:
    """A report, ordered for reading."""

    report: Json
    claims: tuple[ClaimView, ...]
    repairs: tuple[RepairView, ...]

    @property
    def failures(self) -> list[Json]:
        return [row for row in self.report["rows"] if failed(row)]

    @property
    def errata(self) -> list[ClaimView]:
        """The paper's statements that are refuted; a question of ours is no erratum, whatever the answer."""
        return [c for c in self.claims if _refuted(row := c.row("paper")) and summary.of_the_paper(row)]

    @property
    def guards(self) -> list[str]:
        """The claims that guard some repair, in the report's order."""
        guarding = {outcome["id"] for repair in self.repairs for outcome in repair.outcomes}
        known = [claim.id for claim in self.claims if claim.id in guarding]
        return known + sorted(guarding - set(known))

    def has(self, claim: str) -> bool:
        return any(view.id == claim for view in self.claims)


def view(report: Json) -> View:
    ids = dict.fromkeys(row["id"] for row in report["rows"])
    claims = tuple(ClaimView(id_, _rows(report, id_)) for id_ in ids)
    names = sorted(REPAIRS | {outcome["repair"] for outcome in report["repairs"]})
    repairs = tuple(
        RepairView(name, tuple(outcome for outcome in report["repairs"] if outcome["repair"] == name))
        for name in names
    )
    return View(report, claims, repairs)


def _rows(report: Json, id_: str) -> tuple[Json, ...]:
    rows = [row for row in report["rows"] if row["id"] == id_]
    return tuple(sorted(rows, key=lambda row: VARIANTS.index(row["variant"])))


def _refuted(row: Json | None) -> TypeGuard[Json]:
    return row is not None and row["verdict"] == "REFUTED"


def anchor(id_: str) -> str:
    """An HTML id for a claim, different for different claims, whatever characters they are made of."""
    return "claim-" + re.sub(r"[^A-Za-z0-9.-]", lambda match: f"_{ord(match[0]):x}_", id_)


def failed(row: Json) -> bool:
    return not row["passed"] or row["error"] is not None


def failure(row: Json) -> str:
    """Why a row is not as expected, in a few words."""
    if row["error"] is not None:
        return "the check stopped with an error"
    if row["expected"] is None:
        return f"found {row['verdict']}, but the baseline has no expectation for it"
    if row["expected"] != row["verdict"]:
        return f"expected {row['expected']}, found {row['verdict']}"
    return f"{row['verdict']} as expected, but a measure has left its interval in the baseline"


def grades(row: Json) -> list[Grade]:
    """The grades that the verdict rests on, best first.

    HOLDS rests on all deciding evidence, REFUTED on the counterexamples alone, UNDECIDED on none.
    """
    if row["verdict"] == "UNDECIDED":
        return []
    deciding = (e for e in row["evidence"] if e["role"] == "decides" and e["verdict"] == row["verdict"])
    found = {evidence["grade"] for evidence in deciding}
    return [grade for grade in GRADES if grade in found]


def weakest(row: Json) -> Json | None:
    """What a row that holds rests on least safely: of its weakest grade, the check nearest to its bound."""
    deciding = [e for e in row["evidence"] if e["role"] == "decides" and e["verdict"] == "HOLDS"]
    if row["verdict"] != "HOLDS" or not deciding:
        return None
    grade = max((e["grade"] for e in deciding), key=GRADES.index)
    alike: list[Json] = [e for e in deciding if e["grade"] == grade]
    return min(alike, key=_margin)


def _margin(evidence: Json) -> float:
    """How far the interval stays from the bound, as a share of the bound."""
    value, bound = float(evidence["value"]), float(evidence["bound"])
    low, high = (float(end) for end in evidence["interval"])
    if math.isinf(bound):
        return math.inf
    return (bound - high if value <= bound else low - bound) / (abs(bound) or 1.0)


def false_alarm(rows: Sequence[Json]) -> float:
    """A bound on the probability that any of these verdicts is wrong by chance: the sum over the evidence."""
    return math.fsum(evidence["false_alarm"] for row in rows for evidence in row["evidence"])


def sentences(report: Json) -> list[str]:
    """The report in a few plain sentences."""
    rows = report["rows"]
    out = [summary.printed(report), summary.repaired(report)]
    as_expected = sum(not failed(row) for row in rows)
    every = "the row is" if len(rows) == 1 else f"all {len(rows)} rows are"
    total = every if as_expected == len(rows) else f"{as_expected} of {len(rows)} rows are"
    out.append(f"Compared with the committed baseline, {total} as expected.")
    risk = false_alarm(rows)
    if risk > 0:
        out.append(
            f"Chance alone makes any of these verdicts wrong with probability at most {number(risk, 3)}, "
            "the sum over all random checks."
        )
    else:
        out.append("No verdict rests on chance: none of the evidence is random.")
    return out
