"""A numeric step of a proof, as printed, and the evidence on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from verification.evidence.enclosure.box import Box
from verification.evidence.enclosure.search import PRECISION, Proved, Refuted, Result, Undecided
from verification.verdict import Evidence, Role


@dataclass(frozen=True)
class Step:
    """One step: its label in the paper, what is printed, for which parameters, and how it is decided.

    ``corrected`` is the form that is true, where the printed one is not; it is shown when the step is
    refuted. A step whose correction matters gets a further step that decides the corrected form.
    """

    label: str
    printed: str
    scope: str
    decide: Callable[[], Result]
    corrected: str = ""
    role: Role = "decides"


def step_evidence(step: Step) -> Evidence:
    """What is known of ``step``: the value is left minus right side at its largest, the bound 0."""
    return result_evidence(
        step.label,
        step.decide(),
        scope=step.scope,
        note=step.printed,
        corrected=step.corrected,
        role=step.role,
    )


def result_evidence(
    check: str, result: Result, *, scope: str, note: str, corrected: str = "", role: Role = "decides"
) -> Evidence:
    """Evidence of grade ``proved`` from what the engine found about lhs − rhs ≤ 0."""
    if isinstance(result, Proved):
        how = f"{note}. Proved on {result.boxes} box{'es' * (result.boxes > 1)}"
        top = result.bound
        return Evidence(check, "proved", role, scope, "HOLDS", top, 0.0, (float("-inf"), top), note=how)
    if isinstance(result, Refuted):
        example: dict[str, Any] = {name: float(x) for name, x in result.point.items()}
        against = f"{note}. False: left side minus right side is {result.low:.6g} at {_text(result.point)}"
        return Evidence(
            check,
            "proved",
            role,
            scope,
            "REFUTED",
            result.low,
            0.0,
            (result.low, result.high),
            note=f"{against}. Corrected: {corrected}" if corrected else against,
            counterexample=example,
        )
    ends = ", ".join(f"{n} in [{float(lo):.6g}, {float(hi):.6g}]" for n, lo, hi in result.smallest)
    left = f"{note}. Open on {ends}, where left minus right is at most {result.bound:.3g}"
    return Evidence(
        check, "proved", role, scope, "UNDECIDED", result.bound, 0.0, (float("-inf"), result.bound), note=left
    )


def at_points(excess: Callable[..., Fraction], points: Iterable[Mapping[str, int | Fraction]]) -> Result:
    """Decide excess ≤ 0 exactly, in fractions, at ``points``; the caller says why these are enough.

    For a function that is linear on each of a few cones, their generators are. For an identity the excess
    is the absolute difference.
    """
    checked = [{name: Fraction(x) for name, x in point.items()} for point in points]
    if not checked:
        raise ValueError("no points, no proof")
    worst = float("-inf")
    for point in checked:
        value = excess(**point)
        if value > 0:
            return Refuted(dict(point), float(value), float(value))
        worst = max(worst, float(value))
    spans = {name: (min(p[name] for p in checked), max(p[name] for p in checked)) for name in checked[0]}
    return Proved(Box(**spans), " ".join(["v"] * len(checked)), PRECISION, worst)


def all_of(results: Iterable[Result]) -> Result:
    """Refuted if one is, or else undecided if one is, or else all proved and the last stands for all."""
    proofs: list[Proved] = []
    left: Undecided | None = None
    for result in results:
        if isinstance(result, Refuted):
            return result  # no need to look at the rest
        if isinstance(result, Proved):
            proofs.append(result)
        else:
            left = left or result
    if left is not None:
        return left
    trees, worst = " ".join(proof.tree for proof in proofs), max(proof.bound for proof in proofs)
    return replace(proofs[-1], tree=trees, bound=worst)


def _text(point: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} = {float(x):.6g}" for name, x in point.items())
