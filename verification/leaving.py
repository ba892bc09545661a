"""A check that gets away without an answer is an error; a user who stops a run is not."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from verification.deadline import DeadlineError


class StopRunError(BaseException):
    """Somebody wants this run to stop. Not an Exception, so that no check can swallow it."""


class LeftError(RuntimeError):
    """A check tried to end the process, or left in another way than by returning or failing."""


@contextmanager
def staying() -> Iterator[None]:
    """Leaving the block by SystemExit, os._exit or a skipped test is a LeftError, and never a success.

    A process that ends itself with code 0 would otherwise pass for a run without complaints.
    """
    here, leave = os.getpid(), os._exit

    def refuse(status: int) -> NoReturn:
        if os.getpid() != here:  # a child that was forked may end
            leave(status)
        raise LeftError(f"it called os._exit({status!r})")

    replace: Any = setattr  # os._exit is a function that type checkers let nobody assign
    replace(os, "_exit", refuse)
    try:
        yield
    except (Exception, DeadlineError, StopRunError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise LeftError(f"it left by {type(error).__name__}: {error}") from None
    finally:
        replace(os, "_exit", leave)


@dataclass
class Stops:
    """How often somebody asked a run to stop, and whether the first time has to wait."""

    asked: int = 0
    waits: bool = False

    def ask(self, signum: int, frame: FrameType | None) -> None:
        self.asked += 1
        if not self.waits or self.asked > 1:
            raise StopRunError

    @contextmanager
    def held(self) -> Iterator[None]:
        """The first one to stop a run that is being written down waits till it is; the second does not."""
        self.waits = True
        try:
            yield
        finally:
            self.waits = False


@contextmanager
def stoppable() -> Iterator[Stops]:
    """Within the block SIGINT and SIGTERM raise StopRunError. Only the main thread may say so."""
    stops = Stops()
    if threading.current_thread() is not threading.main_thread():
        yield stops
        return
    before = {number: signal.signal(number, stops.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stops
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
