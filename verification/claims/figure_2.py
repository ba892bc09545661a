r"""Figure 2: the revised reward $y_h$ and its range.

$y_h = y - \langle\phi,\hat\theta^{tot}\rangle$, and a difference of two numbers of size 1 has size 2: with
rewards $\pm 1$ and the exact model $\hat\theta = \theta^*$, $y = 1$ arrives with probability
$(1 + \phi^\top\theta^*)/2 > 0$ however negative its mean, and leaves $y_2 = 1 - \phi^\top\theta^* > 1$. With
a noisy model there is no bound at all. After the repair the prediction is clipped to $[-1, 1]$ first, so
$|y_h| \le 2$; the map is monotone in y and in the prediction, so its corners are its extremes.
"""

from __future__ import annotations

import numpy as np

from lpcb.lplr.update import residual_range
from lpcb.partition import prediction
from verification.claim import Check, Claim, Context
from verification.verdict import Evidence, Finding, Measure

TOTALS = (0.0, 1e-6, 0.5, 1.0, 3.0, 1e9)
"""Cumulative predictions from an exact model (at most 1) and from noisy ones."""


def residual(context: Context) -> Finding:
    """y less the prediction at the corners of (y, prediction), on the second layer."""
    spec = context.setting.spec(d=2, actions=1, horizon=10**6)
    allowed = residual_range(spec, 2)
    totals = np.array([-t for t in TOTALS] + list(TOTALS))
    size = {t: float(np.abs(np.array([1.0, -1.0]) - prediction(spec, np.array([t]))).max()) for t in totals}
    smallest = min((abs(t) for t in totals if size[t] > allowed), default=None)
    worst = max(size.values())
    example = None
    if smallest is not None:
        phi, theta = [1.0, 0.0], [-smallest, 0.0]
        example = {"phi": phi, "theta_hat": theta, "y": 1.0, "y_2": 1.0 + smallest, "allowed": allowed}
    evidence = Evidence(
        check="size of y_2",
        grade="exact",
        role="decides",
        scope="layer 2, y = +-1, cumulative predictions from 0 to 10^9 in size",
        verdict="REFUTED" if smallest is not None else "HOLDS",
        value=worst,
        bound=allowed,
        interval=(worst, worst),
        note=(
            f"|y_2| reaches {worst:.4g}; noise covers {allowed:g}"
            + ("" if smallest is None else f"; already exceeded with a prediction of size {smallest:g}")
        ),
        counterexample=example,
    )
    return Finding((evidence,), {"range covered": Measure(allowed, (allowed, allowed))})


RESIDUAL = Claim(
    id="fig-2-residual",
    title="Figure 2, range of the revised reward",
    statement=r"The revised reward $y_h$ lies in $[-1, 1]$ on every layer.",
    repaired=(
        r"With the prediction clipped to $[-1, 1]$ before it is subtracted, $|y_1| \le 1$ and $|y_h| \le 2$ "
        r"for $h \ge 2$, and the noise covers this range."
    ),
    method="The map from reward and prediction to the revised reward is evaluated at its extremes.",
    checks=(Check("range", residual, random=False),),
    guards=frozenset({"residual-range"}),
)

CLAIMS = (RESIDUAL,)
