r"""Steps of the proof of Lemma 4.2, [proof-lplr-update-1] to its end, with the union over bins.

The lemma survives with $\hat\psi = \hat c/n$ and $\ln(48d/\beta\delta)$ in the third bound: its constants
6.2, $19d^2+29d$ and $7(d+1)^3+29d$ are re-derived on the way (on the first layer, where $|y_h| \le 1$).
"""

from __future__ import annotations

from functools import partial

from verification.claim import Check, Claim
from verification.evidence.enclosure import Box, Statement
from verification.evidence.lplr_proof import bins, frequencies, matrices, vectors
from verification.evidence.lplr_proof.rows import every_step
from verification.evidence.lplr_proof.tools import UNIT, inverse_root_log

STEPS = (
    *bins.UNION,
    *bins.log_steps(
        (24, 48, "for the three bounds and the second condition on psi"),
        (12, 24, "for the conditions n >= 2 ln(12/delta_0) and the third condition on psi"),
    ),
    *frequencies.STEPS,
    *vectors.STEPS,
    *matrices.STEPS,
)

STATEMENTS = (
    Statement(
        "lplr-update-3",
        frequencies.corrected_sum,
        Box(r=UNIT, v=(0, inverse_root_log(96))),
    ),
    Statement("lplr-update-17", matrices.direct_size, Box(t=UNIT, v=(0, inverse_root_log(12)))),
)

CLAIMS = (
    Claim(
        id="lemma-4.2-steps",
        title="Steps of the proof of Lemma 4.2",
        statement=r"Every displayed step of the proof is true for all $d, n \ge 1$, $\alpha, \delta \in "
        r"(0,1]$, "
        r"$\beta \in (0, 1/2]$, all bins and layers, under the conditions on $\psi_B$ and $n$ where they "
        r"are assumed.",
        repaired=None,
        method="Inequalities are proved for all parameters by ball arithmetic after substitutions that make "
        "them bounded; "
        "probabilities in counterexamples are exact sums.",
        checks=(Check("steps", partial(every_step, steps=STEPS, statements=STATEMENTS), random=False),),
    ),
)
