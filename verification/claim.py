"""The one shape every claim has, and what a check is given to work with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpcb.spec import REPAIRS, Spec
from verification.seeds import generator
from verification.verdict import Finding, Profile, Variant

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Setting:
    """What is asked of the algorithm: a variant, a profile, and repairs switched off one by one."""

    variant: Variant
    profile: Profile
    seed: int = 0
    without: frozenset[str] = frozenset()

    def spec(self, **parameters: Any) -> Spec:
        """The specification under test: PAPER, or REPAIRED less what is switched off."""
        repairs = frozenset() if self.variant == "paper" else REPAIRS - self.without
        return Spec(**parameters, repairs=repairs)

    @property
    def key(self) -> tuple[str, ...]:
        return (self.variant, self.profile, *sorted(self.without))

    def rng(self, *key: str | int) -> np.random.Generator:
        """The randomness for ``key`` alone, whatever else runs."""
        return generator(self.seed, *self.key, *key)


@dataclass(frozen=True)
class Experiment:
    """A simulation that several claims look at, in independent shards of plain arrays.

    ``run(setting, rng)`` computes one shard; shards differ only in ``rng``.
    """

    name: str
    run: Callable[[Setting, np.random.Generator], Arrays]
    shards: Mapping[Profile, int]

    def shard(self, setting: Setting, index: int) -> Arrays:
        rng = setting.rng("experiment", self.name, index)
        # One memory layout, whether a shard comes from this process or from a file: sums depend on it.
        arrays = {key: np.ascontiguousarray(value) for key, value in self.run(setting, rng).items()}
        if odd := sorted(key for key, value in arrays.items() if value.dtype.hasobject):
            raise ValueError(f"experiment {self.name!r} returns {odd}, which are not plain arrays")
        return arrays

    def __hash__(self) -> int:
        return hash(self.name)


@lru_cache(maxsize=64)
def _all_shards(experiment: Experiment, setting: Setting) -> Arrays:
    return merge_shards([experiment.shard(setting, i) for i in range(experiment.shards[setting.profile])])


def merge_shards(parts: Sequence[Arrays]) -> Arrays:
    """Shards in index order, concatenated along their first axis, read-only because checks share them."""
    merged = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    for array in merged.values():
        array.setflags(write=False)
    return merged


@dataclass(frozen=True)
class Context:
    """What a check may look at: the setting, its own randomness, shared experiments."""

    claim: str
    setting: Setting
    experiments: Mapping[str, Arrays] = field(default_factory=dict)

    def rng(self, check: str) -> np.random.Generator:
        return self.setting.rng("check", self.claim, check)

    def result(self, experiment: Experiment) -> Arrays:
        """All shards of ``experiment``: precomputed by the runner, or computed here once per process."""
        if experiment.name in self.experiments:
            return self.experiments[experiment.name]
        return _all_shards(experiment, self.setting)


@dataclass(frozen=True)
class Check:
    """One piece of evidence to be gathered. ``random`` checks spend a fixed false-alarm budget."""

    name: str
    run: Callable[[Context], Finding]
    random: bool


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, its repaired form, and the checks that decide it.

    ``statement`` and ``repaired`` are text with LaTeX between dollar signs; ``repaired`` is None where
    the statement has no repaired variant, ``statement`` where it is ours alone (conformance).
    ``guards`` names the repairs without which the repaired statement is expected to be REFUTED.
    ``baselined`` names the measures whose interval the baseline keeps, so that a change is noticed.
    """

    id: str
    title: str
    statement: str | None
    repaired: str | None
    method: str
    checks: tuple[Check, ...]
    experiments: tuple[Experiment, ...] = ()
    guards: frozenset[str] = frozenset()
    baselined: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", self.id):
            raise ValueError(f"claim id {self.id!r}: letters, digits, dots and hyphens only")
        if not self.checks:
            raise ValueError(f"claim {self.id!r} has no checks")
        if not all(isinstance(check, Check) for check in self.checks):
            raise ValueError(f"claim {self.id!r}: checks are instances of Check")
        if not all(isinstance(experiment, Experiment) for experiment in self.experiments):
            raise ValueError(f"claim {self.id!r}: experiments are instances of Experiment")
        names = [check.name for check in self.checks]
        if len(set(names)) < len(names):
            raise ValueError(f"claim {self.id!r} has two checks of one name: {names}")
        if self.statement is None and self.repaired is None:
            raise ValueError(f"claim {self.id!r} states nothing")
        if unknown := self.guards - REPAIRS:
            raise ValueError(f"claim {self.id!r} guards unknown repairs {sorted(unknown)}")

    @property
    def variants(self) -> tuple[Variant, ...]:
        pairs: tuple[tuple[Variant, str | None], ...] = (
            ("paper", self.statement),
            ("repaired", self.repaired),
        )
        return tuple(name for name, text in pairs if text is not None)

    def text(self, variant: Variant) -> str:
        text = {"paper": self.statement, "repaired": self.repaired}.get(variant)
        if text is None:
            raise ValueError(f"claim {self.id!r} has no variant {variant!r}; it has {self.variants}")
        return text
