r"""Instances whose users are spread over as many bins as there are levels, and the regret they must cost.

On a fixed number of bins an interval is $w/(\psi\sqrt n)$, with $\psi$ a bin's share of the users and w what
a layer adds at $\psi = 1$. Here J levels of $\|\phi\|$ have a bin each, as many as fit above the gap, so
$\psi = 1/(2J)$: intervals, the gaps they cannot see, and regret are J times larger.

The prediction. No constant in it is fitted. On level k write $\psi_1(k)$ for the share of its first-layer
bin and, for two layers, $\psi_2$ for that of a second-layer bin. Where bins are active an interval is
$\eta_1 = w/(\psi_1\sqrt n)$, and below it $\eta_2 = 2\eta_1 + w/(\psi_2\sqrt n)$ (the mean error of the
layer above comes in once by itself and once through $\bar\epsilon$). Estimates are far better than that, so
an action with gap 2s is dropped by the first oracle with $\eta < s$ and costs s a round until then. The
largest s that the last oracle of a run, with $n \approx T/(8d)$ users a batch, cannot see has
$s = \eta(s) \approx w(T)\,B(T)\,\sqrt{8d/T}$ and costs $sT$: regret is about $\sqrt{8dT}\,w(T)B(T)$, where
B is 2J for one layer and at most 2J + J^2 for two (J(J-1)/2 pairs of levels). With $w \sim \ln T$ and
$J \le M = \ln(T)/2$ that is $\sqrt T$ times ln T to the d + 1, the theorem's order. But J is
$\ln(1/4s)$, which is 1 when learning starts: over every range that can be simulated B grows faster than
$\ln^d T$, and straight lines are steeper than 1/2 by more than ln T's powers explain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lpcb.arrays import Array
from lpcb.problem import Problem
from lpcb.spec import Spec

LARGEST = 0.2


def count(s: float) -> int:
    """Levels e^(-k-1/2) >= 4 s, at least one."""
    return max(1, math.floor(math.log(1 / (4 * s)) + 0.5))


def _centre(level: int) -> float:
    return math.exp(-level - 0.5)


def levels_1(s: float) -> Problem:
    """d = 1: phi = e^(-k-1/2) +- s on every level k, theta = 1, gap 2 s."""
    return _problem([(k, None) for k in range(count(s))], s, ())


def levels_2(s: float) -> Problem:
    """d = 2: as :func:`levels_1`, all features along e_1."""
    return _problem([(k, None) for k in range(count(s))], s, (0.0,))


def levels_22(s: float) -> Problem:
    """d = 2: phi = (e^(-k-1/2) +- s, +-e^(-j-1/2)) on all pairs of levels k < j, theta = e_1, gap 2 s."""
    return _problem(_pairs(s), s, (0.0,))


def _pairs(s: float) -> list[tuple[int, int | None]]:
    J = max(2, count(s))
    return [(k, j) for k in range(J) for j in range(k + 1, J)]


def _problem(bins: list[tuple[int, int | None]], s: float, rest: tuple[float, ...]) -> Problem:
    features = []
    for k, j in bins:
        for x in (1.0, -1.0):
            below = rest if j is None else (x * _centre(j),)
            features.append([[_centre(k) + x * s, *below], [_centre(k) - x * s, *below]])
    weights = np.full(len(features), 1 / len(features))
    return Problem(np.array(features), weights, np.array([1.0, *rest]), name="levels")


@dataclass(frozen=True)
class Levels:
    """A family of such instances: ``shares(s)`` are psi_1 and psi_2 (or nan) of the bins, one row each."""

    name: str
    build: Callable[[float], Problem]
    shares: Callable[[float], Array]


def _one_layer(s: float) -> Array:
    J = count(s)
    return np.tile([0.5 / J, np.nan], (J, 1))


def _repeated(s: float) -> Array:
    """On a line the second layer is not blind: it sees what the first direction's error leaves of phi, all of
    it in one bin of the same share. (Seen in simulations before it was understood.)"""
    J = count(s)
    return np.full((J, 2), 0.5 / J)


def _two_layers(s: float) -> Array:
    first = np.array([k for k, _ in _pairs(s)])
    N = len(first)
    return np.column_stack([np.bincount(first)[first] / (2 * N), np.full(N, 0.5 / N)])


FAMILIES: dict[str, Levels] = {
    "d=1": Levels("levels", levels_1, _one_layer),
    "d=2 line": Levels("levels on a line", levels_2, _repeated),
    "d=2 pairs": Levels("pairs of levels", levels_22, _two_layers),
}


def bins(family: Levels, s: float) -> int:
    return len(family.shares(s))


def eta(spec: Spec, shares: Array, n: int) -> Array:
    """The interval of each row of bins from batches of n users; 2, the cap, where a bin is not active."""
    d, root = spec.d, math.sqrt(n)
    w = spec.kappa3 * spec.gamma**2 * (d + 1) ** 4 + spec.kappa2 * spec.gamma * d**1.5
    threshold = spec.kappa1 * spec.gamma**2 * (d + 1) ** 3 / root
    first, second = shares.T
    above = np.where(first > threshold, w / (first * root), 2.0)
    below = np.where(second > threshold, 2 * above + w / (second * root), 2.0)
    return np.asarray(np.minimum(np.where(np.isnan(second), above, below), 2.0))


def predicted(spec: Spec, family: Levels, s: float) -> float:
    """Regret on the instance of size s: every row of bins costs s a round until its oracle has eta < s."""
    shares = family.shares(s)
    alive, total = np.ones(len(shares), dtype=bool), 0.0
    schedule = spec.epochs()
    for (before, _), (_, rounds) in pairwise([(0, 0), *schedule]):
        if before:
            alive &= eta(spec, shares, spec.batch(before)) >= s
        total += float(rounds) * s * float(alive.mean())
    return total


def worst_size(spec: Spec, family: Levels) -> float:
    """The s with the largest predicted regret, on a grid of one per cent.

    At that very s an interval equals the gap and noise decides: instances are taken a little beside it.
    """
    sizes = LARGEST * 1.01 ** -np.arange(0, 1400, 8)
    rough = float(sizes[int(np.argmax([predicted(spec, family, float(s)) for s in sizes]))])
    fine = [s for s in rough * 1.01 ** np.arange(-8.0, 9.0) if s <= LARGEST]
    return float(fine[int(np.argmax([predicted(spec, family, float(s)) for s in fine]))])
