"""A user's report under the black-box auditor: the second way to every loss that is known exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lpcb.arrays import Array
from lpcb.lplr.update import Statistics
from lpcb.mechanisms import Mechanism
from lpcb.protocol import Client, View
from verification.audit import audit
from verification.claim import Context
from verification.evidence.losses import Place
from verification.experiments.views import worst_update
from verification.verdict import FALSE_ALARM, Evidence, Finding, Measure

SAMPLES = {"quick": 200_000, "standard": 1_000_000, "thorough": 6_000_000}


def black_box(context: Context, statistic: str, place: Place, share: float) -> Finding:
    """Audits the release on the worst pair found, by samples alone, against ``share`` of alpha.

    A lower bound above the exact loss would mean that one of the two is wrong: an error, not a verdict.
    """
    view = place.view(context)
    worst = worst_update(view, statistic, context.rng("pair"))
    client = Client(0, view.spec)
    tables = [client.statistics(view, *user) for user in worst.pair]
    names = ("count", "vector", "matrix") if statistic == "joint" else (statistic,)
    release = _Release(view, names, tables)
    n, allowed = SAMPLES[context.setting.profile], share * place.alpha
    if context.setting.without:
        n //= 10  # the repair matrix is decided by the exact loss
    seed = int(context.rng("audit").integers(2**31))
    result = audit(release, allowed, pair=(0, 1), confidence=1 - FALSE_ALARM, samples=n, seed=seed)
    if result.epsilon_low > worst.attained * (1 + 1e-9):
        raise ArithmeticError(f"audit shows {result.epsilon_low:g}, the exact loss is {worst.attained:g}")
    refuted = result.verdict == "REFUTED"
    evidence = Evidence(
        check="black-box audit",
        grade="tested",
        role="decides" if refuted else "supports",
        scope=f"{place.name}, the worst pair found, outputs only",
        verdict="REFUTED" if refuted else "UNDECIDED",
        value=result.epsilon_low,
        bound=allowed,
        interval=(result.epsilon_low, worst.upper),
        false_alarm=FALSE_ALARM,
        detectable=max(result.detectable, 0.0),
        samples=result.samples,
        note=f"shows a loss of at least {result.epsilon_low:.4g}; exact {worst.attained:.4g}",
        counterexample={"place": place.name} | worst.as_dict() if refuted else None,
    )
    shown = Measure(
        result.epsilon_low, (result.epsilon_low, worst.upper), note="lower bound by samples alone"
    )
    return Finding((evidence,), {"loss shown by samples": shown})


class _Release:
    """The cells in which the two users differ, as one randomizer of the user's number 0 or 1."""

    def __init__(self, view: View, names: tuple[str, ...], tables: list[Statistics]) -> None:
        self.parts: list[tuple[Mechanism, Array, Array]] = []
        for name in names:
            one, two = (getattr(table, name) for table in tables)
            cells = np.flatnonzero((one != two).reshape(len(one), -1).any(axis=1))
            mechanism: Any = getattr(view.update, name)
            self.parts.append((replace(mechanism, unit=mechanism.unit[cells]), one[cells], two[cells]))

    def __call__(self, value: int, rng: np.random.Generator, size: int) -> Array:
        columns = [
            mechanism.release(two if value else one, rng, size).reshape(size, -1)
            for mechanism, one, two in self.parts
        ]
        return np.concatenate(columns, axis=1)
