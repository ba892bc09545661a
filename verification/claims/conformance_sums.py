"""Conformance: binomials of very many users, where numpy's own sampler is not exact.

Every other row has at most some thousand users in a cell, or hides the count of very many behind their noise.
Here counts are drawn from 2^25 to 1e17 users, with means from 1/2 to half of the users, and compared with
scipy's law, or with the normal law where that is nearer than any test can see.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from lpcb.arrays import Array
from lpcb.sums import binomial, multinomial_counts, sign_sum
from verification.claim import Check, Claim, Context
from verification.claims.conformance_users import Test, against, judged, rate
from verification.verdict import Finding

DRAWS = {"quick": 3000, "standard": 20_000, "thorough": 100_000}
SOME, MOST = 2**25, 10**17
CASES = (
    (SOME, 0.5 / SOME),
    (SOME, 3 / SOME),
    (SOME, 1e-3),
    (SOME, 1 - 3 / SOME),
    (2**40, 0.3),
    (MOST, 3e-17),
    (MOST, 1e-12),
    (MOST, 0.5),
)
"""Users and their chance: few successes and many, and few failures."""


def law(x: Array, n: int, p: float) -> Test:
    """Counts against the binomial law, where n p is large against the normal one with half a step.

    The two cdfs are within 1/sqrt(n p (1 - p)) of each other (Berry and Esseen), 1e-5 or less there.
    """
    deviation = math.sqrt(n * p * (1 - p))
    if deviation < 10**5:
        return against(x, stats.binom(n, p).cdf, True)
    return against((x - n * p) / deviation, stats.norm.cdf)


def counts(context: Context) -> Finding:
    """Laws of counts, one cell at a time and neighbours together, and what is certain."""
    rng, draws = context.rng("counts"), DRAWS[context.setting.profile]
    tests: dict[str, Test] = {}
    broken = []
    for n, p in CASES:
        found = binomial(np.full(draws, n), p, rng)
        broken += [f"counts outside 0 to {n:g}"] * bool(((found < 0) | (found > n)).any())
        # Failures, where there are few: the law of what is near n is known to a few digits only.
        rare, x = (p, found) if p <= 0.5 else (1 - p, n - found)
        name = f"n = {n:g}, {'p' if p <= 0.5 else '1 - p'} = {rare:.3g}"
        tests[name] = law(x.astype(np.float64), n, rare)
        cut = math.floor(n * rare)
        high = float(stats.binom(n, rare).sf(cut)) if n * rare < 10**8 else 0.5
        agree = int(((x[::2] > cut) == (x[1::2] > cut)).sum())
        tests[f"neighbours at {name}"] = rate(agree, draws // 2, high**2 + (1 - high) ** 2)
    for n in (SOME, MOST):
        for p, sure in ((0.0, 0), (1.0, n)):
            wrong = (binomial(np.full(8, n), p, rng) != sure).any()
            broken += [f"{n:g} users of chance {p:g} are not {sure:g}"] * bool(wrong)
    scope = f"{len(CASES)} laws from 2^25 to 1e17 users, {draws} draws of each"
    return judged("binomials of very many users", scope, tests, draws * len(CASES), broken)


def derived(context: Context) -> Finding:
    """What is made of the counts: rewards of 1e17 users, and three cells of which one is rare."""
    rng, draws = context.rng("derived"), DRAWS[context.setting.profile]
    tests: dict[str, Test] = {}
    for mean in (0.0, -0.6):
        total = sign_sum(np.full(draws, MOST), np.full(draws, mean), rng)
        deviation = math.sqrt(MOST * (1 - mean**2))
        tests[f"rewards of mean {mean:g}"] = against((total - MOST * mean) / deviation, stats.norm.cdf)
    chance = np.array([0.7, 3e-17, 0.3])
    cells = multinomial_counts(MOST, np.tile(chance, (draws, 1)), rng)
    whole = bool((cells.sum(axis=1) == MOST).all())
    for cell, p in enumerate(chance.tolist()):
        tests[f"cell of chance {p:g}"] = law(cells[:, cell].astype(np.float64), MOST, p)
    broken = [] if whole else ["cells do not add up"]
    scope = f"1e17 users, {draws} draws"
    return judged("rewards and cells of very many users", scope, tests, draws * len(tests), broken)


SUMS = Claim(
    id="conf-sums",
    title="Conformance: counts of very many users",
    statement=None,
    repaired=(
        r"From $2^{25}$ to $10^{17}$ users counts are binomial, neighbouring cells know nothing of each "
        "other, and rewards and cells that are made of them have their laws."
    ),
    method="Counts are compared with scipy's laws (Kolmogorov), neighbours by how often both are large.",
    checks=(Check("counts", counts, random=True), Check("derived", derived, random=True)),
)

CLAIMS = (SUMS,)
