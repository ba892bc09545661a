r"""Lemmas A.3 and A.5 and Corollaries A.4 and A.6: a bin's error, estimated from fresh users.

The supplement proves all four "jointly with the success event that all inequalities in Lemmas 4.2 and 4.3
hold for all bins on level h", and with Lemma 4.4 on the layers above. The rows are about these implications:
premises that fail are the business of Lemma 4.3's own rows. What is left without them, given Lemma 4.2 alone,
is measured: as printed it does not bound $\hat s_B$ from below, and from d = 6 on A.5 and A.6 are lost.
Repaired, the eigenvalue guard stands in for Lemma 4.3.

$\varepsilon_B = E_B[\hat\eta_{B^\circ}|\hat u_B'\phi|]/\sqrt{\hat s_B}$, estimated by
$\hat\varepsilon_B/(\hat\psi_B n)$. With $R = \gamma^{-k}/\sqrt{\hat s_B} \le \gamma\sqrt{2d}$ (Lemma 4.3,
or the eigenvalue guard), $\hat\eta \le c$ and noise of scale $b R/\alpha$ per user (printed: $c = b = 1$;
repaired: $c = 2$, $b = 4$, two cells of size 2), $|\hat\varepsilon/(\hat\psi n) - \varepsilon| \le
R\,\{|X|/n + c\,|S|/n + c\,|\hat\psi-\psi|\}/\hat\psi$, X the sum of n variables Lap(b/alpha), S the
sampling error of a sum of n variables in [0, 1]. Lemma 4.2's event bounds $|\hat\psi-\psi|$ by $6.2 d
L/(\alpha\sqrt n)$; Chernoff and Hoeffding bound X and S. So A.3 keeps its constants.

A.4: its condition on $\hat\psi$ and Lemma 4.2 give $1/(1+\rho) \le \hat\psi/\psi \le 1/(1-\rho)$ with $\rho
= 6.2/15$, and $\hat\varepsilon/(\hat\psi n) \ge \varepsilon - 47/\psi\ldots$, so a margin of $118/\hat\psi$
is enough - if it falls like $1/\sqrt n$. As printed it falls like $1/n$ and is lost in the noise. Replacing
a negative $\bar\varepsilon$ by 0 changes neither inequality, because $\varepsilon_B \ge 0$. A.6: $120/\psi
\le 300/\hat\psi$ because $\hat\psi \le 1.71\psi$. Even with the printed margin, $\varepsilon -
\bar\varepsilon \le 47 d^{3/2}\gamma L/(\alpha\psi\sqrt n)$ times $R \le \gamma\sqrt{2d}$ is less than the
slack $(300/1.71 - 120)(d+1)^4\gamma^2 L/(\alpha\psi\sqrt n)$: A.6, unlike A.4, survives the misprint. A.5
is Lemma 4.3 with $|\eta_{B^\circ}| \le \hat\eta_{B^\circ}$; repaired, $\eta$ is the error of the clipped
prediction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from lpcb.lplr.ci import cap, mechanism
from lpcb.lplr.pcr import Components
from lpcb.spec import Spec
from verification.claim import Check, Claim, Context
from verification.evidence.chernoff import laplace_sum_log_tail
from verification.experiments.interval_adversary import Adversary, adversary
from verification.experiments.interval_cases import DELTA, INTERVALS, cases
from verification.experiments.interval_deltas import BY_DELTA, Question, active, delta_finding, given
from verification.experiments.interval_evidence import by_instance, everywhere, rates_by_dimension, tightness
from verification.experiments.interval_scaled import SCALED, scaled_finding
from verification.verdict import Evidence, Finding, Measure

SHARED = (
    "Oracles are fitted on instances chosen to be hard, at the printed constants; in every bin the largest "
    "error over all points is known in closed form, and the rate of fits that fail is compared with delta."
)


def against_delta(question: Question, context: Context) -> Finding:
    return delta_finding(context, question)


def _check(column: str, what: str, limit: float = 1.0, scaled: float | None = None) -> Check:
    question = Question(column, what, limit, given, active, scaled)
    return Check("against delta", partial(against_delta, question), random=True)


# --- Lemma A.3 --------------------------------------------------------------------------------


def a3_rates(context: Context) -> Finding:
    ratio = context.result(INTERVALS)["a3"]
    evidence = rates_by_dimension(
        context, "|eps_hat/(psi_hat n) - eps|", ratio - 1, lambda d: DELTA, everywhere(context)
    )
    figure = by_instance(
        context,
        ratio,
        "Error of the estimated bin error",
        "The 0.95-quantile of the largest error over all bins, over the bound of Lemma A.3 at "
        "delta = 0.05. The claim is that every point lies below 1.",
        "0.95-quantile / bound",
    )
    return Finding(evidence, tightness(context, ratio, "Lemma A.3"), (figure,))


def fresh_users(context: Context) -> Finding:
    """The lemma is conditional on the update batch: Algorithm 5 must draw users of its own."""
    batches = float(context.result(INTERVALS)["batches"].min())
    evidence = Evidence(
        check="batches drawn for a layer",
        grade="exact",
        role="decides",
        scope="every layer of every fit",
        verdict="HOLDS" if batches >= 2 else "REFUTED",
        value=batches,
        bound=2.0,
        interval=(batches, batches),
        note="one for the update, one for the intervals: the lemma conditions on the first",
        counterexample=None if batches >= 2 else {"batches drawn for a layer": batches},
    )
    return Finding((evidence,))


GRID = {
    "d": (1, 2, 3, 4, 8),
    "alpha": (0.01, 0.1, 1.0),
    "beta": (0.5, 0.25, 0.1, 1 / math.log(1e6), 1 / math.log(1e18)),
    "delta": (1.0, 0.5, 0.05, 1e-3, 1e-9, 1e-18, 1e-36),
    "growth": (1.0, 2.0, 10.0, 1e3, 1e6, 1e12),
}
"""``growth`` is n over the smallest n of the lemma, 2 d ln(24 d/beta delta) or that at which psi <= 1."""


def noise_factor(spec: Spec) -> float:
    """b: Algorithm 5's noise per user in units of gamma^-k / (sqrt(s) alpha), asked of the algorithm."""
    one = Components(np.ones(1), np.ones(1, dtype=bool), np.eye(1, spec.d), np.ones(1), np.zeros((1, spec.d)))
    return float(mechanism(spec, np.zeros(1, dtype=np.int64), one).scale.max()) * spec.alpha


def a3_log_failure(spec: Spec, n: float) -> float:
    """ln of a bound on P(some active bin fails), given Lemmas 4.2 and 4.3, at the smallest psi allowed.

    Both sides scale alike in psi except that psi/psi_hat improves as psi grows: the smallest is worst.
    """
    d, gamma, alpha, root = spec.d, spec.gamma, spec.alpha, math.sqrt(n)
    psi = 8.5 * d**1.5 * gamma * spec.log_term(12) / (alpha * root)
    stray = 6.2 * d * spec.log_term(48) / (alpha * root)
    if psi <= stray:
        return math.inf
    # Lemma 4.3's bound on the eigenvalue, a premise; repaired, the guard's.
    largest = gamma * math.sqrt(2 * d)
    allowed = 47 * d**1.5 * gamma * spec.log_term(24) / (alpha * root) * (psi - stray) / psi
    room = (allowed / largest - cap(spec) * stray) * n
    if room <= 0:
        return math.inf
    bins = d * math.log(spec.M)
    best = math.inf
    for share in (0.02, 0.05, 0.1, 0.2, 0.4, 0.6):
        noise = laplace_sum_log_tail(n, noise_factor(spec) / alpha, (1 - share) * room, two_sided=True)
        sampling = math.log(2) - 2 * (share * room / cap(spec)) ** 2 / n
        best = min(best, bins + float(np.logaddexp(noise, sampling)))
    return best


def a3_union(context: Context) -> Finding:
    worst, at, points = -math.inf, {}, 0
    for d, alpha, beta, delta, growth in itertools.product(*GRID.values()):
        horizon = 10**18 if beta < 0.1 else 10**6
        spec = context.setting.spec(d=d, actions=1, horizon=horizon, alpha=alpha, beta=beta, delta=delta)
        unit = 8.5 * d**1.5 * spec.gamma * spec.log_term(12) / alpha
        n = growth * max(2 * d * spec.log_term(24), unit**2)
        excess = a3_log_failure(spec, n) - math.log(delta)
        points += 1
        if excess > worst:
            worst, at = (
                excess,
                {"d": d, "alpha": alpha, "beta": round(beta, 4), "delta": delta, "n": f"{n:.3g}"},
            )
    evidence = Evidence(
        check="union bound over bins",
        grade="exact",
        role="decides",
        scope=f"{points} points: d to 8, alpha from 0.01, delta to 1e-36, n from the smallest with psi <= 1; "
        f"given Lemma 4.2's event and {_eigenvalue_premise(spec)}",
        verdict="HOLDS" if worst <= 0 else "UNDECIDED",
        value=worst,
        bound=0.0,
        interval=(worst, worst),
        note=f"ln(failure probability / delta) is at most {worst:.3g}, at {at}",
    )
    return Finding((evidence,))


def _eigenvalue_premise(spec: Spec) -> str:
    """Where s_B >= gamma^(-2k-2)/(2d) comes from."""
    return "the eigenvalue guard" if spec.has("eigenvalue-guard") else "Lemma 4.3's bound on the eigenvalue"


# --- Corollary A.4 ----------------------------------------------------------------------------


def a4_rates(context: Context) -> Finding:
    data = context.result(INTERVALS)
    low = rates_by_dimension(
        context, "eps <= eps_bar", data["a4_low"], lambda d: DELTA, everywhere(context), 0.5
    )
    high = rates_by_dimension(
        context, "eps_bar <= eps + margin", data["a4_high"] - 1, lambda d: DELTA, everywhere(context), 0.5
    )
    return Finding(low + high, tightness(context, data["a4_high"], "upper inequality of A.4"))


def a4_scaled(context: Context) -> Finding:
    return scaled_finding(context, "a4_low", "margin scaled to what is needed")


def arithmetic(context: Context) -> Finding:
    """The implication from Lemma 4.2 and A.3, in exact fractions, at its worst: d = 1 and gamma = 1."""
    rho = Fraction(62, 150)
    steps = {
        "condition of A.3": (Fraction(17, 2), 15 - Fraction(62, 10)),
        "margin pays for A.3": (Fraction(47) / (1 - rho), Fraction(118)),
        "upper inequality": (118 * (1 + rho) + 47, Fraction(5, 2) * 118),
        "sandwich from above": (1 / (1 - rho), Fraction(5, 2)),
        "sandwich from below": (1 + rho, Fraction(5, 2)),
    }
    return Finding((_proved("arithmetic of the implication", steps, context),))


def _proved(check: str, steps: dict[str, tuple[Fraction, Fraction]], context: Context) -> Evidence:
    name, (have, most) = max(steps.items(), key=lambda step: step[1][0] / step[1][1])
    spec = context.setting.spec(d=1, actions=1, horizon=10**6)
    margin_ok = spec.has("root-n-margin")
    holds = have <= most
    events = "on the events of Lemma 4.2 and A.3"
    if "slack" in steps:
        events += f", given {_eigenvalue_premise(spec)} and Lemma A.5"
    return Evidence(
        check=check,
        grade="proved",
        role="decides" if margin_ok or "slack" in steps else "supports",
        scope=f"all d >= 1, gamma >= 1, alpha, beta, delta; {events}"
        + ("" if margin_ok or "slack" in steps else ", were the margin of order 1/sqrt(n)"),
        verdict="HOLDS" if holds else "REFUTED",
        value=float(have / most),
        bound=1.0,
        interval=(float(have / most), float(have / most)),
        note=f"tightest step: {name}, {float(have):.4g} <= {float(most):.4g}",
        counterexample=None if holds else {"step": name, "left": float(have), "right": float(most)},
    )


# --- Lemma A.5 and Corollary A.6 --------------------------------------------------------------


def a5_rates(context: Context) -> Finding:
    ratio = context.result(INTERVALS)["a5"]
    evidence = rates_by_dimension(context, "partial error", ratio - 1, lambda d: DELTA, everywhere(context))
    return Finding(evidence, tightness(context, np.maximum(ratio, 0), "second term of A.5"))


def a5_implied(context: Context) -> Finding:
    """From Lemma 4.3 to A.5: triangle inequality, |eta| <= eta_hat, and gamma^-k gamma^(k+2) = gamma^2."""
    excess = context.result(INTERVALS)["a5_implied"]
    worst = float(excess.max())
    one = cases(context.setting.profile)[int(excess.max(axis=0).argmax())]
    holds = worst <= ROUNDING
    evidence = Evidence(
        check="Lemma 4.3 implies Lemma A.5",
        grade="exact",
        role="decides",
        scope=f"every user of every active bin of {excess.size} fits, where |eta| <= eta_hat above; all d, n "
        "and points by the same inequality: |phi_h| |omega_B| <= gamma^-k 120 (d+1)^4 gamma^(k+2) ...",
        verdict="HOLDS" if holds else "REFUTED",
        value=worst,
        bound=ROUNDING,
        interval=(worst, worst),
        note=f"partial error over eps|u'phi|/sqrt(s) + |phi_h| |omega|, less 1, is at most {worst:.2g} "
        f"({one.name})",
        counterexample=None if holds else {"instance": one.name, "left over right less 1": worst},
    )
    return Finding((evidence,))


def a5_inside(context: Context) -> Finding:
    """Noise inside Lemma 4.2's event and the eigenvalue bound, theta* along the users: the second term."""
    found = {d: _worst_ratio(context, d, _a5_ratio, given_pcr=True) for d in INSIDE}
    return _inside(context, found, _a5_ratio)


def a6_inside(context: Context) -> Finding:
    found = {d: _worst_ratio(context, d, _a6_ratio, given_pcr=True) for d in INSIDE}
    return _inside(context, found, _a6_ratio)


Ratio = Callable[[Adversary], float]
INSIDE = range(1, 9)
ROUNDING = 1e-5
"""Relative: directions are orthogonal to 1e-15, and phi_h may be 1e-9 of phi."""


def _a5_ratio(found: Adversary) -> float:
    """On the first layer eps_B = 0: only the second term is there."""
    spec = found.spec
    second = 120 * (spec.d + 1) ** 4 * spec.gamma**2 * spec.log_term(48)
    return found.partial_error * spec.alpha * found.psi * math.sqrt(found.bins.n) / second


def _a6_ratio(found: Adversary) -> float:
    return found.partial_error / found.partial_width


def _worst_ratio(context: Context, d: int, ratio: Ratio, given_pcr: bool) -> tuple[float, Adversary]:
    spec = context.setting.spec(d=d, actions=1, horizon=10**18, delta=1e-36)
    found = [adversary(spec, np.eye(d)[0], m, given_pcr=given_pcr) for m in range(1, d + 1)]
    active = [one for one in found if one.bins.active[0]]
    return max(((ratio(one), one) for one in active), key=lambda pair: pair[0])


def _inside(context: Context, found: dict[int, tuple[float, Adversary]], ratio: Ratio) -> Finding:
    worst, one = max(found.values(), key=lambda pair: pair[0])
    evidence = Evidence(
        check="noise inside Lemma 4.2's event",
        grade="exact",
        role="supports" if worst <= 1 else "decides",
        scope="first layer, d = 1 to 8, delta = 1e-36, a bin at the threshold with users at its inner edge; "
        f"given {_eigenvalue_premise(one.spec)}",
        verdict="HOLDS" if worst <= 1 else "REFUTED",
        value=worst,
        bound=1.0,
        interval=(worst, worst),
        note=f"partial error {one.partial_error:.3g} is {worst:.3g} of its bound, d = {one.spec.d}",
        counterexample=None if worst <= 1 else one.record(),
    )
    measures = {"slack inside the event": Measure(1 / worst, (1 / worst, 1 / worst))}
    if not one.spec.has("eigenvalue-guard"):
        alone = {d: _worst_ratio(context, d, ratio, given_pcr=False) for d in INSIDE}
        measures |= _without_lemma_4_3(alone)
    return Finding((evidence,), measures)


def _without_lemma_4_3(alone: dict[int, tuple[float, Adversary]]) -> dict[str, Measure]:
    """How far the bound is missed by noise that Lemma 4.2 allows: the premise cannot be left out."""
    missed = [d for d, (value, _) in alone.items() if value > 1]
    if not missed:
        return {}
    value, one = alone[missed[0]]
    note = (
        f"error {one.partial_error:.4g} at psi = {one.psi:.6g}, psi_hat = {one.psi_hat:.6g}, "
        f"n = {one.bins.n:g}, s = {float(one.bins.s[0]):.4g}"
    )
    first = float(missed[0])
    return {
        "first dimension lost given Lemma 4.2 alone": Measure(first, (first, first)),
        f"error over bound given Lemma 4.2 alone, d = {missed[0]}": Measure(value, (value, value), note=note),
    }


def a6_rates(context: Context) -> Finding:
    data = context.result(INTERVALS)
    evidence = rates_by_dimension(
        context, "partial error", data["a6"] - 1, lambda d: DELTA, everywhere(context)
    )
    return Finding(evidence, tightness(context, np.maximum(data["a6_share"], 0), "both terms of A.6"))


def a6_arithmetic(context: Context) -> Finding:
    """From A.5 and A.3 alone, without A.4: the slack of 300 over 120 pays even for a missing margin."""
    rho = Fraction(62, 150)
    ratio = 1 / (1 - rho)
    steps = {"second term": (120 * ratio, Fraction(300))}
    # 47 d^1.5 gamma times gamma sqrt(2d), against (d+1)^4 gamma^2; largest at d = 1, 1.415 > sqrt 2.
    missing = max(47 * Fraction(1415, 1000) * Fraction(d**2, (d + 1) ** 4) for d in range(1, 13))
    steps["slack"] = (missing, Fraction(300) / ratio - 120)
    return Finding((_proved("arithmetic of the implication", steps, context),))


PREMISE = (
    r"Given all inequalities of Lemmas 4.2 and 4.3 on the layer and "
    r"$|\eta| \le \hat\eta$ on the layers above: "
)
A3_TEXT = PREMISE + (
    r"if $n \ge 2d\ln(24d/\beta\delta)$, then with probability $1-\delta$, for all bins at once, "
    r"$|\hat\varepsilon_B/(\hat\psi_B n) - \varepsilon_B| \le "
    r"47 d^{3/2}\gamma\ln(24d/\beta\delta)/(\alpha\psi_B\sqrt n)$ where "
    r"$\psi_B \ge 8.5 d^{3/2}\gamma\ln(12d/\beta\delta)/(\alpha\sqrt n)$"
)
A4_TEXT = PREMISE + (
    r"on the event of Lemma A.3, where $\hat\psi_B \ge 15 d^{3/2}\gamma\ln(48d/\beta\delta)/"
    r"(\alpha\sqrt n)$, $\varepsilon_B \le \bar\varepsilon_B \le \varepsilon_B + "
    r"2.5\kappa_2\gamma d^{3/2}/(\psi_B\sqrt n)$, with "
)
A5_TEXT = PREMISE + (
    r"in every active bin and for every $\phi \in B$, $|\phi^\top(\hat\theta_B-\theta^*_B)| \le "
    r"\varepsilon_B|\hat u_B^\top\phi|/\sqrt{\hat s_B} + "
    r"120(d+1)^4\gamma^2\ln(48d/\beta\delta)/(\alpha\psi_B\sqrt n)$"
)
A6_TEXT = PREMISE + (
    r"on the event of Lemma A.3, "
    r"in every active bin with $\hat\psi_B$ as in Corollary A.4 and for every $\phi \in B$, "
    r"$|\phi^\top(\hat\theta_B-\theta^*_B)| \le \bar\varepsilon_B|\hat u_B^\top\phi|/\sqrt{\hat s_B} + "
    r"300(d+1)^4\gamma^2\ln(48d/\beta\delta)/(\alpha\hat\psi_B\sqrt n)$"
)

CLAIMS = (
    Claim(
        id="lemma-A.3",
        title="Lemma A.3, concentration of a bin's error",
        statement=A3_TEXT + ".",
        repaired=A3_TEXT
        + r", with intervals up to 2 and noise $4\gamma^{-k}\hat s_B^{-1/2}\mathrm{Lap}(1/\alpha)$.",
        method=SHARED + r" Chernoff tails and a union bound over bins cover $\delta$ down to $10^{-36}$.",
        checks=(
            Check("failure rates", a3_rates, random=True),
            _check("a3", "an estimate off by more than the bound", scaled=0.042),
            Check("fresh users", fresh_users, random=False),
            Check("union bound", a3_union, random=False),
        ),
        experiments=(INTERVALS, BY_DELTA),
        baselined=frozenset(f"tightness, d = {d}" for d in (1, 2, 3, 4)),
    ),
    Claim(
        id="cor-A.4",
        title="Corollary A.4, the estimate with its margin",
        statement=A4_TEXT
        + r"$\bar\varepsilon_B = (\hat\varepsilon_B + \kappa_2\gamma d^{3/2})/(\hat\psi_B n)$.",
        repaired=A4_TEXT + r"$\bar\varepsilon_B = \max\{0, \hat\varepsilon_B/(\hat\psi_B n) "
        r"+ \kappa_2\gamma d^{3/2}/(\hat\psi_B\sqrt n)\}$.",
        method=SHARED + " The implication itself is proved in exact fractions.",
        checks=(
            Check("failure rates", a4_rates, random=True),
            _check("a4_low", "an estimate below the truth", limit=0.0),
            Check("scaled margin", a4_scaled, random=True),
            Check("arithmetic", arithmetic, random=False),
        ),
        experiments=(INTERVALS, SCALED, BY_DELTA),
        guards=frozenset({"root-n-margin"}),
    ),
    Claim(
        id="lemma-A.5",
        title="Lemma A.5, the partial error in terms of the parent's intervals",
        statement=A5_TEXT + ".",
        repaired=A5_TEXT + r", where $\hat\theta_B$ regresses on rewards less the clipped prediction.",
        method=SHARED + " The implication from Lemma 4.3 is computed at every user of every fit.",
        checks=(
            Check("implication", a5_implied, random=False),
            Check("failure rates", a5_rates, random=True),
            _check("a5", "a partial error above the bound", scaled=0.0019),
            Check("inside the event", a5_inside, random=False),
        ),
        experiments=(INTERVALS, BY_DELTA),
        baselined=frozenset(f"tightness, d = {d}" for d in (1, 2)),
    ),
    Claim(
        id="cor-A.6",
        title="Corollary A.6, the partial error in terms of estimates",
        statement=A6_TEXT + ".",
        repaired=A6_TEXT + r", with $\bar\varepsilon_B$ of the repaired Corollary A.4.",
        method=SHARED + " The implication from A.3 and A.5 is proved in exact fractions.",
        checks=(
            Check("failure rates", a6_rates, random=True),
            _check("a6", "a partial error above the bound"),
            Check("arithmetic", a6_arithmetic, random=False),
            Check("inside the event", a6_inside, random=False),
        ),
        experiments=(INTERVALS, BY_DELTA),
    ),
)
