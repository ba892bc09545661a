r"""Lemma 4.5: the fitted oracle covers everywhere, its mean width, and the rate at which both fall.

Coverage, repaired: on the events of Lemmas 4.2 and A.3 on d layers (probability $1 - 2d\delta$) Lemma
4.4's validity reaches the last layer. A point that is in open bins all the way has $\theta^{tot}_B =
\theta^*$; any other stops in an inactive bin. Algorithm 6 must be defined whatever the noise: after the
projection $\hat s_B$ can be 0, and a bin with $\hat s_B < \gamma^{-2k-2}/(2d)$ is inactive.

Mean width: iterating Lemma 4.4's recursion with factor c gives $\sum_{h=1}^d c^{d-h}M^h X \le M^d
X(c^d-1)/(c-1) \le (cM)^d X$ with X the printed fraction, for all d and M >= 1.

Rate: at fixed T (so that $\gamma$, M and the logarithms do not move) the worst of a family of instances
is taken at each n; instances whose hardness moves with n are part of the family: residuals of size
$n^{-1/6}$ to $n^{-1/2}$, directions of probability $c/\sqrt n$. With thresholds and widths scaled down,
so that intervals speak at $n = 10^6$, as printed at $10^8$. The window for the exponent was fixed before
looking.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lpcb.arrays import Array, Bools
from lpcb.lplr.pcr import pcr
from lpcb.lplr.update import Statistics
from verification.claim import Check, Claim, Context
from verification.evidence.quantiles import quantile_interval
from verification.evidence.scaling import Slope, slope, slope_detectable
from verification.experiments.interval_cases import (
    DELTA,
    HORIZON,
    INTERVALS,
    cases,
    derived_slope,
    recursion_slope,
)
from verification.experiments.interval_constants import needed_constants, onset, searched
from verification.experiments.interval_deltas import BY_DELTA, Question, delta_finding, union
from verification.experiments.interval_deltas import informative as informative_at
from verification.experiments.interval_evidence import (
    DIMENSIONS,
    REACHED,
    by_instance,
    empty_bins,
    informative,
    rate_by_instance,
    rates_by_dimension,
)
from verification.experiments.interval_needed import NEEDED
from verification.experiments.interval_rates import (
    GRID,
    MEMBERS,
    RATES,
    Point,
    fitted_from,
    points,
    widths_from,
)
from verification.experiments.interval_scaled import SCALED, scaled_finding
from verification.experiments.interval_speaking import SPEAKING, speaking_finding
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure, Series, Verdict

# --- coverage ---------------------------------------------------------------------------------


def coverage_rates(context: Context) -> Finding:
    data, speaks = context.result(INTERVALS), informative(context)
    evidence = rates_by_dimension(
        context, "coverage", data["probe"], lambda d: 2 * d * DELTA, speaks, 0.5, data["probe_at"]
    )
    if context.setting.variant == "repaired" and not context.setting.without:
        evidence += rates_by_dimension(
            context,
            "coverage of every point",
            data["certificate"],
            lambda d: 2 * d * DELTA,
            speaks,
            0.5,
            points=REACHED,
        )
    rate = rate_by_instance(
        context, data["probe"], lambda d: 2 * d * DELTA, "Coverage by instance", "a point not covered"
    )
    share = by_instance(
        context,
        data["probe_share"],
        "Largest error over interval, by instance",
        "The 0.95-quantile over fits of the largest |f_hat - f*| / Delta over points below an open bin, at "
        "the printed constants. Coverage needs every point below 1; how far below shows the slack.",
        "0.95-quantile of max |f_hat - f*| / Delta",
    )
    return Finding(evidence, {}, (rate, share))


def scaled_coverage(context: Context) -> Finding:
    return scaled_finding(context, "probe", "widths scaled to what is needed")


def coverage_by_delta(context: Context) -> Finding:
    return delta_finding(context, Question("probe", "a point not covered", 0.0, union, informative_at))


def any_outcome(context: Context) -> Finding:
    """Algorithm 4 on sums that noise can produce: negative, no or tiny eigenvalues in an active bin."""
    spec = context.setting.spec(d=2, actions=1, horizon=HORIZON)
    n, failed = 10**17, None
    for value in (-1.0, 0.0, 1e-300, 1e-3):
        sums = Statistics(np.array([float(n)]), np.ones((1, 2)) * n, value * n * np.eye(2)[None])
        try:
            fit = pcr(spec, n, np.zeros(1, dtype=np.int64), sums, np.ones(1, dtype=bool), np.eye(2)[None])
            finite = bool(np.isfinite(fit.theta).all())
        except ArithmeticError:
            finite = False
        if not finite and failed is None:
            failed = {
                "count": float(n),
                "lambda_hat / n": [1.0, 1.0],
                "Lambda_hat / n": f"{value:g} I",
                "n": n,
            }
    repaired = context.setting.variant == "repaired"
    evidence = Evidence(
        check="defined whatever the noise",
        grade="exact",
        role="decides" if repaired else "supports",
        scope="one active bin, Lambda_hat/(psi_hat n) from -I to 0.001 I; d = 2",
        verdict="HOLDS" if failed is None else "REFUTED",
        value=0.0 if failed is None else 1.0,
        bound=0.0,
        interval=(0.0, 0.0) if failed is None else (1.0, 1.0),
        note="Algorithm 4 is finite" if failed is None else "Algorithm 4 divides by an eigenvalue of 0",
        counterexample=failed,
    )
    return Finding((evidence,))


# --- mean width -------------------------------------------------------------------------------


def mad_rates(context: Context) -> Finding:
    data, chosen = context.result(INTERVALS), cases(context.setting.profile)
    bound = (data["mean_width"] / data["mad"]).min(axis=0)
    evidence = rates_by_dimension(
        context,
        "mean interval",
        data["mad"] - 1,
        lambda d: 2 * d * DELTA,
        bound < data["mean_norm"].max(axis=0),
    )
    measures = {}
    for d in DIMENSIONS:
        columns = [i for i, one in enumerate(chosen) if one.problem.d == d]
        tightest = max(columns, key=lambda i: float(data["mad"][:, i].mean()))
        q = quantile_interval(data["mad"][:, tightest], 0.5)
        middle = float(np.median(data["mad"][:, tightest]))
        measures[f"tightness, d = {d}"] = Measure(
            1 / middle, (1 / q.high, 1 / q.low), note="bound over E[Delta]"
        )
        start = min(float(bound[i] ** 2) * chosen[i].n for i in columns)
        measures[f"onset, d = {d}"] = Measure(start, (start, start), unit="n", note="the bound falls below 1")
    return Finding(evidence, measures)


def mad_scaled(context: Context) -> Finding:
    return speaking_finding(context, "mad", "mean interval")


def mad_by_delta(context: Context) -> Finding:
    return delta_finding(context, Question("mad", "a wider mean interval", 1.0, union, mean_bound_speaks))


def mean_bound_speaks(context: Context, delta: float) -> Bools:
    """The bound is below the mean norm."""
    data = context.result(BY_DELTA)
    bound = (data[f"mean_width/{delta:g}"] / data[f"mad/{delta:g}"]).min(axis=0)
    said: Bools = bound < data[f"mean_norm/{delta:g}"].max(axis=0)
    return said


def geometric_sum(context: Context) -> Finding:
    """sum_h c^(d-h) M^h <= (c M)^d: over M^d, the largest left side is at M = 1.

    It decides only where the recursion that it iterates is established with this c.
    """
    specs = [context.setting.spec(d=d, actions=1, horizon=10**6) for d in range(1, 13)]
    c = Fraction(recursion_slope(specs[0])).limit_denominator(100)
    ratio = max(sum(c ** (s.d - h) for h in range(1, s.d + 1)) / c**s.d for s in specs)
    gap = max(derived_slope(s) for s in specs if s.d > 1) / float(c)
    verdict: Verdict = "REFUTED" if ratio > 1 else "UNDECIDED" if gap > 1 else "HOLDS"
    evidence = Evidence(
        check="iterating the recursion",
        grade="proved",
        role="decides",
        scope="all M >= 1, d = 1 to 12, given Lemma 4.4's recursion on every layer, which is given Lemmas "
        "4.2, 4.3 and A.4",
        verdict=verdict,
        value=float(ratio),
        bound=1.0,
        interval=(float(ratio), float(ratio)),
        note=f"the sum is at most {float(ratio):.3f} of ({float(c):g} M)^d"
        + (f", but the recursion's derivation gives {gap:.2f} times {float(c):g}" if gap > 1 else ""),
        counterexample=None if ratio <= 1 else {"ratio": float(ratio)},
    )
    return Finding((evidence,))


# --- rate -------------------------------------------------------------------------------------

WINDOW = (-0.6, -0.42)
"""For the exponents of E|f_hat - f*| and E[Delta]; fixed beforehand. Private statistics should lie above."""


def exponents(context: Context) -> Finding:
    """Worst instance at each n, chosen on one half of the fits and measured on the other; by d and alpha."""
    found = [_at_point(context, p) for p in range(len(points(context.setting)))]
    evidence = tuple(one for finding in found for one in finding.evidence)
    measures = {name: one for finding in found for name, one in finding.measures.items()}
    return Finding(evidence, measures, tuple(figure for finding in found for figure in finding.figures))


QUANTITIES = (("error", "E|f_hat - f*|"), ("width", "E[Delta]"), ("statistics", "private statistics"))


def _at_point(context: Context, p: int) -> Finding:
    """At one d and alpha; the first, d = 2 and alpha = 1, is in every profile and has the short names."""
    data, setting = context.result(RATES), context.setting
    point = points(setting)[p]
    label = f"d = {point[0]}, alpha = {point[1]:g}"
    level = FALSE_ALARM / (3 * len(points(setting)))
    evidence, measures, series = [], {}, []
    for name, title in QUANTITIES:
        start = (widths_from if name == "width" else fitted_from)(setting, point)
        fitted = [i for i, n in enumerate(GRID) if n >= start]
        worst = _envelope(data[name][:, p])
        title = title if p == 0 else f"{title}, {label}"
        fit = slope(np.array(GRID)[fitted], worst[:, fitted], alpha=level, shared=False)
        evidence.append(_exponent(title, fit, name != "statistics", point, start, level))
        measures[f"exponent of {title}"] = Measure(fit.value, fit.interval)
        series.append(Series(title, [float(n) for n in GRID], worst.mean(axis=0).tolist()))
    caption = (
        f"Worst of the family of instances at each n, {label}, thresholds and widths scaled down. Fitted "
        f"from n = {fitted_from(setting, point):g} on, widths from {widths_from(setting, point):g}. Private "
        "statistics: elimination's least squares on noisy sums, same users."
    )
    title = "Rates" if p == 0 else f"Rates, {label}"
    figure = Figure(title, caption, "n", "worst mean over instances", tuple(series), xlog=True, ylog=True)
    return Finding(tuple(evidence), measures, (figure,))


def _envelope(table: Array) -> Array:
    """(fits, n, instances) -> (fits of the second half, n)."""
    half = len(table) // 2
    chosen = table[:half].mean(axis=0).argmax(axis=-1)
    return np.stack([table[half:, j, instance] for j, instance in enumerate(chosen)], axis=1)


def _exponent(title: str, fit: Slope, claimed: bool, point: Point, start: int, level: float) -> Evidence:
    low, high = fit.interval
    inside = WINDOW[0] <= low and high <= WINDOW[1]
    above = low > WINDOW[1]
    verdict: Verdict = "UNDECIDED"
    if inside if claimed else above:
        verdict = "HOLDS"
    elif above:
        verdict = "REFUTED"
    return Evidence(
        check=f"exponent of {title}",
        grade="fitted",
        role="decides" if claimed else "supports",
        scope=f"d = {point[0]}, alpha = {point[1]:g}, n from {start:g} to 1e17, family of {MEMBERS} "
        "instances, scaled constants",
        verdict=verdict,
        value=fit.value,
        bound=WINDOW[1],
        interval=fit.interval,
        false_alarm=level,
        detectable=slope_detectable(fit),
        samples=fit.seeds,
        note=f"exponent {fit.value:.3f}, window {WINDOW}" + ("" if claimed else ", expected above it"),
        counterexample={"exponent": fit.value} if verdict == "REFUTED" else None,
    )


COVERAGE = (
    r"With probability $1-2d\delta$, $|\hat f(\phi)-\phi^\top\theta^*| \le \hat\Delta(\phi)$ for all "
    r"$\phi$ in the unit ball"
)
MAD = (
    r"Given Lemma 4.4's recursion on every layer: "
    r"with probability $1-2d\delta$, $E[\hat\Delta(\phi)] \le (%sM)^d \cdot 12(\kappa_3\gamma^2(d+1)^4 "
    r"+ \kappa_2\gamma d^2 + \max\{\kappa_1\gamma^2(d+1)^3, \kappa_1'\gamma d^{3/2}\})/\sqrt n$"
)
RATE = r"For every distribution $E|\hat f - f^*|$ and $E[\hat\Delta]$ fall like $n^{-1/2}$ up to logarithms"
METHOD = (
    "Oracles are fitted on instances chosen to be hard, at the printed constants and up to $n = 10^{17}$, "
    "and looked at where their error is largest over the whole ball."
)

CLAIMS = (
    Claim(
        id="lemma-4.5-coverage",
        title="Lemma 4.5, coverage",
        statement=COVERAGE + ".",
        repaired=COVERAGE
        + r", with $\hat f$ clipped to $[-1, 1]$ and $\hat\Delta \in [0, 2]$, finite whatever the noise.",
        method=METHOD
        + " With widths scaled down to what is needed, a narrower interval or a missing term shows; the "
        "needed widths are tabulated against the printed ones.",
        checks=(
            Check("failure rates", coverage_rates, random=True),
            Check("scaled widths", scaled_coverage, random=True),
            Check("against delta", coverage_by_delta, random=True),
            Check("empty bins", empty_bins, random=False),
            Check("any outcome", any_outcome, random=False),
            Check("needed constants", needed_constants, random=True),
            Check("search", searched, random=True),
            Check("onset", onset, random=False),
        ),
        experiments=(INTERVALS, SCALED, NEEDED, BY_DELTA),
        guards=frozenset({"inactive-width", "eigenvalue-guard"}),
        baselined=frozenset(
            f"needed width, d = {d}, alpha = 1, activation {a}"
            for d in (1, 2)
            for a in ("1", "0.01", "0.0001")
        ),
    ),
    Claim(
        id="lemma-4.5-mad",
        title="Lemma 4.5, mean width",
        statement=MAD % 2.54 + ".",
        repaired=MAD % 3.02 + r", with $\hat\Delta \in [0, 2]$ and $n \le T$.",
        method=METHOD + " Iterating the recursion of Lemma 4.4 is checked in exact fractions; this alone "
        r"decides. At the printed constants the bound is vacuous below the onsets given, about $n = 10^{17}$ "
        "for d = 1 and $10^{22}$ for d = 2, so simulations support it with constants scaled down only.",
        checks=(
            Check("failure rates", mad_rates, random=True),
            Check("against delta", mad_by_delta, random=True),
            Check("iteration", geometric_sum, random=False),
            Check("scaled constants", mad_scaled, random=True),
        ),
        experiments=(INTERVALS, BY_DELTA, SPEAKING),
    ),
    Claim(
        id="lemma-4.5-rate",
        title="Lemma 4.5, rate",
        statement=RATE + ".",
        repaired=RATE + ", after the repairs.",
        method=(
            "At each n the worst of a family of instances is taken, some of which move with n; the exponent "
            "is fitted up to $n = 10^{17}$ from where bins are active, with thresholds and widths scaled "
            "down; as printed only as far as Algorithm 4 still divides by zero less than once in $10^9$ "
            "runs. Private statistics stand beside."
        ),
        checks=(Check("exponents", exponents, random=True),),
        experiments=(RATES,),
        baselined=frozenset({"exponent of E|f_hat - f*|", "exponent of E[Delta]"}),
    ),
)
