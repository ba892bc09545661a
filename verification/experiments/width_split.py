"""Where the width of a printed interval comes from on the mid-size problem of the report."""

from __future__ import annotations

from lpcb import problem as problems
from lpcb import widths
from lpcb.problem import Problem


def mid_size() -> Problem:
    return problems.random(2, 2, 16, seed=0)


def split(horizon: int) -> dict[str, float]:
    """:func:`lpcb.widths.split` of :func:`mid_size`."""
    return widths.split(mid_size(), horizon)


def shares(horizon: int) -> dict[str, float]:
    """:func:`lpcb.widths.shares` of :func:`mid_size`."""
    return widths.shares(mid_size(), horizon)
