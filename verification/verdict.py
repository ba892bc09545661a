"""What comes out of a check: evidence, measures, figures, and the verdict that follows from them."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Verdict = Literal["HOLDS", "REFUTED", "UNDECIDED"]
Grade = Literal["proved", "exact", "tested", "fitted"]
Role = Literal["decides", "supports"]
Variant = Literal["paper", "repaired"]
Profile = Literal["quick", "standard", "thorough"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
GRADES: tuple[Grade, ...] = get_args(Grade)
ROLES: tuple[Role, ...] = get_args(Role)
VARIANTS: tuple[Variant, ...] = get_args(Variant)
PROFILES: tuple[Profile, ...] = get_args(Profile)

FALSE_ALARM = 1e-9
"""What every random check spends; at most MAX_RANDOM_CHECKS of them make a run's total 1e-6."""
MAX_RANDOM_CHECKS = 1000


@dataclass(frozen=True)
class Evidence:
    """The outcome of one check.

    ``value`` is what was seen, ``bound`` what the claim allows, ``interval`` where the truth lies.
    ``false_alarm`` is the probability of a wrong verdict by chance (0 for exact grades) and
    ``detectable`` the smallest violation, in units of ``value``, caught with probability 0.99.
    """

    check: str
    grade: Grade
    role: Role
    scope: str
    verdict: Verdict
    value: float
    bound: float
    interval: tuple[float, float]
    false_alarm: float = 0.0
    detectable: float | None = None
    samples: int = 0
    note: str = ""
    counterexample: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        # A misspelt verdict or role would otherwise slip through decide() as a pass.
        for name, allowed in (("verdict", VERDICTS), ("grade", GRADES), ("role", ROLES)):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"evidence {self.check!r}: {name} is one of {allowed}, not {getattr(self, name)!r}"
                )
        numbers = [self.value, self.bound, *self.interval, self.false_alarm, self.detectable or 0.0]
        if any(math.isnan(x) for x in numbers):
            raise ValueError(f"evidence {self.check!r} contains NaN: {numbers}")
        if self.interval[0] > self.interval[1]:
            raise ValueError(f"evidence {self.check!r} has an empty interval {self.interval}")
        if self.grade in ("tested", "fitted") and not 0 < self.false_alarm <= FALSE_ALARM:
            raise ValueError(
                f"evidence {self.check!r} is {self.grade} and must state a false alarm rate "
                f"in (0, {FALSE_ALARM:g}], not {self.false_alarm:g}"
            )
        if self.grade in ("tested", "fitted") and self.detectable is None:
            raise ValueError(f"evidence {self.check!r} is {self.grade} and must state what it detects")
        if self.verdict == "REFUTED" and self.counterexample is None:
            raise ValueError(f"evidence {self.check!r} is REFUTED without a counterexample")
        if operator.index(self.samples) < 0:
            raise ValueError(f"evidence {self.check!r}: samples is a number from 0, not {self.samples!r}")


@dataclass(frozen=True)
class Measure:
    """A number worth knowing about a claim (tightness, onset, sharp constant) with its interval."""

    value: float
    interval: tuple[float, float]
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if any(math.isnan(x) for x in (self.value, *self.interval)):
            raise ValueError("a measure must not be NaN")
        if self.interval[0] > self.interval[1]:
            raise ValueError(f"a measure has an empty interval {self.interval}")


@dataclass(frozen=True)
class Series:
    """One curve of a figure; ``low`` and ``high`` draw a band around it."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    style: Literal["line", "points", "dashed", "bars"] = "line"

    def __post_init__(self) -> None:
        columns = [c for c in (self.x, self.y, self.low, self.high) if c is not None]
        if len({len(c) for c in columns}) > 1 or len(columns) == 3:
            raise ValueError(
                f"series {self.label!r}: x, y and both or neither of low and high, of one length"
            )


@dataclass(frozen=True)
class Figure:
    """A plot as data: reports draw it, tests can read it."""

    title: str
    caption: str
    xlabel: str
    ylabel: str
    series: tuple[Series, ...]
    xlog: bool = False
    ylog: bool = False


@dataclass(frozen=True)
class Table:
    """Cells of text in rows and columns, for what a list of measures does not make readable."""

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError(
                f"table {self.title!r}: every row has the {len(self.header)} cells of the header"
            )


@dataclass(frozen=True)
class Finding:
    """Everything one check returns."""

    evidence: tuple[Evidence, ...]
    measures: Mapping[str, Measure] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()


def decide(evidence: Sequence[Evidence]) -> tuple[Verdict, str]:
    """The verdict on a row, and the reason in one sentence.

    One deciding counterexample refutes. HOLDS needs deciding evidence, all of it positive.
    Supporting evidence never decides, not even against: a supporting check that finds a violation
    must be promoted to a deciding one by its author, so it leaves the row UNDECIDED.
    """
    deciding = [e for e in evidence if e.role == "decides"]
    refuting = [e for e in deciding if e.verdict == "REFUTED"]
    if refuting:
        return "REFUTED", f"{refuting[0].check}: {refuting[0].note or refuting[0].scope}"
    if not deciding:
        return "UNDECIDED", "no deciding evidence"
    open_ = [e for e in deciding if e.verdict == "UNDECIDED"]
    if open_:
        return "UNDECIDED", f"{open_[0].check}: {open_[0].note or open_[0].scope}"
    contradicting = [e for e in evidence if e.verdict == "REFUTED"]
    if contradicting:
        return "UNDECIDED", f"supporting check {contradicting[0].check} contradicts the deciding evidence"
    return "HOLDS", "; ".join(dict.fromkeys(f"{e.check} ({e.grade})" for e in deciding))
