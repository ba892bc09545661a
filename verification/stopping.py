"""SIGINT and SIGTERM stop a run, and let it write down how far it came."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from verification.leaving import StopRunError


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
