"""What the algorithm is compared with: one baseline, one file, all with the same names.

Each module has ``NAME``, ``PRIVACY`` (what is promised to a user), ``FORM`` (when it changes its policy, and
anything else one should know of its simulation), ``stream`` (every user is drawn) and
``aggregate`` (the same law at a cost that does not depend on the horizon, or None).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from lpcb.baselines import (
    elimination_ls,
    input_perturbation,
    ldp_linucb,
    ldp_linucb_doubling,
    linucb,
    linucb_doubling,
    private_statistics,
    uniform,
)
from lpcb.baselines._run import Curve, Simulate

__all__ = ["BASELINES", "Baseline", "Curve"]


@dataclass(frozen=True)
class Baseline:
    """A baseline's module as data; both simulations take the same arguments."""

    name: str
    privacy: str
    form: str
    stream: Simulate
    aggregate: Simulate | None


def _baseline(module: ModuleType) -> Baseline:
    return Baseline(module.NAME, module.PRIVACY, module.FORM, module.stream, module.aggregate)


_MODULES = (
    uniform,
    linucb,
    linucb_doubling,
    elimination_ls,
    ldp_linucb,
    ldp_linucb_doubling,
    private_statistics,
    input_perturbation,
)

BASELINES: dict[str, Baseline] = {module.NAME: _baseline(module) for module in _MODULES}
