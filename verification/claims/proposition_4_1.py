r"""Proposition 4.1: LPLR-Update is alpha-LDP, each of its three statistics spending a third.

As printed the sensitivities are those of adding a user, while Definition 3.1 compares a user's data with any
other: a change of (x, y) empties one bin and fills another, which doubles every loss. And the Wishart noise
does not hide a matrix at all: under A the output lies in the cone above A - mean. With the printed scale,
an output drawn for the dummy is impossible under $\phi_h$ with probability
$1 - e^{-\alpha\gamma^{2k}\|\phi_h\|^2/9}$: in units of the cell W is Wishart with d+1 degrees of freedom and
scale v = 4.5/alpha, W - u u' is positive definite iff u'W^{-1}u < 1, and v u'W^{-1}u is 1/chi-square with
(d+1) - d + 1 = 2 degrees of freedom, so that P(u'W^{-1}u >= 1) = P(chi^2_2 <= |u|^2/v) = 1 - e^{-|u|^2/2v}.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from lpcb.arrays import Array
from lpcb.lplr.update import mechanisms
from lpcb.mechanisms import Mechanism, Wishart
from verification.claim import Check, Claim, Context
from verification.evidence.losses import Place, first_layer, loss_finding, places
from verification.evidence.report_audit import black_box
from verification.evidence.tails import clopper_pearson
from verification.experiments.views import worst_update
from verification.verdict import FALSE_ALARM, Evidence, Figure, Finding, Measure, Series

DRAWS = {"quick": 20_000, "standard": 200_000, "thorough": 2_000_000}
ONE_ORACLE = (1,)


def exact_loss(context: Context, statistic: str) -> Finding:
    """The worst pair on every layer, for one oracle."""
    where = places(context.setting.profile, "update", ONE_ORACLE)
    share = 1.0 if statistic == "joint" else 1 / 3
    name = _name(statistic)
    return loss_finding(context, where, lambda view, rng: worst_update(view, statistic, rng), share, name)


def by_samples(context: Context, statistic: str) -> Finding:
    return black_box(context, statistic, Place(2, 1, 1.0, 0), 1.0 if statistic == "joint" else 1 / 3)


def _name(statistic: str) -> str:
    return "all three statistics" if statistic == "joint" else f"the {statistic}"


# --- The support of the matrix noise -----------------------------------------------------------------------


def tell_tale(context: Context) -> Finding:
    """How often an output for the dummy is impossible under a unit vector: closed form and frequency."""
    d, alpha = 3, 1.0
    spec = context.setting.spec(d=d, actions=1, horizon=10**6, alpha=alpha)
    mechanism = mechanisms(spec, 1, np.zeros(1, dtype=np.int64)).matrix
    phi = np.full(d, 1 / math.sqrt(d))
    data, dummy = np.outer(phi, phi)[None], np.zeros((1, d, d))
    n = DRAWS[context.setting.profile]
    outputs = mechanism.release(dummy, context.rng("tell-tale"), n)
    losses = mechanism.log_density(outputs, dummy) - mechanism.log_density(outputs, data)
    seen = int(np.isposinf(losses).sum())
    low, high = clopper_pearson(seen, n)
    closed = 1 - math.exp(-1 / (2 * mechanism.v)) if isinstance(mechanism, Wishart) else 0.0
    if not low <= closed <= high:
        raise ArithmeticError(f"closed form {closed:g} outside the measured [{low:g}, {high:g}]")
    evidence = Evidence(
        check="outputs that give the input away",
        grade="tested",
        role="decides" if low > 0 else "supports",
        scope=f"d = {d}, alpha = {alpha:g}, dummy against (1, 1, 1)/sqrt(3), bin k = 0",
        verdict="REFUTED" if low > 0 else "HOLDS",
        value=seen / n,
        bound=0.0,
        interval=(low, high),
        false_alarm=FALSE_ALARM,
        detectable=_seen_at_all(n),
        samples=n,
        note=f"{seen} of {n} outputs are impossible under the other input; closed form {closed:.6f}",
        counterexample={"d": d, "alpha": alpha, "one": "dummy", "two": phi.tolist()} if low > 0 else None,
    )
    measure = Measure(seen / n, (low, high), note=f"closed form {closed:.6f}")
    figures = (_loss_distribution(losses), _hockey_stick(mechanism, losses, alpha))
    return Finding((evidence,), {"tell-tale probability": measure}, figures)


def _seen_at_all(n: int) -> float:
    """The probability of an event that is seen enough in n draws to exclude 0, with probability 0.99.

    The lower end of the interval is above 0 as soon as the event is seen once.
    """
    return -math.expm1(math.log(0.01) / n)


def _loss_distribution(losses: Array) -> Figure:
    finite = np.sort(losses[np.isfinite(losses)])
    at = np.linspace(0, len(finite) - 1, 80).astype(int)
    share = (at + 0.5) / len(losses)
    return Figure(
        "Privacy loss of one output",
        "Cumulative distribution of the loss of outputs drawn for the dummy, against a unit vector. "
        "What the curve lacks to 1 is infinite loss: outputs that give the input away.",
        "loss",
        "fraction of outputs with at most this loss",
        (Series("outputs for the dummy", finite[at].tolist(), share.tolist()),),
    )


def _hockey_stick(mechanism: Mechanism, losses: Array, alpha: float) -> Figure:
    """delta(eps) = E[(1 - exp(eps - loss))_+] under the dummy; for Wishart noise also in closed form."""
    grid = np.linspace(0, 2 * alpha, 41)
    hidden = np.where(np.isposinf(losses), 1e300, losses)
    curve = [float(np.maximum(-np.expm1(np.minimum(eps - hidden, 0)), 0).mean()) for eps in grid]
    series = [Series("measured, dummy against data", grid.tolist(), curve)]
    if isinstance(mechanism, Wishart):
        c = 1 / (2 * mechanism.v)
        exact = [-math.expm1(-c)] * len(grid)
        back = [max(0.0, -math.expm1(eps - c)) for eps in grid]
        series += [
            Series("closed form, dummy against data", grid.tolist(), exact, style="dashed"),
            Series("closed form, data against dummy", grid.tolist(), back, style="dashed"),
        ]
    return Figure(
        "What is left at every epsilon",
        "The smallest delta for which the matrix release is (epsilon, delta)-private on this pair. A private "
        "mechanism reaches 0 at its epsilon; here that is alpha/3.",
        "epsilon",
        "delta",
        tuple(series),
    )


def _statement(what: str, share: str) -> str:
    return (
        rf"For all $(x,y)$, $(x',y')$ and every transcript, the release of {what} has densities whose ratio "
        rf"is at most $e^{{{share}}}$."
    )


def _claim(
    statistic: str, title: str, what: str, share: str, guards: set[str], extra: tuple[Check, ...]
) -> Claim:
    return Claim(
        id=f"prop-4.1-{statistic}",
        title=f"Proposition 4.1, {title}",
        statement=_statement(what, share) + " One oracle, noise as printed.",
        repaired=_statement(what, share) + " One oracle, noise of the repaired mechanism.",
        method=(
            "On views of every layer the exact loss (a closed form) is maximised over pairs of users; the "
            "triangle inequality bounds it over all pairs. The auditor, which sees outputs alone, is run on "
            "the worst pair."
        ),
        checks=(
            Check("exact loss", partial(exact_loss, statistic=statistic), random=False),
            Check("black box", partial(by_samples, statistic=statistic), random=True),
            *extra,
        ),
        guards=frozenset(guards),
        baselined=frozenset({first_layer(_name(statistic)), *({"tell-tale probability"} if extra else ())}),
    )


TELL_TALE = (Check("support", tell_tale, random=True),)
REPLACE = "replacement-sensitivity"
CLAIMS = (
    _claim("count", "counts", r"the counts $\hat c_B$", r"\alpha/3", {REPLACE}, ()),
    _claim("vector", "vectors", r"$\hat\lambda_B$", r"\alpha/3", {REPLACE, "residual-range"}, ()),
    _claim("matrix", "matrices", r"$\hat\Lambda_B$", r"\alpha/3", {REPLACE, "symmetric-noise"}, TELL_TALE),
    _claim("joint", "whole update", r"all three statistics", r"\alpha", {REPLACE, "symmetric-noise"}, ()),
)
