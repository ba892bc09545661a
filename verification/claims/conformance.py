"""Conformance: the code is the algorithm. Two engines with one law, a trust boundary, replays bit for bit."""

from __future__ import annotations

import itertools
from dataclasses import fields

import numpy as np

from lpcb import problem as problems
from lpcb import state
from lpcb.arrays import Array, Ints
from lpcb.engines import aggregate, stream
from lpcb.lplr.aggregate import Oracle
from lpcb.problem import Problem
from lpcb.protocol import Client, Report, Server, View
from lpcb.spec import Spec
from verification.claim import Arrays, Check, Claim, Context, Experiment, Setting
from verification.evidence.samples import ks_two_detectable, ks_two_sample
from verification.experiments.views import view_after
from verification.verdict import FALSE_ALARM, Evidence, Finding

ELSEWHERE = np.array([[0.05, 0.9], [-0.02, 0.01], [0.0, 0.0]])
"""Off the support: between contexts, deep inside, and the dummy. Their bins hold noise alone."""
STREAMED = {"quick": (230, 64, 110), "standard": (100, 60, 60), "thorough": (60, 60, 60)}
"""Per shard by the stream engine: fits at d = 1, fits at d = 2, whole runs at d = 1."""
MANY = 6
"""How many times as many by the aggregate engine; bins that nobody reaches, drawn one by one, cost most."""
PROJECTIONS = 8


def small(setting: Setting, **more: object) -> Spec:
    """Thresholds and widths scaled down so that bins are active at a few hundred users."""
    settings = {"d": 2, "actions": 2, "horizon": 700, "delta": 0.5, "activation": 3e-5, "width": 1e-4}
    return setting.spec(**(settings | more))


def two_contexts(d: int = 2) -> Problem:
    features = np.array([[[0.9, 0.1], [0.2, -0.9]], [[-0.3, 0.3], [0.6, 0.5]]])
    return Problem(features[..., :d], np.array([0.7, 0.3]), np.array([0.8, -0.5])[:d])


# --- engines ----------------------------------------------------------------------------------------------


def looks(oracle: Oracle, phi: Array, action: Ints, fits: int) -> Array:
    """What each of ``fits`` fits says at some points: psi, s, theta, error of the bins, f_hat and Delta."""
    points = np.tile(phi, (fits, 1))
    which = (np.arange(fits)[:, None] * oracle.spec.actions + action).ravel()
    columns = []
    for at, layer in zip(oracle.route(points, which), oracle.layers, strict=False):
        rows = layer.rows(at.keys)
        columns += [layer.psi[rows], layer.s[rows], *layer.theta[rows].T, layer.error[rows]]
    table = np.stack([*columns, *oracle(points, which)])
    return np.asarray(table.reshape(len(table), fits, -1).transpose(1, 0, 2).reshape(fits, -1))


def simulate(setting: Setting, rng: np.random.Generator) -> Arrays:
    """One row of looks per fit of the first epoch, and the last epoch of whole runs, from both engines."""
    *fits, runs = STREAMED[setting.profile]
    out: dict[str, Array] = {}
    for d, count in enumerate(fits, 1):
        out[f"stream d={d}"], out[f"aggregate d={d}"] = _fits(setting, d, count, rng)
    run = small(setting, d=1, activation=1e-6, width=1e-6, horizon=160)
    one = stream.run(two_contexts(1), run, runs, rng)
    two = aggregate.run(two_contexts(1), run, MANY * runs, rng)
    names = ("regret", "width", "actions_left")
    out["stream run"] = np.stack([getattr(one, name)[:, -1] for name in names], axis=1)
    out["aggregate run"] = np.stack([getattr(two, name)[:, -1] for name in names], axis=1)
    return out


def _fits(setting: Setting, d: int, fits: int, rng: np.random.Generator) -> tuple[Array, Array]:
    problem, spec = two_contexts(d), small(setting, d=d)
    policy = np.full((problem.contexts, problem.actions), 1 / problem.actions)
    phi = np.vstack([problem.features.reshape(-1, d), np.repeat(ELSEWHERE[:, :d], 2, axis=0)])
    action = np.tile(np.array([0, 1], dtype=np.int64), len(phi) // 2)
    streamed = []
    for _ in range(fits):
        server = Server(spec)
        stream.collect_epoch(problem, server, policy, rng)
        streamed.append(looks(server.oracles[0], phi, action, 1)[0])
    many = MANY * fits
    oracle = aggregate.fit(problem, spec, np.tile(policy, (many, 1, 1)), spec.batch(1), rng)
    return np.array(streamed), looks(oracle, phi, action, many)


FITS = Experiment("engines", simulate, {"quick": 1, "standard": 3, "thorough": 40})
Pairs = list[tuple[Array, Array]]


def one_law(context: Context) -> Finding:
    """Two-sample tests of every statistic, of random projections (joint laws), and of regret.

    Each dimension and the runs have their own evidence: they differ in what they can detect.
    """
    data = context.result(FITS)
    parts: list[tuple[str, str, Pairs, bool]] = []
    for d in (1, 2):
        pairs, differ = _of_fits(data[f"stream d={d}"], data[f"aggregate d={d}"], context, d)
        scope = f"d = {d}: {len(pairs) - PROJECTIONS} statistics of a fit, {PROJECTIONS} projections of them"
        parts.append((f"stream against aggregate, fits at d = {d}", scope, pairs, differ))
    runs = list(zip(data["stream run"].T, data["aggregate run"].T, strict=True))
    parts.append(("stream against aggregate, runs", "d = 1: regret, width, actions left", runs, False))
    level = FALSE_ALARM / sum(len(pairs) for _, _, pairs, _ in parts)
    return Finding(tuple(_compared(*part, level) for part in parts))


def _of_fits(one: Array, two: Array, context: Context, d: int) -> tuple[Pairs, bool]:
    """Samples of what varies and of its projections; and whether the engines differ in what does not."""
    constant = (np.ptp(one, axis=0) == 0) & (np.ptp(two, axis=0) == 0)
    differ = bool((one[0, constant] != two[0, constant]).any())
    scale = np.maximum(np.std(np.vstack([one, two]), axis=0), 1e-12)
    directions = context.rng(f"projections d={d}").standard_normal((one.shape[1], PROJECTIONS))
    joint = [np.clip(x / scale, -4, 4) @ directions for x in (one, two)]
    pairs = [*zip(one.T[~constant], two.T[~constant], strict=True), *zip(joint[0].T, joint[1].T, strict=True)]
    return pairs, differ


def _compared(check: str, scope: str, pairs: Pairs, differ: bool, level: float) -> Evidence:
    found = [ks_two_sample(a, b) for a, b in pairs]
    worst = min(found, key=lambda comparison: comparison.p)
    refuted = differ or worst.p <= level
    sizes = len(pairs[0][0]), len(pairs[0][1])
    detectable = ks_two_detectable(*sizes, level)
    # Fits that hardly vary compare nothing; runs have three numbers each.
    telling = len(pairs) > 20 + PROJECTIONS if "fits" in check else len(pairs) == 3
    return Evidence(
        check=check,
        grade="tested",
        role="decides",
        scope=f"{scope}; {sizes[0]} streamed, {sizes[1]} in aggregate",
        verdict="REFUTED" if refuted else "HOLDS" if telling else "UNDECIDED",
        value=worst.distance,
        bound=detectable,
        interval=(0.0, 1.0),
        false_alarm=level * len(pairs),
        detectable=detectable,
        samples=sum(sizes),
        note=f"smallest p-value {worst.p:.2g} of {len(found)}; a distance between distribution functions of "
        f"{detectable:.2f} is detected",
        counterexample={"distance": worst.distance, "p": worst.p, "constants differ": differ}
        if refuted
        else None,
    )


# --- trust ------------------------------------------------------------------------------------------------


def views(context: Context) -> list[View]:
    """What a server publishes before each batch of an epoch, with active bins."""
    spec = small(context.setting)
    problem = problems.random(spec.d, spec.actions, 6, seed=3)
    rng = context.rng("views")
    return [view_after(spec, problem, batches, rng) for batches in range(2 * spec.d)]


def users(spec: Spec, rng: np.random.Generator) -> list[tuple[Array, int, float]]:
    phi = rng.standard_normal((8, spec.d))
    phi *= (0.99 * rng.uniform(0, 1, 8) / np.linalg.norm(phi, axis=1))[:, None]
    phi = np.vstack([phi, np.zeros(spec.d), np.eye(spec.d)[0]])
    return [(p, i % spec.actions, (-1.0, 1.0, 0.3)[i % 3]) for i, p in enumerate(phi)]


def reports(context: Context) -> Finding:
    """With equal randomness two users' reports differ by the difference of their declared tables, no more.

    Each entry is a sum of two doubles, so the difference is exact up to 2 ulps of the entries.
    """
    worst, shapes, states, compared = 0.0, set(), set(), 0
    for view in views(context):
        spec, made = view.spec, []
        for phi, action, y in users(spec, context.rng("users")):
            rng = np.random.default_rng(17)
            client = Client(1, spec)
            report = client.report(view, phi, action, y, rng)
            made.append((report, _declared(client, view, phi, action, y)))
            head = (report.id, report.epoch, report.layer, report.phase)
            shapes.add((*head, *((name, t.shape) for name, t in report.tables.items())))
            states.add((view.layer, view.phase, str(rng.bit_generator.state)))
        for (one, a), (two, b) in itertools.pairwise(made):
            for name in one.tables:
                gap = (one.tables[name] - two.tables[name]) - (a[name] - b[name])
                size = np.maximum(np.abs(one.tables[name]), np.abs(two.tables[name])) + 1e-300
                worst = max(worst, float((np.abs(gap) / size).max(initial=0.0)))
                compared += gap.size
    batches = len(views(context))
    same = len(shapes) == batches and len(states) == batches
    allowed = 4 * float(np.finfo(np.float64).eps)
    refuted = worst > allowed or not same
    evidence = Evidence(
        check="a report is its declared table plus noise that knows nothing of the user",
        grade="exact",
        role="decides",
        scope=f"{compared} entries of reports to all {batches} batches of an epoch, 10 users",
        verdict="REFUTED" if refuted else "HOLDS",
        value=worst,
        bound=allowed,
        interval=(worst, worst),
        samples=compared,
        note="relative difference; all else, and how much randomness is used, is the same for every user"
        + ("" if same else ": no, they differ"),
        counterexample={"difference": worst, "same cells and randomness": same} if refuted else None,
    )
    return Finding((evidence,))


def _declared(client: Client, view: View, phi: Array, action: int, y: float) -> dict[str, Array]:
    if view.phase == "interval":
        return {"error": client.errors(view, phi, action, y)}
    table = client.statistics(view, phi, action, y)
    return {"count": table.count, "vector": table.vector, "matrix": table.matrix}


def served(spec: Spec, problem: Problem, rng: np.random.Generator) -> tuple[Server, list[Report]]:
    """A server after one epoch of uniformly acting users, and what they sent."""
    server, sent = Server(spec), list[Report]()
    policy = np.full((problem.contexts, problem.actions), 1 / problem.actions)
    stream.collect_epoch(problem, server, policy, rng, sent.append)
    return server, sent


def state_from_reports(context: Context) -> Finding:
    """A second server that sees nothing but the reports, through text, reaches the same state."""
    spec = small(context.setting)
    server, sent = served(spec, two_contexts(), context.rng("epoch"))
    declared = {field.name for field in fields(Report)} == {"id", "epoch", "layer", "phase", "tables"}
    copies = [Report.from_json(report.to_json()) for report in sent]
    same = state.dumps(Server(spec).replay(copies)) == state.dumps(server)
    # Someone else's data under the same reports would change nothing; another report changes the state.
    changed = Report.from_json(sent[0].to_json())
    changed.tables["count"][...] += 1.0
    sensitive = state.dumps(Server(spec).replay([changed, *copies[1:]])) != state.dumps(server)
    good = declared and same and sensitive
    misses = float(3 - declared - same - sensitive)
    evidence = Evidence(
        check="the server's state is a function of the reports",
        grade="exact",
        role="decides",
        scope=f"{len(sent)} reports of one epoch, d = 2, two actions",
        verdict="HOLDS" if good else "REFUTED",
        value=misses,
        bound=0.0,
        interval=(misses, misses),
        samples=len(sent),
        note=f"five fields in a report: {declared}; same state: {same}; a change is noticed: {sensitive}",
        counterexample=None if good else {"fields": declared, "same": same, "noticed": sensitive},
    )
    return Finding((evidence,))


# --- replay -----------------------------------------------------------------------------------------------


def replay(context: Context) -> Finding:
    """The same reports give the same state: replayed, saved amid a batch and continued, run again."""
    spec = small(context.setting)
    server, sent = served(spec, two_contexts(), context.rng("epoch"))
    text = state.dumps(server)
    again, _ = served(spec, two_contexts(), context.rng("epoch"))
    # Half-way falls between two batches, where the sums are empty: save in the middle of the next one.
    cut = len(sent) // 2 + server.batch // 4
    part = Server(spec).replay(sent[:cut])
    outcomes = {
        "replayed": state.dumps(Server(spec).replay(sent)) == text,
        "saved and continued": state.dumps(state.loads(state.dumps(part)).replay(sent[cut:])) == text,
        "run again": state.dumps(again) == text,
    }
    active = sum(int(layer.active.sum()) for layer in server.oracles[0].layers)
    failed = [name for name, same in outcomes.items() if not same]
    evidence = Evidence(
        check="states, bit for bit",
        grade="exact",
        role="decides",
        scope=f"{len(sent)} reports, {active} active bins; {', '.join(outcomes)}",
        verdict="REFUTED" if failed else "HOLDS" if active else "UNDECIDED",
        value=len(failed),
        bound=0.0,
        interval=(len(failed), len(failed)),
        samples=len(sent),
        note="as text with every double written exactly",
        counterexample={"differ": failed} if failed else None,
    )
    return Finding((evidence,))


ENGINES = Claim(
    id="conf-engines",
    title="Conformance: engines",
    statement=None,
    repaired="The stream and the aggregate engine have the same law, statistic by statistic and for regret.",
    method="Both engines fit the same problem many times; two-sample Kolmogorov-Smirnov tests.",
    checks=(Check("one law", one_law, random=True),),
    experiments=(FITS,),
)
TRUST = Claim(
    id="conf-trust",
    title="Conformance: trust boundary",
    statement=None,
    repaired=(
        "The server's state is a function of the reports alone; a report depends on raw data only through "
        "the declared statistics; which cells a user fills and their noise follow from the published view."
    ),
    method=(
        "Reports of different users with equal randomness are compared with their declared tables, and a "
        "server that sees only written reports with the one that was there."
    ),
    checks=(
        Check("reports", reports, random=False),
        Check("server", state_from_reports, random=False),
    ),
)
REPLAY = Claim(
    id="conf-replay",
    title="Conformance: replay",
    statement=None,
    repaired="Replayed reports give the same state bit for bit.",
    method="An epoch's reports are replayed, saved inside a batch and continued, and drawn again.",
    checks=(Check("replay", replay, random=False),),
)

CLAIMS = (ENGINES, TRUST, REPLAY)
