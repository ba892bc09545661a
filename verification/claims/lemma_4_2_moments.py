r"""Lemma 4.2: how closely the private vectors and matrices of a layer's bins follow the population.

As printed, $\hat\psi_B = \hat c_B/\sqrt n$ makes both quotients smaller than their targets by $\sqrt n$. With
the algorithm's $\hat c_B/n$ the printed constants hold for the printed noise on the first layer, but two
faults remain. Below it nothing bounds $|y_h|$, and the lemma is meant conditionally on the layers above,
which may have any coefficient: no constant holds. And the third logarithm lacks $\beta$, so that it cannot
pay for the number of bins, though it takes $\beta < e^{-900}$ to notice.

Repaired. Noise is Lap($6/\alpha$) on counts, Lap($6\sqrt d R\gamma^{-k}/\alpha$) on vectors with R = 2 below
the first layer, Lap($3(d+1)\gamma^{-2k}/\alpha$) on the upper triangle. A sum of n Lap(b) stays within
$b(2\sqrt{nL} + L)$ but for $2e^{-L}$, and $L \le d\,\ell$ pays for all bins, $\ell = \ln(48d/\beta\delta)$.
At $\psi_B \ge 18d^2\ell/(\alpha\sqrt n)$ the denominator is at least $0.65\,\psi_B$, which leaves for vectors
$(12d \cdot 2\sqrt{d\ell} + 24\sqrt{d\ell})/0.65 \le (19d^2 + 29d)\,\ell$: the printed constant survives. For
matrices $6d(d+1)\sqrt{d\ell}$ and little else leaves room for a smaller constant than the printed one,
$20(d+1)^2$, and Lemma 4.3 needs that room. The sums that are evaluated
stand in ``verification.experiments.moments``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from lpcb.arrays import Array
from verification.claim import Arrays, Check, Claim, Context, Experiment, Setting
from verification.evidence.quantiles import quantile_interval
from verification.evidence.rate_curves import DELTAS, Point, rate_figure, rate_of_fits, scaled_evidence
from verification.evidence.tails import rate_detectable
from verification.experiments import rare_noise
from verification.experiments.fits import FITS, HARD, WILD, Hard, draw
from verification.experiments.moments import MATRIX, VECTOR, Moment, ell, noise_deviations, share_enclosed
from verification.experiments.update import settings_run
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure, Series, Verdict

HORIZON = 10**6
SCALED = {
    "paper": {"lambda": 0.035, "Lambda": 0.056},
    "repaired": {"lambda": 0.073, "Lambda": 0.052},
}
"""Factor on the bound, psi_hat = c_hat/n: 1.3 over the smallest tightness in the baseline's standard
configurations, where about a tenth of delta of the fits fail. Chosen after the fact: only supports."""


# --- Monte Carlo ------------------------------------------------------------------------------------------


def simulate(moment: Moment, setting: Setting, rng: np.random.Generator) -> Arrays:
    """Largest error over the bins of a layer, in units of 1/(alpha psi sqrt(n)) gamma^(-power k), per fit.

    ``algorithm`` with psi_hat = c_hat/n, ``printed`` with c_hat/sqrt(n); one column per configuration.
    """
    columns = [_errors(moment, hard, setting, rng) for hard in HARD[setting.profile]]
    return {
        "algorithm": np.stack([a for a, _ in columns], axis=1),
        "printed": np.stack([p for _, p in columns], axis=1),
    }


def _errors(moment: Moment, hard: Hard, setting: Setting, rng: np.random.Generator) -> tuple[Array, Array]:
    spec = hard.spec(setting)
    n = hard.users(lambda s: moment.threshold(s, hard.edge), setting)
    sums = draw(hard, spec, n, FITS, rng)
    psi = sums.truth.count
    met = psi >= 0.999 * moment.threshold(spec, hard.edge) / math.sqrt(n)  # equal up to rounding, or 0
    unit = spec.gamma ** (moment.power * sums.k) * spec.alpha * psi * math.sqrt(n)

    def largest(root: float) -> Array:
        error = moment.error(sums.private, sums.truth, sums.private.count * root) * unit
        return np.asarray(np.where(met, error, 0.0).max(axis=1))

    return largest(1.0), largest(math.sqrt(n))


def failure_rates(moment: Moment, experiment: Experiment, context: Context) -> Finding:
    """Failure rates at each delta, worst over the configurations that meet the conditions there."""
    hards = HARD[context.setting.profile]
    printed = context.setting.variant == "paper"
    data = context.result(experiment)
    level = FALSE_ALARM / (len(DELTAS) * len(hards) * (2 if printed else 1))
    names = ("printed", "algorithm") if printed else ("algorithm",)
    evidence = [
        _at_delta(moment, delta, hards, data[name], name, level, context)
        for name in names
        for delta in DELTAS
    ]
    curves = {"printed constant": _points(moment, hards, data[names[0]], context)}
    if not printed:
        factor = SCALED["repaired"][moment.name]
        curves = {"repaired constant": curves["printed constant"]}
        curves[f"{factor:g} times it"] = _points(moment, hards, data["algorithm"], context, factor)
    figures = (rate_figure(curves, "a bin outside the bound"), _quantiles(moment, hards, data, context))
    return Finding(tuple(evidence), _tightness(moment, hards, data["algorithm"], context), figures)


def _at_delta(
    moment: Moment,
    delta: float,
    hards: Sequence[Hard],
    errors: Array,
    name: str,
    level: float,
    context: Context,
) -> Evidence:
    printed = context.setting.variant == "paper"
    rates = []
    for hard, column in zip(hards, errors.T, strict=True):
        if delta >= hard.edge:
            limit = moment.limit(hard.spec(context.setting), delta, printed) * hard.alpha
            rates.append((rate_of_fits(column > limit, delta, level), hard))
    rate, hard = max(rates, key=lambda found: (found[0].verdict == "REFUTED", found[0].rate))
    verdicts = {r.verdict for r, _ in rates}
    verdict: Verdict = next((v for v in ("REFUTED", "UNDECIDED") if v in verdicts), "HOLDS")
    kind = "" if not printed else ", psi_hat = c_hat/sqrt(n)" if name == "printed" else ", psi_hat = c_hat/n"
    return Evidence(
        check=f"failure rate at delta = {delta:g}{kind}",
        grade="tested",
        role="decides" if name == "printed" or not printed else "supports",
        scope=f"{len(rates)} configurations at the edge of the conditions, "
        f"{settings_run((one.d, one.alpha) for _, one in rates)}; worst: {hard.name}",
        verdict=verdict,
        value=rate.rate,
        bound=delta,
        interval=rate.interval,
        false_alarm=level * len(hards),
        detectable=rate_detectable(errors.shape[0], delta, level)[1],
        samples=sum(r.n for r, _ in rates),
        note=f"{rate.failures} of {rate.n} fits had a bin outside the bound ({hard.name})",
        counterexample={"configuration": hard.name, "delta": delta} if verdict == "REFUTED" else None,
    )


def _tightness(moment: Moment, hards: Sequence[Hard], errors: Array, context: Context) -> dict[str, Measure]:
    """Bound over the true 0.95-quantile of the largest error, psi_hat = c_hat/n."""
    out = {}
    printed = context.setting.variant == "paper"
    for hard, column in zip(hards, errors.T, strict=True):
        limit = moment.limit(hard.spec(context.setting), 0.05, printed) * hard.alpha
        found = quantile_interval(column, 0.95)
        out[f"tightness at {hard.name}"] = Measure(
            limit / float(np.quantile(column, 0.95)),
            (limit / found.high, limit / found.low),
            note="bound at delta = 0.05 over the 0.95-quantile of the largest error, psi_hat = c_hat/n",
        )
    return out


def _points(
    moment: Moment, hards: Sequence[Hard], errors: Array, context: Context, factor: float = 1.0
) -> list[Point]:
    """The worst configuration at each delta at which its bins meet the condition."""
    printed, out = context.setting.variant == "paper", []
    for delta in DELTAS:
        failed = [
            int(
                (
                    column > factor * moment.limit(hard.spec(context.setting), delta, printed) * hard.alpha
                ).sum()
            )
            for hard, column in zip(hards, errors.T, strict=True)
            if delta >= hard.edge
        ]
        out.append(Point(delta, max(failed), len(errors)))
    return out


def scaled_rates(moment: Moment, experiment: Experiment, context: Context) -> Finding:
    """The rates at a constant close to what is needed: there noise twice as large would show."""
    hards, factor = HARD[context.setting.profile], SCALED[context.setting.variant][moment.name]
    errors, printed = context.result(experiment)["algorithm"], context.setting.variant == "paper"
    level, found = FALSE_ALARM / (len(DELTAS) * len(hards)), []
    for delta in DELTAS:
        asked = [(i, hard) for i, hard in enumerate(hards) if delta >= hard.edge and _tame(hard, printed)]
        limits = [
            factor * moment.limit(hard.spec(context.setting), delta, printed) * hard.alpha
            for _, hard in asked
        ]
        rates = [
            rate_of_fits(errors[:, i] > limit, delta, level)
            for (i, _), limit in zip(asked, limits, strict=True)
        ]
        names = [hard.name for _, hard in asked]
        found.append(scaled_evidence(rates, names, delta, factor, FALSE_ALARM / len(DELTAS)))
    return Finding(tuple(found))


def _tame(hard: Hard, printed: bool) -> bool:
    """As printed a wild history breaks any constant; that is shown elsewhere."""
    return not printed or hard.history != WILD


def _quantiles(moment: Moment, hards: Sequence[Hard], data: Arrays, context: Context) -> Figure:
    """Bound against quantile of the largest error, both as functions of delta."""
    printed = context.setting.variant == "paper"
    deltas = np.array(DELTAS)
    series = []
    for hard, column in list(zip(hards, data["algorithm"].T, strict=True))[:4]:
        spec = hard.spec(context.setting)
        found = [quantile_interval(column, 1 - delta) for delta in DELTAS]
        middle = np.quantile(column, 1 - deltas)
        low, high = [q.low for q in found], [min(q.high, float(column.max())) for q in found]
        series.append(Series(f"quantile, {hard.name}", DELTAS, middle.tolist(), low, high))
        limits = [moment.limit(spec, delta, printed) * hard.alpha for delta in DELTAS]
        series.append(Series(f"bound, {hard.name}", DELTAS, limits, style="dashed"))
    return Figure(
        "Bound against quantile",
        "The (1 - delta)-quantile of the largest error with psi_hat = c_hat/n, and the bound on it, both in "
        "units of 1/(alpha psi sqrt(n)) and of the bin's scale.",
        "delta",
        "error",
        tuple(series),
        xlog=True,
        ylog=True,
    )


# --- Closed form ------------------------------------------------------------------------------------------

GRID: dict[str, tuple[Any, ...]] = {
    "d": (1, 2, 3, 4, 6, 8, 12),
    "alpha": (0.01, 0.1, 0.5, 1.0),
    "beta": (0.5, 0.25, 0.1, 1 / math.log(1e6), 1 / math.log(1e18)),
    "delta": (1.0, 0.5, 0.05, 1e-3, 1e-9, 1e-18, 1e-36),
    "times": (1.0, 4.0, 100.0, 1e6, 1e12),
}
"""``times`` multiplies the smallest n at which any bin can meet the condition on psi."""
RANGES: dict[str, tuple[Any, ...]] = {"delta": tuple(itertools.pairwise(GRID["delta"]))}


def closed_forms(moment: Moment, context: Context) -> Finding:
    setting = context.setting
    evidence = [_union_bound(moment, setting)]
    if setting.variant == "paper":
        evidence.append(_printed_definition(moment, setting))
        if not moment.beta_in_log:
            evidence.append(_without_beta())
    return Finding(tuple(evidence), _onset(moment, setting))


def _union_bound(moment: Moment, setting: Setting) -> Evidence:
    printed = setting.variant == "paper"
    worst, at, points = 0.0, {}, 0
    for d, alpha, beta, (delta, least), times in itertools.product(*(GRID | RANGES).values()):
        spec = setting.spec(d=d, actions=1, horizon=HORIZON, alpha=alpha, beta=beta, delta=delta)
        edge = moment.threshold(spec, delta)
        n = math.ceil(times * max(edge**2, 2 * d * ell(d, beta, delta, 24)))
        share = share_enclosed(moment, spec, n, edge, delta, least, printed)
        points += 1
        if share > worst:
            worst, at = share, {"d": d, "alpha": alpha, "beta": round(beta, 4), "delta": delta, "n": n}
    scope = (
        f"{points} points: d of {len(GRID['d'])} values to 12, {len(GRID['beta'])} beta, psi at the edge of "
        "the condition or above; by monotonicity every delta from 1e-36 to 1, alpha in (0, 1] and n"
    )
    if printed:
        scope += ", assuming |y_h| <= 1" if moment.power == 1 else ""
    return Evidence(
        check="union bound with c_hat/n",
        grade="proved",
        role="supports" if printed else "decides",
        scope=scope,
        verdict="HOLDS" if worst <= 1 else "UNDECIDED",
        value=worst,
        bound=1.0,
        interval=(worst, worst),
        note=f"errors use at most {worst:.3g} of the bound with probability 1 - delta, most at {at}",
    )


def _printed_definition(moment: Moment, setting: Setting) -> Evidence:
    """With c_hat/sqrt(n) the target is missed by all of it but 1/sqrt(n), while the bound falls to 0.

    One bin holds everyone, at phi = 1 with y = 1, so lambda_B = Lambda_B = 1. If neither noise exceeds n/2,
    the quotient is at most 1.5/(0.5 sqrt(n)) and the error at least 1 - 3/sqrt(n).
    """
    spec = setting.spec(d=1, actions=1, horizon=HORIZON, beta=0.5, delta=0.05)
    log_p, n = math.log(1e-6), 10**8
    quiet = max(noise_deviations(moment, spec, 1, n, log_p)) <= 0.5
    error = 1 - 3 / math.sqrt(n)
    bound = moment.limit(spec, 0.05, printed=True) / math.sqrt(n)
    failure = 1 - 2 * math.exp(log_p) if quiet and error > bound else 0.0
    refuted = failure > 0.05
    example = {"d": 1, "alpha": 1.0, "beta": 0.5, "delta": 0.05, "phi": [1.0], "y": 1.0, "n": n}
    return Evidence(
        check="psi_hat = c_hat/sqrt(n), closed form",
        grade="exact",
        role="decides",
        scope="d = 1, alpha = 1, every user at phi = 1 with y = 1",
        verdict="REFUTED" if refuted else "UNDECIDED",
        value=failure,
        bound=0.05,
        interval=(failure, 1.0),
        note=f"at n = {n:g} the error is above {error:.4f} and the bound {bound:.2g}, but for 2e-6",
        counterexample=example if refuted else None,
    )


def _without_beta() -> Evidence:
    """d = 1: M bins of equal mass, one norm in each, n to infinity with beta fixed.

    Noise on the matrix is 9/alpha (Gamma(n) - n), normal in the limit; the count's noise helps with
    probability 1/2; psi_hat/psi tends to 1. Bins are independent: 1 - (1 - Q/2)^M with Q the normal tail.
    """
    delta, log_inverse_beta = 0.5, 1000.0
    log_tail = float(stats.norm.logsf(1.01 * MATRIX.constant(1) * ell(1, 1.0, delta) / 9))
    expected = math.exp(min(700.0, log_inverse_beta - math.log(2) + log_tail - math.log(2)))
    failure = -math.expm1(-expected)
    refuted = failure > delta
    return Evidence(
        check="no beta in the third logarithm",
        grade="exact",
        role="decides",
        scope="psi_hat = c_hat/n, d = 1, alpha = 1, delta = 1/2, ln(1/beta) = 1000, n to infinity",
        verdict="REFUTED" if refuted else "UNDECIDED",
        value=failure,
        bound=delta,
        interval=(failure, 1.0),
        note=(
            "the largest of 1/(2 beta) independent noises leaves a bound that does not grow with their "
            "number; needs ln(1/beta) above 950, so nothing in practice depends on it"
        ),
        counterexample={"d": 1, "alpha": 1.0, "delta": delta, "ln(1/beta)": log_inverse_beta}
        if refuted
        else None,
    )


def _onset(moment: Moment, setting: Setting) -> dict[str, Measure]:
    """The n from which the bound is below the bin's scale, which bounds its target, at psi = 1."""
    out = {}
    for d, alpha in itertools.product((1, 2, 3, 4), (0.1, 1.0)):
        spec = setting.spec(d=d, actions=1, horizon=HORIZON, alpha=alpha)
        n = moment.limit(spec, 0.05, setting.variant == "paper") ** 2
        out[f"onset at d={d}, alpha={alpha:g}"] = Measure(
            n, (n, n), "users", "the bound says more than 0, at psi = 1, delta = 0.05, beta = 1/ln 10^6"
        )
    return out


def _claim(moment: Moment, experiment: Experiment, texts: tuple[str, str, str], guards: set[str]) -> Claim:
    id, statement, repaired = texts
    checks: tuple[tuple[str, Callable[[Context], Finding], bool], ...] = (
        ("failure rates", partial(failure_rates, moment, experiment), True),
        ("scaled constant", partial(scaled_rates, moment, experiment), True),
        ("closed forms", partial(closed_forms, moment), False),
        ("importance sampling", rare_noise.of(moment), True),
    )
    return Claim(
        id=id,
        title=f"Lemma 4.2, {'vectors' if moment.power == 1 else 'matrices'}",
        statement=statement,
        repaired=repaired,
        method=(
            r"Update batches of the algorithm itself, on trees laid down by hand (any history is allowed, "
            r"also a wild one), with bins that only just meet the condition on $\psi_B$, contexts at both "
            r"ends of a bin's norms, on few directions and nearly collinear; the failure rate is compared "
            r"with $\delta$ by a test that may stop at any time. A union bound covers $\delta$ down to "
            r"$10^{-36}$ on a grid."
        ),
        checks=tuple(Check(*check) for check in checks),
        experiments=(experiment,),
        guards=frozenset(guards),
        baselined=frozenset(f"tightness at {hard.name}" for hard in HARD["standard"] if hard.history != WILD),
    )


VECTORS = Experiment("update-vectors", partial(simulate, VECTOR), {"quick": 1, "standard": 1, "thorough": 10})
MATRICES = Experiment(
    "update-matrices", partial(simulate, MATRIX), {"quick": 1, "standard": 1, "thorough": 10}
)

LAMBDA = _claim(
    VECTOR,
    VECTORS,
    (
        "lemma-4.2-lambda",
        r"With probability $1-\delta$, for all bins of layer $h$ at once with "
        r"$\psi_B \ge 18d^2\ln(48d/\beta\delta)/(\alpha\sqrt n)$, if $n \ge 2d\ln(24d/\beta\delta)$: "
        r"$\|\hat\lambda_B/(\hat\psi_B n)-\lambda_B\|_2 \le "
        r"(19d^2+29d)\gamma^{-k_h}\ln(48d/\beta\delta)/(\alpha\psi_B\sqrt n)$, where "
        r"$\hat\psi_B=\hat c_B/\sqrt n$.",
        r"With probability $1-\delta$, whatever the layers above, for all bins of layer $h$ at once with "
        r"$\psi_B \ge 18d^2\ln(48d/\beta\delta)/(\alpha\sqrt n)$: "
        r"$\|\hat\lambda_B/(\hat\psi_B n)-\lambda_B\|_2 \le "
        r"(19d^2+29d)\gamma^{-k_h}\ln(48d/\beta\delta)/(\alpha\psi_B\sqrt n)$, where "
        r"$\hat\psi_B=\hat c_B/n$ and $y_h$ is the reward less a clipped prediction.",
    ),
    {"residual-range"},
)
LAMBDA_MATRIX = _claim(
    MATRIX,
    MATRICES,
    (
        "lemma-4.2-Lambda",
        r"With probability $1-\delta$, for all bins of layer $h$ at once with "
        r"$\psi_B \ge 18(d+1)^3\ln(24d/\beta\delta)/(\alpha\sqrt n)$, if $n \ge 2d\ln(24d/\beta\delta)$: "
        r"$\|\hat\Lambda_B/(\hat\psi_B n)-\Lambda_B\|_{op} \le "
        r"(7(d+1)^3+29d)\gamma^{-2k_h}\ln(48d/\delta)/(\alpha\psi_B\sqrt n)$, where "
        r"$\hat\psi_B=\hat c_B/\sqrt n$.",
        r"With probability $1-\delta$, for all bins of layer $h$ at once with "
        r"$\psi_B \ge 18(d+1)^3\ln(24d/\beta\delta)/(\alpha\sqrt n)$: "
        r"$\|\hat\Lambda_B/(\hat\psi_B n)-\Lambda_B\|_{op} \le "
        r"20(d+1)^2\gamma^{-2k_h}\ln(48d/\beta\delta)/(\alpha\psi_B\sqrt n)$, where "
        r"$\hat\psi_B=\hat c_B/n$ and the upper triangle carries the repaired Laplace noise.",
    ),
    set(),
)

CLAIMS = (LAMBDA, LAMBDA_MATRIX)
