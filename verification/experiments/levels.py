r"""Instances whose users are spread over as many bins as there are levels, and the regret they must cost.

On a fixed number of bins an interval is $w/(\psi\sqrt n)$, with $\psi$ a bin's share of the users and w what
a layer adds at $\psi = 1$. Here J levels of $\|\phi\|$ have a bin each, as many as fit above the gap, so
$\psi = 1/(2J)$: intervals, the gaps they cannot see, and regret are J times larger.

The prediction. No constant in it is fitted. On level k write $\psi_1(k)$ for the share of its first-layer
bin and $\psi_h$ for that of a bin on layer h. Where bins are active an interval is
$\eta_1 = w/(\psi_1\sqrt n)$, and below it $\eta_h = 2\eta_{h-1} + w/(\psi_h\sqrt n)$ (the mean error of the
layer above comes in once by itself and once through $\bar\epsilon$). Estimates are far better than that, so
an action with gap 2s is dropped by the first oracle with $\eta < s$ and costs s a round until then. The
largest s that the last oracle of a run, with $n \approx T/(8d)$ users a batch, cannot see has
$s = \eta(s) \approx w(T)\,B(T)\,\sqrt{8d/T}$ and costs $sT$: regret is about $\sqrt{8dT}\,w(T)B(T)$, where
B is 2J for one layer, between J^2 + J and 3J^2 for two (J(J-1)/2 pairs of levels), and of order J^d for d.
With $w \sim \ln T$ and $J \le M = \ln(T)/2$ that is $\sqrt T$ times ln T to the d + 1, the theorem's order.
But J is $\ln(1/4s)$, which is 1 when learning starts: over every range that can be simulated B grows faster
than $\ln^d T$, and straight lines are steeper than 1/2 by more than ln T's powers explain.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise, product

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


def _bins(layers: int, s: float) -> list[tuple[int, ...]]:
    """All k_1 < ... < k_layers among the levels above the gap."""
    return list(combinations(range(max(layers, count(s))), layers))


def on_line(s: float, d: int) -> Problem:
    """phi = e^(-k-1/2) +- s along e_1 on every level k, theta = e_1, gap 2 s."""
    return _problem(_bins(1, s), s, d)


def on_all_layers(s: float, d: int) -> Problem:
    """phi = (e^(-k_1-1/2) +- s, +-e^(-k_2-1/2), ...) on all levels k_1 < ... < k_d, theta = e_1, gap 2 s."""
    return _problem(_bins(d, s), s, d)


def _problem(bins: list[tuple[int, ...]], s: float, d: int) -> Problem:
    features = []
    for first, *others in bins:
        for signs in product((1.0, -1.0), repeat=max(1, len(others))):
            below = [x * _centre(level) for x, level in zip(signs, others, strict=False)]
            rest = [*below, *[0.0] * (d - 1 - len(below))]
            features.append([[_centre(first) + x * s, *rest] for x in (signs[0], -signs[0])])
    weights = np.full(len(features), 1 / len(features))
    return Problem(np.array(features), weights, np.eye(d)[0], name="levels")


@dataclass(frozen=True)
class Levels:
    """A family of such instances: ``shares(s, d)`` are psi_1, ..., psi_d of the bins, one row each."""

    name: str
    d: int
    make: Callable[[float, int], Problem]
    part: Callable[[float, int], Array]

    def build(self, s: float) -> Problem:
        return self.make(s, self.d)

    def shares(self, s: float) -> Array:
        return self.part(s, self.d)


def _repeated(s: float, d: int) -> Array:
    """On a line the second layer is not blind: it sees what the first direction's error leaves of phi, all of
    it along one direction and in one bin of the same share (seen in simulations before it was understood).
    What the second leaves is smaller than all levels, so a third layer sees nothing."""
    J = count(s)
    return np.full((J, min(d, 2)), 0.5 / J)


def _nested(s: float, d: int) -> Array:
    bins = _bins(d, s)
    same = [Counter(levels[:h] for levels in bins) for h in range(1, d + 1)]
    return np.array([[same[h - 1][levels[:h]] for h in range(1, d + 1)] for levels in bins]) / (2 * len(bins))


FAMILIES: dict[str, Levels] = {
    "d=1": Levels("levels", 1, on_line, _repeated),
    "d=2 line": Levels("levels on a line", 2, on_line, _repeated),
    "d=2 pairs": Levels("pairs of levels", 2, on_all_layers, _nested),
    "d=3 line": Levels("levels on a line", 3, on_line, _repeated),
    "d=3 triples": Levels("triples of levels", 3, on_all_layers, _nested),
}


def eta(spec: Spec, shares: Array, n: int) -> Array:
    """The interval of each row of bins from batches of n users; 2, the cap, where a bin is not active."""
    d, root = spec.d, math.sqrt(n)
    w = spec.kappa3 * spec.gamma**2 * (d + 1) ** 4 + spec.kappa2 * spec.gamma * d**1.5
    threshold = spec.kappa1 * spec.gamma**2 * (d + 1) ** 3 / root
    found = np.zeros(len(shares))
    for share in shares.T:
        found = np.where(share > threshold, 2 * found + w / (share * root), 2.0)
    return np.asarray(np.minimum(found, 2.0))


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
