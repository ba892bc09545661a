r"""Lemma 4.2: how closely the private statistics of a layer's bins follow the population.

The first bound, on frequencies. As printed it takes $\hat\psi_B = \hat c_B/\sqrt n$, while the algorithm
(Section 4.1) uses $\hat c_B/n$; with $\sqrt n$ the estimate is near $\sqrt n\,\psi_B$ and the bound is false.

Repaired, with $\hat c_B/n$ and count noise of scale $b = 6/\alpha$ (two cells change, a third of alpha):
a sum of n Laplace variables exceeds t with probability at most exp(-x + n ln(1 + x/2n)), and the count of
users in a bin strays by t with probability at most 2 exp(-2t^2/n). There are at most
$(M+1)^h \le (1.5/\beta)^d$ bins, and $(48d/\beta\delta)^d$ in the logarithm pays for all of them with a
factor of at least 8 to spare; the printed constant 6.2 survives, for every n >= 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, ctx

from lpcb.arrays import Array
from lpcb.lplr.update import mechanisms
from lpcb.spec import Spec
from verification.claim import Check, Claim, Context, Setting
from verification.evidence.chernoff import laplace_sum_log_tail, laplace_sum_log_tail_ball
from verification.evidence.enclosure.balls import ball, upper
from verification.evidence.quantiles import quantile_interval
from verification.evidence.rate_curves import DELTAS, Point, rate_figure, rate_of_fits, scaled_evidence, worst
from verification.evidence.tails import rate_detectable
from verification.experiments import rare_noise
from verification.experiments.moments import PRECISION, ROUNDED
from verification.experiments.update import BATCHES, HORIZON, STANDARD, UPDATE, Batch, settings_run
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure, Series

CONSTANT = 6.2
SCALED = {"paper": 0.26, "repaired": 0.51}
"""Factor on the constant, psi_hat = c_hat/n: 1.3 over the smallest tightness in the baseline's standard
configurations, where about a tenth of delta of the fits fail. Chosen after the fact: only supports."""


def bound(d: int, alpha: float, beta: float, delta: float) -> float:
    """The right-hand side of the first inequality, times sqrt(n)."""
    return CONSTANT * d * (math.log(48 * d) - math.log(beta) - math.log(delta)) / alpha


# --- Monte Carlo: how often does some bin of the layer leave the bound? -----------------------------------


def failure_rates(context: Context) -> Finding:
    """Failure rates at each delta, worst over configurations; sequential, shard by shard."""
    batches = BATCHES[context.setting.profile]
    data = context.result(UPDATE)
    printed = context.setting.variant == "paper"
    errors = data["psi_printed" if printed else "psi"]
    beta = 1 / math.log(HORIZON)
    level = FALSE_ALARM / (len(DELTAS) * len(batches))
    evidence = tuple(_at_delta(delta, batches, errors, beta, level, context) for delta in DELTAS)
    curves = {"printed constant": _points(batches, errors, beta, 1.0)}
    if not printed:
        factor = SCALED["repaired"]
        curves[f"{factor:g} times it"] = _points(batches, errors, beta, factor)
    figures = rate_figure(curves, "a bin outside the bound"), _figure(batches, errors, beta)
    return Finding(evidence, _tightness(batches, data["psi"], beta), figures)


def _points(batches: Sequence[Batch], errors: Array, beta: float, factor: float) -> list[Point]:
    """The worst configuration at each delta."""
    limits = [[factor * bound(b.d, b.alpha, beta, delta) for b in batches] for delta in DELTAS]
    counts = [int((errors > np.array(limit)).sum(axis=0).max()) for limit in limits]
    return [Point(delta, count, len(errors)) for delta, count in zip(DELTAS, counts, strict=True)]


def scaled_rates(context: Context) -> Finding:
    """The rates at a constant close to what is needed: there noise twice as large would show."""
    batches, errors = BATCHES[context.setting.profile], context.result(UPDATE)["psi"]
    beta, factor = 1 / math.log(HORIZON), SCALED[context.setting.variant]
    level = FALSE_ALARM / (len(DELTAS) * len(batches))
    found = []
    for delta in DELTAS:
        limits = [factor * bound(b.d, b.alpha, beta, delta) for b in batches]
        rates = [rate_of_fits(errors[:, i] > limit, delta, level) for i, limit in enumerate(limits)]
        found.append(
            scaled_evidence(rates, [b.name for b in batches], delta, factor, FALSE_ALARM / len(DELTAS))
        )
    return Finding(tuple(found))


def _at_delta(
    delta: float, batches: Sequence[Batch], errors: Array, beta: float, level: float, context: Context
) -> Evidence:
    rates = [
        rate_of_fits(column > bound(batch.d, batch.alpha, beta, delta), delta, level)
        for batch, column in zip(batches, errors.T, strict=True)
    ]
    at, verdict = worst(rates)
    rate, batch = rates[at], batches[at]
    return Evidence(
        check=f"failure rate at delta = {delta:g}",
        grade="tested",
        role="decides",
        scope=f"{len(batches)} configurations, {settings_run((b.d, b.alpha) for b in batches)}; "
        f"worst: {batch.name}",
        verdict=verdict,
        value=rate.rate,
        bound=delta,
        interval=rate.interval,
        false_alarm=FALSE_ALARM / len(DELTAS),
        detectable=rate_detectable(errors.shape[0], delta, level)[1],
        samples=sum(r.n for r in rates),
        note=f"{rate.failures} of {rate.n} fits had a bin outside the bound ({batch.name})",
        counterexample={"configuration": batch.name, "delta": delta} if verdict == "REFUTED" else None,
    )


def _tightness(batches: Sequence[Batch], errors: Array, beta: float) -> dict[str, Measure]:
    """Printed bound over the true 0.95-quantile of the largest error, with psi_hat = c_hat / n."""
    delta, out = 0.05, {}
    for batch, column in zip(batches, errors.T, strict=True):
        quantile = quantile_interval(column, 1 - delta)
        limit = bound(batch.d, batch.alpha, beta, delta)
        middle = float(np.quantile(column, 1 - delta))
        out[f"tightness at {batch.name}"] = Measure(
            limit / middle,
            (limit / quantile.high, limit / quantile.low),
            note="bound at delta = 0.05 over the 0.95-quantile of the largest error, psi_hat = c_hat/n",
        )
    return out


def _figure(batches: Sequence[Batch], errors: Array, beta: float) -> Figure:
    series = []
    for batch, column in zip(batches[:5], errors.T, strict=False):
        x = np.sort(column) / bound(batch.d, batch.alpha, beta, 0.05)
        tail = 1 - (np.arange(len(x)) + 0.5) / len(x)
        pick = np.unique(np.geomspace(1, len(x), 60).astype(int)) - 1
        pick = len(x) - 1 - pick[::-1]
        series.append(Series(batch.name, x[pick].tolist(), tail[pick].tolist()))
    return Figure(
        "Largest error over the bound",
        "Fraction of fits whose largest frequency error exceeds x times the bound at delta = 0.05. "
        "The claim is that every curve is below 0.05 at x = 1.",
        "largest error / bound at delta = 0.05",
        "fraction of fits above",
        tuple(series),
        xlog=True,
        ylog=True,
    )


# --- Closed form: union bound with Chernoff tails, far below any sample's reach ----------------------------

GRID: dict[str, tuple[Any, ...]] = {
    "d": (1, 2, 3, 4, 8),
    "beta": (0.5, 0.25, 0.1, 1 / math.log(1e6), 1 / math.log(1e18)),
    "delta": tuple(itertools.pairwise(10.0 ** -(k / 3) for k in range(109))),
    "n": (1, 2),
}
"""Ranges of delta from 1 to 1e-36; alpha = 1 and these n are the worst, see :func:`log_failure`."""


def count_scale(spec: Spec, h: int) -> float:
    """Scale of the Laplace noise on counts, asked of the algorithm itself."""
    return float(mechanisms(spec, h, np.zeros(1, dtype=np.int64)).count.scale.max())


SHARES = (0.005, 0.05, 0.1, 0.2, 0.4)
"""Of the room, for sampling; noise gets the rest."""


def log_failure(spec: Spec, h: int, n: int, delta: float) -> float:
    """ln of an upper bound on P(some bin of layer h is off by more than the bound), in ball arithmetic.

    The count of users in a bin strays by t with probability at most 2 exp(-2 t^2 / n) (Hoeffding). At a given
    d, beta and delta the worst are alpha = 1 and n = 1 or 2. The room over the noise's scale has no alpha
    and is c sqrt(n), where the tail falls with n (:func:`laplace_sum_log_tail_ball`, used from 2 on); the
    sampling exponent has no n and grows with 1/alpha.
    """
    with ctx.workprec(PRECISION):
        log = (arb(48 * spec.d) / ball(spec.b) / ball(delta)).log()
        limit = ball("6.2") * spec.d * log / ball(spec.alpha)
        scale = ball(count_scale(spec, h)) * ROUNDED
        tau = limit * arb(n).sqrt() / scale
        bins = h * arb(spec.M + 1).log()
        best = math.inf
        for share in SHARES:
            # Chernoff gives away a factor of t at n = 1, where the tail is exp(-t/b) exactly.
            left = tau * (1 - ball(share))
            noise = laplace_sum_log_tail_ball(arb(n), left) if n > 1 else -left
            sampling = arb(2).log() - 2 * (ball(share) * limit) ** 2
            best = min(best, upper(bins + (noise.exp() + sampling.exp()).log()))
    return best


def closed_forms(context: Context) -> Finding:
    """The union bound; for the printed definition also the certainty that it fails."""
    evidence = [_union_bound(context)]
    if context.setting.variant == "paper":
        evidence.append(_printed_definition(context.setting))
    return Finding(tuple(evidence))


def _union_bound(context: Context) -> Evidence:
    """delta covers the failure probability, by an upper bound enclosed on each range of delta."""
    worst, at, points = -math.inf, {}, 0
    for d, beta, (delta, least), n in itertools.product(*GRID.values()):
        spec = context.setting.spec(d=d, actions=1, horizon=HORIZON, beta=beta, delta=delta)
        # The bound grows as delta falls: what it leaves at the upper end is left at most on the whole range.
        excess = log_failure(spec, d, n, delta) - math.log(least)
        points += 1
        if excess > worst:
            worst, at = excess, {"d": d, "alpha": 1.0, "beta": round(beta, 4), "delta": least, "n": n}
    return Evidence(
        check="union bound with c_hat/n",
        grade="proved",
        role="supports" if context.setting.variant == "paper" else "decides",
        scope=f"{points} points: d = {', '.join(map(str, GRID['d']))}, {len(GRID['beta'])} beta, last layer; "
        "by monotonicity every delta from 1e-36 to 1, alpha in (0, 1] and n >= 1",
        # ln(delta) is a rounded number; and alpha = 1 speaks for all only if the noise goes like 1/alpha.
        verdict="HOLDS" if worst < -1e-9 and _goes_like_inverse_alpha(context.setting) else "UNDECIDED",
        value=worst,
        bound=0.0,
        interval=(worst, worst),
        note=f"ln(failure probability / delta) is at most {worst:.3g}, reached at {at}",
    )


def _goes_like_inverse_alpha(setting: Setting) -> bool:
    """The scale of the count's noise, as the algorithm has it."""
    scales = [
        alpha * count_scale(setting.spec(d=d, actions=1, horizon=HORIZON, alpha=alpha), d)
        for d in GRID["d"]
        for alpha in (0.01, 0.1, 0.5, 1.0)
    ]
    return max(scales) <= min(scales) * (1 + 1e-12)


def _printed_definition(setting: Setting) -> Evidence:
    """With c_hat/sqrt(n): all users in one bin, so psi = 1 and c_hat = n + noise, near n and not sqrt(n)."""
    n, failure = _first_certain_failure(setting)
    example = {"d": 1, "alpha": 1.0, "beta": 0.5, "delta": 0.05, "n": n, "psi": 1.0}
    refuted = failure > 0.05
    return Evidence(
        check="psi_hat = c_hat/sqrt(n)",
        grade="exact",
        role="decides",
        scope="d = 1, alpha = 1, every user in the bin",
        verdict="REFUTED" if refuted else "UNDECIDED",
        value=failure,
        bound=0.05,
        interval=(failure, 1.0),
        note=f"at n = {n} the bound fails with probability at least {failure:.6f}, delta = 0.05",
        counterexample=example if refuted else None,
    )


def _first_certain_failure(setting: Setting) -> tuple[int, float]:
    """The smallest n = 2^j at which the failure probability is certified above 0.99.

    The bound holds only if n + S - sqrt(n) <= r, S the noise: P(S <= r + sqrt(n) - n) by Chernoff.
    """
    limit = bound(1, 1.0, 0.5, 0.05)
    spec = setting.spec(d=1, actions=1, horizon=HORIZON, beta=0.5)
    scale = count_scale(spec, 1)
    for power in range(1, 60):
        n = 2**power
        far = n - math.sqrt(n) - limit
        if far > 0:
            failure = 1 - math.exp(laplace_sum_log_tail(n, scale, far))
            if failure > 0.99:
                return n, failure
    return 0, 0.0


PSI = Claim(
    id="lemma-4.2-psi",
    title="Lemma 4.2, frequencies",
    statement=(
        r"With probability $1-\delta$, for all bins of layer $h$ at once, "
        r"$|\hat\psi_B-\psi_B| \le 6.2\,d\,\ln(48d/\beta\delta)/(\alpha\sqrt n)$, "
        r"where $\hat\psi_B=\hat c_B/\sqrt n$."
    ),
    repaired=(
        r"With probability $1-\delta$, for all bins of layer $h$ at once, "
        r"$|\hat\psi_B-\psi_B| \le 6.2\,d\,\ln(48d/\beta\delta)/(\alpha\sqrt n)$, "
        r"where $\hat\psi_B=\hat c_B/n$ and counts carry the repaired noise $\mathrm{Lap}(6/\alpha)$."
    ),
    method=(
        r"Update batches of the algorithm itself are drawn, with every bin of the layer, the empty ones too, "
        r"and the failure rate is compared with $\delta$ by a test that may stop at any time; a union bound "
        r"with Chernoff tails covers $\delta$ down to $10^{-36}$ on a grid of parameters."
    ),
    checks=(
        Check("failure rates", failure_rates, random=True),
        Check("scaled constant", scaled_rates, random=True),
        Check("importance sampling", rare_noise.counts, random=True),
        Check("closed forms", closed_forms, random=False),
    ),
    experiments=(UPDATE,),
    baselined=frozenset(f"tightness at {batch.name}" for batch in STANDARD),
)

CLAIMS = (PSI,)
