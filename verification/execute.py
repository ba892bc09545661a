"""Does the work of a run: tasks small enough to send to a worker, and the ways to send them there."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool

from verification.claim import Arrays, Setting
from verification.deadline import DeadlineError, deadline
from verification.fingerprint import fingerprint
from verification.registry import Row, load
from verification.row import run_row, undecided
from verification.threads import single_thread
from verification.verdict import Profile

CONNECT_SECONDS = 20.0
"""How long a Dask scheduler may take to answer."""


@dataclass(frozen=True)
class Orders:
    """What every task of a run needs to know; claims are looked up where the task runs."""

    modules: tuple[str, ...]
    profile: Profile
    seed: int
    timeout: float

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.modules, self.profile, self.seed)


@dataclass(frozen=True)
class ShardTask:
    """One shard of an experiment; ``claim`` is any claim that declares it."""

    claim: str
    experiment: str
    setting: Setting
    index: int

    @property
    def key(self) -> str:
        return f"shards/{quote(self.experiment, safe='')}/{'-'.join(self.setting.key)}/{self.index}.npz"


@dataclass(frozen=True)
class RowTask:
    """One row, given the experiments that it looks at."""

    row: Row

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


def execute(call: Call) -> Result:
    """Run one task, here or in a worker. The only thing that is ever sent to a worker."""
    if call.orders.fingerprint != call.expected:
        raise ValueError("the workers run other code or libraries than this process; restart the cluster")
    start = time.perf_counter()
    if isinstance(call.task, ShardTask):
        fields = _shard(call.task, call.orders)
    else:
        fields = timed_row(call.task.row, call.orders, call.arrays)
    return Result(call.task, time.perf_counter() - start, **fields)


def timed_row(row: Row, orders: Orders, arrays: Mapping[str, Arrays] | None = None) -> dict[str, Any]:
    """The row, UNDECIDED when it takes too long, and whether the answer is final."""
    claim = load(orders.modules).claim(row.claim)
    profile, seed = orders.profile, orders.seed
    try:
        with deadline(orders.timeout):
            out = run_row(claim, row.variant, profile, seed, without=row.without, experiments=arrays)
            return {"row": out}
    except DeadlineError:
        reason = f"no answer within the time limit of {orders.timeout:g} s"
        return {"row": undecided(claim, row.variant, reason, "DeadlineError"), "final": False}


def _shard(task: ShardTask, orders: Orders) -> dict[str, Any]:
    """A shard that fails is left out: the row computes it again, and reports what happened."""
    single_thread()
    try:
        experiment = load(orders.modules).experiment(task.claim, task.experiment)
        with deadline(orders.timeout):
            return {"arrays": experiment.shard(task.setting, task.index)}
    except (Exception, DeadlineError):
        return {"final": False}


class WorkersLostError(Exception):
    """Workers died or went away before the work was done."""


def run_local(calls: Iterable[Call], jobs: int) -> Iterator[Result]:
    """Results as they come, from ``jobs`` processes of this machine (-1: as many as it has cores)."""
    parallel = joblib.Parallel(
        n_jobs=jobs, backend="loky", return_as="generator_unordered", batch_size=1, max_nbytes=None
    )
    with warnings.catch_warnings():
        # Stopping early on purpose is what joblib would warn about.
        warnings.filterwarnings("ignore", message=".*tasks.*", category=UserWarning)
        try:
            with closing(parallel(joblib.delayed(execute)(call) for call in calls)) as results:
                yield from results
        except BrokenProcessPool:
            raise WorkersLostError("a worker process died") from None


def run_dask(calls: Iterable[Call], address: str) -> Iterator[Result]:
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
        submitted = [client.submit(execute, call, pure=False) for call in islice(waiting, ahead)]
        pending = distributed.as_completed(submitted, loop=client.loop)
        for future in pending:
            try:
                result = future.result()
            except lost as error:
                raise WorkersLostError(f"the Dask cluster lost a worker ({error})") from None
            yield result
            pending.update(client.submit(execute, call, pure=False) for call in islice(waiting, 1))


def parse_executor(executor: str, jobs: int) -> Callable[[Iterable[Call]], Iterator[Result]]:
    """``local`` or ``dask://HOST:PORT``, as a function from calls to results."""
    if jobs == 0 or jobs < -1:
        raise ValueError(f"jobs is at least 1, or -1 for one per core, not {jobs}")
    if executor == "local":
        return lambda calls: run_local(calls, jobs)
    scheme, _, address = executor.partition("://")
    if scheme == "dask" and address:
        return lambda calls: run_dask(calls, f"tcp://{address}")
    raise ValueError(f"executor is 'local' or 'dask://HOST:PORT', not {executor!r}")
