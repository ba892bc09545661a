"""Exact privacy loss of a user's report: the worst pair of users on every layer, as evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from lpcb import problem as problems
from lpcb.protocol import View
from verification.claim import Context
from verification.experiments.views import Worst, view_after
from verification.verdict import Evidence, Figure, Finding, Measure, Profile, Series, Verdict

ROUNDING = 1e-9
"""Losses are sums of a few hundred floats; a relative excess of this size is rounding."""


@dataclass(frozen=True)
class Place:
    """Where a report is sent: dimension, actions, alpha, and how many batches came before."""

    d: int
    actions: int
    alpha: float
    batches: int

    @property
    def layer(self) -> int:
        return self.batches // 2 + 1

    @property
    def name(self) -> str:
        return f"d={self.d}, A={self.actions}, alpha={self.alpha:g}, layer {self.layer}"

    def view(self, context: Context) -> View:
        """A view with active bins and, with the printed widths, intervals at their cap: the worst case."""
        spec = context.setting.spec(
            d=self.d, actions=self.actions, horizon=700, delta=0.5, alpha=self.alpha, activation=1e-2
        )
        rng = context.rng(f"view {self.name} {self.batches}")
        return view_after(spec, problems.random(self.d, self.actions, 4, seed=0), self.batches, rng)


def places(profile: Profile, phase: str, actions: Iterable[int]) -> list[Place]:
    """Update batches come at even, interval batches at odd counts."""
    deepest = {"quick": 2, "standard": 3, "thorough": 4}[profile]
    odd = int(phase == "interval")
    out = []
    for d in range(1, 5):
        layers = range(1, d + 1) if d <= deepest else range(1, 2)
        for a in actions if d <= deepest else (min(actions),):
            alphas = (0.1, 1.0) if d <= 2 else (1.0,)
            out += [Place(d, a, alpha, 2 * (h - 1) + odd) for h in layers for alpha in alphas]
    return out


def first_layer(what: str) -> str:
    """The measure that says how tight the noise is: 1 when the worst pair uses up the budget."""
    return f"loss / budget of {what}, first layer"


Search = Callable[[View, np.random.Generator], Worst]


def loss_finding(
    context: Context, where: Iterable[Place], search: Search, share: float, what: str
) -> Finding:
    """Whether the worst loss of ``what`` stays within ``share`` of alpha, everywhere.

    REFUTED by a pair of users that loses more; HOLDS when the upper bound over all pairs is no more.
    """
    found = [(place, search(place.view(context), context.rng(place.name))) for place in where]
    relative = [(w.attained / (share * p.alpha), w.upper / (share * p.alpha)) for p, w in found]
    worst = max(range(len(found)), key=lambda i: relative[i][0])
    place, pair = found[worst]
    attained, upper = relative[worst][0], max(u for _, u in relative)
    verdict: Verdict = "UNDECIDED"
    if attained > 1 + ROUNDING:
        verdict = "REFUTED"
    elif upper <= 1 + ROUNDING:
        verdict = "HOLDS"
    evidence = Evidence(
        check=f"exact loss of {what}",
        grade="exact",
        role="decides",
        scope=f"{len(found)} views, d to 4, alpha in {{0.1, 1}}, all pairs (x, a, y); worst at {place.name}",
        verdict=verdict,
        value=pair.attained,
        bound=share * place.alpha,
        interval=(pair.attained, max(pair.upper, pair.attained)),
        note=f"the worst pair found loses {attained:.4g} times the budget, none more than {upper:.4g} times",
        counterexample={"place": place.name} | pair.as_dict() if verdict == "REFUTED" else None,
    )
    return Finding((evidence,), _measures(found, share, what), (_figure(found, share, what),))


def _measures(found: list[tuple[Place, Worst]], share: float, what: str) -> dict[str, Measure]:
    """Attained over allowed: on the first layer it should be 1 after the repairs, below it is the slack."""
    out = {}
    for label, chosen in (
        (first_layer(what), [f for f in found if f[0].layer == 1]),
        (f"loss / budget of {what}, deeper layers", [f for f in found if f[0].layer > 1]),
    ):
        if chosen:
            ratios = [w.attained / (share * p.alpha) for p, w in chosen]
            out[label] = Measure(
                max(ratios),
                (min(ratios) - ROUNDING, max(ratios) + ROUNDING),
                note="worst pair found; range over views",
            )
    return out


def _figure(found: list[tuple[Place, Worst]], share: float, what: str) -> Figure:
    series = []
    for d in sorted({place.d for place, _ in found}):
        mine = sorted((p.layer, w.attained / (share * p.alpha)) for p, w in found if p.d == d)
        finite = [(h, ratio) for h, ratio in mine if np.isfinite(ratio)]
        if finite:
            x, y = zip(*finite, strict=True)
            series.append(Series(f"d = {d}", [h + 0.06 * (d - 2) for h in x], list(y), style="points"))
    layers = [1, max(place.layer for place, _ in found)]
    series.append(Series("allowed", layers, [1.0, 1.0], style="dashed"))
    return Figure(
        f"Loss of {what} against its budget",
        "The worst pair of users found at each view, over what the claim allows. "
        "Infinite losses are not drawn; see the evidence.",
        "layer",
        "loss / budget",
        tuple(series),
    )
