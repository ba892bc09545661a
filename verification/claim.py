"""The one shape every claim has, and what a check is given to work with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verification.seeds import generator
from verification.verdict import Finding, Profile, Variant

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Experiment:
    """A simulation that several claims look at, in independent shards of plain arrays.

    ``run(variant, profile, rng)`` computes one shard; shards differ only in ``rng``.
    """

    name: str
    run: Callable[[Variant, Profile, np.random.Generator], Arrays]
    shards: Mapping[Profile, int]

    def shard(self, variant: Variant, profile: Profile, seed: int, index: int) -> Arrays:
        rng = generator(seed, "experiment", self.name, variant, profile, index)
        return {key: np.asarray(value) for key, value in self.run(variant, profile, rng).items()}


@lru_cache(maxsize=64)
def _all_shards(experiment: Experiment, variant: Variant, profile: Profile, seed: int) -> Arrays:
    parts = [experiment.shard(variant, profile, seed, i) for i in range(experiment.shards[profile])]
    return merge_shards(parts)


def merge_shards(parts: list[Arrays]) -> Arrays:
    """Shards in index order, concatenated along their first axis."""
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


@dataclass(frozen=True)
class Context:
    """What a check may look at: which row it works for, its own randomness, shared experiments."""

    claim: str
    variant: Variant
    profile: Profile
    seed: int
    experiments: Mapping[str, Arrays] = field(default_factory=dict)

    def rng(self, check: str) -> np.random.Generator:
        """The randomness of ``check`` alone, whatever else runs."""
        return generator(self.seed, "check", self.claim, check, self.variant, self.profile)

    def result(self, experiment: Experiment) -> Arrays:
        """All shards of ``experiment``: precomputed by the runner, or computed here once per process."""
        if experiment.name in self.experiments:
            return self.experiments[experiment.name]
        return _all_shards(experiment, self.variant, self.profile, self.seed)


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
    """

    id: str
    title: str
    statement: str | None
    repaired: str | None
    method: str
    checks: tuple[Check, ...]
    experiments: tuple[Experiment, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", self.id):
            raise ValueError(f"claim id {self.id!r}: letters, digits, dots and hyphens only")
        if not self.checks:
            raise ValueError(f"claim {self.id!r} has no checks")
        if self.statement is None and self.repaired is None:
            raise ValueError(f"claim {self.id!r} states nothing")

    @property
    def variants(self) -> tuple[Variant, ...]:
        pairs: tuple[tuple[Variant, str | None], ...] = (
            ("paper", self.statement),
            ("repaired", self.repaired),
        )
        return tuple(name for name, text in pairs if text is not None)

    def text(self, variant: Variant) -> str:
        text = self.statement if variant == "paper" else self.repaired
        if text is None:
            raise ValueError(f"claim {self.id!r} has no variant {variant!r}; it has {self.variants}")
        return text
