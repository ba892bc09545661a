r"""The remark on Theorem 4.6: what its bound becomes when only T is tracked, and at beta = 1/ln T."""

from __future__ import annotations

from functools import partial

from verification.claim import Check, Claim
from verification.evidence.lplr_proof.constants import THEOREM_46
from verification.evidence.lplr_proof.rows import every_step

CLAIMS = (
    Claim(
        id="thm-4.6-remark",
        title="Remark on Theorem 4.6",
        statement=r"The bound of Theorem 4.6 is at most $\mathrm{poly}(d, \alpha^{-1}, A, "
        r"\ln(dT))\,(2/\beta)^{-d}\,T^{1/2+2\beta}$, "
        r"and at $\beta = 1/\ln T$ at most $\mathrm{poly}(d, \alpha^{-1}, A)\sqrt T\ln^dT$.",
        repaired=None,
        method="Quotients of both sides are computed along sequences on which every polynomial is passed.",
        checks=(Check("steps", partial(every_step, steps=THEOREM_46), random=False),),
    ),
)
