r"""Theorem 4.6: the regret bound with the constant of its proof chain, and how worst-case regret grows.

The bound follows from Theorem 3.2 and Lemma 4.5 (verification.experiments.onset writes the chain out); with
printed constants it exceeds 2T at every horizon that can be simulated, so runs say nothing about it.

Growth. At each T the worst of families of instances that scale with T. With a fixed number of bins, regret is
near $\kappa(T)\sqrt T$ with $\kappa$ proportional to ln T (delta = 1/T^2): a straight line has a slope of
0.5 + 1/ln T ≈ 0.53, and 0.5 once ln T is divided out. Worse are users spread over J ~ ln(1/gap) levels:
intervals are J times wider, and so are the gaps that they cannot see. J is the theorem's M, a power of ln T,
but it grows from 1 at onset: a straight line through the whole envelope shows 0.60 (this was seen before the
form of the fit was chosen), and regret divided by J ln T shows 0.50.

As printed, d = 2 fails: while the first layer is active and the second is not, Algorithm 5's interval is
$\gamma^{-k}$ and forgets the first layer's error (repair: inactive-width). Gaps below that error are decided
by noise, wrongly half of the time, and for good: regret is T times a rate that falls only like 1/ln T.
"""

from __future__ import annotations

import math

import numpy as np

from lpcb.arrays import Array
from verification.claim import Arrays, Check, Claim, Context
from verification.evidence.scaling import Slope, local_slopes, slope, slope_detectable
from verification.experiments.envelopes import (
    BASELINE_ENVELOPES,
    ENVELOPES,
    LOST,
    Case,
    baseline_grids,
    cases,
    columns,
    decades,
)
from verification.experiments.onset import CONSTANT, Formula, onset
from verification.experiments.width_split import split
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure, Series, Verdict

WINDOW = (0.45, 0.58)
"""Where the exponent of an envelope must lie: 1/2, and up to 0.08 for two powers of ln T."""
ALPHAS = (0.1, 0.5, 1.0)
DIMENSIONS = (1, 2, 3)


# --- the bound --------------------------------------------------------------------------------------------


def below_bound(context: Context) -> Finding:
    """Regret of every run of the envelopes against the chain's bound, and whether the bound says anything."""
    data, chosen = context.result(ENVELOPES), cases(context.setting)
    found = tuple(_against_chain(case, data, FALSE_ALARM / len(chosen)) for case in chosen)
    return Finding(found)


def _against_chain(case: Case, data: Arrays, level: float) -> Evidence:
    T, regret, _ = columns(data, case.name)
    chain = np.array([math.exp(Formula(case.d, 2, 1.0, math.log(t), **dict(case.scale)).chain()) for t in T])
    ratio = regret / chain
    speaks = chain < 2 * T
    worst = float(ratio.max())
    verdict: Verdict = "REFUTED" if worst > 1 else "HOLDS" if speaks.any() else "UNDECIDED"
    silent = "above 2T in every run, so it says nothing"
    example = {"case": case.name, "ratio": worst} if verdict == "REFUTED" else None
    return Evidence(
        check=f"runs below the bound, {case.name}",
        grade="tested",
        role="supports" if case.scale else "decides",
        scope=f"worst instances, T = {T.min():.2g} to {T.max():.2g}, {regret.size} runs",
        verdict=verdict,
        value=worst,
        bound=1.0,
        interval=(float(ratio.min()), worst),
        false_alarm=level,
        detectable=1.0,
        samples=int(regret.size),
        note=f"the bound is below 2T from T = {T[speaks].min():.2g} on"
        if speaks.any()
        else _vacuous(case, silent),
        counterexample=example,
    )


def _vacuous(case: Case, silent: str) -> str:
    return f"{silent}; vacuous below T = {onset(case.d, 1.0)['bound below 2T']:.2g}"


def constant(context: Context) -> Finding:
    """C of the chain against its closed form, over dimensions, actions, alpha and horizons."""
    worst, largest = 0.0, dict.fromkeys(DIMENSIONS, 0.0)
    where: dict[str, float] = {}
    for d in range(1, 13):
        for A in (2, 8):
            for log_T in np.arange(14.0, 240.0, 8.0):
                formula = Formula(d, A, 1.0, float(log_T))
                C = math.exp(formula.chain() - formula.shape())
                ratio = C * (math.log(48 * d * log_T) + log_T) / CONSTANT
                if d in largest:
                    largest[d] = max(largest[d], C)
                if ratio > worst:
                    worst, where = ratio, {"d": d, "actions": A, "ln T": float(log_T)}
    evidence = Evidence(
        check="C of the proof chain",
        grade="exact",
        role="supports",
        scope="d = 1 to 12, A = 2 and 8, T = 1e6 to 1e104, beta = 1/ln T; given Lemma 4.5",
        verdict="REFUTED" if worst > 1 else "HOLDS",
        value=worst,
        bound=1.0,
        interval=(worst, worst),
        note="largest C times ln(48dT/beta) over 1.33e6",
        counterexample=where if worst > 1 else None,
    )
    measures = {f"C, d = {d}": _exactly(C, note="largest over T") for d, C in largest.items()}
    return Finding((evidence,), measures | _onsets() | _widths(), (_onset_figure(), _width_figure()))


def _onsets() -> dict[str, Measure]:
    note = "formula, right up to a factor of 2; beyond 4.6e18 an extrapolation"
    return {
        f"onset, d = {d}, alpha = {alpha:g}: {name}": _exactly(T, "rounds", note)
        for d in DIMENSIONS
        for alpha in ALPHAS
        for name, T in onset(d, alpha).items()
    }


def _widths() -> dict[str, Measure]:
    return {
        f"width at T = {T:.0e}: {name}": _exactly(value)
        for T in (10**8, 10**12)
        for name, value in split(T).items()
    }


def _exactly(value: float, unit: str = "", note: str = "") -> Measure:
    return Measure(value, (value, value), unit, note)


def _onset_figure() -> Figure:
    names = list(onset(1, 1.0))
    curves = tuple(
        Series(f"{name}, d = {d}", ALPHAS, [onset(d, alpha)[name] for alpha in ALPHAS])
        for d in DIMENSIONS
        for name in names
    )
    caption = "Two actions, printed constants, from formulas; horizons up to 4.6e18 can be simulated."
    return Figure("When something happens", caption, "alpha", "T", curves, xlog=True, ylog=True)


def _width_figure() -> Figure:
    rows = {T: split(T) for T in (10**8, 10**12)}
    names = list(rows[10**8])
    curves = tuple(
        Series(f"T = {T:.0e}", list(range(1, len(names) + 1)), list(row.values()), style="points")
        for T, row in rows.items()
    )
    caption = "d = 2, A = 2, 16 contexts, alpha = 1. " + "; ".join(
        f"{i}: {n}" for i, n in enumerate(names, 1)
    )
    return Figure("Where the width comes from", caption, "source", "mean width", curves, ylog=True)


# --- the slope --------------------------------------------------------------------------------------------


def exponents(context: Context) -> Finding:
    data, chosen = context.result(ENVELOPES), cases(context.setting)
    level = FALSE_ALARM / len(chosen)
    evidence, measures, curves = [], {}, []
    for case in chosen:
        T, regret, rest = columns(data, case.name)
        plain = slope(T, regret, level, shared=False)
        bins = rest["bins"].mean(axis=0) if case.levels else np.ones(len(T))
        without = slope(T, regret / bins, level, shared=False, log_factor=1.0)
        fit = without if case.levels else plain
        inside = bool(rest["interior"].all())
        evidence.append(_exponent(case, fit, inside, float(rest["covered"].mean()), decades(T)))
        steps = [s.value for s in local_slopes(T, regret, level, shared=False)]
        measures[f"exponent, {case.name}"] = _fitted(plain, f"local slopes {_list(steps)}")
        divided = "ln T and the number of levels" if case.levels else "ln T"
        measures[f"exponent with {divided} divided out, {case.name}"] = _fitted(without)
        curves.append(_band(case.name, T, regret))
    caption = "Worst instance at each T, fresh seeds; bands from the smallest to the largest seed."
    figure = Figure("Worst-case regret", caption, "T", "regret", tuple(curves), xlog=True, ylog=True)
    return Finding(tuple(evidence), measures, (figure,))


def _exponent(case: Case, fit: Slope, inside: bool, covered: float, span: float) -> Evidence:
    low, high = fit.interval
    kind = "bins grow with ln T" if case.levels else "a fixed number of bins"
    names = ", ".join(family.name for family in case.families)
    verdict: Verdict = "UNDECIDED"
    if case.levels:
        pass  # the division by levels and ln T was chosen after seeing the raw exponent: it cannot decide
    elif inside and WINDOW[0] <= low and high <= WINDOW[1]:
        verdict = "HOLDS"
    elif inside and (low > WINDOW[1] or high < WINDOW[0]):
        verdict = "REFUTED"
    return Evidence(
        check=f"exponent{' of regret / (levels ln T)' if case.levels else ''}, {case.name}",
        grade="fitted",
        role="supports" if case.d > 2 else "decides",
        scope=f"envelope over {names} ({kind}); {span:.1f} decades past onset",
        verdict=verdict,
        value=fit.value,
        bound=WINDOW[1],
        interval=fit.interval,
        false_alarm=fit.alpha,
        detectable=slope_detectable(fit),
        samples=fit.seeds,
        note=f"maximum {'inside' if inside else 'on the edge of'} the grid; {covered:.1%} of runs covered",
        counterexample={"case": case.name, "exponent": fit.value} if verdict == "REFUTED" else None,
    )


def lost_actions(context: Context) -> Finding:
    """Regret that no later epoch can avoid, printed constants, d = 2: its exponent, if there is any."""
    data = context.result(LOST)
    T, regret = data["horizon"][0], data["regret"]
    scope = f"spread instance, d = 2, printed constants, T = {T.min():.2g} to {T.max():.2g}"
    covered = float(data["covered"].mean())
    share = float((regret > 0).mean())
    fit = slope(T, regret, FALSE_ALARM, shared=False) if (regret.mean(axis=0) > 0).all() else None
    refuted = fit is not None and fit.interval[0] > WINDOW[1]
    verdict: Verdict = "REFUTED" if refuted else "HOLDS" if not regret.any() else "UNDECIDED"
    example = {"instance": "spread", "T": T, "regret per round": regret.mean(axis=0) / T} if refuted else None
    evidence = Evidence(
        check="best actions lost for good",
        grade="fitted",
        role="decides",
        scope=scope,
        verdict=verdict,
        value=fit.value if fit else 0.0,
        bound=WINDOW[1],
        interval=fit.interval if fit else (0.0, 0.0),
        false_alarm=FALSE_ALARM,
        detectable=slope_detectable(fit) if fit else 1.0,
        samples=int(regret.size),
        note=f"in {share:.0%} of runs a best action is out of play at the end; {covered:.0%} covered",
        counterexample=example,
    )
    measures = {"share of runs that lose a best action": _exactly(share)}
    if fit is not None:
        measures |= {"exponent of unavoidable regret": _fitted(fit)} | _overtaking_bound(T, regret)
    return Finding((evidence,), measures)


def _overtaking_bound(T: Array, regret: Array) -> dict[str, Measure]:
    """Where unavoidable regret, rate c / ln T a round, would pass the chain's bound."""
    c = float((regret.mean(axis=0) / T * np.log(T)).mean())
    grid = np.arange(41.0, 400.0, 0.5)
    over = [x for x in grid if math.log(c / x) + x > Formula(2, 2, 1.0, float(x)).chain()]
    where = math.exp(over[0]) if over else math.inf
    return {"T at which unavoidable regret passes the bound": _exactly(where, "rounds", "extrapolated")}


def baselines(context: Context) -> Finding:
    """What a user would run instead, each at its own worst F(s); and when the algorithm overtakes."""
    data = context.result(BASELINE_ENVELOPES)
    grids = baseline_grids(context.setting.profile)
    measures, curves, level = {}, [], FALSE_ALARM / len(grids)
    for grid in grids:
        T, regret, rest = columns(data, grid.name)
        fit = slope(T, regret, level, shared=False)
        edge = (
            "" if rest["interior"].all() else "; the maximum is on the edge of the grid: not its worst case"
        )
        measures[f"exponent, {grid.name}"] = _fitted(fit, f"expected {grid.expected:g}{edge}")
        curves.append(_band(grid.name, T, regret))
    T, regret, _ = columns(data, "private_statistics")
    rate = float((regret.mean(axis=0) / T**0.75).max())
    statistics = slope(T, regret, FALSE_ALARM, shared=False)
    measures |= _overtaking(rate)
    caption = "Worst F(s) for each baseline at each T; doubling-epoch forms, drawn in aggregate."
    figure = Figure("Baselines", caption, "T", "regret", tuple(curves), xlog=True, ylog=True)
    evidence = Evidence(
        check="private statistics grow faster",
        grade="fitted",
        role="supports",
        scope="worst F(s), T to 1e18",
        verdict="HOLDS" if statistics.interval[0] > WINDOW[1] else "UNDECIDED",
        value=statistics.value,
        bound=WINDOW[1],
        interval=statistics.interval,
        false_alarm=FALSE_ALARM,
        detectable=slope_detectable(statistics),
        samples=statistics.seeds,
        note="the exponent of private sufficient statistics lies above the window of the envelopes",
    )
    return Finding((evidence,), measures, (figure,))


def _overtaking(rate: float) -> dict[str, Measure]:
    """T at which the noise width times sqrt(T) falls below rate * T^(3/4), d = 2.

    At the worst size the interval of the last useful epoch, 4 d times shorter than T, just fails to decide.
    """
    out = {}
    for name, width in (("printed", 1.0), ("scaled", 1e-4)):
        for log_T in np.arange(12.0, 120.0, 0.1):
            formula = Formula(2, 2, 1.0, float(log_T), width=width)
            log_regret = math.log(6 * formula.noise_width * math.sqrt(16)) + log_T / 2
            if log_regret < math.log(rate) + 0.75 * log_T:
                out[f"overtakes private statistics, {name} constants"] = _exactly(
                    math.exp(log_T), "rounds", "d = 2, a fixed number of bins, width formula and baseline"
                )
                break
    return out


def _fitted(fit: Slope, note: str = "") -> Measure:
    return Measure(fit.value, fit.interval, "", note)


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def _band(label: str, T: Array, regret: Array) -> Series:
    bands = [regret.mean(axis=0), regret.min(axis=0), regret.max(axis=0)]
    mean, low, high = ([float(v) for v in band] for band in bands)
    return Series(label, [float(t) for t in T], mean, low, high)


BOUND = Claim(
    id="thm-4.6-bound",
    title="Theorem 4.6, the bound",
    statement=(
        r"Regret is at most $C (2.54/\beta)^d A^2 d^5 \ln^2(48dT/\beta)\,\alpha^{-1}\, T^{1/2+2\beta}$ with "
        r"an absolute $C$; the proof chain gives $C = 1.33\cdot 10^6/\ln(48dT/\beta)$."
    ),
    repaired=(
        r"Regret is at most $C (2.54/\beta)^d A^2 d^5 \ln^2(48dT/\beta)\,\alpha^{-1}\, T^{1/2+2\beta}$ with "
        r"an absolute $C$, for the repaired oracle; the chain gives $C = 1.33\cdot 10^6/\ln(48dT/\beta)$."
    ),
    method=(
        "Theorem 3.2 with its true constant and Lemma 4.5 are put together; worst-case runs are compared "
        "with the sum, and the horizon from which it says more than 2T is computed."
    ),
    checks=(
        Check("runs below the bound", below_bound, random=True),
        Check("the constant", constant, random=False),
    ),
    experiments=(ENVELOPES,),
)
SLOPE = Claim(
    id="thm-4.6-slope",
    title="Theorem 4.6, growth of worst-case regret",
    statement=r"Worst-case regret grows like $T^{1/2+2\beta}$ up to logarithms, $\beta = 1/\ln T$.",
    repaired=(
        r"Worst-case regret of the repaired algorithm grows like $T^{1/2+2\beta}$ up to logarithms, "
        r"$\beta = 1/\ln T$."
    ),
    method=(
        "At each T the worst of families of instances whose gaps or rarity scale with T is searched, fresh "
        "seeds are run there, and the exponent is fitted past onset; best actions lost for good are "
        "looked for; "
        "baselines stand beside it."
    ),
    checks=(
        Check("exponents", exponents, random=True),
        Check("lost actions", lost_actions, random=True),
        Check("baselines", baselines, random=True),
    ),
    experiments=(ENVELOPES, LOST, BASELINE_ENVELOPES),
    guards=frozenset({"inactive-width"}),
)

CLAIMS = (BOUND, SLOPE)
