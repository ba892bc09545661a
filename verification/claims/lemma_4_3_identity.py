r"""Lemma 4.3: the error of a bin's coefficient is bias from the layers above plus $\omega_B$, as an identity.

$\lambda_B = E_B[(\phi^\top\theta^* - p)\phi_h]$ with p the prediction subtracted, and $\phi^\top\theta^* =
\phi^\top\theta^{tot}_{B^o} + \phi_h^\top\theta^*$, so $\lambda_B = -E_B[\eta\phi_h] + \Lambda_B\theta^*$ with
$\eta = p - \phi^\top\theta^{tot}_{B^o}$; and $\hat u\hat s^{-1}\hat u^\top\tilde\Lambda_B = \hat u\hat
u^\top$. Nothing else is used, so it holds for the clipped prediction of the repaired algorithm with $\eta$
clipped likewise.

In floating point each product is off by a few ulps of its factors, and s divides them all: the identity is
asked for to 64 d ulps of (the sizes of the matrix, the vector and the bin's scale times the largest reward
residual) / s.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from lpcb.arrays import Array
from lpcb.engines.aggregate import Crowd
from lpcb.lplr import ci
from lpcb.lplr.aggregate import parents_of
from lpcb.lplr.pcr import pcr
from lpcb.lplr.update import mechanisms, statistics
from lpcb.partition import Bins, descend, enter
from lpcb.problem import Problem
from lpcb.spec import Spec
from verification.claim import Check, Claim, Context
from verification.experiments.components import Decomposition, decompose, fit_drawn
from verification.experiments.fits import HARD, WILD, draw, nested
from verification.verdict import Evidence, Finding, Measure

EPS = float(np.finfo(np.float64).eps)
PROBLEMS = {"quick": 12, "standard": 80, "thorough": 800}
USERS = 10**14


def fitted(spec: Spec, problem: Problem, rng: np.random.Generator) -> Iterator[tuple[int, Decomposition]]:
    """(layer, terms) down a tree fitted from private sums, layer after layer."""
    crowd = Crowd(problem, spec, np.ones((1, problem.contexts, 1)), USERS, rng)
    at = enter(spec, *crowd.points)
    parents: Bins | None = None
    weights, means = crowd.population()
    for h in range(1, spec.d + 1):
        keys = np.unique(at.keys)
        sums = statistics(spec, at, keys, *crowd.batch())
        private = mechanisms(spec, h, keys).release_sum(sums, USERS, rng)
        truth = statistics(spec, at, keys, weights, means)
        parent_open, rest = parents_of(spec, keys, parents)
        fit = pcr(spec, USERS, keys, private, parent_open, rest)
        yield h, decompose(spec, USERS, keys, private, truth, at, weights, rest, problem.theta, fit)
        parents = ci.bins(spec, USERS, keys, fit, rest, np.zeros(int(fit.active.sum())))
        at = descend(spec, at, parents, np.zeros(len(at.keys)))


def rounding(parts: Decomposition, d: int) -> Array:
    """Distance of the two sides in units of 64 d ulps of what is added up."""
    gap = np.linalg.norm(parts.error - parts.bias - parts.omega, axis=1)
    return np.asarray(gap / (64 * d * EPS * parts.scale))


def identity(context: Context) -> Finding:
    """Fitted trees of all depths, and trees laid down by hand with wild coefficients above."""
    rng = context.rng("identity")
    worst, bins, deepest = 0.0, 0, 0
    at: dict[str, object] = {}
    for index in range(PROBLEMS[context.setting.profile]):
        d, horizon = 1 + index % 4, (10**6, 10**18)[index // 4 % 2]
        spec = context.setting.spec(d=d, actions=1, horizon=horizon, activation=0.01)
        for h, parts in fitted(spec, nested(spec, rng), rng):
            bins, deepest = bins + len(parts.rows), max(deepest, h if len(parts.rows) else 0)
            value = float(rounding(parts, d).max(initial=0.0))
            if value > worst:
                worst, at = value, {"d": d, "horizon": horizon, "problem": index, "layer": h}
    laid = [hard for hard in HARD[context.setting.profile] if hard.h > 1]
    biased = 0.0
    for hard in laid:
        spec = hard.spec(context.setting)
        n = hard.users(lambda s: 2 * s.kappa1 * s.gamma**2 * (s.d + 1) ** 3, context.setting)
        _, parts = fit_drawn(hard, spec, draw(hard, spec, n, 50, rng))
        bins += len(parts.rows)
        biased = max(biased, float(np.linalg.norm(parts.bias, axis=1).max(initial=0.0)))
        value = float(rounding(parts, spec.d).max(initial=0.0))
        if value > worst:
            worst, at = value, {"configuration": hard.name, "n": n}
    missing = bins < 100 or deepest < 4 or math.isclose(biased, 0.0)
    evidence = Evidence(
        check="both sides of the identity",
        grade="exact",
        role="decides",
        scope=f"{bins} active bins down to layer {deepest}, {len(laid)} histories, sizes to {WILD:g}",
        verdict="REFUTED" if worst > 1 else "UNDECIDED" if missing else "HOLDS",
        value=worst,
        bound=1.0,
        interval=(worst, worst),
        samples=bins,
        note=f"largest difference in units of 64 d ulps of what is added up: {worst:.3g}, at {at}",
        counterexample=at if worst > 1 else None,
    )
    return Finding((evidence,), {"largest bias met": Measure(biased, (biased, biased))})


IDENTITY = Claim(
    id="lemma-4.3-identity",
    title="Lemma 4.3, decomposition of the error",
    statement=(
        r"$\hat\theta_B-\theta^*_B = -\hat u_B\hat s_B^{-1}\hat u_B^\top E[\eta_{B^o}(\phi)\phi_h|\phi\in B] "
        r"+ \omega_B$ with $\eta_{B^o}(\phi)=\phi^\top(\hat\theta^{tot}_{B^o}-\theta^{tot}_{B^o})$ and "
        r"$\omega_B = \hat u_B\hat s_B^{-1}\hat u_B^\top((\Lambda_B-\tilde\Lambda_B)\theta^* + "
        r"\hat\lambda_B/(\hat\psi_B n)-\lambda_B)$."
    ),
    repaired=(
        r"The same with the clipped form of $\eta$: the prediction $\phi^\top\hat\theta^{tot}_{B^o}$ clipped "
        r"to $[-1, 1]$, less $\phi^\top\theta^{tot}_{B^o}$."
    ),
    method=(
        "Private sums are drawn on problems with known moments, on fitted trees down to layer 4 and on trees "
        "with wild coefficients; every term is computed from its definition and the two sides are compared."
    ),
    checks=(Check("identity", identity, random=False),),
)

CLAIMS = (IDENTITY,)
