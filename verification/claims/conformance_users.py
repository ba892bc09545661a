r"""Conformance: who the users of a batch are. Noise hides them in every other row, so here they are watched.

A batch holds n users who draw a context by its weight and an action by the policy: counts over (context,
action) are multinomial, the number of rewards +1 in a cell is binomial, and no batch knows of another. Noise
of scale 6 and more on every user would hide a wrong law of the users themselves from any test of sums.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from lpcb.arrays import Array
from lpcb.engines import aggregate, stream
from lpcb.partition import Bins, Routed, descend, enter
from lpcb.problem import Problem
from lpcb.protocol import Server
from verification.claim import Check, Claim, Context
from verification.claims.conformance import small, two_contexts
from verification.claims.conformance_noise import laplace_sum_cdf
from verification.evidence.samples import ks_one_detectable, ks_one_sample
from verification.evidence.tails import binomial_p
from verification.experiments.fits import nested
from verification.verdict import FALSE_ALARM, Evidence, Finding

SEEDS = {"quick": 2500, "standard": 10_000, "thorough": 50_000}
SERVERS = {"quick": 12, "standard": 40, "thorough": 200}
ABSENT = {"quick": 100, "standard": 300, "thorough": 2000}
POLICY = np.array([[0.5, 0.5], [0.2, 0.8]])
N = 40
DIMENSIONS = (1, 2, 3, 4)
CLOSE = 1e-9
"""Relative; sums of thirty numbers in double precision."""


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


class Quiet(np.random.Generator):
    """A generator whose normal draws are 0, so that noise of sums, b sqrt(2 Gamma) times a normal, is 0."""

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return 0.0 if size is None else np.zeros(size)


def layers(context: Context) -> Finding:
    """A layer is fitted to its first batch, and its errors are summed over the second and no other.

    The two batches are scripted and nothing is added to the sums. As eta is 0 above the first layer, where
    errors would say nothing, every point is given an eta of its own there too.
    """
    rng, found = context.rng("layers"), _Misses()
    for d in DIMENSIONS:
        spec = small(context.setting, d=d, actions=1, horizon=10**4, activation=1e-9, width=0.0)
        phi = nested(spec, rng, contexts=30).features[:, 0]
        at, parents = enter(spec, phi, np.zeros(len(phi), dtype=np.int64)), None
        for h in range(1, d + 1):
            at = replace(at, eta=rng.uniform(0.1, 1.9, len(phi)))
            batches = [rng.integers(1, 1000, len(phi)).astype(np.float64) for _ in range(2)]
            rewards = rng.uniform(-1, 1, len(phi)) * batches[0]
            script = iter([(batches[0], rewards), (batches[1], 0 * rewards)])
            n, keys = 1000 * len(phi), np.unique(at.keys)
            quiet = Quiet(np.random.PCG64(0))
            layer = aggregate.fit_layer(spec, n, h, keys, parents, at, script.__next__, quiet)
            found.unused += len(list(script))
            found.compare(d, at, layer, batches, rewards)
            parents, at = layer, descend(spec, at, layer, at.eta)
    passages = sum(DIMENSIONS)
    good, telling = found.worst <= CLOSE and not found.unused, found.told >= passages
    evidence = Evidence(
        check="batches of a layer",
        grade="exact",
        role="decides",
        scope=f"{found.bins} active bins, every layer of d = 1 to {max(DIMENSIONS)}, two scripted batches, "
        "no noise",
        verdict="REFUTED" if not good else "HOLDS" if telling else "UNDECIDED",
        value=found.worst,
        bound=CLOSE,
        interval=(found.worst, found.worst),
        samples=found.bins,
        note=f"largest relative difference {found.worst:.2g} to counts and slopes of the first batch and "
        f"error sums of the second ({found.where}); {found.told} of {passages} layers tell the two apart",
        counterexample=None if good else {"where": found.where, "batches not drawn": found.unused},
    )
    return Finding((evidence,))


@dataclass
class _Misses:
    """The largest relative difference so far, and how many layers have sums that tell the batches apart."""

    worst: float = 0.0
    where: str = ""
    bins: int = 0
    told: int = 0
    unused: int = 0

    def compare(self, d: int, at: Routed, layer: Bins, batches: Sequence[Array], rewards: Array) -> None:
        """Sums over the points of each active bin, one by one, against what became of them."""
        apart = False
        for row in np.flatnonzero(layer.active):
            self.bins += 1
            here = at.keys == layer.keys[row]
            users = [float(batch[here].sum()) for batch in batches]
            along = at.rest[here] @ layer.u[row]
            share = at.eta[here] * np.abs(along) / math.sqrt(layer.s[row])
            fitted, fresh = (float(batch[here] @ share) for batch in batches)
            left = rewards[here] - batches[0][here] * np.clip(at.total[here], -1, 1)
            slope = float(left @ along) / users[0] / float(layer.s[row])
            told = float(layer.psi[row]) * layer.n
            for name, one, two in (
                ("users", told, users[0]),
                ("slope", float(layer.theta[row] @ layer.u[row]), slope),
                ("errors", float(layer.error[row]) * told, fresh),
            ):
                # Slopes may cancel: they are of the size of a reward over a length.
                miss = abs(one - two) / max(abs(one), abs(two), float(name == "slope"), 1e-300)
                if miss > self.worst:
                    self.worst, self.where = miss, f"{name} on layer {at.h}, d={d}"
            apart |= abs(fitted - fresh) > 1e-3 * fresh
        self.told += apart


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
