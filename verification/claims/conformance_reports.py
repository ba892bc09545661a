r"""Conformance: what a client really sends. Reports are drawn many times and their noise is looked at whole.

The noise of a report is the report less its declared table. In units of the scale that the repaired
mechanism needs (2, 2 sqrt(d) R_h and d+1 units of gamma^-k, 1, and gamma^-2k over alpha/3 for an update; 2
times 2 units of gamma^-k/sqrt(s) over alpha for an interval), written down here once more, every entry is a
standard Laplace variable, no two entries know of each other, and neither do two reports. For sums over n
users the noise is looked at in the same way.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import stats

from lpcb.arrays import Array, Ints
from lpcb.lplr.update import Statistics
from lpcb.partition import key_level
from lpcb.protocol import Client, Report, View
from verification.claim import Check, Claim, Context
from verification.claims.conformance import served, small, two_contexts, views
from verification.claims.conformance_noise import laplace_sum_cdf
from verification.claims.conformance_users import Test, against, judged, rate
from verification.verdict import Evidence, Finding

REPORTS = {"quick": 400, "standard": 1500, "thorough": 8000}
USER = (np.array([0.6, -0.5]), 1, 1.0)
MAGNITUDES = 6000
TOGETHER = 40
"""Users in the sums that are looked at."""
COLUMNS = 8
Drawn = dict[str, Array]
"""Noise in units of its scale, (draws, entries) for each table."""


def scales(view: View) -> dict[str, Array]:
    """What the repaired noise of each entry has to be, from the definition of each bin."""
    spec, keys = view.spec, view.keys
    edge = spec.gamma ** -key_level(spec, keys).astype(np.float64)
    if view.components is not None:
        fit = view.components
        return {"error": (4 * edge[fit.active] / np.sqrt(fit.s[fit.active]) / spec.alpha)}
    d, third = spec.d, spec.alpha / 3
    reach = 1.0 if view.layer == 1 else 2.0
    return {
        "count": np.full(len(keys), 2 / third),
        "vector": np.repeat(2 * math.sqrt(d) * reach * edge / third, d),
        "matrix": np.repeat((d + 1) * edge**2 / third, d * (d + 1) // 2),
    }


def _entries(name: str, tables: Array) -> Array:
    """Free entries of a stack of tables, one row each."""
    if name == "matrix":
        i, j = np.triu_indices(tables.shape[-1])
        tables = tables[..., i, j]
    return tables.reshape(len(tables), -1)


def sent(view: View, draws: int, rng: np.random.Generator) -> Drawn:
    """The noise of ``draws`` reports of one user."""
    client = Client(1, view.spec)
    made = [client.report(view, *USER, rng) for _ in range(draws)]
    declared = (
        {"error": client.errors(view, *USER)}
        if view.phase == "interval"
        else vars(client.statistics(view, *USER))
    )
    return _scaled(
        view, {name: np.stack([report.tables[name] for report in made]) for name in declared}, declared
    )


def summed(view: View, draws: int, rng: np.random.Generator, users: int = TOGETHER) -> Drawn:
    """The noise of ``draws`` sums over ``users`` whose tables are zero."""
    zero = {name: np.zeros(shape) for name, shape in view.shapes.items()}
    if view.phase == "interval":
        made = [{"error": view.interval.release_sum(zero["error"], users, rng)} for _ in range(draws)]
    else:
        table = Statistics(**zero)
        made = [vars(view.update.release_sum(table, users, rng)) for _ in range(draws)]
    return _scaled(view, {name: np.stack([one[name] for one in made]) for name in zero}, zero)


def _scaled(view: View, tables: dict[str, Array], declared: dict[str, Array]) -> Drawn:
    scale = scales(view)
    return {name: _entries(name, tables[name] - declared[name]) / scale[name] for name in declared}


def by_level(view: View, entries: int) -> dict[int, Ints]:
    """Up to COLUMNS entries of each level, which has a scale of its own, spread over bins and coordinates."""
    levels = key_level(view.spec, view.keys)
    if view.components is not None:
        levels = levels[view.components.active]
    levels = np.repeat(levels, entries // len(levels))
    out = {}
    for k in np.unique(levels):
        mine = np.flatnonzero(levels == k)
        out[int(k)] = mine[np.unique(np.linspace(0, len(mine) - 1, COLUMNS).round().astype(int))]
    return out


def comparisons(entries: int) -> int:
    """Pairs of entries of one draw, and of an entry with one of the next draw."""
    return entries * (entries - 1) // 2 + entries**2


def independence(noise: Array) -> Test:
    """Entries, each above 0 with probability 1/2, are independent in pairs, and of the next draw.

    Their signs then agree with probability 1/2. The pair that strays furthest is tested for all, so its
    p-value is multiplied by their number.
    """
    sign = np.where(noise > 0, 1.0, -1.0)
    first, n = sign[:-1], len(sign) - 1
    products = [first.T @ first, first.T @ sign[1:]]
    np.fill_diagonal(products[0], 0.0)
    far = max((p.ravel()[np.abs(p).argmax()] for p in products), key=abs)
    distance, p, _ = rate(round((n + float(far)) / 2), n, 0.5)
    return distance, min(1.0, comparisons(noise.shape[1]) * p), n


def magnitudes(view: View, rng: np.random.Generator) -> Test:
    """Sizes of entries are independent, too, in "sums" over one user.

    A Laplace variable is a normal one of exponential variance. Two statistics that share the variances,
    but not the normals, have independent signs; their sizes fall on the same side of their median ln 2 with
    probability 0.60, which MAGNITUDES draws are enough to see.
    """
    whole = np.concatenate(list(summed(view, MAGNITUDES, rng, users=1).values()), axis=1)
    return independence(np.abs(whole) - math.log(2))


def noise(context: Context, draw: str) -> Finding:
    rng, draws = context.rng(draw), REPORTS[context.setting.profile]
    tests, pairs = {}, 0
    for view in views(context):
        where = f"layer {view.layer}, {view.phase}"
        found = (sent if draw == "sent" else summed)(view, draws, rng)
        law = stats.laplace.cdf if draw == "sent" else laplace_sum_cdf(TOGETHER)
        for name, values in found.items():
            for k, columns in by_level(view, values.shape[1]).items():
                tests[f"{name}, k = {k}, {where}"] = against(values[:, columns].ravel(), law)
        whole = np.concatenate(list(found.values()), axis=1)
        tests[f"independence, {where}"] = independence(whole)
        pairs += comparisons(whole.shape[1])
    if draw == "summed":
        tests["independence of magnitudes"] = magnitudes(views(context)[0], rng)
    scope = f"{draws} draws for each of four batches, d = 2, two actions; {pairs} pairs of entries"
    return judged(f"noise of reports, {draw}", scope, tests, 4 * draws, comparisons=pairs)


def by_clients(context: Context) -> Finding:
    return noise(context, "sent")


def by_sums(context: Context) -> Finding:
    return noise(context, "summed")


def server(context: Context) -> Finding:
    """psi of every bin is the sum of all reports to its batch over their number, and no two reports agree."""
    spec = small(context.setting)
    fitted, reports = served(spec, two_contexts(), context.rng("epoch"))
    worst = 0.0
    for layer in fitted.oracles[0].layers:
        h = fitted.oracles[0].layers.index(layer) + 1
        batch = [report for report in reports if (report.layer, report.phase) == (h, "update")]
        mean = np.sum([report.tables["count"] for report in batch], axis=0) / len(batch)
        worst = max(worst, float(np.abs(layer.psi - mean).max()))
    shared = sum(_shares(one, two) for one, two in itertools.pairwise(reports))
    good = worst < 1e-9 and not shared
    evidence = Evidence(
        check="the server's sums",
        grade="exact",
        role="decides",
        scope=f"{len(reports)} reports of one epoch, d = 2, two actions",
        verdict="HOLDS" if good else "REFUTED",
        value=worst,
        bound=1e-9,
        interval=(worst, worst),
        samples=len(reports),
        note=f"psi differs by {worst:.2g} from the mean of the reports; {shared} pairs of users share noise",
        counterexample=None if good else {"difference": worst, "shared": shared},
    )
    return Finding((evidence,))


def _shares(one: Report, two: Report) -> int:
    """1 if an entry is the same: doubles of continuous noise agree by no chance worth naming."""
    return int(any((one.tables[n] == two.tables[n]).any() for n in one.tables if n in two.tables))


REPORT = Claim(
    id="conf-reports",
    title="Conformance: noise of reports",
    statement=None,
    repaired=(
        "What a client sends is the declared table plus Laplace noise of the repaired scales, independent "
        "between cells, statistics and users; sums hold the sum of such noise; the server adds up all of it."
    ),
    method=(
        "Reports are drawn many times; their noise in units of its scale is compared with its law, and the "
        "signs of all pairs of entries and of consecutive draws with coin tosses."
    ),
    checks=(
        Check("clients", by_clients, random=True),
        Check("sums", by_sums, random=True),
        Check("server", server, random=False),
    ),
)

CLAIMS = (REPORT,)
