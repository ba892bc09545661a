"""What ``lpcb plan`` says: a table and sentences, plain data, and curves."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from lpcb.arrays import Array
from lpcb.boundary import Range, checked
from lpcb.console import say, show_table, tell
from lpcb.plan import Plan
from lpcb.plan_search import RESOLUTION, Algorithm, Need
from lpcb.plots import RegretCurve
from lpcb.spec import MAX_HORIZON

PEOPLE = 8.3e9
DEFINITION = (
    "smallest horizon T found with (expected regret over T rounds) <= target * (that of uniform play)"
)

LADDER = (
    ("sampling", "sampling, one fit per bin"),
    ("privacy noise", "sampling and privacy"),
    ("confidence 1 - 1/T^2 in every bin", "... for all bins (union bound)"),
    ("errors carried through the layers", "carried through the layers"),
    ("the printed constants", "printed constants"),
)
"""What each step adds to the one before, and its name in :func:`lpcb.widths.split`."""


def dominating(width: dict[str, float]) -> list[tuple[str, float]]:
    """(step, the factor by which it widens the interval), in order; the first is a width, not a factor."""
    values = [width[key] for _, key in LADDER]
    factors = [values[0], *(b / a for a, b in pairwise(values))]
    return [(name, factor) for (name, _), factor in zip(LADDER, factors, strict=True)]


def as_dict(found: Plan) -> dict[str, Any]:
    """Everything, JSON-able; the shape is that of plan.schema.json."""
    first = found.problems[0]
    steps = dominating(found.width)
    return {
        "schema": 1,
        "definition": DEFINITION,
        "resolution": 2**RESOLUTION,
        "longest_simulated": MAX_HORIZON,
        "alpha": found.alpha,
        "target": found.target,
        "seeds": found.seeds,
        "seed": found.seed,
        "problem": {
            "name": first.name,
            "reward": first.reward,
            "features": first.features.tolist(),
            "weights": first.weights.tolist(),
            "thetas": [p.theta.tolist() for p in found.problems],
            "uniform_regret_per_round": [p.uniform_regret for p in found.problems],
        },
        "algorithms": [_algorithm(found, one) for one in found.algorithms],
        "width": {
            "horizon": found.width_horizon,
            "parts": found.width,
            "factors": dict(steps[1:]),
            "dominates": max(steps[1:], key=lambda step: step[1])[0],
        },
    }


def _algorithm(found: Plan, one: Algorithm) -> dict[str, Any]:
    worst, need = found.worst(one.name)
    shares = found.shares[one.name]
    return {
        "name": one.name,
        "privacy": one.privacy,
        "factors": list(one.factors) if one.factors else None,
        "needs": [
            {
                "status": n.status,
                "users": n.users,
                "not_at": n.missed,
                "lost_at": n.lost,
                "constants_moved_by": n.factor,
                "share_at_the_end": None if n.curve is None else n.curve.final,
                "covered": None if n.curve is None else n.curve.covered,
            }
            for n in found.needs[one.name]
        ],
        "curve": None
        if need.curve is None or shares is None
        else {
            "theta": worst,
            "users": _users(need).tolist(),
            "median": np.median(shares, axis=0).tolist(),
            "low": shares.min(axis=0).tolist(),
            "high": shares.max(axis=0).tolist(),
        },
    }


def curves(found: Plan) -> list[RegretCurve]:
    """Every theta and seed up to the users that the worst theta takes; what is not private is dashed."""
    out = []
    for one in found.algorithms:
        _, need = found.worst(one.name)
        shares = found.shares[one.name]
        if shares is not None:
            name = one.name if need.status == "reached" else f"{one.name} ({need.status})"
            out.append(RegretCurve(name, _users(need), shares, dashed=not _private(one)))
    return out


def _private(one: Algorithm) -> bool:
    return one.privacy == "alpha-LDP"


def _users(need: Need) -> Array:
    assert need.curve is not None
    elapsed = need.curve.elapsed.astype(np.float64)
    stretch = need.users / MAX_HORIZON if need.status == "extrapolated" and need.users else 1.0
    return elapsed * stretch


def title(found: Plan) -> str:
    p = found.problems[0]
    return f"{p.name}: d={p.d}, A={p.actions}, {p.contexts} contexts, alpha={found.alpha:g}"


def plot_title(found: Plan) -> str:
    thetas = len(found.problems)
    over = f"{thetas} theta and {found.seeds} seeds" if thetas > 1 else f"{found.seeds} seeds"
    return f"{title(found)}\nmedian and range over {over}; dashed: not private"


def show(found: Plan, written: list[Path]) -> None:
    rows = [
        (
            one.name,
            "yes" if _private(one) else "no",
            _constants(one),
            _needed(found.needs[one.name]),
            _held(found.needs[one.name]),
        )
        for one in found.algorithms
    ]
    show_table(("algorithm", "private", "constants", "users needed", "intervals held"), rows, title(found))
    tell(*_sentences(found), "")
    _print_width(found)
    say(*(f"Written: {path}" for path in written))


def _constants(one: Algorithm) -> str:
    if one.factors is not None:
        return "printed × " + " and ".join(f"{factor:g}" for factor in dict.fromkeys(one.factors))
    return "printed" if one.movable else "ridge regression's"


def _needed(needs: tuple[Need, ...]) -> str:
    """One answer, or the range over the candidates for theta."""
    known = sorted(n.users for n in needs if n.users is not None)
    parts = []
    if known:
        text = amount(known[0])
        if len(known) > 1 and amount(known[-1]) != text:
            text += f" to {amount(known[-1])}"
        parts.append(text + (", extrapolated" if any(n.status == "extrapolated" for n in needs) else ""))
    if never := [n.missed for n in needs if n.status == "not reached"]:
        limit = max(m for m in never if m is not None)
        text = f"not at {amount(limit)}"
        parts.append(text if len(never) == len(needs) else f"{text} for {len(never)} of {len(needs)} theta")
    if none := sum(n.status == "no gap" for n in needs):
        text = "none: nothing to learn"
        parts.append(text if none == len(needs) else f"{text} for {none} of {len(needs)} theta")
    return "; ".join(parts)


def _held(needs: tuple[Need, ...]) -> str:
    shares = [n.curve.covered for n in needs if n.curve is not None and n.curve.covered is not None]
    return f"{min(shares):.0%} of runs" if shares else "not looked at"


def _sentences(found: Plan) -> list[str]:
    p = found.problems[0]
    many = len(found.problems)
    out = [
        f"Users needed: the number T after which regret is at most {found.target:g} of what acting at random "
        f"costs over the same T users, known to a factor of {2**RESOLUTION:.2g}.",
        "The printed algorithm is not private, whatever alpha: lpcb explain prop-4.1-matrix says why.",
    ]
    if many > 1:
        out.append(f"Theta is not known: ranges are over {many} unit vectors drawn with seed {found.seed}.")
    if all(q.uniform_regret == 0 for q in found.problems):
        why = "there is one action" if p.actions == 1 else "all actions are equally good"
        return [*out, f"There is nothing to learn: {why} in every context, so acting at random is optimal."]
    _, repaired = found.worst("repaired")
    _, open_ = found.worst("not private")
    if repaired.users is not None and open_.users is not None:
        ratio = repaired.users / open_.users
        out.append(f"Privacy with the printed constants costs {amount(ratio)} times as many users.")
    if repaired.users is None or repaired.users > PEOPLE:
        out.append(f"The repaired algorithm needs more users than there are people ({amount(PEOPLE)}).")
    if any(n.status == "extrapolated" for needs in found.needs.values() for n in needs):
        out.append(
            f"Beyond {amount(MAX_HORIZON)} users nothing is simulated: extrapolated numbers come from runs "
            "of that length with smaller constants, which stand for longer ones by the constants' formulas."
        )
    if any(n.lost for needs in found.needs.values() for n in needs):
        names = [name for name, needs in found.needs.items() if any(n.lost for n in needs)]
        longest = max(n.lost for name in names for n in found.needs[name] if n.lost)
        out.append(
            f"Not for good ({', '.join(names)}): with {amount(longest)} users the target is missed again. "
            "Nothing makes the printed intervals hold, and a best action that they drop is gone."
        )
    out.append("No theorem stands behind the scaled constants; look at how often their intervals held.")
    return out


def _print_width(found: Plan) -> None:
    steps = dominating(found.width)
    top = max(factor for _, factor in steps[1:])
    rows, value = [], 1.0
    for index, (name, factor) in enumerate(steps):
        value = factor if index == 0 else value * factor
        mark = "largest" if index and factor == top else ""
        rows.append((name, "" if index == 0 else f"× {factor:.3g}", f"{value:.2g}", mark))
    title = f"Where the repaired interval comes from, at T = {amount(found.width_horizon)}"
    show_table(("step", "factor", "mean width", ""), rows, title, frozenset({"factor", "mean width"}))


@checked
def amount(x: Annotated[float, Range(0, math.inf, "[)")]) -> str:
    """A number of users for reading.

    >>> amount(1448), amount(8.3e9), amount(1.34e19)
    ('1400', '8.3e9', '1.3e19')
    """
    if x < 1e5:
        digits = max(0, math.floor(math.log10(x)) - 1) if x >= 1 else 0
        return f"{round(x, -digits):.0f}"
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
