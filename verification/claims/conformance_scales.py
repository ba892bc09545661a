r"""Conformance: formulas where gamma is not e, and what mechanisms and tables say they lose.

At the default beta = 1/ln T gamma is e, and a formula with e in the place of gamma = T^beta, or with one of
its powers in the place of another, gives the same numbers. So the thresholds of Algorithm 4, its guard, and
the margin, the second threshold and the interval of Algorithm 5 are asked here at other betas, on sums and
bins that are made up, with every parameter worked out from (alpha, beta, delta, T, d).

The loss of a mechanism is the largest difference of two log densities. The pairs of tables here are so small
that it can be worked out by hand, as can an output where it is attained or, without bound, a witness.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from lpcb.arrays import Array
from lpcb.baselines import BASELINES, input_perturbation, ldp_linucb, private_statistics
from lpcb.baselines._data import Users
from lpcb.lplr import ci
from lpcb.lplr.pcr import Components, pcr
from lpcb.lplr.update import Statistics
from lpcb.mechanisms import Laplace, Mechanism, SymmetricLaplace, Wishart
from lpcb.partition import Bins, enter
from lpcb.problem import Problem
from lpcb.spec import Spec
from verification.claim import Check, Claim, Context
from verification.verdict import Evidence, Finding, Verdict

CLOSE = 1e-9
"""Relative; both sides are a few dozen operations in double precision."""
DIMENSIONS, BETAS, ALPHAS = (1, 2, 3), (0.05, 0.25, 0.4), (1.0, 0.1)
HORIZON = 10**4
"""gamma is then 1.58, 10 and 39.8."""
SIDES = (1e-6, -1e-6)
N = 10**15
SCOPE = "d = 1 to 3, beta = 0.05, 0.25 and 0.4 at T = 1e4, alpha = 0.1 and 1"


@dataclass
class Compared:
    """The largest relative difference so far between what a formula says and what the library does."""

    worst: float = 0.0
    where: str = ""
    wanted: float = 0.0
    found: float = 0.0
    count: int = 0

    def add(self, where: str, wanted: float, found: float) -> None:
        """One number, relative to the larger of the two."""
        self.count += 1
        if wanted == found:
            return
        apart = abs(wanted - found) / max(abs(wanted), abs(found), 1e-300)
        miss = apart if math.isfinite(apart) else 2.0  # as far apart as numbers of two signs
        if miss > self.worst:
            self.worst, self.where, self.wanted, self.found = miss, where, float(wanted), float(found)

    def all(self, where: str, wanted: Any, found: Any) -> None:
        """Two arrays, entry by entry; arrays of two shapes differ."""
        one, two = np.asarray(wanted, dtype=np.float64), np.asarray(found, dtype=np.float64)
        if one.shape != two.shape:
            self.add(f"number of entries, {where}", one.size, two.size + 0.5)
            return
        for at, value in np.ndenumerate(one):
            self.add(f"{where} {list(at)}" if at else where, float(value), float(two[at]))

    def finding(self, check: str, scope: str, telling: bool = True) -> Finding:
        """REFUTED if two numbers are further apart than rounding can be."""
        refuted = self.worst > CLOSE
        verdict: Verdict = "REFUTED" if refuted else "HOLDS" if telling else "UNDECIDED"
        note = f"largest relative difference {self.worst:.2g} of {self.count} numbers"
        if refuted:
            note += f", at {self.where}: {self.found:.6g} for {self.wanted:.6g}"
        evidence = Evidence(
            check=check,
            grade="exact",
            role="decides",
            scope=scope,
            verdict=verdict,
            value=self.worst,
            bound=CLOSE,
            interval=(self.worst, self.worst),
            samples=self.count,
            note=note,
            counterexample={"where": self.where, "wanted": self.wanted, "found": self.found}
            if refuted
            else None,
        )
        return Finding((evidence,))


# --- formulas at other gammas -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Printed:
    """The parameters of Sections 4.1 to 4.5 at one (d, alpha, beta), from their definitions."""

    d: int
    alpha: float
    beta: float

    @property
    def gamma(self) -> float:
        return math.exp(self.beta * math.log(HORIZON))

    @property
    def levels(self) -> int:
        return next(m for m in itertools.count() if 2 * self.beta * m >= 1 - 1e-12)

    def kappa(self, factor: float, inside: float) -> float:
        """factor ln(inside d / (beta delta)) / alpha, with delta = 1/T^2."""
        return factor * math.log(inside * self.d / self.beta * HORIZON**2) / self.alpha

    def spec(self, context: Context) -> Spec:
        return context.setting.spec(d=self.d, actions=1, horizon=HORIZON, alpha=self.alpha, beta=self.beta)

    def __str__(self) -> str:
        return f"d={self.d}, alpha={self.alpha:g}, beta={self.beta:g}"


def grid() -> list[Printed]:
    return [Printed(*given) for given in itertools.product(DIMENSIONS, ALPHAS, BETAS)]


def thresholds(context: Context) -> Finding:
    """Algorithm 4 a millionth to each side of kappa_1 gamma^2 (d+1)^3/sqrt(n) and gamma^(-2k-2)/(2d)."""
    seen = Compared()
    for given in grid():
        spec, d, gamma, M = given.spec(context), given.d, given.gamma, given.levels
        edge = given.kappa(43, 48) * gamma**2 * (d + 1) ** 3 / math.sqrt(N)
        for k, above, large in itertools.product(range(M + 1), SIDES, SIDES):
            psi, s = edge * (1 + above), gamma ** (-2 * k - 2) / (2 * d) * (1 + large)
            # The largest eigenvalue belongs to the last axis; the slope along it is 0.3.
            vector, matrix = np.zeros((1, d)), np.diag([0.01 * s] * (d - 1) + [s])[None]
            vector[0, -1] = 0.3 * s
            sums = Statistics(np.full(1, psi * N), vector * psi * N, matrix * psi * N)
            fit = pcr(spec, N, np.array([k]), sums, np.ones(1, dtype=np.bool_), np.eye(d)[None])
            active = above > 0 and large > 0 and k < M
            sides = ", ".join("above" if side > 0 else "below" for side in (above, large))
            where = f"{given}, k={k}, {sides} the two thresholds"
            seen.add(f"activity, {where}", float(active), float(fit.active[0]))
            seen.add(f"s, {where}", s if active else 0.0, float(fit.s[0]))
            seen.add(f"theta, {where}", 0.3 if active else 0.0, float(fit.theta[0, -1]))
    return seen.finding("Algorithm 4 at its thresholds", f"{SCOPE}, every level, made-up sums")


def made_up(given: Printed, psi: Array) -> tuple[Components, Array]:
    """One active bin for each level below M, along the last axis, and the eigenvalues s of the bins."""
    s = given.gamma ** (-2.0 * np.arange(len(psi))) / 2
    u = np.tile(np.eye(given.d)[-1], (len(psi), 1))
    return Components(psi, np.ones(len(psi), dtype=np.bool_), u, s, 0.3 * u), s


def margins(context: Context) -> Finding:
    """bar-epsilon and the second threshold of Algorithm 5 for error sums of both signs."""
    seen = Compared()
    for given in grid():
        spec, d, gamma = given.spec(context), given.d, given.gamma
        edge = given.kappa(15, 48) * gamma * d**1.5 / math.sqrt(N)
        keys = np.arange(given.levels, dtype=np.int64)
        rest = np.tile(np.eye(d), (len(keys), 1, 1))
        for side, mean in itertools.product(SIDES, (0.4, -0.001, -1e9)):
            psi = np.full(len(keys), edge * (1 + side))
            fit, _ = made_up(given, psi)
            done = ci.bins(spec, N, keys, fit, rest, mean * psi * N)
            for k in keys.tolist():
                margin = given.kappa(118, 24) * gamma * d**1.5 / (psi[k] * math.sqrt(N))
                where = f"{given}, k={k}, mean error {mean:g}"
                seen.add(f"bar-epsilon, {where}", max(0.0, mean + margin), float(done.error[k]))
                seen.add(f"open, {where}", float(side > 0), float(done.open[k]))
    return seen.finding("margin of Algorithm 5", f"{SCOPE}, every level, made-up error sums")


def intervals(context: Context) -> Finding:
    """chi_hat and eta_hat of a point in each made-up bin; every part of the interval can be seen."""
    seen, part = Compared(), 0
    for given in grid():
        spec, d, gamma, M = given.spec(context), given.d, given.gamma, given.levels
        fixed = given.kappa(300, 48) * gamma**2 * (d + 1) ** 4 / math.sqrt(N)
        # Shares of users so large that the first part of chi is 0.3.
        psi = np.full(M, fixed / 0.3)
        fit, s = made_up(given, psi)
        error, zeros = np.full(M, 0.2), np.zeros((M, d, d))
        live = fit.active
        layer = Bins(N, np.arange(M), psi, live, live, fit.u, s, fit.theta, zeros, error)
        phi = np.zeros((M, d))
        # Just inside its level: gamma^-k times a direction whose last entry is 0.6, or 1 at d = 1.
        direction = np.array([1.0] if d == 1 else [0.8, *[0.0] * (d - 2), 0.6])
        for k in range(M):
            phi[k] = gamma**-k * (1 - 1e-9) * direction
        at = replace(enter(spec, phi, np.zeros(M, dtype=np.int64)), eta=np.full(M, 0.1))
        chi, eta = ci.chi(spec, at, layer), ci.interval(spec, at, layer)
        for k in range(M):
            wanted = 0.3 + 0.2 * phi[k, -1] / math.sqrt(s[k])
            part += wanted > 0.35 and wanted < 1.9
            seen.add(f"level, {given}", float(k), float(at.k[k]))
            seen.add(f"chi, {given}, k={k}", wanted, float(chi[k]))
            seen.add(f"eta, {given}, k={k}", min(2.0, 0.1 + wanted), float(eta[k]))
    return seen.finding("interval of Algorithm 5", f"{SCOPE}, every level, made-up bins", part > 0)


# --- losses -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables, the loss of the first over the second worked out by hand, and outputs that show it."""

    name: str
    mechanism: Mechanism
    value: Array
    other: Array
    loss: float
    outputs: Sequence[Array]


def pairs() -> list[Pair]:
    """Scales are unit * sensitivity * 3: 6 and 3 for counts, 9 and 2.25 for matrices, 2v = 9 for Wishart."""
    zero, E1, E2 = np.zeros((2, 2)), np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    half, full = np.full((2, 2), 0.5), np.eye(2)
    unit = np.array([1.0, 0.5])
    count = Laplace(unit, 2.0, 1 / 3)
    vector = Laplace(unit[:, None], 2.0, 1 / 3)
    matrix = SymmetricLaplace(unit**2, 3.0, 1 / 3, 2)
    wishart = Wishart(unit**2, 1.0, 1 / 3, 2)
    one, two = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    out = [
        Pair("Laplace counts", count, one, two, 1 / 6 + 1 / 3, [one, one + 1, two]),
        Pair("Laplace vectors", vector, half, -half, 2 / 6 + 2 / 3, [half, half + 1, -half]),
        Pair("Laplace, equal", count, one, one, 0.0, [one, two]),
    ]
    stacked = np.stack([half, zero]), np.stack([zero, half / 2])
    # Three entries of 1/2 over 9, three of 1/4 over 2.25.
    out.append(Pair("SymmetricLaplace", matrix, *stacked, 1.5 / 9 + 0.75 / 2.25, [*stacked]))
    # 2v = 9: traces 1 and 2, the second in a cell of unit 1/4.
    lift = [np.stack([E1, full]) + t * full for t in (0.0, 1.0, -13.4 / 4)]
    out.append(Pair("Wishart, one way", wishart, np.stack([E1, full]), np.stack([zero, zero]), 1, lift))
    for name, value, other in (
        ("Wishart, the other way in the second cell", np.stack([E1, zero]), np.stack([zero, E1 / 4])),
        ("Wishart, the other way in the first cell", np.stack([zero, E1 / 4]), np.stack([E1, zero])),
        ("Wishart, across", np.stack([E1, zero]), np.stack([E2, zero])),
    ):
        # The mean is 13.5 units: a hundredth above the edge of what the value allows.
        edge = value + (0.01 - 13.5) * (unit**2)[:, None, None] * full
        out.append(Pair(name, wishart, value, other, math.inf, [edge]))
    equal = np.stack([half, half])
    out.append(Pair("Wishart, equal", wishart, equal, equal, 0.0, [equal]))
    return out


def losses(context: Context) -> Finding:
    """Stated losses and the largest difference of log densities, and what no release can be."""
    seen = Compared()
    for pair in pairs():
        mechanism = pair.mechanism
        differences = [
            float(mechanism.log_density(z, pair.value) - mechanism.log_density(z, pair.other))
            for z in pair.outputs
        ]
        seen.add(f"loss of {pair.name}", pair.loss, mechanism.loss(pair.value, pair.other))
        seen.add(f"log densities of {pair.name}", pair.loss, max(differences))
    matrix = SymmetricLaplace(np.ones(1), 3.0, 1 / 3, 2)
    value, crooked = np.full((1, 2, 2), 0.5), np.array([[[0.5, 0.5], [0.4, 0.5]]])
    seen.add(
        "density of a matrix that is not symmetric", -math.inf, float(matrix.log_density(crooked, value))
    )
    return seen.finding("losses worked out by hand", f"{len(pairs())} pairs of tables, three mechanisms")


class Overheard(np.random.Generator):
    """A generator whose Laplace draws are 0, and that knows the scales it was asked for."""

    @property
    def scales(self) -> set[float]:
        found: set[float] = vars(self).setdefault("_scales", set())
        return found

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        self.scales.add(float(scale))
        return loc + np.zeros(() if size is None else size)


def corners(d: int) -> Problem:
    """Contexts with features (1, ..., 1)/sqrt(d), their opposite, an axis, and a short vector."""
    full = np.full(d, 1 / math.sqrt(d))
    rows = np.stack([full, -full, np.eye(d)[0], 0.3 * full])
    return Problem(np.stack([rows, rows], axis=1), np.full(4, 0.25), full)


def budgets(context: Context) -> Finding:
    """What replacing one user of a locally private baseline costs: exactly alpha for the worst pair.

    The scale of the noise is the one that a run asks its generator for.
    """
    seen = Compared()
    for d, alpha in itertools.product(DIMENSIONS, (1.0, 0.5, 0.1)):
        problem = corners(d)
        everyone = list(itertools.product(range(4), range(2), (-1.0, 1.0, 0.2)))
        x, a, y = (np.array([column]) for column in zip(*everyone, strict=True))
        for baseline in (private_statistics, input_perturbation):
            rng = Overheard(np.random.PCG64(0))
            BASELINES[baseline.NAME].stream(problem, 100, alpha, 1, rng, [100])
            tables = baseline.reports(problem, Users(x, a, y), 1.0, Overheard(np.random.PCG64(0)))[0]
            flat = tables.reshape(len(everyone), -1)
            largest = float(np.abs(flat[:, None] - flat[None]).sum(axis=-1).max())
            where = f"{baseline.NAME}, d={d}, alpha={alpha:g}"
            seen.add(f"scales of one run, {where}", 1, len(rng.scales))
            seen.add(f"loss of {where}", alpha, largest / max(rng.scales, default=math.inf))
        for T in (10**3, 10**9):
            sigma = ldp_linucb.noise_scale(d, alpha, T)
            ratio = sigma / distance(d)
            where = f"ln delta of ldp_linucb, d={d}, alpha={alpha:g}, T={T:g}"
            seen.add(where, math.log(min(1e-6, 1 / T)), math.log(gaussian_delta(alpha, ratio)))
    return seen.finding(
        "privacy of the baselines", "d = 1 to 3, alpha = 0.1, 0.5 and 1; replacement of a user"
    )


def distance(d: int) -> float:
    """The largest Euclidean distance of two users' (phi phi', y phi) of LinUCB, by trying angles and rewards.

    Unit vectors at every hundredth part of a half circle; 1/3 of it, where the maximum is, is among 300.
    """
    angles = [0.0, math.pi] if d == 1 else [math.pi * i / 300 for i in range(301)]
    worst = 0.0
    for angle, y in itertools.product(angles, (-1.0, 1.0)):
        one, two = np.array([1.0, 0.0]), np.array([math.cos(angle), math.sin(angle)])
        square = ((np.outer(one, one) - np.outer(two, two)) ** 2).sum() + ((one - y * two) ** 2).sum()
        worst = max(worst, float(square))
    return math.sqrt(worst)


def gaussian_delta(epsilon: float, ratio: float) -> float:
    """delta of the Gaussian mechanism whose deviation is ``ratio`` sensitivities (Balle & Wang 2018)."""
    one, two = 1 / (2 * ratio) - epsilon * ratio, -1 / (2 * ratio) - epsilon * ratio
    return float(stats.norm.cdf(one) - math.exp(epsilon) * stats.norm.cdf(two))


SCALES = Claim(
    id="conf-scales",
    title="Conformance: other gammas, and losses",
    statement=None,
    repaired=(
        r"Where $\gamma = T^\beta$ is not e, thresholds, guard, margins and intervals are those of the "
        "printed formulas with the repairs; the loss that a mechanism states is the largest difference of "
        r"its log densities, and replacing one user of a locally private baseline loses exactly its $\alpha$."
    ),
    method=(
        "Algorithms 4 and 5 are given made-up sums and bins at beta = 0.05, 0.25 and 0.4, and losses are "
        "compared with pairs of tables whose loss is worked out by hand."
    ),
    checks=(
        Check("thresholds", thresholds, random=False),
        Check("margins", margins, random=False),
        Check("intervals", intervals, random=False),
        Check("losses", losses, random=False),
        Check("budgets", budgets, random=False),
    ),
)

CLAIMS = (SCALES,)
