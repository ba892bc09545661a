r"""Conformance: what a run says of itself, and what the aggregate engine does where no noise can hide it.

Algorithm 1 is played once more in plain loops, seed by seed and context by context, with oracles that are
told what to say: every column of a run, its total regret (Equation 1) and its onsets are compared. Bins that
nobody reaches, noiseless rewards and the dummies of the printed algorithm are looked at without statistics.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lpcb import problem as problems
from lpcb.arrays import Array, Bools, Ints
from lpcb.engines import aggregate
from lpcb.engines.run import Run, play
from lpcb.lplr.aggregate import Oracle
from lpcb.partition import Bins, Routed, layer_keys
from lpcb.problem import Problem
from lpcb.spec import PAPER, Spec
from verification.claim import Check, Claim, Context
from verification.claims.conformance import small
from verification.verdict import Evidence, Finding, Verdict

CLOSE = 1e-9
"""Relative; sums of a few dozen numbers in double precision."""
ROUNDING = 2e-12
"""By how much an interval may miss and still cover, as :func:`lpcb.engines.run.covers` has it."""
PLAYS = {"quick": 100, "standard": 400, "thorough": 2000}
HORIZONS = (1386, 2000)
"""With n_0 = 99: three whole epochs, and three with a fourth cut short."""
FITS = {"quick": 10, "standard": 20, "thorough": 50}
SEEDS = 3


# --- comparing --------------------------------------------------------------------------------------------


@dataclass
class Gap:
    """The largest relative difference between numbers that were obtained in two ways, and where it is."""

    worst: float = 0.0
    where: str = ""
    numbers: int = 0
    told: dict[str, int] = field(default_factory=dict)

    def see(self, where: str, found: Any, wanted: Any, least: float = 1e-300) -> None:
        """2, the largest there is, where shapes differ or a number is NaN; ``least`` is the least size."""
        one, two = np.asarray(found, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
        self.numbers += one.size
        far = 2.0
        if one.shape == two.shape:
            size = np.maximum(np.maximum(np.abs(one), np.abs(two)), least)
            far = float(np.nan_to_num(np.abs(one - two) / size, nan=2.0).max(initial=0.0))
        if far > self.worst:
            self.worst, self.where = far, f"{where}: {_short(found)} for {_short(wanted)}"

    def tell(self, **counts: int) -> None:
        """What has to be seen at least once for the comparison to say something."""
        for name, count in counts.items():
            self.told[name] = self.told.get(name, 0) + int(count)

    def finding(self, check: str, scope: str) -> Finding:
        """HOLDS if nothing differs and everything that has to be seen was."""
        missing = [name for name, count in self.told.items() if not count]
        wrong = self.worst > CLOSE
        verdict: Verdict = "REFUTED" if wrong else "UNDECIDED" if missing else "HOLDS"
        seen = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self.told.items())
        evidence = Evidence(
            check=check,
            grade="exact",
            role="decides",
            scope=scope,
            verdict=verdict,
            value=self.worst,
            bound=CLOSE,
            interval=(self.worst, self.worst),
            samples=self.numbers,
            note=f"largest relative difference {self.worst:.2g} of {self.numbers} numbers"
            + (f"; {self.where}" if wrong else "")
            + (f"; seen: {seen}" if seen else ""),
            counterexample={"where": self.where, "difference": self.worst} if wrong else None,
        )
        return Finding((evidence,))


def _short(value: Any) -> str:
    text = np.array2string(np.asarray(value), precision=6, threshold=8, edgeitems=2, separator=", ")
    return " ".join(text.split())[:120]


# --- Algorithm 1 in plain loops ---------------------------------------------------------------------------


class Told(Oracle):
    """An oracle that is told f_hat and Delta at every (seed, context, action), and which bins are active."""

    def __init__(self, spec: Spec, f_hat: Array, delta: Array, active: Sequence[Bools]) -> None:
        layers = tuple(_marked(spec, h, mark) for h, mark in enumerate(active, 1))
        super().__init__(spec, layers, seeds=len(f_hat))
        self.f_hat, self.delta, self.active = f_hat, delta, active

    def route(self, phi: Array, oracle: Ints) -> list[Routed]:
        *path, end = super().route(phi, oracle)
        return [*path, replace(end, total=self.f_hat.ravel(), eta=self.delta.ravel())]


def _marked(spec: Spec, h: int, active: Bools) -> Bins:
    """Bins of layer h without directions, so that phi_h = phi on every layer."""
    cells, d = len(active), spec.d
    ones, none = np.ones(cells), np.zeros((cells, d))
    rest = np.broadcast_to(np.eye(d), (cells, d, d))
    keys = np.arange(cells, dtype=np.int64)
    return Bins(1, keys, ones, active, np.zeros(cells, dtype=bool), none, 0 * ones, none, rest, ones)


def tell(problem: Problem, spec: Spec, seeds: int, rng: np.random.Generator) -> Told:
    """Estimates around f*; now and then one lies outside its interval, at either side, by up to 0.9 Delta."""
    shape = (seeds, problem.contexts, problem.actions)
    delta = rng.uniform(0.05, 0.6, shape)
    missing = rng.random(shape) < 0.06
    off = np.where(missing, rng.uniform(1.05, 1.9, shape), rng.uniform(0, 0.95, shape))
    f_hat = np.clip(problem.means + off * delta * rng.choice([-1.0, 1.0], shape), -1, 1)
    share = rng.choice([0.0, 0.1, 0.5])
    marks = [rng.random(len(layer_keys(spec, h, seeds * spec.actions))) < share for h in (1, 2)]
    return Told(spec, f_hat, delta, marks)


@dataclass
class Plain:
    """Columns by seed and epoch, and policies by epoch, seed, context and action."""

    rounds: list[int]
    policies: list[Array]
    columns: dict[str, list[list[float]]]


def algorithm_1(problem: Problem, spec: Spec, seeds: int, told: Sequence[Told]) -> Plain:
    """Algorithm 1 for each seed; ``told`` are the oracles of the whole epochs, in order."""
    rounds, left = list[int](), spec.horizon
    while left:
        rounds.append(min(left, 2 ** (len(rounds) + 1) * spec.n0))
        left -= rounds[-1]
    names = ("regret", "covered", "width", "active_bins", "actions_left")
    out = Plain(rounds, [np.zeros((seeds, *problem.means.shape)) for _ in rounds], {n: [] for n in names})
    for seed in range(seeds):
        epochs = _one_seed(problem, spec, rounds, seed, told, out.policies)
        for name, column in zip(names, zip(*epochs, strict=True), strict=True):
            out.columns[name].append(list(column))
    return out


def _one_seed(
    problem: Problem, spec: Spec, rounds: list[int], seed: int, told: Sequence[Told], policies: list[Array]
) -> list[tuple[float, ...]]:
    """(regret, covered, width, active bins, actions left) of each epoch; fills in the policies."""
    contexts, actions = range(problem.contexts), range(problem.actions)
    truth, weights = problem.means.tolist(), problem.weights.tolist()
    playing = [list(actions) for _ in contexts]
    rows = list[tuple[float, ...]]()
    for epoch, n in enumerate(rounds):
        last = told[epoch - 1] if epoch else None
        f_hat = last.f_hat[seed].tolist() if last else [[0.0 for _ in actions] for _ in contexts]
        delta = last.delta[seed].tolist() if last else [[1.0 for _ in actions] for _ in contexts]
        regret = width = left = 0.0
        covered = True
        for x in contexts:
            floor = max(f_hat[x][a] - delta[x][a] for a in playing[x])
            playing[x] = [a for a in playing[x] if f_hat[x][a] + delta[x][a] >= floor]
            for a in playing[x]:
                chance = weights[x] / len(playing[x])
                policies[epoch][seed, x, a] = 1 / len(playing[x])
                regret += n * chance * (max(truth[x]) - truth[x][a])
                width += chance * delta[x][a]
            left += weights[x] * len(playing[x])
            covered &= all(abs(f_hat[x][a] - truth[x][a]) <= delta[x][a] + ROUNDING for a in actions)
        reached = _reached(problem, spec, seed, last) if last else 0
        rows.append((regret, float(covered), width, float(reached), left))
    return rows


def _reached(problem: Problem, spec: Spec, seed: int, told: Told) -> int:
    """How many active bins the contexts of one seed fall into, each counted once."""
    found = set()
    for phi in problem.features.tolist():
        for a, vector in enumerate(phi):
            norm = math.sqrt(sum(v * v for v in vector))
            k = max((k for k in range(spec.M + 1) if norm <= spec.gamma**-k), default=0)
            key = seed * spec.actions + a
            for h, active in enumerate(told.active):
                key = key * (spec.M + 1) + k
                if active[key]:
                    found.add((h, key))
    return len(found)


def onsets(problem: Problem, plain: Plain, seed: int) -> dict[str, int | None]:
    """After how many rounds each thing first happened, from the columns of one seed."""
    weights, truth = problem.weights.tolist(), problem.means.tolist()
    uniform = unfitted = 0.0
    for x, phi in enumerate(problem.features.tolist()):
        for a, vector in enumerate(phi):
            uniform += weights[x] * (max(truth[x]) - truth[x][a]) / len(phi)
            unfitted += weights[x] * math.sqrt(sum(v * v for v in vector)) / len(phi)
    first: dict[str, int | None] = dict.fromkeys(
        ("first_active_bin", "mean_interval_below_1", "mean_interval_below_norm", "regret_half_of_uniform")
    )
    before = 0
    for epoch, n in enumerate(plain.rounds):
        regret, width, bins = (plain.columns[c][seed][epoch] for c in ("regret", "width", "active_bins"))
        happened = {
            "first_active_bin": bins > 0,
            "mean_interval_below_1": width < 1 and before > 0,
            "mean_interval_below_norm": width < unfitted and bins > 0,
            "regret_half_of_uniform": regret <= uniform * n / 2 and uniform > 0,
        }
        first |= {name: before for name, now in happened.items() if now and first[name] is None}
        before += n
    return first


def compare(gap: Gap, problem: Problem, run: Run, plain: Plain, where: str) -> None:
    """Every column of a run, its total regret and its onsets against those of the plain loops."""
    gap.see(f"rounds, {where}", run.rounds, plain.rounds)
    for name, column in plain.columns.items():
        gap.see(f"{name}, {where}", getattr(run, name), column)
    total = [math.fsum(row) for row in plain.columns["regret"]]
    gap.see(f"total regret, {where}", run.total_regret, total)
    found = run.onset()
    for seed in range(len(total)):
        for name, when in onsets(problem, plain, seed).items():
            gap.see(f"onset of {name}, {where}", _when(found[name][seed]), _when(when))


def _when(rounds: int | None) -> float:
    return -1.0 if rounds is None else float(rounds)


def played(context: Context) -> Finding:
    """Runs of told oracles: 2 seeds side by side, 3 contexts of unequal weights, 3 actions."""
    rng, gap = context.rng("played"), Gap()
    plays = PLAYS[context.setting.profile]
    for i in range(plays):
        problem = problems.random(2, 3, 3, seed=int(rng.integers(2**32)))
        horizon = HORIZONS[i % len(HORIZONS)]
        spec = context.setting.spec(d=2, actions=3, horizon=horizon, beta=0.2, delta=0.5)
        told, asked = list[Told](), list[tuple[int, Array]]()

        def collect(
            tau: int,
            policy: Array,
            problem: Problem = problem,
            spec: Spec = spec,
            told: list[Told] = told,
            asked: list[tuple[int, Array]] = asked,
        ) -> Oracle:
            asked.append((tau, policy))
            told.append(tell(problem, spec, 2, rng))
            return told[-1]

        run = play(problem, spec, 2, collect)
        plain = algorithm_1(problem, spec, 2, told)
        gap.see("epochs that were collected", [tau for tau, _ in asked], [1, 2, 3])
        for (tau, policy), wanted in zip(asked, plain.policies, strict=False):
            gap.see(f"policy of epoch {tau}", policy, wanted)
        compare(gap, problem, run, plain, f"T = {horizon}")
        gap.tell(**_telling(problem, plain, told))
    return gap.finding("runs, column by column", f"{plays} runs of 2 seeds, K = 3, A = 3, T = 1386 and 2000")


def _telling(problem: Problem, plain: Plain, told: Sequence[Told]) -> dict[str, int]:
    """How many epochs show an interval that misses on one side alone, and actions that go; and onsets."""
    low = high = 0
    for oracle in told[: len(plain.rounds) - 1]:
        off = (oracle.f_hat - problem.means) / oracle.delta
        too_low, too_high = ((sign * off > 1).any(axis=(1, 2)) for sign in (-1, 1))
        low += int((too_low & ~too_high).sum())
        high += int((too_high & ~too_low).sum())
    left = np.array(plain.columns["actions_left"])
    counts = {
        "epochs_with_a_low_estimate": low,
        "with_a_high_one": high,
        "covered": int(np.sum(plain.columns["covered"])),
        "with_fewer_actions": int((np.diff(left, axis=1) < 0).sum()),
        "with_active_bins": int(np.count_nonzero(plain.columns["active_bins"])),
    }
    for seed, name in itertools.product(range(2), onsets(problem, plain, 0)):
        label = f"onsets_of_{name}"
        counts[label] = counts.get(label, 0) + ((onsets(problem, plain, seed)[name] or 0) > 0)
    return counts


# --- the aggregate engine ---------------------------------------------------------------------------------


def absent(context: Context) -> Finding:
    """Bins that nobody reaches: noise of their own in every fit, on every layer, and none below a closed one.

    Users stand in one bin; then vectors of all lengths are asked for. Doubles of continuous noise agree by
    no chance worth naming.
    """
    spec = small(context.setting, activation=1e-9)
    problem = Problem(np.full((1, 2, 2), 0.6), np.ones(1), np.array([0.5, 0.5]))
    rng, gap, noise = context.rng("absent"), Gap(), list[Array]()
    fits, keys = FITS[context.setting.profile], list[tuple[set[int], set[int]]]()
    counts = dict.fromkeys(("below_a_closed_bin", "with_users_enough", "below_an_open_bin"), 0)
    for _ in range(fits):
        oracle = aggregate.fit(problem, spec, np.full((SEEDS, 1, 2), 0.5), 10**4, rng)
        phi = rng.standard_normal((400, 2))
        phi *= (spec.gamma ** -rng.uniform(0, spec.M, 400) / np.linalg.norm(phi, axis=1))[:, None]
        reached = [set(layer.keys.tolist()) for layer in oracle.layers]
        oracle(phi, rng.integers(2 * SEEDS, size=400))
        top, child = oracle.layers
        fresh = [~np.isin(layer.keys, list(old)) for layer, old in zip(oracle.layers, reached, strict=True)]
        noise += [layer.psi[new] for layer, new in zip(oracle.layers, fresh, strict=True)]
        keys.append((set(top.keys[fresh[0]].tolist()), set(child.keys[fresh[1]].tolist())))
        parent = top.rows(child.keys // (spec.M + 1))
        closed, inner = fresh[1] & ~top.open[parent], child.keys % (spec.M + 1) < spec.M
        gap.see("active bins below a closed one", child.active[closed], np.zeros(closed.sum()))
        along = np.abs((child.u * top.u[parent]).sum(axis=1)) > CLOSE
        gap.see("directions along the parent's", along[fresh[1]], np.zeros(fresh[1].sum()))
        counts["below_a_closed_bin"] += int(closed.sum())
        counts["with_users_enough"] += int((closed & (child.psi > 1e-6) & inner).sum())
        counts["below_an_open_bin"] += int((fresh[1] & child.active).sum())
    drawn = np.concatenate(noise)
    gap.see("bins with the noise of another", len(drawn) - len(np.unique(drawn)), 0)
    both = sum(len(one[0] & two[0]) for one, two in itertools.combinations(keys, 2))
    gap.tell(
        **counts,
        bins_drawn_in_two_fits=both,
        keys_on_two_layers=sum(len(one & two) for one, two in keys),
    )
    return gap.finding("bins that nobody reaches", f"{len(drawn)} bins of {fits} fits, d = 2, {SEEDS} seeds")


def noiseless(context: Context) -> Finding:
    """Where rewards are noiseless, the sum of those at a point is their number times the mean."""
    rng, gap = context.rng("noiseless"), Gap()
    for n in (1, 40, 10**6, 10**12):
        spec = small(context.setting, actions=3)
        problem = problems.random(2, 3, 4, seed=5, reward="noiseless")
        policy = rng.dirichlet(np.ones(3), (SEEDS, 4))
        count, total = aggregate.Crowd(problem, spec, policy, n, rng).batch()
        means = np.broadcast_to(problem.means, (SEEDS, 4, 3)).ravel()
        gap.see(f"users, n = {n}", count.reshape(SEEDS, -1).sum(axis=1), np.full(SEEDS, float(n)))
        gap.see(f"rewards, n = {n}", total, [c * m for c, m in zip(count, means, strict=True)])
        gap.tell(points_with_users=int((count > 0).sum()))
    return gap.finding("noiseless rewards", f"batches of 1 to 1e12 users, {SEEDS} seeds, K = 4, A = 3")


def dummies(context: Context) -> Finding:
    """As printed, each action's oracle gets a zero vector, with reward 0, from all who did not take it.

    So the users of an action and its dummies are all users of the batch, whatever the variant that is run.
    """
    rng, gap = context.rng("dummies"), Gap()
    spec = PAPER(d=2, actions=3, horizon=700, delta=0.5)
    problem = problems.random(2, 3, 4, seed=5)
    for n in (40, 10**6):
        crowd = aggregate.Crowd(problem, spec, rng.dirichlet(np.ones(3), (SEEDS, 4)), n, rng)
        (phi, oracle), (count, total) = crowd.points, crowd.batch()
        own, extra = SEEDS * 4 * 3, SEEDS * 3
        gap.see("points", [len(phi), len(oracle), len(count), len(total)], [own + extra] * 4)
        taken = count[:own].reshape(SEEDS, 4, 3).sum(axis=1)
        gap.see(
            "users and dummies of an action", count[own:].reshape(SEEDS, 3) + taken, np.full((SEEDS, 3), n)
        )
        gap.see("dummies' oracles", oracle[own:], range(extra))
        gap.see("dummies' vectors and rewards", [np.abs(phi[own:]).max(), np.abs(total[own:]).max()], [0, 0])
        gap.tell(actions_taken=int((taken > 0).sum()))
    return gap.finding(
        "dummies of the printed algorithm", f"batches of 40 and 1e6 users, {SEEDS} seeds, A = 3"
    )


RUNS = Claim(
    id="conf-runs",
    title="Conformance: runs",
    statement=None,
    repaired=(
        r"A run's columns are, in each epoch $\tau$ with weights $w$, policy $p$ and the oracle of epoch "
        r"$\tau - 1$ ($\hat f = 0$, $\Delta = 1$ at first): regret $n_\tau \sum_{x,a} w_x p(a|x) "
        r"(f^*(x, a^*) - f^*(x, a))$, whether $|\hat f - f^*| \le \Delta$ everywhere, the mean of $\Delta$, "
        "actions left and active bins; total regret is the sum over all epochs and an onset counts the "
        "rounds before an epoch. Bins that nobody reaches draw noise of their own in every fit and layer."
    ),
    method=(
        "Algorithm 1 is played once more in plain loops, with oracles that are told what to say, and "
        "compared column by column; batches and absent bins of the aggregate engine are looked at one by one."
    ),
    checks=(
        Check("played", played, random=False),
        Check("absent", absent, random=False),
        Check("noiseless", noiseless, random=False),
        Check("dummies", dummies, random=False),
    ),
)

CLAIMS = (RUNS,)
