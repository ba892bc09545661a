r"""Steps of the proof of Lemma 4.3, [proof-pcr-1] to [proof-pcr-12].

[proof-pcr-3] lacks a factor 2d. The smallest threshold that the repaired argument allows is a measure of this
row.
"""

from __future__ import annotations

from dataclasses import replace

from verification.claim import Check, Claim, Context
from verification.evidence.enclosure import Ball, Box, Statement, ball, bracket_supremum
from verification.evidence.lplr_proof.components import STEPS, corrected_gap
from verification.evidence.lplr_proof.rows import every_step
from verification.evidence.lplr_proof.tools import UNIT
from verification.verdict import Finding, Measure

STATEMENTS = (Statement("lplr-kappa1-eigenvalue", corrected_gap, Box(t=UNIT, g=UNIT)),)


def needed(t: Ball, g: Ball) -> Ball:
    """[2·2d(7(d+1)³ + 29d)γ² + 6.2d]/(d(d+1)³γ²): κ₁ over d ln(48d/βδ)/α, with nothing rounded up."""
    size = (1 + t) ** 3
    return (4 * (7 * size + 29 * t**2) + ball("6.2") * t**3 * g**2) / size


def steps(context: Context) -> Finding:
    found = every_step(context, STEPS, STATEMENTS)
    sharp = bracket_supremum(needed, Box(t=UNIT, g=UNIT), width=1e-6)
    measure = Measure(
        sharp.lower,
        (sharp.lower, sharp.upper),
        note="kappa_1 that makes proof-pcr-3 true, over d ln(48d/(beta delta))/alpha; printed: 43/d; worst "
        "at d = 1",
    )
    return replace(found, measures={"needed kappa_1": measure})


CLAIMS = (
    Claim(
        id="lemma-4.3-steps",
        title="Steps of the proof of Lemma 4.3",
        statement=r"Every displayed step of the proof is true for all $d \ge 1$, $\gamma \ge 1$ and all bins "
        r"that pass the "
        r"threshold with $\kappa_1 = 43\alpha^{-1}\ln(48d/\beta\delta)$, on the event of Lemma 4.2.",
        repaired=None,
        method="Inequalities are proved for all d and gamma by ball arithmetic; identities are checked in "
        "fractions on a basis.",
        checks=(Check("steps", steps, random=False),),
    ),
)
