"""The counts at the top of a report, in plain sentences: the paper's statements, and rows of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lpcb.spec import REPAIRS
from verification.verdict import VERDICTS, Verdict

Json = dict[str, Any]

OWN_CODE = "conf-"
"""Rows whose id begins so check this implementation; the paper says nothing of it."""
OWN_QUESTIONS = frozenset({"thm-2.2-sharpness"})
"""Claims that answer a question of ours, as their statement says."""

_ONE: dict[Verdict, str] = {"HOLDS": "holds", "REFUTED": "is refuted", "UNDECIDED": "is undecided"}


def of_the_paper(row: Json) -> bool:
    return not row["id"].startswith(OWN_CODE) and row["id"] not in OWN_QUESTIONS


def printed(report: Json) -> str:
    """What became of the paper's statements as printed."""
    rows = _of(report, "paper")
    if not rows:
        return "No statement of the paper as printed was checked."
    if len(rows) == 1:
        return f"The statement as printed {_ONE[rows[0]['verdict']]}."
    return f"Of {len(rows)} statements of the paper as printed, {_counts(rows)}."


def repaired(report: Json) -> str:
    """What became of them as repaired, which have no repaired form, and what else was looked at."""
    paper, mended = _of(report, "paper"), _of(report, "repaired")
    out = [_mended(mended, f"{len(mended)}{'' if paper else ' statements'}", len(paper), _when(report))]
    without = {row["id"] for row in paper if row["verdict"] == "REFUTED"} - {row["id"] for row in mended}
    if mended and without:
        ones = "refuted one has" if len(without) == 1 else "refuted ones have"
        out.append(f"{len(without)} {ones} no repaired form: steps of proofs, remarks and the like.")
    own = [row for row in report["rows"] if not of_the_paper(row)]
    code = [row for row in own if row["id"] not in OWN_QUESTIONS]
    questions = [row for row in own if row["id"] in OWN_QUESTIONS]
    if code:
        out.append(f"{_further(code, 'checks', 'check')} our own code: {_together(code)}.")
    if questions:
        out.append(
            f"{_further(questions, 'answers', 'answer')} a question of our own: {_together(questions)}."
        )
    return " ".join(out)


def _of(report: Json, variant: str) -> list[Json]:
    return [row for row in report["rows"] if row["variant"] == variant and of_the_paper(row)]


def _when(report: Json) -> str:
    """All repairs are spoken of only where all of them were put to the test."""
    whole = {outcome["repair"] for outcome in report["repairs"]} >= REPAIRS
    return f"after {len(REPAIRS)} repairs" if whole else "with the repairs"


def _mended(rows: Sequence[Json], subject: str, printed: int, when: str) -> str:
    if not rows:
        return "No statement as repaired was checked."
    if len(rows) == 1:
        how = _ONE[rows[0]["verdict"]]
        return f"As repaired it {how}." if printed <= 1 else f"1 has a repaired form, which {how}."
    if all(row["verdict"] == "HOLDS" for row in rows):
        those = "both" if len(rows) == 2 else f"all {len(rows)}"
        return f"{subject} have a repaired form, and {when} {those} hold."
    return f"{subject} have a repaired form: {when}, {_counts(rows)}."


def _further(rows: Sequence[Json], one: str, many: str) -> str:
    return f"{len(rows)} further {f'row {one}' if len(rows) == 1 else f'rows {many}'}"


def _together(rows: Sequence[Json]) -> str:
    if len(rows) == 1:
        return f"it {_ONE[rows[0]['verdict']]}"
    return "all hold" if all(row["verdict"] == "HOLDS" for row in rows) else _counts(rows)


def _counts(rows: Sequence[Json]) -> str:
    held, refuted, open_ = (sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS)
    are = {n: "is" if n == 1 else "are" for n in (refuted, open_)}
    holds = "holds" if held == 1 else "hold"
    return f"{held} {holds}, {refuted} {are[refuted]} refuted and {open_} {are[open_]} undecided"
