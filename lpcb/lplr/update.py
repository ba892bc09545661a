"""Algorithm 3, LPLR-Update: the statistics of a layer's bins and the noise that hides one user in them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array, Ints, group_sum
from lpcb.boundary import kind, short
from lpcb.mechanisms import Laplace, Mechanism, SymmetricLaplace, Wishart
from lpcb.partition import Routed, edges, key_level, prediction
from lpcb.spec import Spec, check_spec

_whole = kind(Ints)


@dataclass(frozen=True, eq=False)
class Statistics:
    """c_B, lambda_B and Lambda_B of each bin (Section 4.1): one user's share, or sums over users.

    One user in bin B adds 1, y_h phi_h and phi_h phi_h' there and 0 elsewhere.
    """

    count: Array
    vector: Array
    matrix: Array


@dataclass(frozen=True)
class UpdateMechanisms:
    """The three randomizers of a layer, each with a third of alpha (Algorithm 3; Proposition 4.1).

    One user fills one cell per statistic with at most 1, sqrt(d) R and (d+1)/2 units in l1 norm, where a
    vector of norm 1 has l1 norm at most sqrt(d), R bounds the residual reward and see SymmetricLaplace for
    the matrix. Replacing the user's (x, a, y) empties one cell and fills another: twice that
    (`replacement-sensitivity`). The three maxima are attained together, by phi = (1, ..., 1)/sqrt(d) and
    |y_h| = R in two different cells, so the whole report loses exactly alpha on the first layer.
    """

    count: Laplace
    vector: Laplace
    matrix: Mechanism

    def release(self, value: Statistics, rng: np.random.Generator) -> Statistics:
        """One user's report: the three lines of Algorithm 3."""
        return Statistics(
            self.count.release(value.count, rng),
            self.vector.release(value.vector, rng),
            self.matrix.release(value.matrix, rng),
        )

    def release_sum(self, total: Statistics, n: int, rng: np.random.Generator) -> Statistics:
        """The hat-c_B, hat-lambda_B and hat-Lambda_B that n runs of Algorithm 3 leave behind."""
        return Statistics(
            self.count.release_sum(total.count, n, rng),
            self.vector.release_sum(total.vector, n, rng),
            self.matrix.release_sum(total.matrix, n, rng),
        )

    def loss(self, value: Statistics, other: Statistics) -> float:
        """Exact loss of the three releases together: their noises are independent."""
        return (
            self.count.loss(value.count, other.count)
            + self.vector.loss(value.vector, other.vector)
            + self.matrix.loss(value.matrix, other.matrix)
        )


def residual_range(spec: Spec, h: int) -> float:
    """R_h, the largest |y_h|: y less a clipped prediction lies in [-2, 2] below the first layer.

    The proof of Proposition 4.1 takes |y_h| <= 1 "by definition" on every layer.
    """
    check_spec(spec)
    if not isinstance(h, int | np.integer) or isinstance(h, bool) or not 1 <= h <= spec.d:
        raise ValueError(f"h is a layer from 1 to {spec.d}, not {short(h)}")
    return 2.0 if spec.has("residual-range") and h > 1 else 1.0


def touched_cells(spec: Spec) -> int:
    """How many cells one user's change is taken to touch: 1 in the proof of Proposition 4.1, in truth 2."""
    check_spec(spec)
    return 2 if spec.has("replacement-sensitivity") else 1


def mechanisms(spec: Spec, h: int, keys: Ints) -> UpdateMechanisms:
    """The randomizers for the bins ``keys`` of layer h; scales belong to the cell, not to the user's bin.

    As printed (Algorithm 3): 3 Lap(1/alpha), 3 sqrt(d) gamma^-k Lap(1/alpha), and
    3 gamma^-2k (W_d(d + 1, 1.5/alpha I) - 1.5 (d + 1)/alpha I).

    >>> noise = mechanisms(Spec(d=2, actions=1, horizon=100, repairs=frozenset()), 1, np.array([0]))
    >>> noise.count.scale, noise.vector.scale.round(3)
    (array([3.]), array([[4.243]]))
    """
    keys = _listed(keys)
    unit = edges(spec)[key_level(spec, keys)]
    cells, share = touched_cells(spec), spec.alpha / 3
    matrix: Mechanism
    if spec.has("symmetric-noise"):
        matrix = SymmetricLaplace(unit**2, cells * (spec.d + 1) / 2, share, spec.d)
    else:
        matrix = Wishart(unit**2, float(cells), share, spec.d)
    return UpdateMechanisms(
        Laplace(np.ones_like(unit), float(cells), share),
        Laplace(unit[:, None], cells * math.sqrt(spec.d) * residual_range(spec, h), share),
        matrix,
    )


def _listed(keys: Ints) -> Ints:
    if not (type(keys) is np.ndarray and keys.dtype == np.int64):
        keys = np.asarray(_whole("keys", keys), dtype=np.int64)
    if keys.ndim != 1:
        raise ValueError(f"keys is a list of bins, not of shape {keys.shape}")
    return keys


def statistics(spec: Spec, at: Routed, keys: Ints, count: Array, y_sum: Array) -> Statistics:
    """sum 1, sum y_h phi_h and sum phi_h phi_h' over the users of each bin (Algorithm 3, before noise).

    ``count`` users sit at each point, with rewards that add up to ``y_sum``.
    """
    rows = np.searchsorted(keys, at.keys)
    y_h = y_sum - count * prediction(spec, at.total)
    outer = at.rest[:, :, None] * at.rest[:, None, :]
    return Statistics(
        group_sum(count, rows, len(keys)),
        group_sum(y_h[:, None] * at.rest, rows, len(keys)),
        group_sum(count[:, None, None] * outer, rows, len(keys)),
    )
