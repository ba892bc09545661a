r"""Conformance: instances are those that the paper's text and the statements of the claims describe.

Every other row takes a problem as given: one with another gap, another rarity or another theta is as good a
problem, and nothing would be noticed. So features, weights, theta and means of every builder are compared
with numbers worked out by hand, at parameters where they come out even: e^alpha - 1 = 1 at alpha = ln 2,
8^(-1/3) = 1/2. What is drawn at random is compared with its law.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from lpcb import problem as problems
from lpcb.arrays import Array
from lpcb.problem import Problem
from verification.claim import Check, Claim, Context
from verification.claims.conformance_scales import Compared
from verification.claims.conformance_users import Test, against, judged
from verification.verdict import Finding

DRAWS = {"quick": 12_000, "standard": 40_000, "thorough": 200_000}
MEANS = (-0.9, -0.2, 0.0, 0.6)

Rows = list[list[list[float]]]
"""Features, context by context and action by action."""


def designs() -> list[tuple[str, Problem, Rows, list[float], list[float]]]:
    """A name, what the library builds, and its features, weights and theta by hand."""
    axes: Rows = [[[1, 0]], [[0, 1]]]
    two, three, half = math.log(2), math.log(3), math.log(1.5)
    out: list[tuple[str, Problem, Rows, list[float], list[float]]] = []
    # Theorem 2.1: e_2 with probability c/sqrt(n), c = 1/(4 sqrt(2) (e^alpha - 1)); theta = (0, 0) or (0, 1).
    for n, alpha, rare in ((2, two, 1 / 8), (8, two, 1 / 16), (2, three, 1 / 16), (8, half, 1 / 8)):
        for hypothesis in (0, 1, -1):
            built = problems.theorem_2_1(n, alpha, hypothesis)
            name = f"theorem_2_1({n}, {alpha:.3g}, H_{hypothesis})"
            out.append((name, built, axes, [1 - rare, rare], [0, hypothesis]))
    # Theorem 2.2: (1/2, +-c n^(-1/3)); theta = (1/2, 0) under H_1 and (1/2, 1/2) under H_2.
    for n, c, s in ((8, 0.2, 0.1), (1000, 0.07, 0.007), (10**6, 1.0, 0.01)):
        for hypothesis, second in ((1, 0.0), (2, 0.5)):
            built = problems.theorem_2_2(n, c, hypothesis)
            name = f"theorem_2_2({n:g}, {c:g}, H_{hypothesis})"
            out.append((name, built, [[[0.5, s]], [[0.5, -s]]], [0.5, 0.5], [0.5, second]))
    # F(s): x = +-1 equally likely, phi(x, 1) = (1/2, x s), phi(x, 2) = (1/2, -x s), theta = (1/2, +-1/2).
    for s, sign in ((0.2, 1), (0.2, -1), (0.8, 1)):
        crossed: Rows = [[[0.5, s], [0.5, -s]], [[0.5, -s], [0.5, s]]]
        name = f"family_f({s:g}, {sign})"
        out.append((name, problems.family_f(s, sign), crossed, [0.5, 0.5], [0.5, sign / 2]))
    # Section 2.3. Case II is shrunk to norm one: (sqrt(1 - delta), +-sqrt(delta)).
    out.append(("case_1(1/4)", problems.case_1(0.25), axes, [0.75, 0.25], [0, 1]))
    wide: Rows = [[[0.8, 0.6]], [[0.8, -0.6]]]
    out.append(("case_2(9/25)", problems.case_2(0.36), wide, [0.5, 0.5], [0, 1]))
    return out + [named(*given) for given in NAMED]


NAMED = (
    ("f", 10**4, "family_f", 0.1),
    ("f", 10, "family_f", 0.5),
    ("theorem-2.1", 2, "theorem_2_1", 1 / 8),
    ("theorem-2.2", 1000, "theorem_2_2", 0.007),
    ("case-1", 16, "case_1", 0.25),
    ("case-2", 16, "case_2", 0.25),
)
"""What :func:`lpcb.problem.build` makes of a horizon: F(T^(-1/4)) but at most F(1/2), delta = T^(-1/2)."""


def named(
    name: str, horizon: int, kind: str, s: float
) -> tuple[str, Problem, Rows, list[float], list[float]]:
    built = problems.build(name, horizon=horizon, alpha=math.log(2))
    axes: Rows = [[[1, 0]], [[0, 1]]]
    a, b = math.sqrt(1 - s), math.sqrt(s)
    table: dict[str, tuple[Rows, list[float], list[float]]] = {
        "family_f": ([[[0.5, s], [0.5, -s]], [[0.5, -s], [0.5, s]]], [0.5, 0.5], [0.5, 0.5]),
        "theorem_2_1": (axes, [1 - s, s], [0, 1]),
        "theorem_2_2": ([[[0.5, s]], [[0.5, -s]]], [0.5, 0.5], [0.5, 0.5]),
        "case_1": (axes, [1 - s, s], [0, 1]),
        "case_2": ([[[a, b]], [[a, -b]]], [0.5, 0.5], [0, 1]),
    }
    return f"build({name}, {horizon:g})", built, *table[kind]


def by_hand(context: Context) -> Finding:
    """Features, weights, theta; means and gaps with the products written out."""
    seen, found = Compared(), designs()
    for name, built, features, weights, theta in found:
        seen.all(f"features of {name}", features, built.features)
        seen.all(f"weights of {name}", weights, built.weights)
        seen.all(f"theta of {name}", theta, built.theta)
        means = [
            [sum(a * b for a, b in zip(phi, theta, strict=True)) for phi in actions] for actions in features
        ]
        regret = sum(
            weight * (max(row) - sum(row) / len(row)) for weight, row in zip(weights, means, strict=True)
        )
        seen.all(f"means of {name}", means, built.means)
        seen.all(f"gaps of {name}", [[max(row) - mean for mean in row] for row in means], built.gaps)
        seen.add(f"regret of uniform play on {name}", regret, built.uniform_regret)
    for s in (0.2, 0.8):
        gaps = problems.family_f(s).gaps
        # The better action is the first where x = 1, the second where x = -1, by s.
        seen.all(f"gaps of family_f({s:g})", [[0, s], [s, 0]], gaps)
    return seen.finding("instances worked out by hand", f"{len(found)} instances of all builders")


def drawn(context: Context) -> Finding:
    """Random features are uniform in the ball, weights Dirichlet, theta on the sphere; a line is a line."""
    contexts = DRAWS[context.setting.profile] // 4
    seed = int(context.rng("seed").integers(2**31))
    tests: dict[str, Test] = {}
    broken = []
    for d in (1, 2, 3):
        built = problems.random(d, 2, contexts, seed=seed + d)
        length = np.linalg.norm(built.features, axis=-1).ravel()
        tests[f"lengths at d={d}"] = against(length**d, stats.uniform.cdf)
        share = coordinate(built.features.reshape(-1, d)[:, 0] / length, d)
        if d > 1:
            tests[f"directions at d={d}"] = against(share, stats.uniform.cdf)
        straight = problems.line(d, 2, contexts, seed=seed)
        values = np.linalg.svd(straight.features.reshape(-1, d), compute_uv=False)
        broken += [f"features of line at d={d} span a plane"] * bool((values[1:] > 1e-9).any())
        broken += ["weights of line differ"] * bool(np.ptp(straight.weights) > 0)
        lengths = np.linalg.norm(straight.features, axis=-1).ravel()
        tests[f"lengths on a line at d={d}"] = against(lengths, stats.uniform.cdf)
        for problem in (built, straight):
            unit = abs(float(np.linalg.norm(problem.theta)) - 1) < 1e-12
            broken += [] if unit else [f"theta of {problem.name} at d={d} is not a unit vector"]
    # One of K Dirichlet weights is Beta(1, K - 1).
    weights = [problems.random(1, 1, 8, seed=seed + i).weights[0] for i in range(contexts // 2)]
    tests["weights"] = against(np.array(weights), stats.beta(1, 7).cdf)
    scope = f"random and line at d = 1, 2, 3 with {2 * contexts} features"
    return judged("random instances", scope, tests, 2 * contexts, broken)


def coordinate(x: Array, d: int) -> Array:
    """The cdf of a coordinate x of a uniform direction at x, where (1 + x)/2 is Beta((d-1)/2, (d-1)/2)."""
    if d == 1:
        return x
    half = (d - 1) / 2
    out: Array = stats.beta(half, half).cdf(np.clip((1 + x) / 2, 0, 1))
    return out


def rewards(context: Context) -> Finding:
    """Rewards have the mean that is asked for, by Hoeffding; signs are +-1, noiseless ones the mean."""
    rng, draws = context.rng("rewards"), DRAWS[context.setting.profile]
    tests: dict[str, Test] = {}
    broken = []
    for law in problems.REWARDS:
        problem = Problem(np.ones((1, 1, 1)), np.ones(1), np.ones(1), law)
        for mean in MEANS:
            y = problem.draw_reward(np.full(draws, mean), rng)
            if law == "noiseless":
                broken += [f"noiseless rewards differ from {mean:g}"] * bool((y != mean).any())
                continue
            broken += [f"{law} rewards outside [-1, 1]"] * bool((np.abs(y) > 1).any())
            broken += ["sign rewards other than +-1"] * bool(law == "sign" and (np.abs(y) != 1).any())
            tests[f"{law} rewards of mean {mean:g}"] = hoeffding((1 + y) / 2, (1 + mean) / 2)
    scope = f"{draws} rewards of each law at means {', '.join(f'{mean:g}' for mean in MEANS)}"
    return judged("means of rewards", scope, tests, draws * len(tests), broken)


def hoeffding(x: Array, mean: float) -> Test:
    """Numbers in [0, 1] against their mean: P(|average - mean| >= t) <= 2 exp(-2 n t^2)."""
    apart = abs(float(x.mean()) - mean)
    return apart, min(1.0, 2 * math.exp(-2 * len(x) * apart**2)), len(x)


INSTANCES = Claim(
    id="conf-instances",
    title="Conformance: instances",
    statement=None,
    repaired=(
        "The instances of Theorems 2.1 and 2.2, of Cases I and II and of the family F(s) are as they are "
        "described, random ones have the stated laws, and rewards have the stated means."
    ),
    method=(
        "Features, weights, theta, means and gaps are compared with numbers worked out by hand, and what is "
        "drawn at random with its law."
    ),
    checks=(
        Check("by hand", by_hand, random=False),
        Check("drawn", drawn, random=True),
        Check("rewards", rewards, random=True),
    ),
)

CLAIMS = (INSTANCES,)
