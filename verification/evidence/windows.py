"""A fitted exponent against a window fixed beforehand, as evidence."""

from __future__ import annotations

from typing import Any

from verification.evidence.scaling import Slope, slope_detectable
from verification.verdict import Evidence, Role, Verdict


def exponent_evidence(
    check: str,
    fit: Slope,
    window: tuple[float, float],
    *,
    scope: str,
    role: Role = "decides",
    note: str = "",
    example: dict[str, Any] | None = None,
    samples: int = 0,
) -> Evidence:
    """HOLDS if the interval lies in the window, REFUTED if it misses it, UNDECIDED if it does neither.

    ``bound`` is the end of the window that is closer to the fitted exponent.
    """
    low, high = fit.interval
    verdict: Verdict = "UNDECIDED"
    if window[0] <= low and high <= window[1]:
        verdict = "HOLDS"
    elif high < window[0] or low > window[1]:
        verdict = "REFUTED"
    nearest = min(window, key=lambda end: abs(fit.value - end))
    return Evidence(
        check=check,
        grade="fitted",
        role=role,
        scope=scope,
        verdict=verdict,
        value=fit.value,
        bound=nearest,
        interval=fit.interval,
        false_alarm=fit.alpha,
        detectable=slope_detectable(fit),
        samples=samples or fit.seeds,
        note=f"window [{window[0]:g}, {window[1]:g}]" + (f"; {note}" if note else ""),
        counterexample=(example or {"exponent": fit.value, "window": list(window)})
        if verdict == "REFUTED"
        else None,
    )
