"""Runs rows: plans the tasks, sends them out, keeps what is finished, and writes the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification import baseline
from verification.claim import Arrays, Setting, merge_shards
from verification.deadline import LONGEST
from verification.execute import (
    Call,
    Orders,
    Result,
    RowTask,
    Send,
    ShardTask,
    Task,
    parse_executor,
)
from verification.fingerprint import surroundings, versions
from verification.leaving import StopRunError
from verification.pool import WorkersLostError
from verification.registry import Registry, Row, load
from verification.reportfile import studies_at_hand, write_report
from verification.row import run_row
from verification.serialise import canonical_json, write_atomic
from verification.stopping import stoppable
from verification.store import Store, open_store
from verification.verdict import PROFILES, VARIANTS, Profile, Variant

__all__ = ["ROW_TIMEOUT", "Event", "Run", "assemble", "passed", "run_row", "verify"]

ROW_TIMEOUT = 600.0
"""Seconds that one row or one shard may take."""


class NotStoredError(Exception):
    """There is no room for a result."""


class IncompleteError(RuntimeError):
    """A run that could not even write down how far it came."""


@dataclass(frozen=True)
class Event:
    """A task has finished, or was found finished: for progress bars."""

    task: Task
    done: int
    total: int
    row: Mapping[str, Any] | None


@dataclass(frozen=True)
class Run:
    """A report, and what stopped the run before its end, if anything did."""

    report: dict[str, Any]
    trouble: str | None


def verify(
    claims: Sequence[str],
    variants: Sequence[Variant],
    profile: Profile,
    seed: int,
    out: Path,
    *,
    modules: Sequence[str] = (),
    jobs: int = 1,
    executor: str = "local",
    resume: bool = False,
    row_timeout: float = ROW_TIMEOUT,
    expectations: baseline.Expectations | None = None,
    progress: Callable[[Event], None] = lambda event: None,
) -> Run:
    """Check ``claims`` (all if empty) and write the reports to ``out``.

    The report depends on the arguments up to ``seed`` alone, not on how the work is spread or resumed.
    ``executor`` is "local", "dask://HOST:PORT", or "in-process" for a debugger: without workers, so that a
    claim can hang the run or end it.
    """
    orders = make_orders(modules, profile, seed, row_timeout)
    registry = load(orders.modules)
    rows = registry.rows(claims, variants)
    if not rows:
        raise ValueError(f"no claim of {list(claims)} has a variant in {list(variants)}")
    every = [*rows, *registry.repair_rows(rows)]
    expected = baseline.expectations() if expectations is None else expectations
    send = parse_executor(executor, jobs)
    try:
        with (
            stoppable() as stops,
            studies_at_hand(),
            open_store(out, orders.fingerprint, resume) as store,
        ):
            work = _Work(registry, orders, store, every, progress)
            trouble = work.run(send)
            with stops.held():
                found = {task.row: row for task, row in work.rows.items()}
                report = assemble(rows, every[len(rows) :], found, orders, expected)
                _write(report, work.seconds, out)
    except StopRunError:
        raise IncompleteError(f"it was interrupted again before {out} was written") from None
    return Run(report, trouble)


def _write(report: dict[str, Any], seconds: Mapping[str, float], out: Path) -> None:
    try:
        write_report(report, out)
        write_atomic(out / "timings.json", canonical_json({"schema": 1, "seconds": seconds}))
    except OSError as error:
        what = f"the reports could not be written to {out} ({error.strerror})"
        raise IncompleteError(f"{what}; what lies there is of an earlier run") from error


def make_orders(modules: Sequence[str], profile: Profile, seed: int, timeout: float) -> Orders:
    if seed < 0:
        raise ValueError(f"seed is a whole number from 0, not {seed}")
    if not 0 < timeout <= LONGEST:
        raise ValueError(f"row-timeout is a positive number of seconds up to {LONGEST:g}, not {timeout}")
    names = resolve(modules)
    return Orders(names, as_profile(profile), seed, timeout, surroundings(names))


def resolve(modules: Sequence[str]) -> tuple[str, ...]:
    """Files by their full path: workers may have another current directory."""
    return tuple(str(Path(name).resolve()) if name.endswith(".py") else name for name in modules)


def as_profile(text: str) -> Profile:
    for profile in PROFILES:
        if text == profile:
            return profile
    raise ValueError(f"profile is one of {', '.join(PROFILES)}, not {text!r}")


def as_variants(text: str) -> tuple[Variant, ...]:
    """``all``, or the name of one variant."""
    chosen = tuple(variant for variant in VARIANTS if text in ("all", variant))
    if not chosen:
        raise ValueError(f"variant is one of all, {', '.join(VARIANTS)}, not {text!r}")
    return chosen


def assemble(
    rows: Iterable[Row],
    repairs: Iterable[Row],
    found: Mapping[Row, Mapping[str, Any]],
    orders: Orders,
    expected: baseline.Expectations,
) -> dict[str, Any]:
    """The report on ``rows`` and ``repairs``; incomplete when one of them was not ``found``."""
    rows, repairs = list(rows), list(repairs)
    judged = [baseline.judge(found[row], orders.profile, expected) for row in rows if row in found]
    matrix = [
        {"repair": min(row.without), "id": row.claim} | {k: found[row][k] for k in ("verdict", "reason")}
        for row in repairs
        if row in found
    ]
    return {
        "schema": 1,
        "seed": orders.seed,
        "profile": orders.profile,
        "complete": all(row in found for row in [*rows, *repairs]),
        "versions": versions(),
        "rows": judged,
        "repairs": sorted(matrix, key=lambda entry: (entry["repair"], entry["id"])),
    }


def passed(report: Mapping[str, Any]) -> bool:
    """Every row is as expected, and every repair that a claim guards is shown to be necessary."""
    return all(row["passed"] for row in report["rows"]) and all(
        entry["verdict"] == "REFUTED" for entry in report["repairs"]
    )


class _Work:
    """The state of one run: which tasks are left, and what the finished ones gave."""

    def __init__(
        self,
        registry: Registry,
        orders: Orders,
        store: Store,
        rows: Sequence[Row],
        progress: Callable[[Event], None],
    ) -> None:
        self.registry, self.orders, self.store, self.progress = registry, orders, store, progress
        self.tasks = [RowTask(row) for row in rows]
        # The first claim that declares an experiment owns it, so that claims share its tasks.
        pairs = [(e.name, claim.id) for claim in registry.claims.values() for e in claim.experiments]
        self.owners = dict(reversed(pairs))
        self.shards = {task: self._shards_of(task.row) for task in self.tasks}
        self.total = len(self.tasks) + len({s for shards in self.shards.values() for s in shards})
        self.rows: dict[RowTask, Mapping[str, Any]] = {}
        self.seconds: dict[str, float] = {}

    def run(self, send: Send) -> str | None:
        """Shards and the rows that need none, then the other rows. Says what stopped it, if anything."""
        free = [task for task in self.tasks if not self.shards[task]]
        shards = dict.fromkeys(shard for task in self.tasks for shard in self.shards[task])
        try:
            self._run_all([*shards, *free], send)
            self._run_all([task for task in self.tasks if self.shards[task]], send)
        except StopRunError:
            return "it was interrupted"
        except (WorkersLostError, NotStoredError) as error:
            return str(error)
        return None

    def _run_all(self, tasks: Sequence[Task], send: Send) -> None:
        left = []
        for task in tasks:
            if stored := self.store.load(task):
                self._finish(stored)
            else:
                left.append(task)
        if left:
            # Closed at once when something stops the run: its workers end with it.
            with closing(send(self._calls(left))) as results:
                for result in results:
                    if result.final:
                        self._store(result)
                    self._finish(result)

    def _store(self, result: Result) -> None:
        try:
            self.store.save(result)
        except OSError as error:
            raise NotStoredError(f"{result.task.name} could not be stored ({error.strerror})") from error

    def _calls(self, tasks: Sequence[Task]) -> Iterator[Call]:
        for task in tasks:
            arrays = self._arrays(task) if isinstance(task, RowTask) else {}
            yield Call(task, self.orders, self.orders.fingerprint, arrays)

    def _finish(self, result: Result) -> None:
        self.seconds[result.task.key] = round(result.seconds, 3)
        if isinstance(result.task, RowTask) and result.row is not None:
            self.rows[result.task] = result.row
        self.progress(Event(result.task, len(self.seconds), self.total, result.row))

    def _shards_of(self, row: Row) -> list[ShardTask]:
        profile = self.orders.profile
        setting = Setting(row.variant, profile, self.orders.seed, row.without)
        experiments = self.registry.claim(row.claim).experiments
        for experiment in experiments:
            if profile not in experiment.shards:
                raise ValueError(f"experiment {experiment.name!r} has no shards for profile {profile}")
        return [
            ShardTask(self.owners[experiment.name], experiment.name, setting, index)
            for experiment in experiments
            for index in range(experiment.shards[profile])
        ]

    def _arrays(self, task: RowTask) -> dict[str, Arrays]:
        """What the row's experiments gave, merged by index; those with a failed shard are left out."""
        parts: dict[str, list[Arrays | None]] = {}
        for shard in self.shards[task]:
            stored = self.store.load(shard)
            parts.setdefault(shard.experiment, []).append(stored.arrays if stored else None)
        merged = {}
        for name, arrays in parts.items():
            whole = [part for part in arrays if part is not None]
            if len(whole) == len(arrays):
                # Shards that do not fit together: the row merges them again, and reports what happened.
                with suppress(Exception):
                    merged[name] = merge_shards(whole)
        return merged
