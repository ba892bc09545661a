"""What all reports say, whatever they are written in: claims, counts, failures, repairs, sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lpcb.spec import REPAIRS
from verification.report.quantities import number
from verification.verdict import VARIANTS, VERDICTS, Grade, Variant, Verdict

Json = dict[str, Any]

GRADES: tuple[Grade, ...] = ("proved", "exact", "tested", "fitted")
VARIANT_NAMES: dict[Variant, str] = {"paper": "as printed", "repaired": "as repaired"}


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
        return [claim for claim in self.claims if _refuted(claim.row("paper"))]

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


def _refuted(row: Json | None) -> bool:
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


def false_alarm(rows: Sequence[Json]) -> float:
    """A bound on the probability that any of these verdicts is wrong by chance: the sum over the evidence."""
    return math.fsum(evidence["false_alarm"] for row in rows for evidence in row["evidence"])


def sentences(report: Json) -> list[str]:
    """The report in a few plain sentences."""
    rows = report["rows"]
    out = [_outcome([row for row in rows if row["variant"] == variant], variant) for variant in VARIANTS]
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


def _outcome(rows: Sequence[Json], variant: Variant) -> str:
    if not rows:
        return (
            f"No statement {'of the paper as printed' if variant == 'paper' else 'as repaired'} was checked."
        )
    count = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS}
    if variant == "paper":
        plural = "statement" if len(rows) == 1 else "statements"
        head = f"Of {len(rows)} {plural} of the paper as printed, {_verb(count['HOLDS'], 'holds', 'hold')}, "
        return head + f"{_verb(count['REFUTED'], 'is', 'are')} refuted and {_undecided(count)}."
    if count["HOLDS"] == len(rows):
        those = (
            f"all {len(rows)} repaired statements hold" if len(rows) > 1 else "the repaired statement holds"
        )
        return f"After {len(REPAIRS)} repairs {those}."
    of = f"of {len(rows)} repaired statements"
    head = f"After {len(REPAIRS)} repairs, {count['HOLDS']} {of} {'holds' if count['HOLDS'] == 1 else 'hold'}"
    return head + f", {_verb(count['REFUTED'], 'is', 'are')} refuted and {_undecided(count)}."


def _undecided(count: dict[Verdict, int]) -> str:
    return f"{_verb(count['UNDECIDED'], 'is', 'are')} undecided"


def _verb(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
