r"""Conformance: users of the stream engine and what the server makes of their reports, without noise.

Whom the stream engine asks is watched at the client; which policy and which oracle an epoch goes by is
compared with Algorithm 1 in plain loops. Servers are fed the declared tables themselves, so that every bin
can be compared with the aggregate engine's and with sums written down by hand. Clients and servers that are
told lies have to refuse, and a server that was saved goes on as if nothing had happened.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import ArrayLike

from lpcb import problem as problems
from lpcb import state
from lpcb.arrays import Array, Bools, Ints
from lpcb.engines import aggregate, stream
from lpcb.lplr.aggregate import Oracle
from lpcb.partition import Bins, key_level, layer_keys
from lpcb.problem import Problem
from lpcb.protocol import Client, Report, Server, View
from lpcb.spec import Spec
from verification.claim import Check, Claim, Context
from verification.claims.conformance import small
from verification.claims.conformance_formulas import by_hand
from verification.claims.conformance_runs import Gap, Told, algorithm_1, compare, tell
from verification.claims.conformance_users import Quiet
from verification.experiments.views import view_after
from verification.verdict import Finding

RUNS = {"quick": 10, "standard": 40, "thorough": 400}
TREES = {"quick": 3, "standard": 8, "thorough": 40}
"""Of each d."""
Asked = tuple[Array, int, float]
"""(phi, action, y) as a client was given them."""


# --- the stream engine ------------------------------------------------------------------------------------


@contextmanager
def watching() -> Iterator[list[Asked]]:
    """What the stream engine gives its clients."""
    asked = list[Asked]()

    class Watched(Client):
        def report(
            self, view: View, phi: ArrayLike, action: int, y: float, rng: np.random.Generator
        ) -> Report:
            asked.append((np.array(phi, dtype=np.float64), action, y))
            return super().report(view, phi, action, y, rng)

    with patch.object(stream, "Client", Watched):
        yield asked


def users(context: Context) -> Finding:
    """Every user has the features of some context and of the action taken, and the reward of these two.

    Rewards are noiseless and all means differ, so that a reward says where it belongs. The policy leaves two
    of the six pairs out.
    """
    features = np.array([[[0.9, 0.1], [0.2, -0.9]], [[-0.3, 0.3], [0.6, 0.5]], [[0.1, 0.4], [-0.7, 0.2]]])
    problem = Problem(features, np.array([0.5, 0.2, 0.3]), np.array([0.8, -0.5]), "noiseless")
    policy, gap = np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]), Gap()
    spec = small(context.setting)
    with watching() as asked:
        stream.collect_epoch(problem, Server(spec), policy, context.rng("users"))
    gap.see("users of an epoch", len(asked), 2 * spec.d * spec.batch(1))
    seen = np.zeros(policy.shape)
    for phi, a, y in asked:
        x = int(np.abs(problem.means[:, a] - y).argmin())
        seen[x, a] += 1
        gap.see(f"reward of a user of action {a}", y, problem.means[x, a])
        gap.see(f"features of a user of action {a} with reward {y:.3g}", phi, features[x, a])
    gap.see("users who take an action that the policy leaves out", seen[policy == 0], [0, 0])
    gap.tell(pairs_of_context_and_action=int((seen > 0).sum()))
    return gap.finding("users of the stream engine", f"{len(asked)} users, K = 3, A = 2, d = 2, noiseless")


def epochs(context: Context) -> Finding:
    """The policy of each epoch, and the run, where the oracles that servers fit are told what to say."""
    rng, gap = context.rng("epochs"), Gap()
    for _ in range(RUNS[context.setting.profile]):
        problem = problems.random(2, 4, 2, seed=int(rng.integers(2**32)))
        spec = context.setting.spec(d=2, actions=4, horizon=3000, beta=0.2, delta=0.5)
        servers, policies = list[Server](), list[list[Array]]()

        def fitted(
            problem: Problem,
            server: Server,
            policy: Array,
            rng: np.random.Generator,
            servers: list[Server] = servers,
            policies: list[list[Array]] = policies,
        ) -> None:
            if not servers or servers[-1] is not server:
                servers.append(server)
                policies.append([])
            policies[-1].append(policy)
            server.oracles.append(tell(problem, server.spec, 1, rng))

        with patch.object(stream, "collect_epoch", fitted):
            run = stream.run(problem, spec, 2, rng)
        gap.see("servers and epochs", [len(of_one) for of_one in policies], [4, 4])
        for seed, (server, acted) in enumerate(zip(servers, policies, strict=True)):
            told = [oracle for oracle in server.oracles if isinstance(oracle, Told)]
            plain = algorithm_1(problem, spec, 1, told)
            for tau, (policy, wanted) in enumerate(zip(acted, plain.policies, strict=False), 1):
                gap.see(f"policy of epoch {tau}", policy, wanted[0])
            own = {name: getattr(run, name)[seed : seed + 1] for name in plain.columns}
            compare(gap, problem, replace(run, **own), plain, f"seed {seed}")
            differ = [bool((one != two).any()) for one, two in itertools.pairwise(plain.policies)]
            gap.tell(policies_changed_after_epoch_1=differ[0], after_a_later_one=any(differ[1:]))
    return gap.finding("policies and oracles of the stream engine", "runs of 2 seeds, 4 whole epochs, A = 4")


# --- batches ----------------------------------------------------------------------------------------------


def batches(context: Context) -> Finding:
    """How many reports each batch of three epochs takes, and which oracles users are shown meanwhile."""
    rng, gap, total = context.rng("batches"), Gap(), 0
    for d, many in ((1, 3), (2, 2)):
        spec = small(context.setting, d=d)
        problem = problems.random(d, 2, 2, seed=7)
        server, counts, wrong = Server(spec), Counter[tuple[int, int, str]](), list[tuple[int, int]]()

        def note(
            report: Report,
            server: Server = server,
            counts: Counter[tuple[int, int, str]] = counts,
            wrong: list[tuple[int, int]] = wrong,
        ) -> None:
            counts[report.epoch, report.layer, report.phase] += 1
            shown, fitted = server.view.oracles, server.oracles
            same = len(shown) == len(fitted) == server.view.epoch - 1
            if not same or any(one is not two for one, two in zip(shown, fitted, strict=True)):
                wrong.append((report.epoch, report.layer))

        for _ in range(many):
            stream.collect_epoch(problem, server, np.full((2, 2), 0.5), rng, note)
        for tau, h, phase in itertools.product(range(1, many + 1), range(1, d + 1), ("update", "interval")):
            wanted = 2**tau * spec.n0 // (2 * d)
            gap.see(
                f"{phase} batch of layer {h}, epoch {tau}, d = {d}", counts.pop((tau, h, phase), 0), wanted
            )
            total += wanted
        gap.see(f"reports to other batches, d = {d}", sum(counts.values()), 0)
        gap.see(f"reports after which other oracles were shown, d = {d}", len(wrong), 0)
        gap.see(f"oracles, d = {d}", [len(server.oracles), len(server.view.oracles)], [many, many])
    return gap.finding("batches and oracles of the server", f"{total} reports, 3 epochs at d = 1, 2 at d = 2")


class Expected(Quiet):
    """Adds no noise to sums, and as many users stand at each point as are expected, up to rounding."""

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        return np.rint(np.asarray(n) * np.asarray(p)).astype(np.int64)


Crowd = list[tuple[Array, int, float, int]]
"""(phi, action, y, how many users)"""


def declared(server: Server, crowd: Crowd) -> Oracle:
    """What the server fits when the same users are in every batch and send their tables without noise."""
    client, numbers = Client(0, server.spec), itertools.count()
    while server.view.epoch == 1:
        view = server.view
        for phi, action, y, users in crowd:
            if view.phase == "update":
                tables = dict(vars(client.statistics(view, phi, action, y)))
            else:
                tables = {"error": client.errors(view, phi, action, y)}
            for _ in range(users):
                server.receive(Report(next(numbers), 1, view.layer, view.phase, tables))
    return server.oracles[0]


def tables(context: Context) -> Finding:
    """Every bin of a server and of the aggregate engine without noise, and error sums by hand."""
    rng, gap, bins = context.rng("tables"), Gap(), 0
    for d in (1, 2, 3) * TREES[context.setting.profile]:
        spec = small(context.setting, d=d, activation=2e-6 if d < 3 else 1e-6, width=1e-7)
        features = problems.random(d, 2, 7, seed=int(rng.integers(2**32))).features
        features = features * (spec.gamma ** -np.arange(7.0).clip(4) + 0.5)[:, None, None] / 1.6
        theta = rng.standard_normal(d)
        problem = Problem(features, rng.dirichlet(np.full(7, 3)), theta / np.linalg.norm(theta), "noiseless")
        policy, n = np.full((1, 7, 2), 0.5), spec.batch(1)
        made = aggregate.Crowd(problem, spec, policy, n, Expected(np.random.PCG64(0)))
        count = made.batch()[0].astype(np.int64)
        crowd = [
            (phi, int(a), float(np.clip(phi @ problem.theta, -1, 1)), int(users))
            for phi, a, users in zip(*made.points, count, strict=True)
        ]
        served = declared(Server(spec), crowd)
        fitted = aggregate.fit(problem, spec, policy, n, Expected(np.random.PCG64(0)))
        for h, (one, two) in enumerate(zip(served.layers, fitted.layers, strict=True), 1):
            rows = one.rows(two.keys)
            bins += len(rows)
            for name in ("psi", "active", "open", "u", "s", "theta", "rest", "error"):
                least = 1.0 if name in ("u", "theta", "rest") else 1e-300
                found, wanted = getattr(one, name)[rows], getattr(two, name)
                gap.see(f"{name} on layer {h}, server against engine, d = {d}", found, wanted, least)
            gap.tell(active_bins=int(two.active.sum()), closed_bins_with_users=int((~two.open).sum()))
        _error_sums(gap, spec, served, crowd)
    return gap.finding(
        "servers and the aggregate engine without noise", f"{bins} bins with users, d = 1 to 3"
    )


def _error_sums(gap: Gap, spec: Spec, oracle: Oracle, crowd: Crowd) -> None:
    """bar-epsilon of the first action's bins: the mean of epsilon_i over their users, and the margin."""
    mine = [(phi, users) for phi, action, _, users in crowd if action == 0]
    points = np.stack([phi for phi, _ in mine])
    path = oracle.route(points, np.zeros(len(mine), dtype=np.int64))
    shares = [by_hand(spec, oracle.layers, phi.tolist())[2:] for phi in points]
    for h, (at, layer) in enumerate(zip(path, oracle.layers, strict=False)):
        for key in np.unique(at.keys):
            (row,) = layer.rows(np.array([key]))
            if not layer.active[row]:
                continue
            total = sum(
                users * share[h]
                for share, (_, users), own in zip(shares, mine, at.keys, strict=True)
                if own == key
            )
            psi, n = float(layer.psi[row]), layer.n
            margin = spec.kappa2 * spec.gamma * spec.d**1.5 / (psi * math.sqrt(n))
            gap.see(f"bar-epsilon on layer {h + 1}", layer.error[row], total / (psi * n) + margin)
            if h:
                gap.tell(deeper_error_sums=int(total > 1e-6))


def closed(context: Context) -> Finding:
    """Below a closed bin every bin is inactive, however many users the tables put there.

    Tables are made up, the same from everybody: in each bin half of the users, or nobody.
    """
    rng, gap = context.rng("closed"), Gap()
    spec = small(context.setting, d=3, activation=1e-7)
    server, numbers = Server(spec), itertools.count()
    above, wanted = np.ones(spec.actions, dtype=bool), list[Bools]()
    for h in (1, 2, 3):
        keys = layer_keys(spec, h, spec.actions)
        k = key_level(spec, keys)
        psi = rng.choice([0.0, 0.5], len(keys))
        size = psi * spec.gamma ** (-2.0 * k)
        update = {
            "count": psi,
            "vector": np.zeros((len(keys), 3)),
            "matrix": size[:, None, None] * np.eye(3),
        }
        parent = np.repeat(above, spec.M + 1)
        enough = (psi > 0) & (k < spec.M)
        above = parent & enough
        wanted.append(above)
        gap.tell(open_bins=int(above.sum()))
        if h > 1:
            gap.tell(bins_below_a_closed_one=int((enough & ~parent).sum()))
        _fill(server, numbers, update)
        _fill(server, numbers, {name: np.zeros(shape) for name, shape in server.view.shapes.items()})
    for h, (layer, active) in enumerate(zip(server.oracles[0].layers, wanted, strict=True), 1):
        gap.see(f"active bins of layer {h}", layer.active, active)
        gap.see(f"open bins of layer {h}", layer.open, active)
        gap.see(f"directions on layer {h}", np.linalg.norm(layer.u, axis=1), active.astype(float))
    return gap.finding("closed bins of the server", "d = 3, two actions, made-up tables")


def _fill(server: Server, numbers: Iterator[int], tables: dict[str, Array]) -> None:
    """A batch of equal reports."""
    view = server.view
    for _ in range(server.batch):
        server.receive(Report(next(numbers), view.epoch, view.layer, view.phase, tables))


# --- lies -------------------------------------------------------------------------------------------------


def refused(call: Callable[..., object], *words: object) -> bool:
    try:
        call(*words)
    except ValueError:
        return True
    return False


def forged(view: View) -> Iterator[tuple[str, View]]:
    """Views that differ from a server's in their directions."""
    for factor in (0.5, 1 + 1e-6, 3.0):
        if view.components is not None:
            fit = view.components
            yield f"fit times {factor:g}", replace(view, components=replace(fit, u=factor * fit.u))
        for i, layer in enumerate(view.layers):
            longer = replace(layer, u=factor * layer.u)
            yield f"layer times {factor:g}", replace(view, layers=_with(view.layers, i, longer))
    if view.components is not None and view.layers:
        along = view.layers[-1].u[view.layers[-1].rows(view.keys // (view.spec.M + 1))]
        turned = replace(view.components, u=np.where(view.components.active[:, None], along, 0.0))
        yield "fit along the direction above", replace(view, components=turned)


def _with(layers: Sequence[Bins], i: int, layer: Bins) -> tuple[Bins, ...]:
    return (*layers[:i], layer, *layers[i + 1 :])


def lies(context: Context) -> Finding:
    """Forged views, other specifications and users who come twice are refused, and change nothing."""
    spec, gap, rng = small(context.setting), Gap(), context.rng("lies")
    problem = problems.random(2, 2, 6, seed=3)
    user = np.array([0.6, -0.5]), 1, 1.0
    others = {
        "alpha": replace(spec, alpha=0.5),
        "delta": replace(spec, delta=0.25),
        "width": replace(spec, width=spec.width / 2),
        "repairs": replace(spec, repairs=spec.repairs - {"replacement-sensitivity"}),
    }
    for done in range(4):
        view = view_after(spec, problem, done, rng)
        where = f"layer {view.layer}, {view.phase}"
        client = Client(1, spec)
        gap.see(f"true view refused, {where}", refused(client.report, view, *user, rng), False)
        for name, lie in forged(view):
            gap.see(f"{name} refused, {where}", refused(client.report, lie, *user, rng), True)
            gap.tell(forged_views=1)
        for name, other in others.items():
            stranger = Client(1, other)
            stopped = refused(stranger.report, view, *user, rng)
            gap.see(f"view refused by a client of another {name}, {where}", stopped, True)
    _twice(gap, spec)
    return gap.finding("lies are refused", "forged views, four other specifications, repeated users; d = 2")


def _twice(gap: Gap, spec: Spec) -> None:
    """Users who report again: first, second or last in a batch, in this batch, the next, the next epoch."""
    server, numbers = Server(spec), itertools.count()
    while server.view.epoch == 1 or server.view.phase == "update":
        view = server.view
        tables = {name: np.zeros(shape) for name, shape in view.shapes.items()}
        for at in range(server.batch):
            where = f"number {at} of {view.phase} batch, layer {view.layer}, epoch {view.epoch}"
            if at in (0, 1, server.batch - 1):
                before = state.dumps(server)
                for old in sorted({0, max(server.ids, default=0)} & server.ids):
                    again = Report(old, view.epoch, view.layer, view.phase, tables)
                    stopped = refused(server.receive, again)
                    gap.see(f"a user refused who came before, {where}", stopped, True)
                    gap.tell(repeated_users=1)
                gap.see(f"state unchanged, {where}", state.dumps(server) == before, True)
                if gap.worst:
                    return  # a batch that took one in ends early
            server.receive(Report(next(numbers), view.epoch, view.layer, view.phase, tables))


# --- saved ------------------------------------------------------------------------------------------------


def saved(context: Context) -> Finding:
    """Servers saved between and inside batches of two epochs, restored, and given the remaining reports."""
    rng, gap = context.rng("saved"), Gap()
    spec = small(context.setting, alpha=0.5, activation=1e-6)
    problem = problems.random(2, 2, 2, seed=7)
    whole, sent = Server(spec), list[Report]()
    for _ in range(2):
        stream.collect_epoch(problem, whole, np.full((2, 2), 0.5), rng, sent.append)
    points = np.vstack([problem.features.reshape(-1, 2), np.zeros((1, 2)), rng.uniform(-0.6, 0.6, (9, 2))])
    part, done = Server(spec), 0
    one, two = spec.batch(1), spec.batch(2)
    for cut in (0, one + one // 2, 4 * one, 4 * one + two // 2, 4 * one + 3 * two + two // 2, len(sent)):
        part.replay(sent[done:cut])
        done, text = cut, state.dumps(part)
        copy = state.loads(text)
        where = (
            f"epoch {part.view.epoch}, layer {part.view.layer}, {part.view.phase}, {part.received} reports"
        )
        gap.see(f"text, {where}", state.dumps(copy) == text, True)
        gap.see(f"specification, {where}", copy.spec == copy.view.spec == spec, True)
        for name, found, wanted in zip(("server", "view"), _facts(copy), _facts(part), strict=True):
            gap.see(f"{name}, {where}", found, wanted)
        for old, new in zip(part.oracles, copy.oracles, strict=False):
            for action in range(spec.actions):
                which: Ints = np.full(len(points), action, dtype=np.int64)
                gap.see(f"answers, {where}", new(points, which), old(points, which))
            gap.tell(active_bins_of_oracles=sum(int(layer.active.sum()) for layer in old.layers))
        gap.tell(oracles_restored=len(part.oracles), fits_restored=part.view.components is not None)
        copy.replay(sent[cut:])
        gap.see(f"state at the end, {where}", state.dumps(copy) == state.dumps(whole), True)
    return gap.finding("saved servers", f"{len(sent)} reports of two epochs, d = 2, alpha = 0.5; six places")


def _facts(server: Server) -> tuple[list[int], list[int]]:
    """Where a server stands, and what it shows, in numbers."""
    view = server.view
    return (
        [server.received, server.batch, len(server.ids), len(server.oracles)],
        [view.epoch, view.layer, view.phase == "interval", len(view.layers), len(view.oracles)],
    )


SERVER = Claim(
    id="conf-server",
    title="Conformance: stream engine and server",
    statement=None,
    repaired=(
        r"Users of the stream engine have the features $\phi(x, a)$ and the reward of their own context and "
        r"action; epoch $\tau$ goes by the oracle of epoch $\tau - 1$. The server takes "
        r"$\lfloor n_\tau / 2d \rfloor$ reports a batch, shows the oracles of all finished epochs, fits from "
        "the tables what the aggregate engine fits, and keeps what is below a closed bin inactive. Forged "
        "views, other specifications and repeated users are refused; a saved server goes on unchanged."
    ),
    method=(
        "Clients are watched, oracles are told what to say, servers are fed tables without noise; bins are "
        "compared with the aggregate engine's and with sums by hand, and lies are told."
    ),
    checks=(
        Check("users", users, random=False),
        Check("epochs", epochs, random=False),
        Check("batches", batches, random=False),
        Check("tables", tables, random=False),
        Check("closed", closed, random=False),
        Check("lies", lies, random=False),
        Check("saved", saved, random=False),
    ),
)

CLAIMS = (SERVER,)
