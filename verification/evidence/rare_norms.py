r"""Rare events of noise vectors and matrices, by a mixture of tilted laws with a rigorous interval.

Let $a_1, \dots, a_K$ be linear functions such that on the event E some $a_j(X) \ge r$, and let $c_j =
\min_s e^{K_j(s) - sr}$ be Chernoff's bound for $a_j$, $K_j$ its cumulant generating function, attained at
$s_j$. Draw from $q = \sum_j w_j p_j$, $dp_j/dp = e^{s_j a_j - K_j(s_j)}$, $w_j = c_j/\sum c$. On E, with j
as above, $dq/dp \ge w_j e^{s_j r - K_j} = 1/\sum c$. So the weight $dp/dq$ on E is at most $C = \sum_j
c_j$, the union bound itself, and its mean over C has an interval without approximation.

A norm is a supremum over all directions. With K on a circle (a half circle for matrices) the nearest is
within an angle $\pi/K$ (half of that), and some $a_j \ge \cos(\pi/K)$ times the norm.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, special

from lpcb.arrays import Array, Bools, Ints
from lpcb.sums import wishart_sum_centred
from verification.evidence.rare import RareEvent, estimate_ratio
from verification.verdict import FALSE_ALARM

DIRECTIONS = 24

Draw = Callable[[Ints], Array]
"""For each entry j a draw under tilt j."""


def laplace_norm_rare(
    n: int, b: float, d: int, r: float, samples: int, rng: np.random.Generator, alpha: float = FALSE_ALARM
) -> RareEvent:
    """ln P(|S| >= r), S in d = 1 or 2 dimensions with coordinates that are sums of n Lap(b).

    >>> event = laplace_norm_rare(1, 1.0, 1, 30.0, 10_000, np.random.default_rng(0))
    >>> event.contains(-30.0)
    True
    """
    if d == 1:
        directions, reach = np.array([[1.0], [-1.0]]), 1.0
    else:
        _two(d)
        angle = 2 * math.pi * np.arange(DIRECTIONS) / DIRECTIONS
        directions, reach = np.stack([np.cos(angle), np.sin(angle)], axis=1), math.cos(math.pi / DIRECTIONS)
    return _laplace(n, b, directions, reach * r, lambda x: norm(x) >= r, samples, rng, alpha)


def laplace_matrix_rare(
    n: int, b: float, d: int, r: float, samples: int, rng: np.random.Generator, alpha: float = FALSE_ALARM
) -> RareEvent:
    """ln P(|S|_op >= r), S symmetric, d = 1 or 2, with sums of n Lap(b) in the upper triangle."""
    if d == 1:
        return laplace_norm_rare(n, b, 1, r, samples, rng, alpha)
    _two(d)
    v = _half_circle()
    forms = np.stack([v[:, 0] ** 2, 2 * v[:, 0] * v[:, 1], v[:, 1] ** 2], axis=1)
    forms, reach = np.concatenate([forms, -forms]), math.cos(math.pi / DIRECTIONS)

    def far(x: Array) -> Bools:
        return operator_norm(x[:, 0], x[:, 1], x[:, 2]) >= r

    return _laplace(n, b, forms, reach * r, far, samples, rng, alpha)


def wishart_rare(
    degrees: int, d: int, r: float, samples: int, rng: np.random.Generator, alpha: float = FALSE_ALARM
) -> RareEvent:
    r"""ln P(|W - N I|_op >= r) for W ~ W_d(N, I), N = ``degrees``, d = 1 or 2.

    $v'Wv$ is chi-square: $K(s) = -\frac N2 \ln(1-2s) - sN$ for the centred form, and the tilted law is
    $W_d(N, \Sigma)$ with $\Sigma = I + \frac{2s}{1-2s}vv'$.
    """
    if d == 1:
        v, reach = np.ones((1, 1)), 1.0
    else:
        _two(d)
        v, reach = _half_circle(), math.cos(math.pi / DIRECTIONS)
    N, t = float(degrees), reach * r
    # sup of st - K(s): at s = t / (2 (N + t)), for both signs of t.
    pairs = [(v[j], sign * t) for sign in (1, -1) for j in range(len(v)) if N + sign * t > 0]
    s = np.array([u / (2 * (N + u)) for _, u in pairs])
    cumulant = -N / 2 * (np.log1p(-2 * s) + 2 * s)
    log_caps = cumulant - s * np.array([u for _, u in pairs])
    axes = np.stack([axis for axis, _ in pairs])

    def draw(which: Ints) -> Array:
        centred = wishart_sum_centred(d, degrees, 1.0, 1, rng, (len(which),))
        grow = 2 * s[which] / (1 - 2 * s[which])
        stretch = np.sqrt(1 + grow) - 1
        outer = axes[which][:, :, None] * axes[which][:, None, :]
        root = np.eye(d) + stretch[:, None, None] * outer
        moved: Array = root @ centred @ root + N * grow[:, None, None] * outer
        return moved

    def tilts(x: Array) -> Array:
        return np.asarray(np.einsum("nij,ki,kj->nk", x, axes, axes) * s - cumulant)

    def far(x: Array) -> Bools:
        return operator_norm(x[:, 0, 0], x[:, 0, -1] * (d > 1), x[:, -1, -1]) >= r

    return _mixture(log_caps, draw, tilts, far, samples, rng, alpha)


def norm(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x, axis=-1))


def operator_norm(a: Array, b: Array, c: Array) -> Array:
    """Of the symmetric matrices [[a, b], [b, c]]."""
    return np.asarray(np.abs(a + c) / 2 + np.hypot((a - c) / 2, b))


def _laplace(
    n: int,
    b: float,
    directions: Array,
    t: float,
    far: Callable[[Array], Bools],
    samples: int,
    rng: np.random.Generator,
    alpha: float,
) -> RareEvent:
    s = np.array([_best_tilt(n, b * row, t) for row in directions])
    u = b * s[:, None] * directions
    cumulant = -n * np.log1p(-(u**2)).sum(axis=1)
    log_caps = cumulant - s * t

    def draw(which: Ints) -> Array:
        up, down = rng.standard_gamma(n, (2, len(which), directions.shape[1]))
        total: Array = b * (up / (1 - u[which]) - down / (1 + u[which]))
        return total

    def tilts(x: Array) -> Array:
        return np.asarray(x @ directions.T * s - cumulant)

    return _mixture(log_caps, draw, tilts, far, samples, rng, alpha)


def _best_tilt(n: int, scales: Array, t: float) -> float:
    """The s that minimises sum -n ln(1 - (s scale_i)^2) - s t; any s would do, this one is sharp."""
    top = 1 / float(np.abs(scales).max())

    def slope(s: float) -> float:
        q = (s * scales) ** 2
        return float((2 * n * s * scales**2 / (1 - q)).sum()) - t

    return float(optimize.brentq(slope, 0.0, top * (1 - 1e-12), xtol=1e-300, rtol=1e-12))


def _mixture(
    log_caps: Array,
    draw: Draw,
    tilts: Callable[[Array], Array],
    far: Callable[[Array], Bools],
    samples: int,
    rng: np.random.Generator,
    alpha: float,
) -> RareEvent:
    """``tilts(x)`` is ln dp_j/dp at each draw, (samples, K)."""
    if samples < 1:
        raise ValueError(f"samples is at least 1, not {samples!r}")
    log_c = float(special.logsumexp(log_caps))
    log_w = log_caps - log_c
    x = draw(rng.choice(len(log_w), size=samples, p=np.exp(log_w) / np.exp(log_w).sum()))
    x = x[far(x)]
    log_ratio = -special.logsumexp(tilts(x) + log_w, axis=1) - log_c if len(x) else np.zeros(0)
    if len(log_ratio) and log_ratio.max() > 1e-9:
        raise ArithmeticError(f"a weight is above its bound, by {log_ratio.max():.3g}")
    # At most 0 by the argument above; rounding may put it an ulp over.
    return estimate_ratio(np.minimum(log_ratio, 0.0), log_c, samples, alpha)


def _half_circle() -> Array:
    angle = math.pi * np.arange(DIRECTIONS) / DIRECTIONS
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _two(d: int) -> None:
    if d != 2:
        raise ValueError(f"directions are laid out for d = 1 and 2, not {d!r}")
