r"""Steps of the proof of Lemma 4.4: privacy, Lemmas A.3 and A.5, Corollaries A.4 and A.6, validity, the
recursion.

With $\kappa_1 \ge 73d\ln(48d/\beta\delta)/\alpha$, margins over $\sqrt n$, and widths that add up in inactive
bins, the recursion holds as printed, with 2.54 and 12.
"""

from __future__ import annotations

from functools import partial

from verification.claim import Check, Claim
from verification.evidence.enclosure import Statement
from verification.evidence.lplr_proof import bins, errors, recursion, validity
from verification.evidence.lplr_proof.rows import every_step

STEPS = (
    *errors.STEPS,
    *(step for step in bins.UNION if step.label == "layer, delta_0"),
    *bins.log_steps(
        (12, 24, "for the bound of Lemma A.3 and its condition on n"),
        (6, 12, "for its condition on psi"),
    ),
    *validity.STEPS,
    *recursion.STEPS,
)

STATEMENTS = (Statement("lplr-kappa1-recursion", recursion.recursion_ratio, recursion.CORNER),)

CLAIMS = (
    Claim(
        id="lemma-4.4-steps",
        title="Steps of the proof of Lemma 4.4",
        statement=r"Every displayed step of the proof is true, those of Lemmas A.3 and A.5 and Corollaries "
        r"A.4 and A.6 "
        r"included, for all $d, n \ge 1$, $\gamma \ge 1$, $\alpha, \delta \in (0,1]$, $\beta \in (0, 1/2]$ "
        r"and all bins.",
        repaired=None,
        method="Inequalities are proved for all parameters by ball arithmetic; identities and finite laws "
        "are checked in "
        "fractions; counterexamples are given in the paper's parameters.",
        checks=(Check("steps", partial(every_step, steps=STEPS, statements=STATEMENTS), random=False),),
    ),
)
