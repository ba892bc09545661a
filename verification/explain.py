"""``lpcb explain``: what a claim says, how it is checked, what came of it, and what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lpcb.console import STYLES, say, tell
from verification import baseline
from verification.claim import Claim
from verification.message import again
from verification.report.environment import measured, readings
from verification.report.prose import plain
from verification.report.quantities import POINT
from verification.reportfile import read_report
from verification.serialise import number
from verification.serialise import plain as json_number
from verification.verdict import PROFILES
from verification.wrong import OPEN, WRONG

ASSUMPTIONS = (
    r"Contexts are independent draws from one law, $y$ is in $[-1, 1]$ with mean $\phi(x,a)^\top\theta^*$, "
    r"$\|\phi\| \le 1$ and $\|\theta^*\| \le 1$, $\alpha \in (0, 1]$, $\beta \in (0, 1/2]$."
)
"""What the paper assumes throughout; anything more stands in the statement itself."""
MEASURES = 8
"""How many measures are shown; a report has them all."""

Json = dict[str, Any]


def newest(reports: Sequence[Path], id: str) -> Path | None:
    """The newest of ``reports`` that has the claim ``id``, or else the newest; None if there is none."""
    there = sorted((path for path in reports if path.exists()), key=lambda path: -path.stat().st_mtime)
    having = (path for path in there if any(row["id"] == id for row in read_report(path)["rows"]))
    return next(having, there[0] if there else None)


def explanation(claim: Claim, report: Path | None, modules: Sequence[str] = ()) -> Json:
    """Everything about ``claim`` as plain data; verdicts from ``report``, or else from the baseline.

    Numbers are those of report.json: infinities are strings, and the rest JSON numbers.
    """
    latest = read_report(report) if report is not None and report.exists() else None
    rows = {row["variant"]: row for row in latest["rows"] if row["id"] == claim.id} if latest else {}
    found: Json = {
        "schema": 1,
        "id": claim.id,
        "title": plain(claim.title),
        "statements": {variant: plain(claim.text(variant)) for variant in claim.variants},
        "assumptions": plain(ASSUMPTIONS) if claim.statement is not None else None,
        "method": plain(claim.method),
        "checks": [{"name": plain(check.name), "random": check.random} for check in claim.checks],
        "guards": sorted(claim.guards),
        "wrong": plain(WRONG[claim.id]) if claim.id in WRONG else None,
    }
    if latest is not None and report is not None and rows:
        source = {"file": str(report), "profile": latest["profile"], "seed": latest["seed"]}
        return found | {"source": source, "verdicts": _verdicts(rows, latest, report, modules)}
    return found | _expected(claim, modules, None if latest is None else str(report))


def _verdicts(rows: Json, latest: Json, report: Path, modules: Sequence[str]) -> Json:
    out = {}
    for variant, row in rows.items():
        deciding = [e for e in row["evidence"] if e["role"] == "decides"]
        out[variant] = {
            "verdict": row["verdict"],
            "expected": row["expected"],
            "reason": plain(row["reason"]),
            "measures": row["measures"],
            "faults": [_evidence(e) for e in deciding if e["verdict"] == "REFUTED"],
            "evidence": [_evidence(e) for e in deciding if e["verdict"] == row["verdict"]],
            "counterexample": row["counterexample"],
            "again": again(row["id"], variant, latest["profile"], latest["seed"], report, modules),
        }
    return out


def _evidence(evidence: Mapping[str, Any]) -> Json:
    words = {key: plain(evidence[key]) for key in ("check", "scope", "note")}
    return words | {key: evidence[key] for key in ("value", "bound", "interval", "grade", "verdict")}


def _expected(claim: Claim, modules: Sequence[str], lacking: str | None) -> Json:
    """What the committed baseline expects, of the profile that looks hardest."""
    kept = baseline.expectations().get(claim.id, {})
    known = [p for p in PROFILES if any(p in profiles for profiles in kept.values())]
    verdicts = {}
    for variant in claim.variants:
        entry = kept.get(variant, {}).get(known[-1]) if known else None
        if entry is None:
            continue
        verdicts[variant] = {
            "verdict": entry["verdict"],
            "expected": entry["verdict"],
            "reason": plain(OPEN[claim.id]) if entry["verdict"] == "UNDECIDED" and claim.id in OPEN else None,
            "measures": {name: _kept(ends) for name, ends in entry["measures"].items()},
            "faults": [],
            "evidence": [],
            "counterexample": None,
            "again": " ".join(
                [f"lpcb verify {claim.id} --variant {variant}", *(f"--claims {m}" for m in modules)]
            ),
        }
    profile = known[-1] if known else None
    source = {"file": "baseline", "profile": profile, "seed": None, "lacking": lacking}
    return {"source": source, "verdicts": verdicts}


def _kept(ends: Sequence[float | str]) -> Json:
    """A baselined interval; where its ends agree the value is known."""
    return {"value": ends[0] if ends[0] == ends[1] else None, "interval": list(ends)}


# --- on a terminal ----------------------------------------------------------------------------------------


def show(found: Json) -> None:
    """``found`` for reading, in 80 columns or less."""
    tell(f"{found['title']}  ({found['id']})", style="bold")
    for variant, text in found["statements"].items():
        _head("Claim as printed" if variant == "paper" else "Claim as repaired")
        tell(text, indent=2)
    if found["assumptions"]:
        _head("Assumed throughout")
        tell(found["assumptions"], indent=2)
    _head("How it is checked")
    tell(found["method"], indent=2)
    for check in found["checks"]:
        tell(f"- {check['name']}{' (random)' if check['random'] else ''}", indent=2)
    if found["guards"]:
        tell(f"Each of these repairs is necessary for it: {', '.join(found['guards'])}.", indent=2)
    _head(_where(found["source"]) if found["verdicts"] else "No verdict yet")
    if not found["verdicts"]:
        tell(f"Find out with: lpcb verify {found['id']}", indent=2)
    for variant, verdict in found["verdicts"].items():
        _show_verdict(variant, verdict, found["wrong"])


def _where(source: Json) -> str:
    if source["file"] == "baseline":
        missing = "there is no report yet"
        if source["lacking"]:
            missing = f"the report {source['lacking']} does not have this claim"
        return f"Expected by the committed baseline (profile {source['profile']}); {missing}"
    return f"Found in {source['file']} (profile {source['profile']}, seed {source['seed']})"


def _show_verdict(variant: str, found: Json, wrong: str | None) -> None:
    surprise = "" if found["verdict"] == found["expected"] else f", expected {found['expected']}"
    name = "as printed" if variant == "paper" else "as repaired"
    tell(f"{found['verdict']} {name}{surprise}", indent=2, style=STYLES[found["verdict"]])
    if found["reason"] and (not found["evidence"] or found["verdict"] == "UNDECIDED"):
        tell(f"Why: {found['reason']}", indent=4)
    if variant == "paper" and found["verdict"] == "REFUTED" and wrong:
        tell(f"What is wrong: {wrong}", indent=4)
        if found["faults"]:
            tell("Shown by:", indent=4)
    elif found["faults"]:
        tell("What is wrong:", indent=4)
    for evidence in found["faults"] or found["evidence"]:
        about = evidence["note"] if found["faults"] and evidence["note"] else evidence["scope"]
        tell(f"- {evidence['check']} ({evidence['grade']}): {_seen(evidence)}. {about}", indent=4)
    measures = list(found["measures"].items())
    if measures:
        tell("Measured:", indent=4)
    for label, measure in measures[:MEASURES]:
        tell(f"- {plain(label)}{_measure(measure)}", indent=4)
    if len(measures) > MEASURES:
        tell(f"- and {len(measures) - MEASURES} more, see --json", indent=4)
    tell("See it again:", indent=4)
    say(f"    {found['again']}")


def _measure(measure: Json) -> str:
    """`` = value unit in interval``, as far as they are known; letters as units are variables: n = 10⁶."""
    low, high = (number(end) for end in measure["interval"])
    middle = (low + high) / 2 if math.isfinite(high - low) else low
    shown = measured(measure if measure["value"] is not None else measure | {"value": json_number(middle)})
    if measure["value"] is None and not shown["interval"].startswith("value"):
        return _interval(shown["interval"])
    unit = measure.get("unit", "")
    text = f": {unit} = {shown['value']}" if len(unit) == 1 else f" = {shown['value']} {unit}".rstrip()
    return text + _interval(shown["interval"])


def _interval(where: str) -> str:
    if where in ("exact", POINT):
        return ""
    return f" {where.removeprefix('value ')}" if where.startswith("value ") else f" in {where}"


def _seen(evidence: Json) -> str:
    shown = readings(evidence)
    return f"saw {shown['seen']}{_interval(shown['interval'])}, allowed {shown['allowed']}"


def _head(text: str) -> None:
    tell("", text, style="bold")
