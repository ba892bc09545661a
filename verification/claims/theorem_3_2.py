r"""Theorem 3.2, privacy: one user's whole report, over the oracles of all actions, is alpha-LDP.

A user reports to one batch only, so the loss is that of an update or of an interval release. As printed the
A oracles are fed the zero vector for the actions not taken, and count it in their last bin: changing the
action changes two cells in each of two oracles.
"""

from __future__ import annotations

from verification.claim import Check, Claim, Context
from verification.evidence.losses import Place, first_layer, loss_finding, places
from verification.evidence.report_audit import black_box
from verification.experiments.views import worst_interval, worst_update
from verification.verdict import Finding

UPDATE = "a report to an update batch"
ACTIONS = {"quick": (2,), "standard": (2, 8), "thorough": (2, 3, 8)}


def update(context: Context) -> Finding:
    where = places(context.setting.profile, "update", ACTIONS[context.setting.profile])
    return loss_finding(context, where, lambda view, rng: worst_update(view, "joint", rng), 1.0, UPDATE)


def interval(context: Context) -> Finding:
    where = places(context.setting.profile, "interval", ACTIONS[context.setting.profile])
    return loss_finding(context, where, worst_interval, 1.0, "a report to an interval batch")


def by_samples(context: Context) -> Finding:
    return black_box(context, "joint", Place(2, 2, 1.0, 0), 1.0)


PRIVACY = Claim(
    id="thm-3.2-privacy",
    title="Theorem 3.2, privacy",
    statement=(
        r"For all $(x,a,y)$, $(x',a',y')$ and every transcript, one user's report to all $A$ oracles "
        r"together has densities whose ratio is at most $e^{\alpha}$; oracles as printed."
    ),
    repaired=(
        r"For all $(x,a,y)$, $(x',a',y')$ and every transcript, one user's report to all $A$ oracles "
        r"together has densities whose ratio is at most $e^{\alpha}$; the dummy context is counted nowhere."
    ),
    method=(
        "On views of every layer the exact loss of the whole report is maximised over pairs of users with "
        "different actions, bins and rewards; the triangle inequality bounds it over all pairs."
    ),
    checks=(
        Check("update batches", update, random=False),
        Check("interval batches", interval, random=False),
        Check("black box", by_samples, random=True),
    ),
    guards=frozenset({"joint-actions", "replacement-sensitivity", "symmetric-noise"}),
    baselined=frozenset({first_layer(UPDATE)}),
)

CLAIMS = (PRIVACY,)
