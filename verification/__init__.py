"""Checks every claim of the paper against lpcb and says HOLDS, REFUTED or UNDECIDED, with numbers."""

from verification.audit import AuditResult, audit
from verification.claim import Check, Claim, Context, Experiment, Setting
from verification.experiments.coverage import coverage, needed_width
from verification.verdict import Evidence, Figure, Finding, Measure, Series, decide

__all__ = [
    "AuditResult",
    "Check",
    "Claim",
    "Context",
    "Evidence",
    "Experiment",
    "Figure",
    "Finding",
    "Measure",
    "Series",
    "Setting",
    "audit",
    "coverage",
    "decide",
    "needed_width",
]
