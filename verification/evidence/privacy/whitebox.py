"""The white-box audit of one pair: the loss where the log-density is known.

L(z) = ln p(z | value) − ln p(z | other). An exact supremum comes from the randomizer's own closed form
(``loss``) or from a list of all its ``outputs``; otherwise L is maximised, over samples and from them uphill.
δ(ε) = E[(1 − e^{ε − L})₊] under ``value``, an average of numbers in [0, 1], so it has an interval without
approximation. A witness is an output that occurred under one input and is impossible under the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from verification.evidence.privacy.outputs import Array, Outputs, Source
from verification.evidence.quantiles import mean_interval
from verification.evidence.tails import clopper_pearson
from verification.seeds import generator

CURVE_POINTS = 33
QUANTILES = 257
MOST_SAMPLES = 100_000
CLIMB_ENTRIES = 30
ROUNDING = 1e-9
"""Losses this close (relatively) to the claimed ε do not exceed it: they are sums in double precision."""


@dataclass(frozen=True)
class Witness:
    """Outputs that occur under input ``under`` (0 or 1) and are impossible under the other."""

    under: int
    output: Any
    seen: int
    samples: int
    interval: tuple[float, float]


@dataclass(frozen=True)
class HockeyStick:
    """δ(ε) from input ``under`` to the other, with a band that holds at all points of all curves at once."""

    under: int
    epsilon: tuple[float, ...]
    delta: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class WhiteBox:
    """What the log-density shows about one pair.

    ``exact`` is the closed form's loss, the larger of both directions, if there is one; ``largest`` the
    largest loss met, at ``output``. ``attained`` is the largest at an output that was drawn at random, from
    the randomizer or from a density around ``output``: such losses have positive probability, so an ε below
    is refuted without any error. ``quantiles`` are those of the loss under each input, at even levels.
    ``delta_low`` and ``delta_high`` enclose δ at the claimed ε, both directions.
    """

    exact: float | None
    largest: float
    output: Any
    attained: float
    witnesses: tuple[Witness, ...]
    quantiles: tuple[tuple[float, ...], tuple[float, ...]]
    curves: tuple[HockeyStick, ...]
    delta_low: float
    delta_high: float
    samples: int
    notes: tuple[str, ...] = ()


def exceeds(loss: float, epsilon: float) -> bool:
    """Is ``loss`` above ``epsilon`` by more than rounding?"""
    return loss > epsilon + ROUNDING * max(1.0, abs(epsilon))


def closed_form(randomizer: Any, value: Any, other: Any) -> float | None:
    """The exact worst-case loss, the larger of both directions; None if the randomizer does not know it."""
    if callable(getattr(randomizer, "loss", None)):
        return max(_loss(randomizer, value, other), _loss(randomizer, other, value))
    if hasattr(randomizer, "outputs"):
        return _listed(randomizer, value, other)
    return None


def _loss(randomizer: Any, value: Any, other: Any) -> float:
    found = float(randomizer.loss(value, other))
    if math.isnan(found):
        raise ValueError(f"loss({value!r}, {other!r}) of the randomizer is NaN")
    return found


def _listed(randomizer: Any, value: Any, other: Any) -> float:
    """Over all outputs, provided that their probabilities sum to one."""
    outputs = np.asarray(randomizer.outputs)
    logs = [np.asarray(randomizer.log_density(outputs, v), dtype=np.float64) for v in (value, other)]
    for v, log in zip((value, other), logs, strict=True):
        total = float(np.exp(log).sum())
        if log.shape != (len(outputs),) or abs(total - 1) > 1e-9:
            raise ValueError(
                f"the randomizer's outputs have total probability {total!r} for input {v!r}: "
                "outputs lists all of them, and log_density gives the logarithm of each one's probability"
            )
    gap = _difference(logs[0], logs[1])
    return float(np.abs(gap).max())


def log_ratio(randomizer: Any, value: Any, other: Any, outputs: Outputs) -> Array:
    """L of every output; 0 where it is impossible under both."""
    logs = []
    for v in (value, other):
        log = np.asarray(randomizer.log_density(outputs.raw, v), dtype=np.float64)
        if log.shape != (len(outputs),):
            raise ValueError(
                f"log_density(output, value) gives one number per sample: shape {(len(outputs),)}, "
                f"not {log.shape}"
            )
        if np.isnan(log).any():
            raise ValueError(f"log_density is NaN for an output of input {v!r}; -inf means impossible")
        logs.append(log)
    return _difference(logs[0], logs[1])


def _difference(one: Array, two: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.where((one == -np.inf) & (two == -np.inf), 0.0, one - two)


def whitebox(
    randomizer: Any,
    draw: Any,
    pair: tuple[Any, Any],
    epsilon: float,
    alpha: float,
    samples: int,
    seed: int,
) -> WhiteBox:
    """Audit ``pair`` with ``samples`` samples in all, shared by both inputs."""
    n = max(1, min(MOST_SAMPLES, samples) // 2)
    sides, losses = [], []
    for i in (0, 1):
        source = Source(draw, pair[i], generator(seed, "audit", "white box", i))
        sides.append(source.sample(n))
        losses.append(log_ratio(randomizer, pair[i], pair[1 - i], sides[i]))
    exact = closed_form(randomizer, *pair)
    side = int(losses[1].max() > losses[0].max())
    largest, attained, output = _climb(randomizer, pair, sides, losses, side, seed)
    curves = _curves(losses, epsilon, alpha, exact)
    at = [_delta(loss, epsilon, alpha / (2 * (CURVE_POINTS + 1))) for loss in losses]
    own = [np.asarray(randomizer.log_density(side.raw, v)) for side, v in zip(sides, pair, strict=True)]
    notes = tuple(
        f"log_density calls {int((log == -np.inf).sum())} of {n} outputs of input {i} impossible"
        for i, log in enumerate(own)
        if (log == -np.inf).any()
    )
    levels = np.linspace(0, 1, QUANTILES)
    return WhiteBox(
        exact=exact,
        largest=largest,
        output=output,
        attained=attained,
        witnesses=tuple(w for i in (0, 1) if (w := _witness(i, sides[i], losses[i], alpha)) is not None),
        quantiles=(_quantiles(losses[0], levels), _quantiles(losses[1], levels)),
        curves=curves,
        delta_low=max(a[1] for a in at),
        delta_high=max(a[2] for a in at),
        samples=2 * n,
        notes=notes,
    )


def _quantiles(loss: Array, levels: Array) -> tuple[float, ...]:
    return tuple(float(x) for x in np.quantile(loss, levels, method="inverted_cdf"))


def _witness(under: int, outputs: Outputs, loss: Array, alpha: float) -> Witness | None:
    hits = np.flatnonzero(loss == np.inf)
    if len(hits) == 0:
        return None
    return Witness(
        under,
        _plain(outputs[int(hits[0]) : int(hits[0]) + 1].raw),
        len(hits),
        len(loss),
        clopper_pearson(len(hits), len(loss), alpha),
    )


def _delta(loss: Array, epsilon: float, alpha: float) -> tuple[float, float, float]:
    gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
    found = mean_interval(gain, alpha=alpha)
    return found.mean, found.low, found.high


def _curves(
    losses: Sequence[Array], epsilon: float, alpha: float, exact: float | None
) -> tuple[HockeyStick, ...]:
    finite = np.concatenate([loss[np.isfinite(loss)] for loss in losses])
    top = max(epsilon, exact if exact is not None and math.isfinite(exact) else 0.0)
    top = max(top, float(finite.max(initial=0.0)))
    grid = np.linspace(0, 1.1 * top if top > 0 else 1.0, CURVE_POINTS)
    curves = []
    for under, loss in enumerate(losses):
        # Half of alpha for the curves and the point at the claimed epsilon together, half for witnesses.
        points = [_delta(loss, float(e), alpha / (2 * (CURVE_POINTS + 1))) for e in grid]
        delta, low, high = (tuple(p[i] for p in points) for i in range(3))
        curves.append(HockeyStick(under, tuple(grid.tolist()), delta, low, high))
    return tuple(curves)


def _climb(
    randomizer: Any,
    pair: tuple[Any, Any],
    sides: Sequence[Outputs],
    losses: Sequence[Array],
    side: int,
    seed: int,
) -> tuple[float, float, Any]:
    """(largest, attained, output): uphill from the best samples of the better direction."""
    loss, outputs = losses[side], sides[side]
    order = np.argsort(-loss, kind="stable")[:3]
    best, where = float(loss[order[0]]), outputs[int(order[0]) : int(order[0]) + 1].raw
    raw, attained = outputs.raw, best
    if math.isinf(best) or not _continuous(outputs):
        return best, attained, _plain(where)
    shape = raw.shape[1:]

    def gain(z: Array) -> float:
        point = z.reshape(1, *shape)
        ours, theirs = (
            float(np.asarray(randomizer.log_density(point, v)).reshape(-1)[0])
            for v in (pair[side], pair[1 - side])
        )
        return -math.inf if ours == -math.inf or math.isnan(ours - theirs) else ours - theirs

    with np.errstate(all="ignore"):
        for start in order:
            top, point = _uphill(gain, raw[start].ravel())
            if top > best:
                best, where = top, point.reshape(1, *shape)
            if math.isinf(best):
                break
        rng = generator(seed, "audit", "white box", "around")
        near = where.ravel() + 1e-3 * raw.reshape(len(raw), -1).std(axis=0) * rng.standard_normal(
            (32, where.size)
        )
        attained = max(attained, *(gain(z) for z in near))
    return max(best, attained), attained, _plain(where)


def _uphill(gain: Callable[[Array], float], start: Array) -> tuple[float, Array]:
    point = np.asarray(optimize.fmin(lambda z, *_, **__: -gain(z), start, maxfun=400, disp=0))
    return gain(point), point


def _continuous(outputs: Outputs) -> bool:
    """A few floating-point numbers, never the same twice: the density is one over the reals."""
    raw = outputs.raw
    return (
        isinstance(raw, np.ndarray)
        and raw.dtype.kind == "f"
        and 0 < math.prod(raw.shape[1:]) <= CLIMB_ENTRIES
        and len(np.unique(outputs.keys)) == len(outputs)
    )


def _plain(raw: Any) -> Any:
    """One output as lists and numbers."""
    if isinstance(raw, dict):
        return {name: _plain(part) for name, part in raw.items()}
    if isinstance(raw, tuple):
        return [_plain(part) for part in raw]
    return np.asarray(raw)[0].tolist()
