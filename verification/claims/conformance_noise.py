r"""Conformance: the noise that mechanisms draw has the density that they state, for one user and for sums.

All three densities are $c\,e^{-g(z)}$ with g positively homogeneous of degree 1 on a cone of k free
dimensions (sums of $|z_i|/b_i$; the trace for Wishart matrices). Then g of a draw is Gamma(k), whatever g
is, so the law of ``log_density`` at the mechanism's own draws is known exactly and tests scale and shape at
once. The constant c is compared with scipy's densities. Single entries and sums over n users are tested
against their exact cdf: a Laplace sum is a normal with Gamma(n) variance, a Wishart trace a chi-square.

Over the reals. In floating point the noise lies on a grid that depends on the value: the share of outputs
under count 0 that are impossible under count 1 is measured, as ``lpcb.mechanisms.FLOATING_POINT`` states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

from lpcb.arrays import Array
from lpcb.mechanisms import Laplace, Mechanism, SymmetricLaplace, Wishart
from verification.claim import Check, Claim, Context
from verification.evidence.samples import Comparison, ks_one_detectable, ks_one_sample
from verification.evidence.tails import clopper_pearson
from verification.verdict import FALSE_ALARM, Evidence, Finding, Measure

DRAWS = {"quick": 9_000, "standard": 60_000, "thorough": 400_000}
SCALE_DRAWS = {"quick": 40_000, "standard": 100_000, "thorough": 1_000_000}
Cdf = Callable[[NDArray[np.float64]], NDArray[np.float64]]
UNIT = np.array([1.0, 0.1])


def tables() -> dict[str, tuple[Mechanism, Array, int]]:
    """Each mechanism on two cells of different scale, a value to hide, and the free dimensions."""
    matrix = np.array([[[0.5, 0.2], [0.2, 0.3]], [[0.0, 0.0], [0.0, 0.0]]])
    return {
        "Laplace": (Laplace(UNIT, 2.0, 1 / 3), np.array([1.0, 0.0]), 2),
        "Laplace vectors": (Laplace(UNIT[:, None], 2 * math.sqrt(2), 1 / 3), np.ones((2, 2)), 4),
        "SymmetricLaplace": (SymmetricLaplace(UNIT**2, 3.0, 1 / 3, 2), matrix, 6),
        "Wishart": (Wishart(UNIT**2, 1.0, 1 / 3, 2), matrix, 6),
    }


def comparisons(draws: int, rng: np.random.Generator) -> dict[str, Comparison]:
    """Every test of draws against a law, by name."""
    out = {}
    for name, (mechanism, value, free) in tables().items():
        logs = mechanism.log_density(mechanism.release(value, rng, draws), value)
        out[f"{name}, log density"] = ks_one_sample(_mode(mechanism, value) - logs, stats.gamma(free).cdf)
    laplace = Laplace(np.ones(draws), 2.0, 1 / 3)
    single = laplace.release(np.zeros(draws), rng)
    out["Laplace, one user"] = ks_one_sample(single, stats.laplace(scale=6).cdf)
    for n in (2, 50, 10**17):
        total = laplace.release_sum(np.zeros(draws), n, rng)
        out[f"Laplace, sum of {n:g}"] = ks_one_sample(total / 6, laplace_sum_cdf(n))
    for name, (mechanism, value, _) in tables().items():
        if isinstance(mechanism, SymmetricLaplace | Wishart):
            many = replace(mechanism, unit=np.ones((draws, 1)) * UNIT**2)
            big = np.repeat(value[None], draws, axis=0)
            out[f"{name}, sum of 50"] = _matrix_sum(many, many.release_sum(big, 50, rng) - big)
    return out


def _mode(mechanism: Mechanism, value: Array) -> Array:
    """The log density where g = 0: at the value, for Wishart noise at the tip of the cone."""
    if isinstance(mechanism, Wishart):
        tip = value - mechanism.unit[:, None, None] * 3 * mechanism.v * np.eye(2) * (1 - 1e-12)
        return mechanism.log_density(tip, value)
    return mechanism.log_density(value, value)


def _matrix_sum(mechanism: Mechanism, total: Array) -> Comparison:
    """An off-diagonal Laplace entry, or the trace of Wishart matrices: chi-square with n d (d+1) degrees."""
    if isinstance(mechanism, Wishart):
        trace = np.trace(total[:, 0], axis1=-2, axis2=-1) / mechanism.v + 50 * 6
        return ks_one_sample(trace, stats.chi2(50 * 6).cdf)
    scale = mechanism.sensitivity / mechanism.epsilon
    return ks_one_sample(total[:, 0, 0, 1] / scale, laplace_sum_cdf(50))


def laplace_sum_cdf(n: int) -> Cdf:
    """Of the sum of n standard Laplace variables, P = E[Phi(t / sqrt(2 G))] with G ~ Gamma(n).

    By quadrature over quantiles of G on a grid of t; beyond n = 10^6 it is normal to 1e-7.
    """
    if n > 10**6:
        return stats.norm(scale=math.sqrt(2 * n)).cdf
    nodes, weights = np.polynomial.legendre.leggauss(400)
    p = (nodes + 1) / 2
    # A power of p resolves the small G, where the integrand is steep.
    G = stats.gamma(n).ppf(p**3)
    weights = weights / 2 * 3 * p**2

    def cdf(t: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.empty(len(t))
        for part in np.array_split(np.arange(len(t)), max(1, len(t) // 2000)):
            out[part] = stats.norm.cdf(t[part, None] / np.sqrt(2 * G)) @ weights
        return np.clip(out, 0.0, 1.0)

    return cdf


def draws_have_the_density(context: Context) -> Finding:
    draws = DRAWS[context.setting.profile]
    found = comparisons(draws, context.rng("draws"))
    level = FALSE_ALARM / len(found)
    name, worst = min(found.items(), key=lambda pair: pair[1].p)
    refuted = worst.p <= level
    evidence = Evidence(
        check="draws against their laws",
        grade="tested",
        role="decides",
        scope=f"{len(found)} laws: {', '.join(found)}",
        verdict="REFUTED" if refuted else "HOLDS",
        value=worst.distance,
        bound=ks_one_detectable(draws, level),
        interval=(0.0, worst.distance + math.sqrt(math.log(2 / level) / (2 * draws))),
        false_alarm=FALSE_ALARM,
        detectable=ks_one_detectable(draws, level),
        samples=draws * len(found),
        note=f"smallest p-value {worst.p:.2g} ({name}); distances are between distribution functions",
        counterexample={"law": name, "where": worst.where, "distance": worst.distance} if refuted else None,
    )
    return Finding((evidence,))


def scale_tests(draws: int, rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
    """By name: (scale over the stated one, two-sided p-value, standard error of the first)."""
    # A cdf hardly moves when a scale is off by 5 %; sums of |z| (Gamma) and of z^2 (chi-square) do.
    n, cells = 10**17, draws // 3
    laplace = Laplace(np.ones(draws), 2.0, 1 / 3)
    matrices = SymmetricLaplace(np.ones(cells), 3.0, 1 / 3, 2)
    zeros = np.zeros((cells, 2, 2))
    i, j = np.triu_indices(2)
    out = {}
    for name, z in (
        ("Laplace, one user", laplace.release(np.zeros(draws), rng) / 6),
        ("SymmetricLaplace, one user", matrices.release(zeros, rng)[:, i, j].ravel() / 9),
    ):
        total = float(np.abs(z).sum())
        out[name] = total / len(z), _two_sided(stats.gamma(len(z)), total), len(z) ** -0.5
    for name, z in (
        ("Laplace, sums", laplace.release_sum(np.zeros(draws), n, rng) / 6),
        ("SymmetricLaplace, sums", matrices.release_sum(zeros, n, rng)[:, i, j].ravel() / 9),
    ):
        total = float((z**2).sum()) / (2 * n)
        out[name] = math.sqrt(total / len(z)), _two_sided(stats.chi2(len(z)), total), (2 * len(z)) ** -0.5
    wishart = Wishart(np.ones(cells), 1.0, 1 / 3, 2)
    trace = np.trace(wishart.release_sum(zeros, 1, rng), axis1=1, axis2=2) / 4.5 + 6
    total, free = float(trace.sum()), 6 * cells
    out["Wishart, trace"] = total / free, _two_sided(stats.chi2(free), total), (2 / free) ** 0.5
    return out


def _two_sided(law: Any, value: float) -> float:
    return 2 * min(float(law.cdf(value)), float(law.sf(value)))


def scales(context: Context) -> Finding:
    draws = SCALE_DRAWS[context.setting.profile]
    found = scale_tests(draws, context.rng("scales"))
    level = FALSE_ALARM / len(found)
    name = min(found, key=lambda name: found[name][1])
    ratio, p, _ = found[name]
    margin = (stats.norm.isf(level / 2) + stats.norm.isf(0.01)) * max(error for *_, error in found.values())
    evidence = Evidence(
        check="scales of draws",
        grade="tested",
        role="decides",
        scope=", ".join(found),
        verdict="REFUTED" if p <= level else "HOLDS",
        value=ratio,
        bound=1.0,
        interval=(ratio / (1 + margin), ratio * (1 + margin)),
        false_alarm=FALSE_ALARM,
        detectable=1 + float(margin),
        samples=draws,
        note=f"smallest p-value {p:.2g} ({name}): its scale is {ratio:.4g} times the stated one",
        counterexample={"law": name, "ratio": ratio} if p <= level else None,
    )
    return Finding((evidence,))


def densities(context: Context) -> Finding:
    """``log_density`` against scipy's densities at random points, and integrals to 1 in one dimension."""
    rng = context.rng("densities")
    worst, where = 0.0, ""
    for name, (mechanism, value, _) in tables().items():
        z = mechanism.release(value, rng, 200)
        gap = np.abs(mechanism.log_density(z, value) - _scipy(mechanism, z, value))
        if (miss := float((gap / (1 + np.abs(_scipy(mechanism, z, value)))).max())) > worst:
            worst, where = miss, name
    one: list[Mechanism] = [Laplace(np.array([0.3]), 2.0, 0.5), Wishart(np.array([0.3]), 1.0, 0.5, 1)]
    for mechanism in one:
        shape = (1, 1, 1) if isinstance(mechanism, Wishart) else (1,)

        def density(x: float, m: Mechanism = mechanism, shape: tuple[int, ...] = shape) -> float:
            return float(np.exp(m.log_density(np.full(shape, x), np.zeros(shape))))

        start = -0.3 * 2 * 3.0 if isinstance(mechanism, Wishart) else 0.0
        mass = integrate.quad(density, start, 60, limit=400)[0]
        mass *= 1 if isinstance(mechanism, Wishart) else 2
        if (miss := abs(mass - 1) * 1e-3) > worst:
            worst, where = miss, f"integral of {type(mechanism).__name__}"
    refuted = worst > 1e-9
    evidence = Evidence(
        check="stated densities",
        grade="exact",
        role="decides",
        scope="each mechanism on two cells, 200 points; integrals for d = 1 (to 1e-6)",
        verdict="REFUTED" if refuted else "HOLDS",
        value=worst,
        bound=1e-9,
        interval=(worst, worst),
        note=f"largest relative difference of log densities from scipy's: {worst:.2g} ({where})",
        counterexample={"mechanism": where, "difference": worst} if refuted else None,
    )
    return Finding((evidence,))


def _scipy(mechanism: Mechanism, z: Array, value: Array) -> Array:
    if isinstance(mechanism, Laplace):
        logs = np.asarray(stats.laplace.logpdf(z, value, mechanism.scale))
        return np.asarray(logs.reshape(len(z), -1).sum(axis=1))
    if isinstance(mechanism, SymmetricLaplace):
        scale = mechanism.unit[:, None] * mechanism.sensitivity / mechanism.epsilon
        i, j = np.triu_indices(2)
        logs = np.asarray(stats.laplace.logpdf(z[..., i, j], value[..., i, j], scale))
        return np.asarray(logs.sum(axis=(1, 2)))
    assert isinstance(mechanism, Wishart)
    out = np.zeros(len(z))
    for cell, unit in enumerate(mechanism.unit.tolist()):
        law = stats.wishart(df=3, scale=unit * mechanism.v * np.eye(2))
        shifted = z[:, cell] - value[cell] + 3 * unit * mechanism.v * np.eye(2)
        out += law.logpdf(np.moveaxis(shifted, 0, -1))
    return out


def floating_point(context: Context) -> Finding:
    """Outputs of a count cell under 0 that no noise makes out of 1, in doubles.

    The library counts those off the grid of 2^-53 around 1. There are more: z is possible under 1 only if
    1 + w rounds to z for some double w, and it is enough to try z - 1 and its neighbours.
    """
    draws, stated = DRAWS[context.setting.profile], 0.044
    cell = Laplace(np.ones(draws), 2.0, 1 / 3)
    z = cell.release(np.zeros(draws), context.rng("floating point"))
    w = z - 1
    possible = (1 + w == z) | (1 + np.nextafter(w, -9e9) == z) | (1 + np.nextafter(w, 9e9) == z)
    off_grid = int((z * 2.0**53 != np.round(z * 2.0**53)).sum())
    interval = clopper_pearson(off_grid, draws)
    gone = clopper_pearson(int((~possible).sum()), draws)
    inside = interval[0] <= stated <= interval[1]
    evidence = Evidence(
        check="floating-point gap",
        grade="tested",
        role="decides",
        scope="a repaired count cell (scale 6), values 0 and 1, double precision",
        verdict="HOLDS" if inside else "REFUTED",
        value=off_grid / draws,
        bound=stated,
        interval=interval,
        false_alarm=FALSE_ALARM,
        detectable=stated + 2 * (interval[1] - interval[0]),
        samples=draws,
        note=f"outputs off the grid of 2^-53, as the library states; {1 - possible.mean():.3g} of all "
        "outputs are impossible under the other value",
        counterexample=None if inside else {"share": off_grid / draws, "stated": stated},
    )
    share = float(1 - possible.mean())
    return Finding((evidence,), {"outputs that betray the value": Measure(share, gone)})


NOISE = Claim(
    id="conf-noise",
    title="Conformance: noise",
    statement=None,
    repaired=(
        "Every mechanism's draws have the density that its log_density states, for one user and for sums, "
        "over the reals; the gap between real and floating-point arithmetic is stated."
    ),
    method=(
        "Draws are compared with exact laws (Kolmogorov), stated densities with another implementation, and "
        "the share of outputs impossible under a neighbouring value in double precision is measured."
    ),
    checks=(
        Check("draws", draws_have_the_density, random=True),
        Check("scales", scales, random=True),
        Check("densities", densities, random=False),
        Check("floating point", floating_point, random=True),
    ),
    baselined=frozenset({"outputs that betray the value"}),
)

CLAIMS = (NOISE,)
