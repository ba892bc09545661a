r"""Exponents: the slope of ln E[y] against ln x over seeds, with an interval, its power, and its limits.

The estimand is :math:`\sum_j w_j \ln E[y_j]`, w the least-squares weights of ln x: the exponent if the law
is a power, else its best straight line. Three intervals:

- :func:`slope`: delete-one-seed jackknife, Student t, hulled with Hall's correction for skewness. Nothing is
  resampled, so any level can be asked for; but the level is *nominal*, and worth what the table says.
- :func:`slope_bounded`: for y in a known range, at the stated level whatever the law, and wider.
- :func:`slope_any_x`: the first one for every choice of all x but one, hulled. Where seeds hardly differ the
  first is a point, however crooked the curve; this one says how far the exponent hangs on a single x.

How often the interval misses, as a multiple of alpha, with 40 seeds at six x (100 000 repetitions; the
coefficient of variation in brackets; "rising" from nearly 0 at the first x to this at the last):

======================  ====  ====  =====  ======
noise                   0.05  0.01  0.001  0.0001
======================  ====  ====  =====  ======
normal (0.3)            0.9   0.9   0.7    0.5
lognormal (1.3)         1.0   1.1   1.1    0.6
lognormal, rising 0.5   0.9   0.8   0.5    0.7
lognormal, rising 1.3   0.9   1.1   1.5    2.3
lognormal, rising 2.9   1.2   1.8   3.5    7.8
======================  ====  ====  =====  ======

Ten seeds double this; 300 bring the last two lines to 1 and 2.3 at worst. A level like 1e-9 extrapolates:
take it as far out, not as a guarantee. And no interval made from the data knows what no seed has shown:
if the mean rests on an event that fewer than about ten seeds meet, the interval fails at every level
(``leverage`` near 1 is a warning). :func:`slope_bounded` needs no such trust.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from lpcb.boundary import checked, numbers_of
from verification.evidence.kinds import Level, Power
from verification.evidence.quantiles import mean_interval
from verification.evidence.tails import POWER, check_level, smallest_n
from verification.verdict import FALSE_ALARM

Columns = list[NDArray[np.float64]]
Table = NDArray[Any] | Sequence[ArrayLike]


@dataclass(frozen=True)
class Slope:
    """A fitted exponent. ``skewness`` is the estimator's own (what the t interval neglects), ``leverage`` the
    share of its variance that comes from one seed, ``log_factor`` the power of ln x that was divided out."""

    value: float
    intercept: float
    interval: tuple[float, float]
    stderr: float
    df: float
    skewness: float
    leverage: float
    log_factor: float
    seeds: int
    alpha: float


@checked
def slope(
    x: ArrayLike,
    y: Table,
    alpha: Level = FALSE_ALARM,
    shared: bool = True,
    log_factor: float = 0.0,
    free_log: bool = False,
) -> Slope:
    """The slope of ln mean(y) − log_factor · ln ln x against ln x.

    ``y[seed, j]`` belongs to ``x[j]``; with ``shared`` the same seed runs through a row. Otherwise all
    entries are independent, and y is an array as before or a list of columns of any lengths, one for each x.
    ``free_log`` fits a power of ln x beside the power of x (and needs three x); ``log_factor`` divides out a
    given one.

    The interval's level is nominal: the table at the top of this module says what it is worth.

    >>> x = [1e2, 1e3, 1e4]
    >>> fit = slope(x, [[10.0, 31.0, 99.0], [11.0, 33.0, 101.0], [9.0, 32.0, 100.0]], alpha=0.05)
    >>> round(fit.value, 3), round(fit.interval[0], 2), round(fit.interval[1], 2)
    (0.5, 0.45, 0.56)
    """
    if not math.isfinite(log_factor):
        raise ValueError(f"log_factor is a finite number, not {log_factor!r}")
    points, columns = _data(x, y, shared)
    weights = _weights(points, free_log)
    target = [math.log(column.mean()) for column in columns]
    if log_factor:
        target = [t - log_factor * v for t, v in zip(target, _log_log(points), strict=True)]
    value = float(weights[1] @ target)
    blocks = [w * _influence(column) for w, column in zip(weights[1], columns, strict=True)]
    if shared:
        blocks = [np.sum(blocks, axis=0)]
    stderr, df, skewness, leverage = _moments(blocks)
    return Slope(
        value=value,
        intercept=float(weights[0] @ target),
        interval=_interval(value, stderr, df, skewness, check_level(alpha)),
        stderr=stderr,
        df=df,
        skewness=skewness,
        leverage=leverage,
        log_factor=float(log_factor),
        seeds=min(len(column) for column in columns),
        alpha=float(alpha),
    )


FEWEST = 4
"""Points that :func:`slope_any_x` needs: without one of them a straight line still has one to miss."""


@checked
def slope_any_x(
    x: ArrayLike, y: Table, alpha: Level = FALSE_ALARM, shared: bool = True, log_factor: float = 0.0
) -> Slope:
    """As :func:`slope`, the interval hulled with those of the fits that leave one x out, each at ``alpha``.

    It covers chance over seeds and the choice of any one x: a kink or an outlier at one x moves the value but
    stays inside. It does not cover curvature that all x share, nor what lies outside their range.

    >>> fit = slope_any_x([1.0, 10.0, 1e2, 1e3], [[1.0, 10.0, 1e2, 2e3]] * 2)
    >>> [round(v, 2) for v in (*fit.interval, fit.value)]
    [1.0, 1.15, 1.09]
    """
    fit = slope(x, y, alpha, shared, log_factor)
    points, columns = _data(x, y, shared)
    if len(points) < FEWEST:
        raise ValueError(f"the choice of x is covered from {FEWEST} x on, not with {len(points)}")
    intervals = [fit.interval]
    for out in range(len(points)):
        kept = [column for j, column in enumerate(columns) if j != out]
        rest: Table = np.stack(kept, axis=1) if shared else kept
        intervals.append(slope(np.delete(points, out), rest, alpha, shared, log_factor).interval)
    lows, highs = zip(*intervals, strict=True)
    return replace(fit, interval=(min(lows), max(highs)))


@checked
def local_slopes(
    x: ArrayLike, y: Table, alpha: Level = FALSE_ALARM, shared: bool = True
) -> tuple[Slope, ...]:
    """The slope between each x and the next, each at level ``alpha``: does the exponent settle?

    >>> [round(s.value, 6) for s in local_slopes([1.0, 2.0, 4.0], [[1.0, 2.0, 8.0]] * 2)]
    [1.0, 2.0]
    """
    points, columns = _data(x, y, shared)
    pairs = [(points[j : j + 2], columns[j : j + 2]) for j in range(len(points) - 1)]
    if shared:
        return tuple(slope(p, np.stack(c, axis=1), alpha) for p, c in pairs)
    return tuple(slope(p, c, alpha, shared=False) for p, c in pairs)


@checked
def slope_bounded(
    x: ArrayLike,
    y: Table,
    ceiling: ArrayLike,
    alpha: Level = FALSE_ALARM,
    shared: bool = True,
    log_factor: float = 0.0,
) -> Slope:
    """As :func:`slope`, for 0 ≤ y ≤ ``ceiling`` (one number, or one for each x), at a guaranteed level.

    Each mean has an interval at level alpha/J (:func:`mean_interval`), so all J hold together, seeds shared
    or not; the slope lies between the two extremes that they allow.
    """
    fit = slope(x, y, alpha, shared, log_factor)
    points, columns = _data(x, y, shared)
    tops = np.broadcast_to(np.asarray(ceiling, dtype=np.float64), points.shape)
    if not (np.isfinite(tops).all() and (tops > 0).all()):
        raise ValueError(f"ceiling is finite and above 0, not {ceiling!r}")
    means = [
        mean_interval(c, 0.0, float(top), alpha / len(points)) for c, top in zip(columns, tops, strict=True)
    ]
    weights = _weights(points, False)[1]
    weights[abs(weights) < 1e-12 * abs(weights).max()] = (
        0.0  # rounding must not let in the mean of a middle x
    )
    shift = log_factor * float(weights @ _log_log(points)) if log_factor else 0.0
    low = sum(w * _log(m.low if w > 0 else m.high) for w, m in zip(weights, means, strict=True) if w)
    high = sum(w * _log(m.high if w > 0 else m.low) for w, m in zip(weights, means, strict=True) if w)
    return replace(fit, interval=(float(low - shift), float(high - shift)))


@checked
def slope_detectable(fit: Slope, power: Power = POWER) -> float:
    """How far from the true exponent a claimed one must be to fall outside the interval with this power.

    The interval's longer half plus the Student quantile of ``power``; to the accuracy of the interval.
    """
    check_level(power)
    if not math.isfinite(fit.stderr):
        return math.inf
    return _half(fit) + _t(1 - power, fit.df) * fit.stderr


@checked
def slope_samples(fit: Slope, distance: float, power: Power = POWER) -> int:
    """Seeds at which ``distance`` is detected, from a pilot ``fit``: its standard error falls like 1/√seeds,
    Student's quantiles follow, and the correction for skewness is kept though it would shrink."""
    if not distance > 0:
        raise ValueError(f"distance is above 0, not {distance!r}")
    if not math.isfinite(fit.stderr):
        raise ValueError("the standard error of fit is infinite: it says nothing about sample sizes")
    if fit.stderr == 0:
        return 2
    widening = _half(fit) / (fit.stderr * _t(fit.alpha / 2, fit.df))

    def enough(n: int) -> bool:
        df = fit.df * n / fit.seeds
        quantiles = widening * _t(fit.alpha / 2, df) + _t(1 - power, df)
        return bool(n >= 2 and quantiles * fit.stderr * math.sqrt(fit.seeds / n) <= distance)

    return smallest_n(enough, what=f"distance {distance!r}")


def _data(x: ArrayLike, y: Table, shared: bool) -> tuple[NDArray[np.float64], Columns]:
    points = np.asarray(x, dtype=np.float64)
    if points.ndim != 1 or len(points) < 2 or not np.all(np.isfinite(points) & (points > 0)):
        raise ValueError(f"x is a sequence of at least two positive numbers, not {x!r}")
    if len(np.unique(points)) < len(points):
        raise ValueError(f"the x differ from each other, unlike {x!r}")
    if shared or isinstance(y, np.ndarray):
        table = numbers_of("y", y)
        columns = list(table.T) if table.ndim == 2 else []
    else:
        if not isinstance(y, Sequence):
            raise ValueError(f"y is a sequence of columns, not {y!r}")
        columns = [numbers_of("y", column) for column in y]
    if len(columns) != len(points) or any(c.ndim != 1 or len(c) < 2 for c in columns):
        raise ValueError(f"y has one column of at least two seeds for each of the {len(points)} x")
    for point, column in zip(points, columns, strict=True):
        if not (np.isfinite(column).all() and column.mean() > 0):
            raise ValueError(f"y is finite with positive mean at every x, unlike at x = {point!r}")
    return points, columns


def _weights(points: NDArray[np.float64], free_log: bool) -> NDArray[np.float64]:
    """Rows: what least squares multiplies ln y by to get the intercept, the slope (and the power of ln x)."""
    design = [np.ones_like(points), np.log(points)]
    if free_log:
        if len(points) < 3:
            raise ValueError(f"free_log needs at least three x, not {len(points)}")
        design.append(_log_log(points))
    return np.asarray(np.linalg.pinv(np.stack(design, axis=1)), dtype=np.float64)


def _log_log(points: NDArray[np.float64]) -> NDArray[np.float64]:
    if points.min() <= 1:
        raise ValueError(f"a power of ln x needs every x above 1, not {points.min()!r}")
    return np.log(np.log(points))


def _influence(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each seed contributes to ln mean, by deleting it; infinite if the mean hangs on one seed."""
    n = len(column)
    rest = (column.sum() - column) / (n - 1)
    if rest.min() <= 0:
        return np.full(n, np.inf)
    deleted: NDArray[np.float64] = np.log(rest)
    return np.asarray((n - 1) * (deleted.mean() - deleted))


def _moments(blocks: Columns) -> tuple[float, float, float, float]:
    """Standard error, Welch-Satterthwaite degrees of freedom, skewness, leverage of Σ_blocks mean(block)."""
    n = np.array([len(block) for block in blocks])
    if not all(np.isfinite(block).all() for block in blocks):
        return math.inf, float(n.min() - 1), 0.0, 1.0
    variance = np.array([block.var(ddof=1) for block in blocks]) / n
    total = float(variance.sum())
    if total == 0:
        return 0.0, float(n.min() - 1), 0.0, 0.0
    df = total**2 / float((variance**2 / (n - 1)).sum())
    third = sum(float(np.mean(block**3)) / len(block) ** 2 for block in blocks)
    squares = [block**2 / (len(block) * (len(block) - 1)) for block in blocks]
    leverage = max(float(s.max()) for s in squares) / total
    return math.sqrt(total), float(df), third / total**1.5, min(1.0, leverage)


def _interval(value: float, stderr: float, df: float, skewness: float, alpha: float) -> tuple[float, float]:
    if not math.isfinite(stderr):
        return -math.inf, math.inf
    t = _t(alpha / 2, df)
    low = max(t, _hall(t, skewness))
    high = max(t, -_hall(-t, skewness))
    return value - stderr * low, value + stderr * high


def _t(tail: float, df: float) -> float:
    """Student's quantile with probability ``tail`` above it."""
    return -float(special.stdtrit(df, tail))


def _hall(t: float, skewness: float) -> float:
    """Inverse of Hall's monotone transformation T + λT²/3 + λ²T³/27 + λ/6, which takes the skewness λ out."""
    if abs(skewness) < 1e-6:  # the limit; the error is of order skewness * t**2
        return t
    return 3 / skewness * (float(np.cbrt(1 + skewness * (t - skewness / 6))) - 1)


def _half(fit: Slope) -> float:
    return max(fit.value - fit.interval[0], fit.interval[1] - fit.value)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
