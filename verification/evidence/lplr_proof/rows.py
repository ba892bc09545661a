"""From the steps of a proof to a row: one piece of evidence per step, certificates verified first."""

from __future__ import annotations

from collections.abc import Sequence

from verification.claim import Context
from verification.evidence.enclosure import Statement, Step, established, step_evidence
from verification.verdict import Finding


def every_step(context: Context, steps: Sequence[Step], statements: Sequence[Statement] = ()) -> Finding:
    """Evidence on each step; raises if a certificate that the corrected steps rest on is not valid."""
    for statement in statements:
        established(statement, context.setting.profile)
    return Finding(tuple(step_evidence(step) for step in steps))
