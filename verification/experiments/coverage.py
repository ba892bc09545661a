r"""Fitted oracles beside the truth: errors and intervals at the points of the ball where they are worst.

On a path of bins $B_1 \ni \dots \ni B_h$ with orthonormal directions $u_j$ a point is $\phi = \sum_j c_j
u_j + \phi_{h+1}$, its error $\sum_j c_j t_j$ with $t_j = u_j'(\hat\theta_j - \theta^*)$ and its interval
$\sum_j (A_j + E_j |c_j|)$, $A_j = \kappa_3\gamma^2(d+1)^4/(\hat\psi_j\sqrt n)$ and $E_j =
\bar\varepsilon_j/\sqrt{\hat s_j}$. Since $|c_j| \le \gamma^{-k_j}$, the interval covers *all* points of
the path if $\sum_j \gamma^{-k_j}(|t_j| - E_j)^+ \le \sum_j A_j$ (the certificate). Points close to the
worst (probes) are sent through the algorithm's own routing and intervals. A point that ends in an inactive
bin is covered with its path: $|\phi_h^\top\theta^*| \le \|\phi_h\|$, which its interval has too. The
certificate is sufficient, not necessary: it lets every $|c_j|$ be largest at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from lpcb.arrays import Array, Bools, Ints, dot, group_sum
from lpcb.boundary import checked
from lpcb.engines.aggregate import Crowd, fit_layer
from lpcb.lplr.aggregate import estimate
from lpcb.lplr.ci import cap, interval
from lpcb.partition import Bins, Routed, descend, edges, enter, key_level, layer_keys, prediction
from lpcb.problem import TOLERANCE, Problem
from lpcb.spec import REPAIRED, Spec
from verification.evidence.quantiles import QuantileInterval, quantile_interval
from verification.verdict import FALSE_ALARM

SHRINK = 1 - 1e-9
"""Probes keep this far from the edge of a bin, so that rounding does not send them to the next."""
SLACK = 2 * TOLERANCE
"""Rounding that exact equality is allowed, as for problems: an unfitted oracle says |f*| <= |phi|."""


@dataclass(frozen=True)
class Case:
    """One instance, and the parameters it is fitted with."""

    name: str
    problem: Problem
    n: int
    alpha: float = 1.0
    delta: float = 0.05
    horizon: int = 10**18
    activation: float = 1.0
    width: float = 1.0
    beta: float | None = None

    def parameters(self) -> dict[str, Any]:
        return {
            "d": self.problem.d,
            "actions": 1,
            "horizon": self.horizon,
            "alpha": self.alpha,
            "delta": self.delta,
            "activation": self.activation,
            "width": self.width,
            "beta": self.beta,
        }


@dataclass(frozen=True, eq=False)
class Layer:
    """A fitted layer. Rows are bins; ``at`` and ``along`` = |u'phi_h| belong to the population's points.

    ``psi`` and ``epsilon`` are the true psi_B and epsilon_B, ``t`` is u'(theta_hat - theta*), ``mean`` the
    private epsilon_hat/(psi_hat n), ``count`` the users of Algorithm 5's batch, ``batches`` how many
    batches the fit drew, ``up`` the parent's row.
    """

    bins: Bins
    at: Routed
    rows: Ints
    along: Array
    psi: Array
    epsilon: Array
    t: Array
    mean: Array
    count: Array
    batches: int
    up: Ints


@dataclass(frozen=True, eq=False)
class Fits:
    """``fits`` independent oracles, the population's points behind them, and the probes' way down."""

    spec: Spec
    theta: Array
    fits: int
    chance: Array
    layers: tuple[Layer, ...]
    end: Routed
    probes: tuple[Routed, ...]
    """The probes before layer 1, ..., d and after layer d; those of a layer and of all layers above."""

    def fit_of(self, h: int, keys: Ints) -> Ints:
        """The oracle that bins of layer h belong to."""
        return np.asarray(keys // (self.spec.M + 1) ** h, dtype=np.int64)


def simulate(
    spec: Spec, problem: Problem, n: int, fits: int, rng: np.random.Generator, every_bin: bool = False
) -> Fits:
    """Algorithm 2 on ``fits`` populations side by side; every bin a probe falls into is fitted too.

    With ``every_bin`` also those that nobody reaches: with low thresholds noise alone may make one active.
    """
    if spec.actions != 1 or problem.actions != 1:
        raise ValueError(f"coverage looks at one oracle: actions is 1, not {spec.actions}")
    crowd = _Counting(problem, spec, n, fits, rng)
    chance, _ = crowd.crowd.population()
    at = enter(spec, *crowd.crowd.points)
    probes = [enter(spec, *_first_probes(spec, problem.theta, fits))]
    layers: list[Layer] = []
    for h in range(1, spec.d + 1):
        keys = np.union1d(at.keys, probes[-1].keys)
        if every_bin:
            keys = layer_keys(spec, h, fits)
        above = layers[-1].bins if layers else None
        before = crowd.drawn
        bins = fit_layer(spec, n, h, keys, above, at, crowd.batch, rng)
        layers.append(_layer(spec, problem.theta, bins, at, chance, crowd, crowd.drawn - before, above))
        at = descend(spec, at, bins, interval(spec, at, bins))
        worst = _through(spec, layers, *worst_points(spec, problem.theta, layers))
        down = descend(spec, probes[-1], bins, interval(spec, probes[-1], bins))
        probes.append(_join(down, worst[-1]))
        probes[:-1] = [_join(old, new) for old, new in zip(probes[:-1], worst[:-1], strict=True)]
    return Fits(spec, problem.theta, fits, chance, tuple(layers), at, tuple(probes))


class _Counting:
    """A crowd that remembers the last batch it sent and how many it has sent."""

    def __init__(self, problem: Problem, spec: Spec, n: int, fits: int, rng: np.random.Generator) -> None:
        self.crowd = Crowd(problem, spec, np.ones((fits, problem.contexts, 1)), n, rng)
        self.drawn = 0
        self.last = np.zeros(0)

    def batch(self) -> tuple[Array, Array]:
        count, total = self.crowd.batch()
        self.drawn, self.last = self.drawn + 1, count
        return count, total


def margin(spec: Spec, bins: Bins) -> Array:
    """What Algorithm 5 adds to the mean error of each active bin, 0 elsewhere."""
    root = math.sqrt(bins.n) if spec.has("root-n-margin") else bins.n
    added = spec.kappa2 * spec.gamma * spec.d**1.5 / root
    return np.asarray(np.divide(added, bins.psi, out=np.zeros_like(bins.psi), where=bins.active))


def first_term(spec: Spec, bins: Bins) -> Array:
    """A_B = kappa_3 gamma^2 (d+1)^4 / (psi_hat sqrt(n)) in open bins, 0 elsewhere."""
    added = spec.kappa3 * spec.gamma**2 * (spec.d + 1) ** 4 / math.sqrt(bins.n)
    return np.asarray(np.divide(added, bins.psi, out=np.zeros_like(bins.psi), where=bins.open))


def over_root(values: Array, s: Array) -> Array:
    """values / sqrt(s), 0 where there is no direction."""
    return np.divide(values, np.sqrt(s), out=np.zeros_like(s), where=s > 0)


def _layer(
    spec: Spec,
    theta: Array,
    bins: Bins,
    at: Routed,
    chance: Array,
    crowd: _Counting,
    batches: int,
    above: Bins | None,
) -> Layer:
    rows = bins.rows(at.keys)
    along = np.abs(dot(bins.u[rows], at.rest))
    psi = group_sum(chance, rows, len(bins.keys))
    share = group_sum(chance * at.eta * over_root(along, bins.s[rows]), rows, len(bins.keys))
    epsilon = np.divide(share, psi, out=np.zeros_like(psi), where=psi > 0)
    up = np.zeros(len(bins.keys), dtype=np.int64) if above is None else above.rows(bins.keys // (spec.M + 1))
    t = dot(bins.u, bins.theta - theta)
    mean = bins.error - margin(spec, bins)
    return Layer(bins, at, rows, along, psi, epsilon, t, mean, crowd.last, batches, up)


def _first_probes(spec: Spec, theta: Array, fits: int) -> tuple[Array, Ints]:
    """Points that need no fit to be suspected: along theta* at the first levels, and the zero vector."""
    along = theta / max(float(np.linalg.norm(theta)), 1e-300)
    sizes = np.concatenate([[0.0], SHRINK * edges(spec)[: min(3, spec.M)]])
    phi = sizes[:, None] * along
    return np.tile(phi, (fits, 1)), np.repeat(np.arange(fits, dtype=np.int64), len(phi))


def worst_points(spec: Spec, theta: Array, layers: list[Layer]) -> tuple[Array, Ints]:
    """Points in the active bins of the last layer whose error is largest, and the oracle of each.

    Signs follow t, the norm of phi_j is at the outer edge of its bin, and what the directions leave over is
    nothing, a little, or half of the last edge against theta*: with nothing phi_{h+1} = 0 lands in k = M.
    """
    last = layers[-1].bins
    rows = np.flatnonzero(last.active)
    chain = [rows]
    for layer in layers[:0:-1]:
        chain.insert(0, layer.up[chain[0]])
    edge = edges(spec)
    out = []
    against = -np.einsum("nij,j->ni", last.rest[rows], theta)
    size = np.linalg.norm(against, axis=1, keepdims=True)
    against = np.divide(against, size, out=np.zeros_like(against), where=size > 1e-9)
    level = [key_level(spec, layer.bins.keys[r]) for layer, r in zip(layers, chain, strict=True)]
    size_t = [np.abs(layer.t[r]) for layer, r in zip(layers, chain, strict=True)]
    for tail in (0.0, 0.01, 0.5):
        rest = tail * edge[level[-1]] * np.linalg.norm(against, axis=1)
        phi = rest[:, None] * against
        for j, c in enumerate(_coefficients(edge, level, size_t, rest)):
            u, t = layers[j].bins.u[chain[j]], layers[j].t[chain[j]]
            phi = phi + (SHRINK * c * np.where(t < 0, -1.0, 1.0))[:, None] * u
        out.append(phi)
    fit = last.keys[rows] // (spec.M + 1) ** len(layers)
    return np.concatenate(out), np.tile(fit, len(out))


def _coefficients(edge: Array, level: list[Ints], t: list[Array], rest: Array) -> list[Array]:
    """c_1, ..., c_h with |phi_j| = gamma^-k_j; layers on one level share its norm in proportion to |t|.

    The last of them keeps at least 0.7 of what the others have, so that no norm drops below the level.
    """
    h = len(level)
    same = [level[j] == level[j + 1] for j in range(h - 1)] + [np.zeros(len(rest), dtype=bool)]
    weight = [np.maximum(x, 1e-300) for x in t]
    total, start = [np.zeros(len(rest))] * h, np.zeros(len(rest))
    for j in range(h):
        start = np.where(same[j - 1] if j else False, start, 0.0)
        weight[j] = np.where(~same[j], np.maximum(weight[j], 0.7 * np.sqrt(start)), weight[j])
        start = start + weight[j] ** 2
        total[j] = start
    for j in range(h - 2, -1, -1):
        total[j] = np.where(same[j], total[j + 1], total[j])
    below = rest
    out: list[Array] = []
    for j in range(h - 1, -1, -1):
        if j < h - 1:
            below = np.where(same[j], below, edge[level[j + 1]])
        room = np.sqrt(np.maximum(edge[level[j]] ** 2 - below**2, 0.0))
        out.insert(0, room * weight[j] / np.sqrt(total[j]))
    return out


def _through(spec: Spec, layers: list[Layer], phi: Array, oracle: Ints) -> list[Routed]:
    """The points before each layer and after the last; what rounding sent into an unknown bin is left out."""
    path = [enter(spec, phi, oracle)]
    for layer in layers:
        known = np.isin(path[-1].keys, layer.bins.keys)
        path = [_select(at, known) for at in path]
        path.append(descend(spec, path[-1], layer.bins, interval(spec, path[-1], layer.bins)))
    return path


def _select(at: Routed, keep: Bools) -> Routed:
    parts: dict[str, Any] = {f.name: getattr(at, f.name)[keep] for f in fields(at) if f.name != "h"}
    return replace(at, **parts)


def _join(one: Routed, two: Routed) -> Routed:
    names = [f.name for f in fields(one) if f.name != "h"]
    both: dict[str, Any] = {n: np.concatenate([getattr(one, n), getattr(two, n)]) for n in names}
    return replace(one, **both)


# --- what the fits show ------------------------------------------------------------------------------------


def largest(values: Array, fit: Ints, fits: int) -> Array:
    """The largest of the values that belong to each fit, -inf where there is none."""
    out = np.full(fits, -np.inf)
    np.maximum.at(out, fit, values)
    return out


def path_excess(data: Fits) -> Array:
    """The certificate: the largest of sum_j gamma^-k_j (|t_j| - E_j)^+ - A_j over open paths; <= 0 covers."""
    return _path_excess(data, np.ones(data.fits))


def needed_factor(data: Fits, low: float = 1e-8, high: float = 1e4) -> Array:
    """Per fit, the smallest common factor on kappa_2 and kappa_3 at which the certificate covers.

    The draws do not change with it, and activity does not depend on it: the fit is kept, Algorithm 5 alone
    is redone. The excess falls with the factor, so bisection finds it; 0 if the smallest is enough. What is
    needed is at most this, and at least :func:`found_factor`.
    """
    return _smallest(data, _path_excess, low, high)


def found_factor(data: Fits, low: float = 1e-8, high: float = 1e4) -> Array:
    """Per fit, the smallest common factor at which all probes are covered: at least this is needed."""
    return _smallest(data, _probe_excess_at, low, high)


def _smallest(data: Fits, excess: Callable[[Fits, Array], Array], low: float, high: float) -> Array:
    if not data.spec.has("width-cap") or not data.spec.has("inactive-width"):
        raise ValueError("needed_factor redoes the intervals of the repaired specification only")
    lo, hi = np.full(data.fits, math.log(low)), np.full(data.fits, math.log(high))
    always = excess(data, np.exp(lo)) <= 0
    for _ in range(34):
        middle = (lo + hi) / 2
        covers = excess(data, np.exp(middle)) <= 0
        lo, hi = np.where(covers, lo, middle), np.where(covers, middle, hi)
    return np.where(always, 0.0, np.exp(hi))


def _path_excess(data: Fits, factor: Array) -> Array:
    """The certificate with kappa_2 and kappa_3 times ``factor``, one number for each fit."""
    spec, worst, above = data.spec, np.full(data.fits, -np.inf), np.zeros(1)
    for h, (layer, first, slope) in enumerate(_redone(data, factor), start=1):
        bins = layer.bins
        gain = edges(spec)[key_level(spec, bins.keys)] * np.maximum(np.abs(layer.t) - slope, 0.0)
        above = np.where(bins.open, above[layer.up] + gain - first, -np.inf)
        worst = np.maximum(worst, largest(above, data.fit_of(h, bins.keys), data.fits))
    return worst


def _probe_excess_at(data: Fits, factor: Array) -> Array:
    """:func:`probe_excess` with kappa_2 and kappa_3 times ``factor``."""
    eta = np.zeros(len(data.probes[0].keys))
    for at, (layer, first, slope) in zip(data.probes, _redone(data, factor), strict=False):
        eta = _wider(data.spec, layer, at, eta, first, slope)
    end = data.probes[-1]
    f_hat, _ = estimate(data.spec, end)
    over = np.abs(f_hat - end.phi @ data.theta) - eta - SLACK
    return largest(over, _fit_of_probes(data, -1), data.fits)


def _redone(data: Fits, factor: Array) -> Iterator[tuple[Layer, Array, Array]]:
    """Layer by layer A_B and E_B of Algorithm 5 with kappa_2 and kappa_3 times ``factor``."""
    spec, eta = data.spec, np.zeros(len(data.chance))
    for h, layer in enumerate(data.layers, start=1):
        bins = layer.bins
        w = factor[data.fit_of(h, bins.keys)]
        noise = layer.mean - _private_mean(layer, layer.at.eta)
        error = _private_mean(layer, eta) + noise + w * margin(spec, bins)
        slope = over_root(np.maximum(error, 0.0) if spec.has("width-cap") else error, bins.s)
        first = w * first_term(spec, bins)
        yield layer, first, slope
        eta = _wider(spec, layer, layer.at, eta, first, slope)


def _wider(spec: Spec, layer: Layer, at: Routed, eta: Array, first: Array, slope: Array) -> Array:
    """eta_hat of the points ``at`` after the layer, as repaired."""
    rows = layer.bins.rows(at.keys)
    along = np.abs(dot(layer.bins.u[rows], at.rest))
    open_ = eta + first[rows] + slope[rows] * along
    wide = np.where(layer.bins.open[rows], open_, eta + np.linalg.norm(at.rest, axis=-1))
    return np.where(at.stopped, eta, np.minimum(cap(spec), wide))


def _private_mean(layer: Layer, eta: Array) -> Array:
    """Algorithm 5's mean error without noise, had the parents' intervals been ``eta``."""
    bins = layer.bins
    share = layer.count * eta * over_root(layer.along, bins.s[layer.rows])
    total = group_sum(share, layer.rows, len(bins.keys)) / bins.n
    return np.divide(total, bins.psi, out=np.zeros_like(total), where=bins.active)


def probe_excess(data: Fits) -> tuple[Array, Array]:
    """Per fit, the largest |f_hat - f*| - Delta over the probes (beyond rounding), and the probe it is at."""
    end = data.probes[-1]
    f_hat, delta = estimate(data.spec, end)
    over = np.abs(f_hat - end.phi @ data.theta) - delta - SLACK
    return _largest_at(over, end.phi, _fit_of_probes(data, -1), data.fits)


def validity_excess(data: Fits, inactive: bool) -> tuple[Array, Array]:
    """As :func:`probe_excess`, after each layer: |eta_B| - eta_hat_B; in inactive bins against f* itself."""
    spec, over, points, fit = data.spec, [], [], []
    for h, layer in enumerate(data.layers):
        after = data.probes[h + 1]
        rows = layer.bins.rows(after.keys // (spec.M + 1))
        truth = after.phi @ data.theta
        if not inactive:
            truth = truth - np.einsum("ni,nij,j->n", after.phi, layer.bins.rest[rows], data.theta)
        keep = ~layer.bins.open[rows] if inactive else np.ones(len(rows), dtype=bool)
        excess = np.abs(prediction(spec, after.total) - truth) - after.eta - SLACK
        over.append(excess[keep])
        points.append(after.phi[keep])
        fit.append(data.fit_of(h + 2, after.keys)[keep])
    return _largest_at(np.concatenate(over), np.concatenate(points), np.concatenate(fit), data.fits)


def largest_shares(data: Fits) -> tuple[Array, Array]:
    """Per fit the largest |f_hat - f*| / Delta over probes below an open bin; the second: in inactive bins.

    Points whose very first bin is inactive are left out: there nothing is learned, and along theta* the
    interval |phi| is the error.
    """
    spec, shares, parts = data.spec, [], []
    for h in range(1, spec.d + 1):
        before, after = data.probes[h - 1], data.probes[h]
        learned = (after.eta > 0) & ~data.probes[1].stopped
        ended = learned & ~before.stopped & after.stopped
        error = np.abs(prediction(spec, after.total) - after.phi @ data.theta)
        share = np.divide(error, after.eta, out=np.zeros_like(error), where=after.eta > 0)
        fit = data.fit_of(after.h, after.keys)
        parts.append(largest(share[ended], fit[ended], data.fits))
        if h == spec.d:
            shares.append(largest(share[learned], fit[learned], data.fits))
    none = np.zeros(data.fits)
    return np.maximum(none, shares[0]), np.maximum(none, np.max(parts, axis=0))


def inactive_step(data: Fits) -> Array:
    """Per fit, how far a step into or below an inactive bin is from what the triangle inequality needs.

    Entering one must leave the prediction as it is and give an interval of min{2, eta_hat_parent + |phi_h|};
    below it nothing changes. Then for *every* point of the bin the error is at most the parent's plus
    |phi_h' theta*|, hence covered if the parent's is.
    """
    worst = np.zeros(data.fits)
    for layer, before, after in zip(data.layers, data.probes[:-1], data.probes[1:], strict=True):
        outside = before.stopped | ~layer.bins.open[layer.bins.rows(before.keys)]
        left = np.where(before.stopped, 0.0, np.linalg.norm(before.rest, axis=-1))
        short = np.minimum(2.0, before.eta + left) - after.eta
        gap = np.maximum(np.abs(after.total - before.total), short)[outside]
        worst = np.maximum(worst, largest(gap, data.fit_of(after.h, after.keys)[outside], data.fits))
    return worst


def _fit_of_probes(data: Fits, which: int) -> Ints:
    at = data.probes[which]
    return data.fit_of(at.h, at.keys)


def _largest_at(values: Array, points: Array, fit: Ints, fits: int) -> tuple[Array, Array]:
    order = np.lexsort((values, fit))
    out, where = np.full(fits, -np.inf), np.zeros((fits, points.shape[1]))
    out[fit[order]], where[fit[order]] = values[order], points[order]  # the last of a fit is its largest
    return out, where


# --- for use on its own ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coverage:
    """Of ``fits`` fitted oracles, how many failed at a point found, and how many lack the certificate."""

    fits: int
    failures: int
    uncertified: int
    mean_width: float
    needed: QuantileInterval


MOST_FITS = 10**6
"""In one call: all fits are held at once."""


@checked
def coverage(
    problem: Problem,
    n: int,
    *,
    fits: int = 600,
    seed: int = 0,
    confidence: float = FALSE_ALARM,
    **parameters: Any,
) -> Coverage:
    """Fits ``fits`` oracles of the repaired algorithm, one action, n users a batch, and looks for failures.

    ``parameters`` go to the specification (horizon, alpha, delta, activation, width, beta).
    """
    if not 1 <= fits <= MOST_FITS:
        raise ValueError(f"fits is from 1 to {MOST_FITS}, not {fits!r}")
    if n < 1:
        raise ValueError(f"n is at least 1, not {n!r}")
    spec = REPAIRED(d=problem.d, actions=1, **parameters)
    data = simulate(spec, problem, n, fits, np.random.default_rng(seed))
    width = float((data.chance * data.end.eta).sum() / fits)
    probes, _ = probe_excess(data)
    # With delta = 1/T^2 the level rounds to 1: the largest below it asks for no less.
    level = min(1 - min(spec.failure, 0.5), math.nextafter(1.0, 0.0))
    needed = quantile_interval(spec.width * needed_factor(data), level, confidence)
    return Coverage(fits, int((probes > 0).sum()), int((path_excess(data) > 0).sum()), width, needed)


@checked
def needed_width(
    problem: Problem,
    n: int,
    *,
    fits: int = 600,
    seed: int = 0,
    confidence: float = FALSE_ALARM,
    **parameters: Any,
) -> QuantileInterval:
    """(1 - delta)-quantile of the factor on kappa_2, kappa_3 at which all points are sure to be covered.

    What is needed is at most this; printed: 1.
    """
    return coverage(problem, n, fits=fits, seed=seed, confidence=confidence, **parameters).needed
