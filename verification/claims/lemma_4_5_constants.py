r"""Lemma 4.5: the iteration of the recursion and the simplified bound."""

from __future__ import annotations

from functools import partial

from verification.claim import Check, Claim
from verification.evidence.lplr_proof.constants import LEMMA_45
from verification.evidence.lplr_proof.rows import every_step

CLAIMS = (
    Claim(
        id="lemma-4.5-simplified",
        title="Lemma 4.5, simplified bound",
        statement=r"The recursion iterates to $(2.54M)^d$, and the bound on the mean width is at most "
        r"$C(2.54/\beta)^d\gamma^2d^3\ln(48d/\beta\delta)/(\alpha\sqrt n)$ with one $C$ for all $d$ and "
        r"$\beta \in (0, 1/2]$.",
        repaired=None,
        method="The quotient of both sides is bounded, or shown to grow with d along a sequence of beta.",
        checks=(Check("steps", partial(every_step, steps=LEMMA_45), random=False),),
    ),
)
