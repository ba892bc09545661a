"""Steps of the proof of Proposition 4.1: normalisations, sensitivities, the Wishart mechanism."""

from __future__ import annotations

from functools import partial

from verification.claim import Check, Claim
from verification.evidence.lplr_proof.privacy import STEPS
from verification.evidence.lplr_proof.rows import every_step

CLAIMS = (
    Claim(
        id="prop-4.1-steps",
        title="Steps of the proof of Proposition 4.1",
        statement=r"Every step of the proof is true: the number of bins, $\ell_1$-sensitivities of 1 and "
        r"$\sqrt d$, the "
        r"normalisations by $\gamma^{-k}$, the range of $y_h$, the Wishart mechanism, and the composition.",
        repaired=None,
        method="Each step is decided exactly: by counting in fractions, or by a pair of users that "
        "contradicts it.",
        checks=(Check("steps", partial(every_step, steps=STEPS), random=False),),
    ),
)
