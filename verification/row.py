"""One row: a claim, a variant, a profile and a seed give a verdict as plain data."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from typing import Any

from verification.claim import Arrays, Check, Claim, Context, Setting
from verification.leaving import staying
from verification.serialise import plain
from verification.threads import single_thread
from verification.verdict import FALSE_ALARM, Evidence, Finding, Profile, Variant, decide


def run_row(
    claim: Claim,
    variant: Variant,
    profile: Profile,
    seed: int,
    *,
    without: frozenset[str] = frozenset(),
    experiments: Mapping[str, Arrays] | None = None,
) -> dict[str, Any]:
    """Gather all evidence for one row and decide.

    Depends on its arguments alone. A check that raises, returns something else than a Finding, gives
    no evidence, or spends more than its false-alarm budget leaves the row UNDECIDED, with the traceback.
    """
    single_thread()
    setting = Setting(variant, profile, seed, without)
    context = Context(claim.id, setting, experiments or {})
    findings: list[tuple[Check, Finding]] = []
    written: list[dict[str, Any]] = []
    for check in claim.checks:
        try:
            finding = run_check(check, context)
            _check_names(finding, [f for _, f in findings])
            written.append(plain(finding))
            findings.append((check, finding))
        except Exception as error:
            reason = f"check {check.name!r} raised {type(error).__name__}: {tidy(str(error))}"
            return undecided(claim, variant, reason, tidy_traceback(error), written)
    verdict, reason = decide([e for _, finding in findings for e in finding.evidence])
    row = _row(claim, variant, written)
    example = _counterexample(claim, setting, findings) if verdict == "REFUTED" else None
    return row | {"verdict": verdict, "reason": reason, "counterexample": example, "error": None}


def run_check(check: Check, context: Context) -> Finding:
    """Run one check and see that what it returns may be counted."""
    with staying():
        finding = check.run(context)
    if not isinstance(finding, Finding):
        raise TypeError(f"it returned {type(finding).__name__}, not a Finding")
    if not finding.evidence or not all(isinstance(e, Evidence) for e in finding.evidence):
        raise ValueError("it returned no evidence")
    spent = sum(e.false_alarm for e in finding.evidence)
    # Equal shares of the budget may add up to a rounding error more.
    if check.random and not 0 < spent <= FALSE_ALARM * (1 + 1e-9):
        raise ValueError(
            f"it is random and must spend a false alarm rate in (0, {FALSE_ALARM:g}], not {spent:g}"
        )
    if not check.random and spent > 0:
        raise ValueError(f"it is not declared random and yet spends a false alarm rate of {spent:g}")
    return finding


def undecided(
    claim: Claim,
    variant: Variant,
    reason: str,
    error: str,
    written: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The row of a claim that could not be checked to the end, with the findings made so far."""
    row = _row(claim, variant, written or [])
    return row | {"verdict": "UNDECIDED", "reason": reason, "counterexample": None, "error": error}


def tidy(text: str) -> str:
    """Text in which nothing depends on the machine: no directories, no addresses.

    >>> tidy("in '/home/me/project/file.py' at 0x7f00aa, 1/2 of c/sqrt(n)")
    "in 'file.py' at 0x…, 1/2 of c/sqrt(n)"
    """
    text = re.sub(r"(?<![\w.)\]/])/(?:[^\s/'\":,<>]+/)+", "", text)
    text = re.sub(r"lpcb_claims_(\w+)_[0-9a-f]{8}\b", r"\1", text)
    return re.sub(r"0x[0-9a-f]{6,}", "0x…", text)


def tidy_traceback(error: BaseException) -> str:
    return tidy("".join(traceback.format_exception(error)))


def _row(claim: Claim, variant: Variant, written: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": claim.id,
        "variant": variant,
        "title": claim.title,
        "statement": claim.text(variant),
        "method": claim.method,
        "measures": {name: measure for finding in written for name, measure in finding["measures"].items()},
        "evidence": [evidence for finding in written for evidence in finding["evidence"]],
        "figures": [figure for finding in written for figure in finding["figures"]],
        "tables": [table for finding in written for table in finding["tables"]],
    }


def _check_names(finding: Finding, before: list[Finding]) -> None:
    """Replaying and comparing reports find evidence and measures by name."""
    names = [e.check for f in (*before, finding) for e in f.evidence]
    measures = [name for f in (*before, finding) for name in f.measures]
    for kind, found in (("pieces of evidence", names), ("measures", measures)):
        if twice := sorted({name for name in found if found.count(name) > 1}):
            raise ValueError(f"two {kind} of this row are called {twice[0]!r}")


def _counterexample(claim: Claim, setting: Setting, findings: list[tuple[Check, Finding]]) -> dict[str, Any]:
    """The first deciding counterexample, with all that is needed to see it again."""
    check, evidence = next(
        (check, e)
        for check, finding in findings
        for e in finding.evidence
        if e.role == "decides" and e.verdict == "REFUTED"
    )
    found: dict[str, Any] = plain(
        {
            "claim": claim.id,
            "variant": setting.variant,
            "profile": setting.profile,
            "seed": setting.seed,
            "without": setting.without,
            "check": check.name,
            "evidence": evidence.check,
            "input": evidence.counterexample,
        }
    )
    return found
