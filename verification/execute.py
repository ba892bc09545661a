"""Does the work of a run: tasks small enough to send to a worker, and the ways to send them there."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any
from urllib.parse import quote, urlsplit

import joblib

from verification.claim import Arrays, Setting
from verification.deadline import DeadlineError, deadline
from verification.fingerprint import fingerprint
from verification.isolation import put_back
from verification.leaving import staying
from verification.pool import WorkersLostError, run_pool
from verification.registry import Row, load
from verification.row import run_row, tidy_traceback, undecided
from verification.soundness import sound
from verification.threads import single_thread
from verification.verdict import Profile

CONNECT_SECONDS = 20.0
"""How long a Dask scheduler may take to answer."""

GRACE = 20.0
"""How long after a task's time limit its answer may come. Then it will not come, and its worker is killed."""


@dataclass(frozen=True)
class Orders:
    """What every task of a run needs to know; claims are looked up where the task runs."""

    modules: tuple[str, ...]
    profile: Profile
    seed: int
    timeout: float
    around: str = ""
    """What the modules may depend on besides their code: not looked at again by workers."""

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.modules, self.profile, self.seed, self.around)


@dataclass(frozen=True)
class ShardTask:
    """One shard of an experiment; ``claim`` is any claim that declares it."""

    claim: str
    experiment: str
    setting: Setting
    index: int

    @property
    def name(self) -> str:
        return f"experiment {self.experiment!r}, shard {self.index}"

    @property
    def key(self) -> str:
        return f"shards/{quote(self.experiment, safe='')}/{'-'.join(self.setting.key)}/{self.index}.npz"


@dataclass(frozen=True)
class RowTask:
    """One row, given the experiments that it looks at."""

    row: Row

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def key(self) -> str:
        return f"rows/{self.row.name.replace(':', '/')}.json"


Task = ShardTask | RowTask


@dataclass(frozen=True)
class Result:
    """What a task gave. Only ``final`` results are stored; others are tried again on ``--resume``."""

    task: Task
    seconds: float
    row: dict[str, Any] | None = None
    arrays: Arrays | None = None
    final: bool = True


@dataclass(frozen=True)
class Call:
    """A task with its input, as it is sent to a worker."""

    task: Task
    orders: Orders
    expected: str
    arrays: Mapping[str, Arrays]


Send = Callable[[Iterable[Call]], Generator[Result]]
"""A way to have calls executed: the results as they come, closed when no more are wanted."""


def execute(call: Call) -> Result:
    """Run one task, here or in a worker. The only thing that is ever sent to a worker."""
    if call.orders.fingerprint != call.expected:
        raise ValueError("the workers run other code or libraries than this process; restart the cluster")
    start = time.perf_counter()
    if isinstance(call.task, ShardTask):
        fields = _shard(call.task, call.orders)
    else:
        try:
            fields = timed_row(call.task.row, call.orders, call.arrays)
        except KeyboardInterrupt as error:
            # The user's own Ctrl-C is a StopRunError, and does not reach workers: a check has raised this.
            claim = load(call.orders.modules).claim(call.task.row.claim)
            reason = "a check raised KeyboardInterrupt"
            row = undecided(claim, call.task.row.variant, reason, tidy_traceback(error))
            fields = {"row": row}
    return Result(call.task, time.perf_counter() - start, **fields)


def timed_row(row: Row, orders: Orders, arrays: Mapping[str, Arrays] | None = None) -> dict[str, Any]:
    """The row, UNDECIDED when it takes too long, and whether the answer is final."""
    claim = load(orders.modules).claim(row.claim)
    profile, seed = orders.profile, orders.seed
    single_thread()  # before anything is put back: this is to stay
    try:
        with put_back(), deadline(orders.timeout):
            out = run_row(claim, row.variant, profile, seed, without=row.without, experiments=arrays)
    except DeadlineError:
        return _late_row(row, orders)
    return {"row": sound(claim, row.variant, out)}


def _late_row(row: Row, orders: Orders) -> dict[str, Any]:
    """What is said of a row that took too long. It is not final: --resume tries it again."""
    reason = f"no answer within the time limit of {orders.timeout:g} s"
    claim = load(orders.modules).claim(row.claim)
    return {"row": undecided(claim, row.variant, reason, "DeadlineError"), "final": False}


def _shard(task: ShardTask, orders: Orders) -> dict[str, Any]:
    """A shard that fails is left out: the row computes it again, and reports what happened."""
    single_thread()
    try:
        experiment = load(orders.modules).experiment(task.claim, task.experiment)
        with put_back(), deadline(orders.timeout), staying():
            return {"arrays": experiment.shard(task.setting, task.index)}
    except (Exception, DeadlineError, KeyboardInterrupt):
        return {"final": False}


def run_local(calls: Iterable[Call], jobs: int) -> Generator[Result]:
    """Results as they come, from ``jobs`` processes of this machine (-1: as many as it has cores).

    Even a single job gets a process: one that dies, or never returns from a call into C, can be replaced.
    """
    rest = iter(calls)
    for first in rest:  # at most once: the pool takes all the others
        limit = first.orders.timeout + GRACE
        number = joblib.cpu_count() if jobs == -1 else jobs
        yield from run_pool(
            execute,
            chain([first], rest),
            number,
            limit,
            _late,
            lambda call: call.task.name,
            partial(load, first.orders.modules),
        )


def run_here(calls: Iterable[Call]) -> Generator[Result]:
    """Results from this very process, for a debugger.

    A claim that never returns from a call into C stops the run for ever, and one that dies ends it.
    """
    yield from map(execute, calls)


def _late(call: Call) -> Result:
    """Instead of the answer of a worker that had to be killed."""
    task = call.task
    fields = {"final": False} if isinstance(task, ShardTask) else _late_row(task.row, call.orders)
    return Result(task, call.orders.timeout, **fields)


def run_dask(calls: Iterable[Call], address: str) -> Generator[Result]:
    """Results as they come, from the Dask cluster whose scheduler listens at ``address``.

    Not through joblib's Dask backend: that one waits for ever when the scheduler gives a task up.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ModuleNotFoundError:
        raise ValueError("executor: dask needs the extra dependencies lpcb[dask]") from None
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"executor: no Dask scheduler answers at {address}: {error}") from None
    lost = (distributed.KilledWorker, distributed.CancelledError, OSError)
    with client:
        waiting = iter(calls)
        ahead = 2 * max(1, sum(client.ncores().values()))
        first = list(islice(waiting, ahead))
        submitted = [client.submit(execute, call, pure=False) for call in first]
        pending = dict(zip(submitted, first, strict=True))
        while pending:
            limit = max(call.orders.timeout for call in pending.values()) + GRACE
            try:
                with client.as_current():
                    done, _ = distributed.wait(list(pending), limit, "FIRST_COMPLETED")
            except (TimeoutError, distributed.TimeoutError):
                names = ", ".join(call.task.name for call in pending.values())
                raise WorkersLostError(
                    f"the Dask cluster gave no answer for {limit:g} s to {names}"
                ) from None
            for future in done:
                name = pending.pop(future).task.name
                try:
                    result = future.result()
                except lost as error:
                    raise WorkersLostError(f"the Dask cluster lost a worker with {name} ({error})") from None
                yield result
                for call in islice(waiting, 1):
                    pending[client.submit(execute, call, pure=False)] = call


def check_jobs(jobs: int) -> None:
    if jobs == 0 or jobs < -1:
        raise ValueError(f"jobs is at least 1, or -1 for one per core, not {jobs}")


def parse_executor(executor: str, jobs: int) -> Send:
    """``local``, ``in-process`` or ``dask://HOST:PORT``, as a function from calls to results."""
    check_jobs(jobs)
    if executor == "local":
        return lambda calls: run_local(calls, jobs)
    if executor == "in-process":
        return run_here
    if address := _scheduler(executor):
        return lambda calls: run_dask(calls, address)
    raise ValueError(f"executor is 'local', 'in-process' or 'dask://HOST:PORT', not {executor!r}")


def _scheduler(executor: str) -> str | None:
    """The address in ``dask://HOST:PORT``, looked at before anybody waits for an answer from there."""
    try:
        parts = urlsplit(executor)
        whole = parts.scheme == "dask" and parts.hostname and parts.port
    except ValueError:  # a port that is no number, or half an IPv6 address
        return None
    exact = executor == f"dask://{parts.netloc}" and "@" not in parts.netloc
    return f"tcp://{parts.netloc}" if whole and exact else None
