"""Where the width of a printed interval comes from, source by source."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from lpcb.arrays import Array, Ints
from lpcb.boundary import checked
from lpcb.lplr.update import mechanisms
from lpcb.partition import edges, enter
from lpcb.problem import Problem
from lpcb.spec import REPAIRED, Spec

SMALLEST = 1e-60
"""Shorter vectors count as zero: the squares of their inverses would overflow."""
SOURCES = ("sampling", "count", "vector", "matrix", "interval batch")


@checked
def split(problem: Problem, horizon: int, alpha: float = 1.0) -> dict[str, float]:
    """Mean over contexts and actions of each width, in order; each line includes the ones it names.

    Uniform play, the last epoch whose data are used, all of theta fitted at once in first-layer bins: the
    error of phi' theta_hat is phi' G^-1 (sampling + vector noise - matrix noise theta). Standard deviations
    first, then what confidence, recursion and printed constants make of them. Count noise enters through
    psi_hat, and the interval batch's through the interval. Sources are independent: their variances add.
    """
    spec, phi, chance, action = _setting(problem, horizon, alpha)
    users, n = spec.epoch_length(_last(spec)), spec.batch(_last(spec))
    variances = _variances(problem, spec, phi, chance, action)
    steps = {
        "sampling, all users together": _mean(_leverage(phi, chance, np.zeros_like(action)) / users, chance),
        "sampling, one fit per action": _mean(_leverage(phi, chance, action) / users, chance),
        "sampling, one of 2d batches": _mean(_leverage(phi, chance, action) / n, chance),
        "sampling, one fit per bin": _mean(variances["sampling"], chance),
    }
    steps |= {f"privacy noise of the {name}": _mean(variances[name], chance) for name in SOURCES[1:]}
    steps["sampling and privacy"] = _mean(sum(variances.values(), np.zeros(len(phi))), chance)
    bins = problem.actions * (spec.M + 1) ** spec.d
    steps["95 % confidence at one point"] = steps["sampling and privacy"] * float(-ndtri(0.025))
    one, every = (float(-ndtri(spec.failure / (2 * many))) for many in (1, bins))
    steps["confidence 1 - 1/T^2 at one point"] = steps["sampling and privacy"] * one
    steps["... for all bins (union bound)"] = steps["sampling and privacy"] * every
    steps["carried through the layers"] = steps["... for all bins (union bound)"] * (2**spec.d - 1)
    bin_share = _bin_share(chance, enter(spec, phi, action).keys)
    steps["printed constants"] = float(chance @ (_printed(spec, n) / bin_share)) * (2**spec.d - 1)
    return steps


@checked
def shares(problem: Problem, horizon: int, alpha: float = 1.0) -> dict[str, float]:
    """What part of the mean variance behind "sampling and privacy" each of :data:`SOURCES` has; sums to 1.

    >>> from lpcb.problem import random
    >>> round(sum(shares(random(2, 2, 16), 10**12).values()), 12)
    1.0
    """
    spec, phi, chance, action = _setting(problem, horizon, alpha)
    means = {
        name: float(chance @ variance)
        for name, variance in _variances(problem, spec, phi, chance, action).items()
    }
    total = math.fsum(means.values())
    return {name: mean / total for name, mean in means.items()}


def _setting(problem: Problem, horizon: int, alpha: float) -> tuple[Spec, Array, Array, Ints]:
    """The specification, and every (context, action) that can occur as a point: features, chance, action."""
    spec = REPAIRED(d=problem.d, actions=problem.actions, horizon=horizon, alpha=alpha)
    K, A, d = problem.features.shape
    action = np.tile(np.arange(A, dtype=np.int64), K)
    chance = np.repeat(problem.weights / A, A)
    met = chance > 0  # a bin that nobody enters has no width
    phi = problem.features.reshape(-1, d)[met]
    long = np.linalg.norm(phi, axis=1, keepdims=True) >= SMALLEST
    return spec, np.where(long, phi, 0.0), chance[met], action[met]


def _last(spec: Spec) -> int:
    """The last epoch whose data are used."""
    return spec.epochs()[-1][0] - 1


def _variances(problem: Problem, spec: Spec, phi: Array, chance: Array, action: Ints) -> dict[str, Array]:
    """Variance of each of :data:`SOURCES` at every point."""
    n = spec.batch(_last(spec))
    at = enter(spec, phi, action)
    bin_share = _bin_share(chance, at.keys)
    noise = _noise(spec, at.keys, at.k)
    pull = _pull(phi, chance, at.keys)
    per_user = {
        "sampling": _leverage(phi, chance, at.keys),
        "count": (phi @ problem.theta * noise["count"] / bin_share) ** 2,
        "vector": (pull * noise["vector"]) ** 2,
        "matrix": (pull * noise["matrix"]) ** 2,
        "interval batch": (noise["interval"] / bin_share) ** 2,
    }
    return {name: np.asarray(per_user[name] / n) for name in SOURCES}


def _bin_share(chance: Array, keys: Ints) -> Array:
    return np.array([chance[keys == key].sum() for key in keys])


def _noise(spec: Spec, keys: Ints, k: Ints) -> dict[str, Array]:
    """Standard deviation of one user's noise in each point's cell; Laplace noise of scale b has sqrt(2) b."""
    released = mechanisms(spec, 1, keys)
    unit = edges(spec)[k]
    b_count, b_vector, b_matrix = (
        m.sensitivity / m.epsilon for m in (released.count, released.vector, released.matrix)
    )
    root = math.sqrt(2)
    return {
        "count": np.full(len(keys), root * b_count),
        "vector": root * b_vector * unit,
        "matrix": root * b_matrix * unit**2,
        "interval": np.full(len(keys), root * 2 * 2 / spec.alpha),
    }


def _printed(spec: Spec, n: int) -> float:
    """What a layer adds to an interval at psi = 1."""
    d = spec.d
    wide = spec.kappa3 * spec.gamma**2 * (d + 1) ** 4 + spec.kappa2 * spec.gamma * d**1.5
    return float(wide / math.sqrt(n))


def _gram_inverse(phi: Array, chance: Array, group: Ints) -> Array:
    """G^+ of each point's group, G the sum of chance phi phi'."""
    out = np.empty((len(phi), phi.shape[1], phi.shape[1]))
    for name in np.unique(group):
        inside = group == name
        gram = (chance[inside, None] * phi[inside]).T @ phi[inside]
        out[inside] = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
    return out


def _leverage(phi: Array, chance: Array, group: Ints) -> Array:
    """phi' G^+ phi, the variance of a fitted value times n."""
    return np.asarray(np.einsum("pi,pij,pj->p", phi, _gram_inverse(phi, chance, group), phi))


def _pull(phi: Array, chance: Array, group: Ints) -> Array:
    """|G^+ phi|: how a fitted value answers to noise in the moments."""
    return np.asarray(np.linalg.norm(np.einsum("pij,pj->pi", _gram_inverse(phi, chance, group), phi), axis=1))


def _mean(variance: Array, chance: Array) -> float:
    return float(chance @ np.sqrt(variance))
