r"""Lemma 4.4, privacy: the release of Algorithm 5 is alpha-LDP.

Each user adds $\varepsilon_i \in [0, \max\hat\eta \cdot \gamma^{-k}/\sqrt{\hat s_B}]$ to its own bin; the
printed noise covers one such cell with $\hat\eta \le 1$, but a change of data empties one and fills another.
"""

from __future__ import annotations

from verification.claim import Check, Claim, Context
from verification.evidence.losses import loss_finding, places
from verification.experiments.views import worst_interval
from verification.verdict import Finding


def exact_loss(context: Context) -> Finding:
    where = places(context.setting.profile, "interval", (1, 2))
    return loss_finding(context, where, worst_interval, 1.0, "the error sums")


STATEMENT = (
    r"For all pairs of users and every transcript, the release of the error sums $\hat\varepsilon_B$ has "
    r"densities whose ratio is at most $e^{\alpha}$"
)
PRIVACY = Claim(
    id="lemma-4.4-privacy",
    title="Lemma 4.4, privacy",
    statement=STATEMENT + r", with noise $\hat s_B^{-1/2}\gamma^{-k}\mathrm{Lap}(1/\alpha)$.",
    repaired=STATEMENT + r", with noise $4\,\hat s_B^{-1/2}\gamma^{-k}\mathrm{Lap}(1/\alpha)$.",
    method=(
        "On interval batches of every layer, with parent intervals at their cap, the exact loss is maximised "
        "over pairs of users; the triangle inequality bounds it over all pairs."
    ),
    checks=(Check("exact loss", exact_loss, random=False),),
    guards=frozenset({"replacement-sensitivity"}),
)

CLAIMS = (PRIVACY,)
