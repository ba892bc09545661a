"""Worker processes of this machine: each works on one task, and can be lost or killed without the others."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from joblib.externals.loky.backend import get_context

PREPARATION = 60.0
"""Seconds that a worker has at least to get ready: an import that waits for something must not hang a run."""

LAST_WORDS = 5.0
"""Seconds in which a worker that has closed its connection should have ended."""

LOSSES = 3
"""After so many lost workers a run stops: it is the machine, and not a task."""

T = TypeVar("T")
R = TypeVar("R")


class WorkersLostError(Exception):
    """Workers died or went away before the work was done."""


@dataclass
class _Worker(Generic[T]):
    """A process that waits for tasks at the other end of ``connection``."""

    process: Any
    connection: Connection
    ready: bool = False
    task: T | None = None
    limit: float = math.inf

    def give(self, task: T) -> None:
        self.task = task
        with suppress(OSError):  # a worker that has just died is noticed when its answer is waited for
            self.connection.send(task)

    def start_clock(self, seconds: float) -> None:
        """A task's time runs while it is worked on; while a process starts, that of its preparation."""
        if self.ready:
            self.limit = time.monotonic() + seconds if self.task is not None else math.inf
        elif math.isinf(self.limit):
            self.limit = time.monotonic() + preparation(seconds)

    def end(self) -> None:
        if self.process.is_alive():
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()
        self.connection.close()

    @property
    def epitaph(self) -> str:
        self.process.join(LAST_WORDS)
        code = self.process.exitcode
        if code is None:
            return "it closed its connection"
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def preparation(seconds: float) -> float:
    """How long a worker may take to get ready, whose tasks may take ``seconds``."""
    return max(PREPARATION, seconds)


def run_pool(
    work: Callable[[T], R],
    tasks: Iterable[T],
    jobs: int,
    seconds: float,
    late: Callable[[T], R],
    name: Callable[[T], str],
    prepare: Callable[[], object],
) -> Generator[R]:
    """``work(task)`` for all ``tasks`` as they come, on ``jobs`` processes.

    A worker that has no answer after ``seconds`` is killed and ``late(task)`` taken instead: unlike an
    exception that also ends a call into C. What a dead worker worked on is left out, and said at the end.
    ``prepare`` is what a worker does first; one that is never ready for work counts as dead.
    """
    waiting, workers, lost = iter(tasks), list[_Worker[T]](), list[str]()
    try:
        while True:
            if len(lost) == LOSSES:
                waiting = iter(())
            for worker in _hand_out(lambda: _hire(work, prepare), waiting, workers, jobs):
                worker.start_clock(seconds)
            if not workers:
                break
            left = min(worker.limit for worker in workers) - time.monotonic()
            ready = wait([w.connection for w in workers], None if math.isinf(left) else max(0.0, left))
            for worker in list(workers):
                task = worker.task
                assert task is not None
                if worker.connection in ready:
                    try:
                        answer = worker.connection.recv()
                    except (EOFError, OSError):
                        lost.append(f"{name(task)} ({worker.epitaph})")
                        _dismiss(worker, workers)
                        continue
                    except Exception as error:  # unpickling may fail in any way
                        lost.append(f"{name(task)} (its answer cannot be read: {type(error).__name__})")
                        _dismiss(worker, workers)
                        continue
                    if not worker.ready:
                        worker.ready = True
                        worker.start_clock(seconds)
                        continue
                    worker.task = None
                    if isinstance(answer, BaseException):
                        raise answer
                    yield answer
                elif time.monotonic() >= worker.limit:
                    _dismiss(worker, workers)
                    if worker.ready:
                        yield late(task)
                    else:
                        lost.append(f"{name(task)} (killed, not ready after {preparation(seconds):g} s)")
    finally:
        for worker in workers:
            worker.end()
    if lost:
        raise WorkersLostError(f"a worker process died while it worked on {', '.join(lost)}")


def _hand_out(
    hire: Callable[[], _Worker[T]], waiting: Iterator[T], workers: list[_Worker[T]], jobs: int
) -> Iterator[_Worker[T]]:
    """Gives tasks to free workers and to new ones, and dismisses who is no longer needed."""
    for idle in [w for w in workers if w.task is None and not w.process.is_alive()]:
        _dismiss(idle, workers)
    free = [w for w in workers if w.task is None]
    while free or len(workers) < jobs:
        task = next(waiting, None)
        if task is None:
            break
        if not free:
            free.append(hire())
            workers += free
        worker = free.pop()
        worker.give(task)
        yield worker
    for idle in free:
        _dismiss(idle, workers)


def _dismiss(worker: _Worker[T], workers: list[_Worker[T]]) -> None:
    workers.remove(worker)
    worker.end()


def _hire(work: Callable[[T], R], prepare: Callable[[], object]) -> _Worker[T]:
    # Loky's processes start from nothing, and do not run the caller's main module again.
    context = get_context("loky")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(work, prepare, there), daemon=True)
    process.start()
    there.close()  # so that the worker's death is seen as the end of the stream
    return _Worker(process, here)


def _serve(work: Callable[[Any], Any], prepare: Callable[[], object], connection: Connection) -> None:
    """What a worker does until nobody is there any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    with suppress(Exception):  # work will fail in the same way, and say so
        prepare()
    with suppress(EOFError, ConnectionError):  # the parent has gone
        connection.send(None)
        while True:
            task = connection.recv()
            try:
                answer = work(task)
            except Exception as error:
                answer = error
            connection.send(answer)
