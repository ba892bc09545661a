r"""The remark on Lemma 4.4: the second term of the recursion has a constant below 10^4."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from verification.claim import Check, Claim, Context
from verification.evidence.enclosure import Box, Statement, lower
from verification.evidence.lplr_proof.constants import REMARK, SHARP, remark, second_term
from verification.evidence.lplr_proof.rows import every_step
from verification.evidence.lplr_proof.tools import UNIT
from verification.verdict import Finding, Measure

STATEMENTS = (Statement("lplr-remark", remark, Box(t=UNIT, g=UNIT)),)
NEAR = Fraction(1, 2) - Fraction(1, 10**6)
"""beta just below 1/2, where M = 2 and beta M is nearly 1."""


def steps(context: Context) -> Finding:
    found = every_step(context, REMARK, STATEMENTS)
    reached = lower(second_term(Fraction(1), Fraction(1), NEAR, Fraction(1, 10**3000), Fraction(1)))
    measure = Measure(
        float(SHARP),
        (reached, float(SHARP)),
        note="smallest C for all d, h, beta, gamma >= 1, delta; reached in the limit d = 1, beta to 1/2, "
        "delta to 0",
    )
    return replace(found, measures={"sharp constant": measure})


CLAIMS = (
    Claim(
        id="lemma-4.4-remark",
        title="Remark on Lemma 4.4",
        statement=r"With every $\kappa$ at its lower bound and $M \le 2/\beta$, the second term of the "
        r"recursion is at most "
        r"$C\gamma^2d^4\ln(48d/\beta\delta)/(\alpha\beta^h\sqrt n)$ with $C < 10^4$, for all $d$, $h \le "
        r"d$, $\beta$, $\delta$.",
        repaired=None,
        method="The quotient of both sides is a polynomial in 1/d and 1/gamma up to a factor below 1; its "
        "supremum is proved.",
        checks=(Check("steps", steps, random=False),),
    ),
)
