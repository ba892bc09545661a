"""``lpcb explain``: what a claim says, how it is checked, what came of it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lpcb.console import STYLES, say, tell
from verification import baseline
from verification.claim import Claim
from verification.message import again
from verification.report.environment import measured, readings
from verification.report.prose import plain
from verification.reportfile import read_report
from verification.verdict import PROFILES

ASSUMPTIONS = (
    r"Contexts are independent draws from one law, $y$ is in $[-1, 1]$ with mean $\phi(x,a)^\top\theta^*$, "
    r"$\|\phi\| \le 1$ and $\|\theta^*\| \le 1$, $\alpha \in (0, 1]$, $\beta \in (0, 1/2]$."
)
"""What the paper assumes throughout; anything more stands in the statement itself."""
MEASURES = 8
"""How many measures are shown; a report has them all."""

Json = dict[str, Any]


def explanation(claim: Claim, report: Path, modules: Sequence[str] = ()) -> Json:
    """Everything about ``claim`` as plain data; verdicts from ``report``, or else from the baseline."""
    latest = read_report(report) if report.exists() else None
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
    }
    if latest is not None and rows:
        source = {"file": str(report), "profile": latest["profile"], "seed": latest["seed"]}
        return found | {"source": source, "verdicts": _verdicts(rows, latest, report, modules)}
    return found | _expected(claim, modules)


def _verdicts(rows: Json, latest: Json, report: Path, modules: Sequence[str]) -> Json:
    out = {}
    for variant, row in rows.items():
        deciding = [e for e in row["evidence"] if e["role"] == "decides"]
        out[variant] = {
            "verdict": row["verdict"],
            "expected": row["expected"],
            "reason": plain(row["reason"]),
            "measures": {name: m | measured(m) for name, m in row["measures"].items()},
            "faults": [_evidence(e) for e in deciding if e["verdict"] == "REFUTED"],
            "evidence": [_evidence(e) for e in deciding if e["verdict"] == row["verdict"]],
            "counterexample": row["counterexample"],
            "again": again(row["id"], variant, latest["profile"], latest["seed"], report, modules),
        }
    return out


def _evidence(evidence: Mapping[str, Any]) -> Json:
    words = {key: plain(evidence[key]) for key in ("check", "scope", "note")}
    return words | readings(dict(evidence)) | {"grade": evidence["grade"], "verdict": evidence["verdict"]}


def _expected(claim: Claim, modules: Sequence[str]) -> Json:
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
            "reason": None,
            "measures": {name: _kept(ends) for name, ends in entry["measures"].items()},
            "faults": [],
            "evidence": [],
            "counterexample": None,
            "again": " ".join(
                [f"lpcb verify {claim.id} --variant {variant}", *(f"--claims {m}" for m in modules)]
            ),
        }
    source = {"file": "baseline", "profile": known[-1] if known else None, "seed": None}
    return {"source": source, "verdicts": verdicts}


def _kept(ends: Sequence[float | str]) -> Json:
    """A baselined interval; where its ends agree the value is known."""
    shown = measured({"value": ends[0], "interval": ends})
    return shown | {"value": shown["value"] if shown["interval"] == "exact" else None}


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
        _show_verdict(variant, verdict)


def _where(source: Json) -> str:
    if source["file"] == "baseline":
        return f"Expected by the committed baseline (profile {source['profile']}); there is no report yet"
    return f"Found in {source['file']} (profile {source['profile']}, seed {source['seed']})"


def _show_verdict(variant: str, found: Json) -> None:
    surprise = "" if found["verdict"] == found["expected"] else f", expected {found['expected']}"
    name = "as printed" if variant == "paper" else "as repaired"
    tell(f"{found['verdict']} {name}{surprise}", indent=2, style=STYLES[found["verdict"]])
    if not found["evidence"] and found["reason"]:
        tell(found["reason"], indent=4)
    if found["faults"]:
        tell("What is wrong:", indent=4)
    for evidence in found["faults"] or found["evidence"]:
        about = evidence["note"] if found["faults"] and evidence["note"] else evidence["scope"]
        tell(f"- {evidence['check']} ({evidence['grade']}): {_seen(evidence)}. {about}", indent=4)
    measures = list(found["measures"].items())
    if measures:
        tell("Measured:", indent=4)
    for label, measure in measures[:MEASURES]:
        value = "" if measure["value"] is None else f" = {measure['value']}"
        unit = f" {measure['unit']}" if measure.get("unit") else ""
        where = "" if measure["interval"] == "exact" else f" in {measure['interval']}"
        tell(f"- {plain(label)}{value}{unit}{where}", indent=4)
    if len(measures) > MEASURES:
        tell(f"- and {len(measures) - MEASURES} more, see --json", indent=4)
    tell("See it again:", indent=4)
    say(f"    {found['again']}")


def _seen(evidence: Json) -> str:
    seen, allowed, where = (evidence[key] for key in ("seen", "allowed", "interval"))
    return f"saw {seen}{'' if where == 'exact' else f' in {where}'}, allowed {allowed}"


def _head(text: str) -> None:
    tell("", text, style="bold")
