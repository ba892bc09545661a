"""A time limit on a block of code, in any thread of any worker."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LONGEST = 7 * 86400.0
"""Seconds in a week: timers of operating systems and libraries take no infinity, and some only 24 days."""


class DeadlineError(BaseException):
    """Time is up. Not an Exception, so that no check can swallow it with ``except Exception``."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise DeadlineError inside the block when it runs for longer than ``seconds``.

    Python can only be interrupted between two bytecodes: one endless call into C is not stopped.
    """
    if not 0 < seconds <= LONGEST:
        raise ValueError(f"seconds is a positive number up to {LONGEST:g}, not {seconds}")
    on_main = threading.current_thread() is threading.main_thread()
    with _by_signal(seconds) if on_main else _by_thread(seconds):
        yield


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def ring(signum: int, frame: FrameType | None) -> None:
        raise DeadlineError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    """Dask runs tasks outside the main thread, where signals do not arrive."""
    target = ctypes.c_ulong(threading.get_ident())
    lock, done = threading.Lock(), False

    def ring() -> None:
        with lock:
            if not done:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(target, ctypes.py_object(DeadlineError))

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            done = True
        timer.cancel()
