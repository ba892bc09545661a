r"""Conformance: who the users of a batch are. Noise hides them in every other row, so here they are watched.

A batch holds n users who draw a context by its weight and an action by the policy: counts over (context,
action) are multinomial, the number of rewards +1 in a cell is binomial, and no batch knows of another. Noise
of scale 6 and more on every user would hide a wrong law of the users themselves from any test of sums.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from lpcb.arrays import Array
from lpcb.engines import aggregate, stream
from lpcb.partition import enter
from lpcb.problem import Problem
from lpcb.protocol import Server
from verification.claim import Check, Claim, Context
from verification.claims.conformance import small, two_contexts
from verification.claims.conformance_noise import laplace_sum_cdf
from verification.evidence.samples import ks_one_detectable, ks_one_sample
from verification.evidence.tails import binomial_p
from verification.verdict import FALSE_ALARM, Evidence, Finding

SEEDS = {"quick": 2500, "standard": 10_000, "thorough": 50_000}
SERVERS = {"quick": 12, "standard": 40, "thorough": 200}
ABSENT = {"quick": 100, "standard": 300, "thorough": 2000}
POLICY = np.array([[0.5, 0.5], [0.2, 0.8]])
N = 40


def _chance(problem: Problem) -> Array:
    chance: Array = (problem.weights[:, None] * POLICY).ravel()
    return chance


Test = tuple[float, float, int]
"""Distance between cdfs or probabilities, p-value, samples."""


def judged(
    check: str,
    scope: str,
    tests: Mapping[str, Test],
    samples: int,
    broken: Sequence[str] = (),
    comparisons: int = 1,
) -> Finding:
    """REFUTED if an exact property is ``broken`` or a p-value is below its share of the budget.

    A distance that Kolmogorov's test detects the binomial test detects too: it looks at one point alone. A
    p-value may stand for up to ``comparisons`` of them.
    """
    level = FALSE_ALARM / len(tests)
    name = min(tests, key=lambda name: tests[name][1])
    distance, p, _ = tests[name]
    refuted = bool(broken) or p <= level
    detectable = ks_one_detectable(min(n for *_, n in tests.values()), level / comparisons)
    evidence = Evidence(
        check=check,
        grade="tested",
        role="decides",
        scope=scope,
        verdict="REFUTED" if refuted else "HOLDS",
        value=distance,
        bound=detectable,
        interval=(0.0, 1.0),
        false_alarm=FALSE_ALARM,
        detectable=detectable,
        samples=samples,
        note=f"smallest p-value {p:.2g} of {len(tests)} ({name})" + "".join(f"; {what}" for what in broken),
        counterexample={"law": name, "p": p, "broken": list(broken)} if refuted else None,
    )
    return Finding((evidence,))


def against(x: Array, law: Any, whole: bool = False) -> Test:
    """A sample against a cdf, that of whole numbers if ``whole``."""
    found = ks_one_sample(x, law, (lambda t: law(np.asarray(t) - 1)) if whole else None)
    return found.distance, found.p, len(x)


def rate(hits: int, n: int, p: float) -> Test:
    """Hits among n trials of probability p."""
    return abs(hits / n - p), binomial_p(hits, n, p, "two"), n


def crowds(context: Context) -> Finding:
    """Batches of the aggregate engine: counts, rewards, and what one batch says of another."""
    problem, spec = two_contexts(), small(context.setting)
    seeds = SEEDS[context.setting.profile]
    crowd = aggregate.Crowd(problem, spec, np.tile(POLICY, (seeds, 1, 1)), N, context.rng("crowds"))
    batches = [tuple(part.reshape(seeds, -1) for part in crowd.batch()) for _ in range(2 * spec.d)]
    chance, means = _chance(problem), problem.means.ravel()
    broken = []
    if any((counts.sum(axis=1) != N).any() for counts, _ in batches):
        broken.append(f"counts that do not add up to the {N} users of a batch")
    if any((np.abs(total) > counts).any() or ((total + counts) % 2 != 0).any() for counts, total in batches):
        broken.append("sums of rewards that no +-1 add up to")
    tests = {}
    for cell, (share, mean) in enumerate(zip(chance.tolist(), means.tolist(), strict=True)):
        counts = np.concatenate([c[:, cell] for c, _ in batches])
        plus = np.concatenate([(c[:, cell] + t[:, cell]) / 2 for c, t in batches])
        tests[f"users in cell {cell}"] = against(counts, stats.binom(N, share).cdf, True)
        tests[f"rewards +1 in cell {cell}"] = against(plus, stats.binom(N, share * (1 + mean) / 2).cdf, True)
        high = float(stats.binom(N, share).sf(np.floor(N * share)))
        for i, j in itertools.combinations(range(len(batches)), 2):
            above = [batches[b][0][:, cell] > np.floor(N * share) for b in (i, j)]
            agree = int((above[0] == above[1]).sum())
            tests[f"batches {i} and {j} in cell {cell}"] = rate(agree, seeds, high**2 + (1 - high) ** 2)
    scope = f"{len(batches)} batches of {N} users, {seeds} times, two contexts, two actions"
    return judged("users of the aggregate engine", scope, tests, len(batches) * seeds, broken)


def layers(context: Context) -> Finding:
    """A layer of the aggregate engine asks for two batches, one to fit and one for the intervals."""
    problem, spec = two_contexts(), small(context.setting)
    rng = context.rng("layers")
    crowd = aggregate.Crowd(problem, spec, POLICY[None], 500, rng)
    drawn: list[tuple[Array, Array]] = []

    def batch() -> tuple[Array, Array]:
        drawn.append(crowd.batch())
        return drawn[-1]

    at = enter(spec, *crowd.points)
    aggregate.fit_layer(spec, 500, 1, np.unique(at.keys), None, at, batch, rng)
    good = len(drawn) == 2
    evidence = Evidence(
        check="batches of a layer",
        grade="exact",
        role="decides",
        scope="the first layer of a fit, d = 2",
        verdict="HOLDS" if good else "REFUTED",
        value=len(drawn),
        bound=2.0,
        interval=(len(drawn), len(drawn)),
        note=f"{len(drawn)} batches were drawn; an update and an interval batch make two",
        counterexample=None if good else {"batches": len(drawn)},
    )
    return Finding((evidence,))


class Watched(Problem):
    """A problem that keeps the means and rewards of everybody who was asked."""

    @property
    def seen(self) -> list[tuple[Array, Array]]:
        found: list[tuple[Array, Array]] = vars(self).setdefault("_seen", [])
        return found

    def draw_reward(self, mean: ArrayLike, rng: np.random.Generator) -> Array:
        drawn = super().draw_reward(mean, rng)
        self.seen.append((np.asarray(mean), drawn))
        return drawn


def streamed(context: Context) -> Finding:
    """Users of the stream engine, told apart by the means of their rewards, batch by batch."""
    plain, spec, rng = two_contexts(), small(context.setting), context.rng("streamed")
    chance, means = _chance(plain), plain.means.ravel()
    problem = Watched(plain.features, plain.weights, plain.theta)
    servers = SERVERS[context.setting.profile]
    for _ in range(servers):
        stream.collect_epoch(problem, Server(spec), POLICY, rng)
    batch = spec.batch(1)
    broken = []
    if [len(mean) for mean, _ in problem.seen] != [batch] * 2 * spec.d * servers:
        broken.append("batches of another size or number")
    cells = np.concatenate([np.abs(mean[:, None] - means).argmin(axis=1) for mean, _ in problem.seen])
    rewards = np.concatenate([reward for _, reward in problem.seen])
    tests = {}
    for cell, (share, mean) in enumerate(zip(chance.tolist(), means.tolist(), strict=True)):
        here = cells == cell
        tests[f"users in cell {cell}"] = rate(int(here.sum()), len(cells), share)
        plus = int((rewards[here] > 0).sum())
        tests[f"rewards +1 in cell {cell}"] = rate(plus, int(here.sum()), (1 + mean) / 2)
    if not broken:
        by_batch = cells.reshape(servers, 2 * spec.d, batch)
        same = float((chance**2).sum())
        for name, one, two in (("next", (0, 2), (1, 3)), ("next but one", (0, 1), (2, 3))):
            agree = by_batch[:, list(one)] == by_batch[:, list(two)]
            tests[f"batches and the {name}"] = rate(int(agree.sum()), agree.size, same)
    scope = f"{len(cells)} users of {servers} epochs, d = 2, two contexts, two actions"
    return judged("users of the stream engine", scope, tests, len(cells), broken)


def absent(context: Context) -> Finding:
    """Bins that no context reaches: noise of n users, each bin its own."""
    spec = small(context.setting, d=1)
    problem = Problem(np.full((2, 2, 1), 0.9), np.full(2, 0.5), np.array([0.5]))
    fits = ABSENT[context.setting.profile]
    policy = np.full((fits, 2, 2), 0.5)
    oracle = aggregate.fit(problem, spec, policy, N, context.rng("absent"))
    levels = spec.gamma ** -np.arange(1.0, spec.M)
    points = np.tile(levels[:, None], (2 * fits, 1))
    path = oracle.route(points, np.repeat(np.arange(2 * fits), len(levels)))
    layer = oracle.layers[0]
    noise = layer.psi[layer.rows(path[0].keys)] * N / (2 * 3 / spec.alpha)
    twice = len(noise) - len(np.unique(noise))
    broken = [f"{twice} bins hold the noise of another"] if twice else []
    tests = {"noise of absent bins": against(noise, laplace_sum_cdf(N))}
    scope = f"{len(noise)} bins of {fits} fits, d = 1, n = {N}"
    return judged("bins that nobody reaches", scope, tests, len(noise), broken)


USERS = Claim(
    id="conf-users",
    title="Conformance: users of a batch",
    statement=None,
    repaired=(
        "In both engines the users of a batch draw contexts by their weights, actions by the policy and "
        "rewards by their means, each batch is drawn afresh, and bins that nobody reaches hold noise of "
        "their own."
    ),
    method="Users are watched before noise is added, and compared with binomial laws.",
    checks=(
        Check("crowds", crowds, random=True),
        Check("layers", layers, random=False),
        Check("streamed", streamed, random=True),
        Check("absent", absent, random=True),
    ),
)

CLAIMS = (USERS,)
