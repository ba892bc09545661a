"""What so many runs without, or with, an unexpected row say about the probability of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

CONFIDENCE = 0.95

Entry = Mapping[str, Any]
"""One run of the ledger: its seed, the hash of each claim's code, the unexpected rows."""


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


def count(unexpected: Iterable[Sequence[str]]) -> Count:
    """From the unexpected rows of each run."""
    found = list(unexpected)
    return Count(len(found), sum(bool(rows) for rows in found))


def whole(entries: Iterable[Entry], code: Mapping[str, str]) -> dict[int, list[str]]:
    """The unexpected rows of every seed at which each claim of ``code`` was run with that code.

    A verdict does not depend on what else ran, so a run may be made in parts: after a change of one claim
    that claim alone is run again.
    """
    ran: dict[int, set[str]] = {}
    rows: dict[int, list[str]] = {}
    for entry in entries:
        mine = {claim for claim, used in entry["claims"].items() if code.get(claim) == used}
        ran.setdefault(entry["seed"], set()).update(mine)
        rows.setdefault(entry["seed"], []).extend(_of(entry, mine))
    return {seed: sorted(set(rows[seed])) for seed in sorted(ran) if ran[seed] >= set(code)}


def earlier(entries: Iterable[Entry], code: Mapping[str, str]) -> list[list[str]]:
    """The unexpected rows of each run, as far as their claims' code has changed since."""
    old = [(e, {claim for claim, used in e["claims"].items() if code.get(claim) != used}) for e in entries]
    return [_of(entry, claims) for entry, claims in old if claims]


def _of(entry: Entry, claims: set[str]) -> list[str]:
    return [row for row in entry["unexpected"] if row.partition(":")[0] in claims]
