"""What so many runs without, or with, an unexpected row say about the probability of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scipy import stats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Count:
    """So many runs, so many of them with an unexpected row."""

    runs: int
    unexpected: int

    @property
    def bound(self) -> float:
        """The exact upper confidence bound on the probability that a run has an unexpected row.

        >>> round(Count(30, 0).bound, 4)
        0.095
        """
        if self.unexpected >= self.runs:
            return 1.0
        return float(stats.beta.isf(1 - CONFIDENCE, self.unexpected + 1, self.runs - self.unexpected))


def count(entries: Iterable[Mapping[str, Any]]) -> Count:
    found = list(entries)
    return Count(len(found), sum(bool(entry["unexpected"]) for entry in found))
