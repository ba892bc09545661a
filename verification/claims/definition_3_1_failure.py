r"""Definition 3.1, failure probability: the budget that Algorithm 1 needs, and the one that it has."""

from __future__ import annotations

import itertools
import math

from verification.claim import Check, Claim, Context
from verification.evidence.lplr_proof.budget import PRINTED, REPAIRED
from verification.evidence.lplr_proof.rows import every_step
from verification.verdict import Evidence, Finding, Measure

GRID = {"d": (1, 2, 4), "actions": (2, 16), "horizon": (10**4, 10**6, 10**9, 10**12, 10**18)}


def steps(context: Context) -> Finding:
    return every_step(context, PRINTED if context.setting.variant == "paper" else REPAIRED)


def as_run(context: Context) -> Finding:
    """Expected regret lost to failures, 2T · 2dA tau_0 delta, with the delta and the epochs of the algorithm
    itself.
    """
    losses, failures = {}, {}
    for d, actions, horizon in itertools.product(*GRID.values()):
        spec = context.setting.spec(d=d, actions=actions, horizon=horizon)
        epochs = len(spec.epochs())
        if epochs > math.log2(horizon + 2) or 1.5 / spec.b < spec.M + 1:
            raise ArithmeticError(
                f"{epochs} epochs or {spec.M} levels at T = {horizon} are more than counted on"
            )
        name = f"d = {d}, A = {actions}, T = {horizon:g}"
        failures[name] = 2 * d * actions * epochs * spec.failure
        losses[name] = 2 * horizon * failures[name]
    where = max(losses, key=lambda name: losses[name])
    worst = losses[where]
    evidence = Evidence(
        check="regret lost to failures, as run",
        grade="exact",
        role="decides",
        scope=f"{len(losses)} horizons from 10^4 to 10^18, d to 4, A to 16, given Lemma 4.5",
        verdict="HOLDS" if worst <= 1 else "UNDECIDED",
        value=worst,
        bound=1.0,
        interval=(worst, worst),
        note=f"at most {worst:.3g} in expectation, less than one round, at {where}",
    )
    last = next(reversed(failures))
    return Finding((evidence,), {f"failure of a run, {last}": Measure(failures[last], (failures[last],) * 2)})


CLAIMS = (
    Claim(
        id="def-3.1-failure",
        title="Definition 3.1, failure probability",
        statement=r"LPLR run with $\delta$ is an oracle that fails with probability at most $\delta$, as "
        r"Algorithm 1 assumes "
        r"with $\delta = 1/T^2$ for each of $A$ oracles in each epoch; each layer spends its share over all "
        r"bins.",
        repaired=r"LPLR run with $\delta$ is an oracle that fails with probability at most $2d\delta$. With "
        r"$\delta = 1/T^2$ the $A$ "
        r"oracles of all $\tau_0 \le \log_2(T+2)$ epochs fail with probability at most $2dA\tau_0/T^2$, "
        r"which costs at most "
        r"$4dA\tau_0/T$ in expected regret, less than the bound of Theorem 4.6 with $C = 1$.",
        method="The shares of bins, layers, oracles and epochs are added up; delta and epochs are asked of "
        "the algorithm.",
        checks=(Check("steps", steps, random=False), Check("as run", as_run, random=False)),
    ),
)
