r"""Definition 3.1, property 2(c): the dummy context has an interval of width zero.

The zero vector lands in the last bin, k = M, which is inactive; as printed its interval is $\gamma^{-M}$.
What is not estimated contributes $|\phi_h^\top\theta^*| \le \|\phi_h\|$, which is 0 for the dummy.
"""

from __future__ import annotations

import numpy as np

from lpcb import problem as problems
from lpcb.engines import aggregate
from verification.claim import Check, Claim, Context
from verification.verdict import Evidence, Finding


def dummy(context: Context) -> Finding:
    """Delta at the zero vector, of oracles fitted to nothing, to little and to much."""
    widths: dict[str, float] = {}
    for d in (1, 2, 3):
        for n in (10**3, 10**16):
            spec = context.setting.spec(d=d, actions=2, horizon=10**12, activation=1e-3)
            policy = np.full((1, 6, 2), 0.5)
            rng = context.rng(f"fit {d} {n}")
            oracle = aggregate.fit(problems.random(d, 2, 6, seed=d), spec, policy, n, rng)
            _, delta = oracle(np.zeros((2, d)), np.arange(2))
            widths[f"d={d}, n={n:g}"] = float(delta.max())
    where = max(widths, key=lambda name: widths[name])
    worst = widths[where]
    evidence = Evidence(
        check="width at the dummy",
        grade="exact",
        role="decides",
        scope=f"{len(widths)} fits, d to 3, n = 10^3 and 10^16, T = 10^12",
        verdict="REFUTED" if worst > 0 else "HOLDS",
        value=worst,
        bound=0.0,
        interval=(worst, worst),
        note=f"Delta(dummy) = {worst:.4g} at {where}",
        counterexample={"configuration": where, "phi": "zero", "width": worst} if worst > 0 else None,
    )
    return Finding((evidence,))


DUMMY = Claim(
    id="def-3.1-dummy",
    title="Definition 3.1, the dummy context",
    statement=r"The oracle returned by Algorithm 6 has $\Delta(\bot, a) = 0$ for every action.",
    repaired=r"The oracle returned by Algorithm 6 has $\Delta(\bot, a) = 0$ for every action.",
    method="Oracles are fitted and asked for their interval at the zero vector.",
    checks=(Check("width", dummy, random=False),),
    guards=frozenset({"dummy-width"}),
)

CLAIMS = (DUMMY,)
