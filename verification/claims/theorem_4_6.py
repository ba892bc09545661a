r"""Theorem 4.6: the regret bound with the constant of its proof chain, and from which T on it says something.

The bound follows from Theorem 3.2 and Lemma 4.5, which the paper leaves to the reader
(verification.evidence.lplr_proof.chain writes the chain out). As repaired both stand in rows of their own, so
the certified chain decides. As printed Lemma 4.5's factor 2.54 is not established, and with printed constants
the bound exceeds 2T at every horizon that can be simulated: runs say nothing about it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from verification.claim import Arrays, Check, Claim, Context, Setting
from verification.evidence.enclosure import step_evidence
from verification.evidence.lplr_proof.chain import CHAIN, CONSTANT
from verification.experiments.bound_tables import DIMENSIONS, misses, onset_table, reached, width_table
from verification.experiments.envelopes import ENVELOPES, Case, cases, columns
from verification.experiments.onset import Formula, onset
from verification.verdict import FALSE_ALARM, Evidence, Finding, Measure, Role, Variant, Verdict


def below_bound(context: Context) -> Finding:
    """Regret of every run of the envelopes against the chain's bound, and whether the bound says anything."""
    data, chosen = context.result(ENVELOPES), cases(context.setting)
    variant, level = context.setting.variant, FALSE_ALARM / len(chosen)
    return Finding(tuple(_against_chain(case, data, variant, level) for case in chosen))


def _against_chain(case: Case, data: Arrays, variant: Variant, level: float) -> Evidence:
    T, regret, _ = columns(data, case.name)
    chain = np.array([math.exp(_formula(case, t, variant).chain()) for t in T])
    ratio = regret / chain
    speaks = chain < 2 * T
    worst = float(ratio.max())
    verdict: Verdict = "REFUTED" if worst > 1 else "HOLDS" if speaks.any() else "UNDECIDED"
    silent = "above 2T in every run, so it says nothing"
    example = {"case": case.name, "ratio": worst} if verdict == "REFUTED" else None
    return Evidence(
        check=f"runs below the bound, {case.name}",
        grade="tested",
        role="supports" if case.scale or variant == "repaired" else "decides",
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
        else f"{silent}; vacuous below T = {onset(case.d, 1.0, variant=variant)['bound below 2T']:.2g}",
        counterexample=example,
    )


def _formula(case: Case, T: float, variant: Variant) -> Formula:
    return Formula(case.d, 2, 1.0, math.log(T), variant=variant, **dict(case.scale))


def established(setting: Setting) -> bool:
    """Whether the rows that the chain rests on hold: those of the algorithm with all its repairs."""
    return setting.variant == "repaired" and not setting.without


def proof_chain(context: Context) -> Finding:
    """Every step from Theorem 3.2 and Lemma 4.5 to the bound.

    Where one of the two is not established, as printed or with a repair switched off, it only supports.
    """
    role: Role = "decides" if established(context.setting) else "supports"
    return Finding(tuple(step_evidence(replace(step, role=role)) for step in CHAIN))


def constant(context: Context) -> Finding:
    """C of the chain against its closed form, over dimensions, actions, alpha and horizons."""
    worst, largest = 0.0, dict.fromkeys(DIMENSIONS, 0.0)
    where: dict[str, float] = {}
    for d in range(1, 13):
        for A in (2, 8):
            for log_T in np.arange(14.0, 240.0, 8.0):
                formula = Formula(d, A, 1.0, float(log_T), variant=context.setting.variant)
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
        note="largest C times ln(48dT/beta) over 1.25e6",
        counterexample=where if worst > 1 else None,
    )
    measures = {f"C, d = {d}": Measure(C, (C, C), note="largest over T") for d, C in largest.items()}
    return Finding((evidence,), measures)


def onsets(context: Context) -> Finding:
    """When something first happens by formula, against runs that reach it, epoch by epoch."""
    variant, seed = context.setting.variant, context.setting.seed
    away, count = misses(variant, seed), reached(variant, seed)
    evidence = Evidence(
        check="onset formulas against runs",
        grade="exact",
        role="supports",
        scope="d = 1 to 3, alpha = 0.1, 0.5 and 1, printed constants, one bin on every layer; T to 4.6e18",
        verdict="HOLDS" if away == 0 and count else "UNDECIDED",
        value=float(away),
        bound=0.0,
        interval=(float(away), float(away)),
        samples=count,
        note="epochs between formula and run, at most; samples are the events that a run reaches",
    )
    return Finding((evidence,), tables=(onset_table(variant, seed), width_table()))


BOUND = Claim(
    id="thm-4.6-bound",
    title="Theorem 4.6, the bound",
    statement=(
        r"Regret is at most $C (2.54/\beta)^d A^2 d^5 \ln^2(48dT/\beta)\,\alpha^{-1}\, T^{1/2+2\beta}$ with "
        r"an absolute $C$; the proof chain gives $C = 1.25\cdot 10^6/\ln(48dT/\beta)$."
    ),
    repaired=(
        r"Regret is at most $C (3.02/\beta)^d A^2 d^5 \ln^2(48dT/\beta)\,\alpha^{-1}\, T^{1/2+2\beta}$ with "
        r"$C = 1.25\cdot 10^6/\ln(48dT/\beta)$, for $d \le 12$, all $\beta \in (0, 1/2]$ and $T$ of at least "
        r"one epoch, in expectation."
    ),
    method=(
        "Theorem 3.2 with its true constant and Lemma 4.5 are put together, each step certified; worst-case "
        "runs are compared with the sum, and the horizon from which it says more than 2T is computed. The "
        "repaired row rests on thm-3.2-regret, lemma-4.5-coverage, lemma-4.5-mad and def-3.1-failure."
    ),
    checks=(
        Check("the proof chain", proof_chain, random=False),
        Check("runs below the bound", below_bound, random=True),
        Check("the constant", constant, random=False),
        Check("onset", onsets, random=False),
    ),
    experiments=(ENVELOPES,),
)
CLAIMS = (BOUND,)
