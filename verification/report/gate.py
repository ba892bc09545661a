"""What the report says about the gate itself: how often it is wrong by chance, and what it would miss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from verification import baseline
from verification.alarms.bounds import Count, count, earlier, whole
from verification.alarms.code import claim_hash, row_code
from verification.alarms.reductions import reduced_hash
from verification.registry import load
from verification.report.model import false_alarm
from verification.report.prose import clean
from verification.report.studies import Kind, read_all
from verification.serialise import number

Json = dict[str, Any]
Studies = Mapping[Kind, Json | None]


@dataclass(frozen=True)
class Power:
    """The smallest violation that one piece of evidence would have caught."""

    row: Json
    evidence: Json


@dataclass(frozen=True)
class GateView:
    """The report's section on the gate; studies that were not made are None."""

    report: Json
    code: Mapping[str, str]
    """The hash of every claim's code, as it is now."""
    ledger: Json | None
    levels: Json | None
    mutants: Json | None

    # --- chance ---

    @property
    def risk(self) -> float:
        return false_alarm(self.report["rows"])

    @property
    def random(self) -> int:
        """Pieces of evidence that rest on chance."""
        return sum(e["false_alarm"] > 0 for row in self.report["rows"] for e in row["evidence"])

    @property
    def measures(self) -> int:
        """Measures that the gate compares with the committed interval, exactly known ones left out."""
        expected = baseline.expectations()
        found = 0
        for row in self.report["rows"]:
            kept = baseline.find(row, self.report["profile"], expected) or {"measures": {}}
            shared = (row["measures"][name] for name in kept["measures"] if name in row["measures"])
            found += sum(number(m["interval"][0]) < number(m["interval"][1]) for m in shared)
        return found

    @property
    def here(self) -> Count:
        """Whole runs with this code."""
        return count(whole(self._entries, self.code).values())

    @property
    def elsewhere(self) -> Count:
        """Runs with earlier code, as far as it has changed."""
        return count(earlier(self._entries, self.code))

    @property
    def unexpected(self) -> list[Json]:
        return [e for e in self._entries if e["unexpected"]]

    @property
    def seconds_per_run(self) -> float | None:
        """Of the fastest run of all claims: the one least disturbed by what else was running."""
        seconds = [e["seconds"] for e in self._entries if set(e["claims"]) >= set(self.code)]
        return min(seconds, default=None)

    @property
    def _entries(self) -> list[Json]:
        return self.ledger["entries"] if self.ledger else []

    # --- levels ---

    @property
    def rejections(self) -> list[Json]:
        """Every check and every measure of the study, those that come nearest to their limits first."""
        lines = [
            {**check, "what": what, "wrong": wrong, "rate": wrong / max(check["seeds"], 1)}
            | {"silent": sum(not any(counts.values()) for counts in check["said"].values())}
            for check in self._checks
            for what, wrong in (("", check["all_wrong"]), *sorted(check["missed"].items()))
        ]
        return sorted(lines, key=lambda line: -line["wrong"] / max(line["limit"], 1))

    @property
    def seeds_per_check(self) -> list[int]:
        """The one number of seeds of all checks of the study, or else the least and the most."""
        counts = [check["seeds"] for check in self._checks] or [0]
        return sorted({min(counts), max(counts)})

    @property
    def speaking(self) -> tuple[int, int]:
        """Pieces of evidence in the study that came to a verdict on some seed, and all of them."""
        told = [any(counts.values()) for c in self._checks for counts in c["said"].values()]
        return sum(told), len(told)

    @property
    def _checks(self) -> list[Json]:
        return self.levels["checks"] if self.levels else []

    @property
    def old_checks(self) -> int:
        """Checks of the study, of claims in this report, whose code has changed since."""
        here = {row["id"] for row in self.report["rows"]} & set(load().claims)
        checks = [(c["row"].split(":")[0], c["code"]) for c in self._checks]
        return sum(claim in here and code != reduced_hash(claim) for claim, code in checks)

    @property
    def beyond(self) -> list[Json]:
        return [line for line in self.rejections if line["wrong"] > line["limit"]]

    # --- mutants ---

    @property
    def survivors(self) -> list[Json]:
        return [m for m in self._mutants if not m["killed"]]

    @property
    def killers(self) -> list[tuple[str, list[str]]]:
        """Rows and the mutants that each was seen to kill, the busiest first."""
        found: dict[str, list[str]] = {}
        for mutant in self._mutants:
            also = [kill["row"] for kill in mutant["also"]]
            for row in [*([mutant["row"]] if mutant["killed"] else []), *also]:
                found.setdefault(row, []).append(mutant["name"])
        return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))

    @property
    def complete(self) -> list[str]:
        """Rows that every mutant was held against: the columns of the full matrix."""
        return self.mutants["complete"] if self.mutants else []

    @property
    def all_rows(self) -> int:
        """The columns that the full matrix has when it is complete."""
        return len(load().rows())

    @property
    def witnesses(self) -> tuple[int, int]:
        """Mutants that more than one row catches, and the median number of rows that catch one."""
        caught = [m["killed"] + len(m["also"]) for m in self._mutants]
        return sum(n > 1 for n in caught), int(median(caught)) if caught else 0

    @property
    def blind(self) -> list[str]:
        """Rows of the full matrix that catch no mutant."""
        busy = {row for row, _ in self.killers}
        return [row for row in self.complete if row not in busy]

    @property
    def old_rows(self) -> int:
        """Rows of the matrix, of claims that are still here, whose code has changed since."""
        rows = self.mutants["rows"] if self.mutants else {}
        known = {row: code for row, code in rows.items() if row.partition(":")[0] in self.code}
        return sum(row_code(row) != code for row, code in known.items())

    @property
    def mutants_seconds(self) -> float | None:
        return None if self.mutants is None else float(sum(self.mutants["seconds"].values()))

    @property
    def _mutants(self) -> list[Json]:
        return self.mutants["mutants"] if self.mutants else []

    # --- power ---

    @property
    def powers(self) -> list[Power]:
        """All evidence that states what it would detect, in the report's order."""
        return [
            Power(row, e)
            for row in self.report["rows"]
            for e in row["evidence"]
            if e["detectable"] is not None
        ]


def gate_view(report: Json, studies: Studies | None = None) -> GateView:
    """With the committed studies, unless others are given."""
    found = clean(dict(read_all() if studies is None else studies))
    code = {claim: claim_hash(claim) for claim in load().claims}
    return GateView(report, code, found["seeds"], found["levels"], found["mutants"])
