r"""Lemma A.2: while every interval covers, the best action survives, and survivors are nearly best.

Write $f = f^*(x,\cdot)$, $*$ for a best action, $\hat f, \Delta$ for the oracle in force, and suppose
$|\hat f_a - f_a| \le \Delta_a$ for all a. The proof of Lemma A.2, as sums of nonnegative terms:

- survival, for every a' in play (and every best action, if there are several):
  $(\hat f_* + \Delta_*) - (\hat f_{a'} - \Delta_{a'})
  = [\hat f_* + \Delta_* - f_*] + [f_* - f_{a'}] + [f_{a'} - \hat f_{a'} + \Delta_{a'}]$;
- gap, for a that survives while * is in play:
  $2\Delta_a + 2\Delta_* - (f_* - f_a)
  = [f_a - \hat f_a + \Delta_a] + [\hat f_a + \Delta_a - \hat f_* + \Delta_*] + [\hat f_* - f_* + \Delta_*]$.

Nothing is asked of the range of $\Delta$, so intervals up to 2 (repaired) change nothing. In epoch 1,
$\hat f \equiv 0$ and $\Delta \equiv 1$ cover, nobody is eliminated and gaps are at most 2 ≤ 4.
The printed lemma goes on: $2(\Delta_a + \Delta_*) \le 2\sum_{a \in A_\tau} \Delta_a$ for *every* survivor.
That is false for a = *: alone in play, $4\Delta_* \le 2\Delta_*$.
It is true for a ≠ *, and the gap of * is 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from lpcb.arrays import Array, Bools
from lpcb.elimination import eliminate
from verification.claim import Check, Claim, Context
from verification.experiments.elimination_epochs import (
    EPOCHS,
    ROUNDING,
    evidence,
    looked_at,
    printed_rule,
    violations,
)
from verification.experiments.elimination_search import SMALLEST_GAP, Shape, closest_loss, gap_ratio, search
from verification.verdict import Finding, Measure

Linear = Mapping[str, Fraction]
# --- the proof --------------------------------------------------------------------------------------------


def total(*terms: Linear) -> dict[str, Fraction]:
    """The sum of linear forms, without zero coefficients."""
    names = {name for term in terms for name in term}
    sums = {name: sum((term.get(name, Fraction(0)) for term in terms), Fraction(0)) for name in names}
    return {name: value for name, value in sums.items() if value}


def form(**coefficients: int) -> Linear:
    return {name: Fraction(value) for name, value in coefficients.items()}


STAR_ABOVE = form(e_star=1, d_star=1, f_star=-1)  # hat f_* + Delta_* - f_* >= 0
STAR_BELOW = form(e_star=-1, d_star=1, f_star=1)  # f_* - hat f_* + Delta_* >= 0
A_ABOVE = form(e_a=1, d_a=1, f_a=-1)
A_BELOW = form(e_a=-1, d_a=1, f_a=1)
BEST = form(f_star=1, f_a=-1)
SURVIVES = form(e_a=1, d_a=1, e_star=-1, d_star=1)  # Algorithm 1 keeps a while * is in play

PROOFS: dict[str, tuple[Linear, tuple[Linear, ...]]] = {
    "survival": (form(e_star=1, d_star=1, e_a=-1, d_a=1), (STAR_ABOVE, BEST, A_BELOW)),
    "gap": (form(d_a=2, d_star=2, f_star=-1, f_a=1), (A_BELOW, SURVIVES, STAR_ABOVE)),
}
"""(what is nonnegative, hypotheses that add up to it)."""


def proof(name: str) -> Finding:
    goal, hypotheses = PROOFS[name]
    rest = total(*hypotheses, {key: -value for key, value in goal.items()})
    size = float(sum(abs(value) for value in rest.values()))
    return Finding(
        (
            evidence(
                f"proof of {name}",
                "proved",
                "all f*, hat f, Delta with |hat f - f*| <= Delta, any number of actions",
                size,
                0.0,
                note=f"the claim is the sum of {len(hypotheses)} hypotheses, coefficient by coefficient",
                counterexample={"left over": {key: str(value) for key, value in rest.items()}},
            ),
        )
    )


# --- the code's rule, on all small cases ------------------------------------------------------------------


def small_cases() -> tuple[Array, Array, Array, Bools]:
    """(f*, hat f, Delta, in play): three actions, whole numbers, every error up to Delta; best in play."""
    each = [(f, f + e, D) for f in (0, 1, 3) for D in (0, 1, 2) for e in range(-D, D + 1)]
    cases = np.array(list(itertools.product(each, repeat=3)), dtype=np.float64)
    sets = np.array(list(itertools.product((False, True), repeat=3)))[1:]
    f, f_hat, delta = (np.repeat(cases[:, :, i], len(sets), axis=0) for i in range(3))
    active = np.tile(sets, (len(cases), 1))
    best = f == f.max(axis=1, keepdims=True)
    keep = (active | ~best).all(axis=1)
    return f[keep], f_hat[keep], delta[keep], active[keep]


def all_small(name: str) -> Finding:
    f, f_hat, delta, active = small_cases()
    try:
        kept = eliminate(active, f_hat, delta)
    except ArithmeticError as error:
        return Finding(
            (
                evidence(
                    "all small cases",
                    "exact",
                    "as below",
                    1.0,
                    0.0,
                    counterexample={"the code raises": str(error)},
                ),
            )
        )
    wrong = (kept != printed_rule(active, f_hat, delta)).any(axis=1)
    excess = violations(name, f, f_hat, delta, kept)
    scope = f"three actions, whole numbers, errors at and inside the intervals: {len(f)} cases"
    found = []
    for what, size in (
        ("the code's rule is Algorithm 1's", wrong.astype(float)),
        (f"{name}, all small cases", excess),
    ):
        at = int(size.argmax())
        example = {
            "f*": f[at],
            "f_hat": f_hat[at],
            "delta": delta[at],
            "in play": active[at],
            "kept": kept[at],
        }
        found.append(evidence(what, "exact", scope, float(size.max()), 0.0, counterexample=example))
    return Finding(tuple(found))


def adversary(context: Context, name: str) -> Finding:
    """Random oracles that cover, errors mostly at the ends of their intervals, five in a row."""
    rng = context.rng(f"random oracles, {name}")
    runs, epochs, A = 20_000, 5, 4
    # Multiples of 2^-12: exact in floating point, where rounding would decide ties at the ends.
    f = rng.choice([-1024, -512, 0, 1, 512, 1024], (runs, A)) / 1024
    active, worst, example = np.ones((runs, A), dtype=bool), -np.inf, {}
    try:
        for _ in range(epochs):
            delta = rng.choice([0, 1, 100, 512, 1024, 2048], (runs, A)) / 1024
            inside = rng.choice([-0.5, 0.0, 0.25], (runs, A))
            side = np.where(rng.random((runs, A)) < 0.8, rng.choice([-1.0, 1.0], (runs, A)), inside)
            f_hat = f + side * delta
            active = eliminate(active, f_hat, delta)
            excess = violations(name, f, f_hat, delta, active)
            if excess.max() > worst:
                at, worst = int(excess.argmax()), float(excess.max())
                example = {"f*": f[at], "f_hat": f_hat[at], "delta": delta[at], "kept": active[at]}
    except ArithmeticError as error:
        worst, example = np.inf, {"the code raises": str(error)}
    scope = (
        f"{runs} random sequences of {epochs} oracles, four actions, errors mostly at the ends of the "
        "intervals; Delta up to 2 and hat f up to 3 in size, more than Definition 3.1 allows"
    )
    found = evidence(
        f"{name}, random oracles", "exact", scope, worst, 0.0, role="supports", counterexample=example
    )
    return Finding((found,))


STEPS = {"quick": 300, "standard": 2000, "thorough": 8000}


def worst_oracle(context: Context, name: str) -> Finding:
    """The oracles of Definition 3.1 that come closest to breaking the lemma, by hill climbing."""
    widest = 1.0 if context.setting.variant == "paper" else 2.0
    shape = Shape(contexts=1, actions=4, epochs=4, widest=widest)
    objective, bound = (closest_loss, 0.0) if name == "survival" else (gap_ratio, 1.0)
    what = f"{name}, search for the worst oracle"
    allowed = f"four actions, four oracles in a row, |hat f - f*| <= Delta <= {widest:g}, hat f in [-1, 1]"
    try:
        found = search(objective, shape, STEPS[context.setting.profile], context.rng(f"worst oracle, {name}"))
    except ArithmeticError as error:
        raised = evidence(
            what, "exact", allowed, np.inf, bound, role="supports", counterexample={"raises": str(error)}
        )
        return Finding((raised,))
    one = found.oracles
    measured = (
        "largest lower end of a worse action in play, less the upper end of the best one"
        if name == "survival"
        else f"largest gap over 2 (Delta^a + Delta^a*) of a survivor with a gap of at least {SMALLEST_GAP:g}"
    )
    best = evidence(
        what,
        "exact",
        f"{allowed}; hill climbing over {found.tried} sequences of oracles",
        found.value,
        bound,
        role="supports",
        samples=found.tried,
        note=f"{measured}; {found.start:.3g} among the random starts",
        counterexample={"f*": one.f[0], "f_hat": one.f_hat[0], "delta": one.delta[0]},
    )
    if name == "survival" or found.value <= 0:
        return Finding((best,))
    slack = 1 / found.value
    note = "bound over gap: at least 1 by the proof, at most that of the worst oracle found"
    return Finding((best,), {"tightness": Measure(slack, (min(1.0, slack), slack), note=note)})


# --- every simulated epoch --------------------------------------------------------------------------------


def simulated(context: Context, name: str) -> Finding:
    data = context.result(EPOCHS)
    ok = data["success"].astype(bool)
    excess = np.where(ok, data[name], -np.inf)
    at = int(excess.argmax())
    telling = bool((data["eliminated"][ok] > 0).any())
    found = evidence(
        f"{name}, every simulated epoch",
        "exact",
        f"{looked_at(data, ok)}, of {len(ok)} epochs in all: those with every interval so far covering",
        float(excess[at]) if ok.any() else 0.0,
        ROUNDING,
        samples=int(ok.sum()),
        telling=telling,
        note="actions were eliminated" if telling else "nothing was eliminated: says nothing",
        counterexample={"run": data["run"][at], "regret": data["regret"][at]},
    )
    return Finding((found,))


def second_inequality(context: Context) -> Finding:
    """2 (Delta_a + Delta_*) <= 2 sum of Delta over survivors; as printed also for a = *."""
    everyone = context.setting.variant == "paper"
    worst, example = -np.inf, {}
    widths = (Fraction(0), Fraction(1, 4), Fraction(1))
    for m in (1, 2, 3):
        for delta in itertools.product(widths, repeat=m):
            for a in range(0 if everyone else 1, m):  # action 0 is the best one
                excess = float(2 * (delta[a] + delta[0]) - 2 * sum(delta))
                if excess > worst:
                    worst, example = (
                        excess,
                        {"survivors": m, "delta": [str(x) for x in delta], "a": a, "best": 0},
                    )
    found = evidence(
        "second inequality",
        "exact" if everyone else "proved",
        "1 to 3 survivors" + ("" if everyone else "; for a other than the best both are terms of the sum"),
        worst,
        0.0,
        note="false for the best action itself: alone in play it reads 4 Delta <= 2 Delta"
        if everyone
        else "",
        counterexample=example,
    )
    return Finding((found,))


def _lemma_checks(name: str) -> tuple[Check, ...]:
    return (
        Check("proof", lambda context: proof(name), random=False),
        Check("small cases", lambda context: all_small(name), random=False),
        Check("random oracles", lambda context: adversary(context, name), random=False),
        Check("worst oracle", lambda context: worst_oracle(context, name), random=False),
        Check("simulated epochs", lambda context: simulated(context, name), random=False),
    )


METHOD = (
    "The inequality is written as a sum of its hypotheses and checked coefficient by coefficient; the code's "
    "elimination is compared with the printed rule on all small cases; hill climbing looks for the oracles "
    "that come closest to breaking it; random oracles with errors at the ends of their intervals, and every "
    "epoch of simulated runs in which all intervals so far covered, cut-off last epochs included, are looked "
    "at."
)
SURVIVAL_TEXT = (
    r"While $|\hat f_{\tau'}^a - f^*| \le \Delta_{\tau'}^a$ for all actions and epochs $\tau' \le \tau$, "
    r"every best action $a^*(x)$ is in $A_\tau(x)$"
)
SURVIVAL = Claim(
    id="lemma-A.2-survival",
    title="Lemma A.2, the best action survives",
    statement=SURVIVAL_TEXT + ".",
    repaired=SURVIVAL_TEXT + r", for intervals $\Delta$ up to 2.",
    method=METHOD,
    checks=_lemma_checks("survival"),
    experiments=(EPOCHS,),
)
GAP = Claim(
    id="lemma-A.2-gap",
    title="Lemma A.2, survivors are nearly best",
    statement=(
        r"On the same event, for every $a \in A_\tau(x)$: $f^*(x,a^*) - f^*(x,a) \le 2(\Delta_\tau^a + "
        r"\Delta_\tau^{a^*}) \le 2\sum_{a' \in A_\tau(x)} \Delta_\tau^{a'}$."
    ),
    repaired=(
        r"On the same event, for every $a \in A_\tau(x)$: $f^*(x,a^*) - f^*(x,a) \le 2(\Delta_\tau^a + "
        r"\Delta_\tau^{a^*})$, and for $a \ne a^*$ this is at most "
        r"$2\sum_{a' \in A_\tau(x)} \Delta_\tau^{a'}$."
    ),
    method=METHOD,
    checks=(*_lemma_checks("gap"), Check("second inequality", second_inequality, random=False)),
    experiments=(EPOCHS,),
)
CLAIMS = (SURVIVAL, GAP)
