r"""Conformance: what the baselines compute. A weaker rival would make everything beside it look better.

Radii, estimates and widths are worked out again in plain loops for one seed, one context and one action at a
time, on made-up sums; the loops over epochs and rounds are played with policies that are written down, and
looked at between the ends of epochs; users are counted at unequal weights, and the noise of sums is compared
with its law.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from lpcb.arrays import Array
from lpcb.baselines import _epochs, _rounds, elimination_ls, linucb, linucb_doubling, private_statistics
from lpcb.baselines._data import Cells, drawn_cells, summed_cells
from lpcb.baselines._private import intervals as private_intervals
from lpcb.baselines._run import Run
from lpcb.problem import Problem
from verification.claim import Check, Claim, Context
from verification.claims.conformance_noise import laplace_sum_cdf
from verification.claims.conformance_scales import Compared
from verification.claims.conformance_users import Test, against, judged, rate
from verification.verdict import Finding

DIMENSIONS = (1, 2, 3)
SEEDS = {"quick": 2000, "standard": 10_000, "thorough": 50_000}
USERS = 50
MADE_UP = 3
"""Seeds whose sums are made up side by side."""
NOISES: tuple[tuple[float, float], ...] = ((40.0, 3.0), (0.01, 200.0), (0.5, 0.5))
"""U and r of private sums: much noise on the matrix, much on the vector, little on both."""
CHECKPOINTS = (1, 63, 64, 65, 100, 191, 192, 193, 300, 448, 449, 499, 500)
"""Epochs of 64, 128 and 256 rounds and the first 52 of the next: ends, beginnings, and between."""
EPOCHS = (64, 128, 256, 52)


def made_up(d: int, rng: np.random.Generator) -> Problem:
    """Three contexts of unequal weight and two actions, long and short features."""
    phi = rng.standard_normal((3, 2, d))
    phi *= rng.uniform(0.4, 1.0, (3, 2, 1)) / np.linalg.norm(phi, axis=-1, keepdims=True)
    theta = rng.standard_normal(d)
    return Problem(phi, np.array([0.5, 0.3, 0.2]), 0.9 * theta / np.linalg.norm(theta))


def everywhere(problem: Problem) -> list[tuple[int, int, int]]:
    """Every seed, context and action."""
    return list(itertools.product(range(MADE_UP), range(problem.contexts), range(problem.actions)))


def cells(problem: Problem, largest: int, rng: np.random.Generator) -> Cells:
    counts = rng.integers(0, largest, (MADE_UP, problem.contexts, problem.actions)).astype(np.float64)
    return Cells(counts, counts * rng.uniform(-0.9, 0.9, counts.shape))


def solved(matrix: Array, right: Array) -> Array:
    return np.asarray(np.linalg.inv(matrix) @ right, dtype=np.float64)


def clipped(x: float) -> float:
    return max(-1.0, min(1.0, x))


# --- radii and intervals ----------------------------------------------------------------------------------


def bonuses(context: Context) -> Finding:
    """LinUCB: phi'theta + (sqrt(2 ln(1/p) + ln det V) + 1) |phi|_(V^-1), with V = I + sum phi phi'.

    Round by round, from one user at a time, and in the form that changes its policy rarely.
    """
    seen, rng = Compared(), context.rng("bonuses")
    for d, p in itertools.product(DIMENSIONS, (1.0, 1e-3)):
        problem = made_up(d, rng)
        state, V, total = linucb.start(MADE_UP, d), [np.eye(d)] * MADE_UP, [np.zeros(d)] * MADE_UP
        for t in range(12):
            phi = np.stack([problem.features[(t + i) % 3, t % 2] for i in range(MADE_UP)])
            y = rng.choice([-1.0, 1.0], MADE_UP)
            state = linucb.learn(state, phi, y)
            V = [V[i] + np.outer(phi[i], phi[i]) for i in range(MADE_UP)]
            total = [total[i] + y[i] * phi[i] for i in range(MADE_UP)]
        for x in range(3):
            shown = np.tile(problem.features[x], (MADE_UP, 1, 1))
            found = linucb.upper(state, shown, p)
            for i, a in itertools.product(range(MADE_UP), range(2)):
                wanted = optimistic(V[i], total[i], problem.features[x, a], p)
                seen.add(f"linucb, d={d}, p={p:g}", wanted, float(found[i, a]))
        many = cells(problem, 1000, rng)
        scores = linucb_doubling.upper(problem, many, p)[0]
        for i, x, a in everywhere(problem):
            V[i], total[i] = np.eye(d), np.zeros(d)
            for k, b in itertools.product(range(3), range(2)):
                one = problem.features[k, b]
                V[i] = V[i] + many.counts[i, k, b] * np.outer(one, one)
                total[i] = total[i] + many.sums[i, k, b] * one
            wanted = optimistic(V[i], total[i], problem.features[x, a], p)
            seen.add(f"linucb_doubling, d={d}, p={p:g}", wanted, float(scores[i, x, a]))
    return seen.finding("bonuses of LinUCB", "d = 1, 2, 3, failure 1 and 0.001, made-up users")


def optimistic(V: Array, total: Array, phi: Array, p: float) -> float:
    """Abbasi-Yadkori, Pal & Szepesvari (2011), Theorem 2, with ridge 1, R = 1 and S = 1."""
    reach = math.sqrt(2 * math.log(1 / p) + math.log(float(np.linalg.det(V)))) + 1
    return float(phi @ solved(V, total)) + reach * math.sqrt(float(phi @ solved(V, phi)))


def widths(context: Context) -> Finding:
    """elimination_ls, one regression an action: sqrt(2 ln(2 K A/p)) |phi|_(V^-1) + |V^-1 phi|, at most 2."""
    seen, rng, told = Compared(), context.rng("widths"), 0
    for d, largest in itertools.product(DIMENSIONS, (3, 1000)):
        problem, p = made_up(d, rng), 0.01
        many = cells(problem, largest, rng)
        f_hat, width = elimination_ls.intervals(problem, many, p)
        for i, x, a in everywhere(problem):
            V, total, phi = np.eye(d), np.zeros(d), problem.features[x, a]
            for k in range(3):
                one = problem.features[k, a]
                V, total = V + many.counts[i, k, a] * np.outer(one, one), total + many.sums[i, k, a] * one
            s = solved(V, phi)
            wide = math.sqrt(2 * math.log(2 * 3 * 2 / p)) * math.sqrt(float(phi @ s)) + math.sqrt(
                float(s @ s)
            )
            told += wide < 2
            where = f"d={d}, counts below {largest}"
            seen.add(f"estimate, {where}", clipped(float(s @ total)), float(f_hat[i, x, a]))
            seen.add(f"width, {where}", min(2.0, wide), float(width[i, x, a]))
    return seen.finding("intervals of elimination_ls", "d = 1, 2, 3, made-up sums", told > 20)


def private_widths(context: Context) -> Finding:
    """Intervals from private sums with |W| <= U and |xi| <= r; H = gram + 2 U I and s = H^-1 phi.

    sqrt(2 ln(2/p) phi's) for sampling, and the smaller of |s| (r + 3 U) and
    sqrt(phi's) (r/sqrt(U) + sqrt(3 U)) for noise and for what was added to the matrix; at most 2, and 2 where
    H has an eigenvalue below U.
    """
    seen, rng = Compared(), context.rng("private")
    told = {"first": 0, "second": 0, "useless": 0}
    for d, size in itertools.product(DIMENSIONS, NOISES):
        U, r = size
        problem, p = made_up(d, rng), 0.01
        root = rng.standard_normal((MADE_UP, 2, d, 3 * d)) * 400
        gram = root @ root.swapaxes(-1, -2) / (3 * d)
        gram[0, 0] = -1.5 * U * np.eye(d)
        moment = rng.uniform(-0.4, 0.4, (MADE_UP, 2, d)) * 160_000
        f_hat, width = private_intervals(problem, gram, moment, U, r, p)
        for i, x, a in everywhere(problem):
            H, phi = gram[i, a] + 2 * U * np.eye(d), problem.features[x, a]
            where = f"d={d}, U={U:g}, r={r:g}"
            if float(np.linalg.eigvalsh(H)[0]) < U:
                told["useless"] += 1
                seen.add(f"estimate without data, {where}", 0.0, float(f_hat[i, x, a]))
                seen.add(f"width without data, {where}", 2.0, float(width[i, x, a]))
                continue
            s = solved(H, phi)
            square, length = float(phi @ s), math.sqrt(float(s @ s))
            one = length * (r + 3 * U)
            two = math.sqrt(square) * (r / math.sqrt(U) + math.sqrt(3 * U))
            wide = math.sqrt(2 * math.log(2 / p) * square) + min(one, two)
            told["first" if one < two else "second"] += wide < 2
            seen.add(f"estimate, {where}", clipped(float(s @ moment[i, a])), float(f_hat[i, x, a]))
            seen.add(f"width, {where}", min(2.0, wide), float(width[i, x, a]))
    telling = min(told["first"], told["useless"]) > 5
    return seen.finding("private intervals", "d = 1, 2, 3, made-up sums, three sizes of noise", telling)


# --- epochs and rounds ------------------------------------------------------------------------------------


def scripted() -> tuple[Problem, list[Array]]:
    """Two contexts and actions with gaps 0.6 and 0.2, and one policy for each epoch, for two seeds."""
    problem = Problem(np.array([[[0.6], [0.0]], [[0.1], [0.3]]]), np.array([0.7, 0.3]), np.ones(1))
    # The chance of the worse action in each context; every epoch loses something else.
    worse: list[list[tuple[float, float]]] = [
        [(0.5, 0.5), (0, 0)],
        [(1, 0), (0.5, 1)],
        [(0, 1), (0.25, 0.5)],
        [(0.25, 0.25), (1, 1)],
    ]
    return problem, [np.array([[[1 - p, p], [q, 1 - q]] for p, q in seeds]) for seeds in worse]


def lost(problem: Problem, policy: Array) -> float:
    """Regret of one round under p(a | x), with the means written out."""
    total = 0.0
    for x, weight in enumerate(problem.weights.tolist()):
        means = [float(phi @ problem.theta) for phi in problem.features[x]]
        total += weight * sum(q * (max(means) - mean) for q, mean in zip(policy[x], means, strict=True))
    return total


def run_of(problem: Problem, seeds: int, rng: np.random.Generator, at: Sequence[int] = CHECKPOINTS) -> Run:
    return Run(problem, 500, 1.0, seeds, rng, at)


def epochs(context: Context) -> Finding:
    """Regret of written-down policies round by round, and the users that each update is told of."""
    seen = Compared()
    problem, policies = scripted()
    told: list[tuple[int, int]] = []

    def update(state: int, policy: Array, n: int) -> int:
        told.append((state, n))
        seen.all("policy that the update is told of", policies[state], policy)
        return state + 1

    curve = _epochs.play(
        "scripted", run_of(problem, 2, context.rng("epochs")), 0, policies.__getitem__, update
    )
    epoch = [tau for tau, length in enumerate(EPOCHS) for _ in range(length)]
    for seed, (column, rounds) in itertools.product(range(2), enumerate(CHECKPOINTS)):
        wanted = sum(lost(problem, policies[epoch[t]][seed]) for t in range(rounds))
        seen.add(f"regret after {rounds} rounds", wanted, float(curve.regret[seed, column]))
    # Nothing is learned from the last epoch, which the horizon cuts.
    seen.all("users of updates", [(0, 64), (1, 128), (2, 256)], told)
    return seen.finding("regret between the ends of epochs", f"{len(CHECKPOINTS)} checkpoints, four policies")


def failures(context: Context) -> Finding:
    """The 1/T by which a run may fail is shared equally by its epochs, and what an oracle says eliminates."""
    seen = Compared()
    problem, _ = scripted()
    asked: list[tuple[int, float]] = []
    # First nothing is known; then the worse action is out in the first context, at last in the second too.
    known = np.array([[[0.6, 0.0], [0.1, 0.3]]])
    f_hat = [0 * known, known, known]
    delta = [1.0, 0.2, 0.09]
    inside = [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0.5, 0.5]], [[1, 0], [0, 1]]]

    def oracle(policy: Array, n: int, failure: float) -> tuple[Array, Array]:
        tau = len(asked)
        asked.append((n, failure))
        seen.all(f"policy of epoch {tau + 1}", [inside[tau]], policy)
        return f_hat[tau], np.full((1, 2, 2), delta[tau])

    curve = _epochs.play_elimination("scripted", run_of(problem, 1, context.rng("failures")), oracle)
    seen.all("users and failures", [(n, 1 / 500 / len(EPOCHS)) for n in EPOCHS[:3]], asked)
    rates = [lost(problem, np.array(policy)) for policy in inside]
    total = sum(rate * n for rate, n in zip(rates, EPOCHS, strict=True))
    seen.add("regret", total, float(curve.regret[0, -1]))
    return seen.finding("failure shares and elimination", "four epochs, scripted intervals, T = 500")


def rounds(context: Context) -> Finding:
    """Regret of a policy that changes every round, which writes down what it loses as it goes."""
    seen = Compared()
    problem, _ = scripted()
    gaps: list[list[float]] = []

    def score(state: int, phi: Array) -> Array:
        action = (state // 3) % 2
        means = [[float(one @ problem.theta) for one in shown] for shown in phi]
        gaps.append([max(row) - row[action] for row in means])
        return np.tile(np.eye(2)[action], (len(phi), 1))

    def update(state: int, phi: Array, y: Array) -> int:
        return state + 1

    curve = _rounds.play("scripted", run_of(problem, 2, context.rng("rounds")), 0, score, update)
    for seed, (column, count) in itertools.product(range(2), enumerate(CHECKPOINTS)):
        wanted = sum(row[seed] for row in gaps[:count])
        seen.add(f"regret after {count} rounds", wanted, float(curve.regret[seed, column]))
    seen.add("rounds", 500, len(gaps))
    return seen.finding("regret round by round", f"{len(CHECKPOINTS)} checkpoints, a scripted policy")


# --- users and noise --------------------------------------------------------------------------------------


def users(context: Context) -> Finding:
    """Users of a baseline, drawn one by one, as sums, and round by round, at weights 0.7 and 0.3."""
    rng, seeds = context.rng("users"), SEEDS[context.setting.profile]
    problem, _ = scripted()
    policy = np.tile(np.array([[0.5, 0.5], [0.2, 0.8]]), (seeds, 1, 1))
    chance = [0.35, 0.35, 0.06, 0.24]
    means = [0.6, 0.0, 0.1, 0.3]
    tests: dict[str, Test] = {}
    broken = []
    for name, draw in (("drawn", drawn_cells), ("summed", summed_cells)):
        found = draw(run_of(problem, seeds, rng, [500]), policy, USERS)
        counts, sums = (table.reshape(seeds, 4) for table in found)
        broken += [f"{name} users do not add up"] * bool((counts.sum(axis=1) != USERS).any())
        for cell, (share, mean) in enumerate(zip(chance, means, strict=True)):
            here, plus = int(counts[:, cell].sum()), int((counts[:, cell] + sums[:, cell]).sum() / 2)
            tests[f"{name}: users in cell {cell}"] = rate(here, USERS * seeds, share)
            tests[f"{name}: rewards +1 in cell {cell}"] = rate(plus, here, (1 + mean) / 2)
            binomial = stats.binom(USERS, share).cdf
            tests[f"{name}: law in cell {cell}"] = against(counts[:, cell], binomial, True)
    first: list[float] = []

    def score(state: None, phi: Array) -> Array:
        first.extend(phi[:, 0, 0].tolist())
        return np.zeros(phi.shape[:2])

    short = Run(problem, 8, 1.0, seeds, rng, [8])
    _rounds.play("counted", short, None, score, lambda state, phi, y: None)
    tests["round by round: first context"] = rate(int((np.array(first) > 0.5).sum()), len(first), 0.7)
    scope = f"{USERS} users of {seeds} seeds, two contexts and actions, in three ways"
    return judged("users of the baselines", scope, tests, 2 * USERS * seeds + len(first), broken)


def noise(context: Context) -> Finding:
    """What private_statistics adds to the sums of 1, 50 and 1e15 users: Laplace noise of each of them."""
    rng, seeds = context.rng("noise"), SEEDS[context.setting.profile]
    phi, b = np.array([0.6, -0.3]), 7.0
    problem = Problem(phi[None, None], np.ones(1), np.array([0.5, 0.5]), "noiseless")
    policy, outer = np.ones((seeds, 1, 1)), np.outer(phi, phi)
    tests: dict[str, Test] = {}
    broken = []
    every = ("11", "12", "22", "y")
    # Between one user and very many the law takes a while to work out: one entry each.
    forms = (("drawn", 50, ("12",)), ("summed", 50, ("y",)), ("summed", 1, every), ("summed", 10**15, every))
    for name, n, looked_at in forms:
        draw = (
            private_statistics.drawn_statistics if name == "drawn" else private_statistics.summed_statistics
        )
        gram, moment = draw(run_of(problem, seeds, rng, [500]), policy, n, b)
        gram, moment = gram[:, 0] - n * outer, moment[:, 0] - n * 0.15 * phi
        broken += [f"{name} sums of {n:g} are not symmetric"] * bool((gram[:, 0, 1] != gram[:, 1, 0]).any())
        entries = {"11": gram[:, 0, 0], "12": gram[:, 0, 1], "22": gram[:, 1, 1], "y": moment[:, 0]}
        for entry in looked_at:
            law = stats.laplace().cdf if n == 1 else laplace_sum_cdf(n)
            tests[f"entry {entry} of {name} sums of {n:g}"] = against(entries[entry] / b, law)
    return judged("noise of private_statistics", f"{len(tests)} entries, {seeds} seeds", tests, seeds, broken)


COMPARISON = Claim(
    id="conf-comparison",
    title="Conformance: what the baselines compute",
    statement=None,
    repaired=(
        "Radii, estimates, widths and failure shares of the baselines are those of their derivations, their "
        "regret is right at every round, their users come by the weights of contexts, and sums of private "
        "statistics hold the noise of all users."
    ),
    method=(
        "Plain loops for one point on made-up sums, scripted policies looked at between the ends of epochs, "
        "counts of users, and laws of noise."
    ),
    checks=(
        Check("bonuses", bonuses, random=False),
        Check("widths", widths, random=False),
        Check("private", private_widths, random=False),
        Check("epochs", epochs, random=False),
        Check("failures", failures, random=False),
        Check("rounds", rounds, random=False),
        Check("users", users, random=True),
        Check("noise", noise, random=True),
    ),
)

CLAIMS = (COMPARISON,)
