"""Workers that never get ready, answer what nobody can read, or outlive the process that hired them."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import Pipe

import pytest

from verification import pool
from verification.pool import WorkersLostError, run_pool


def _garbage(task: int) -> int:
    """Writes into its own connection, as a library may that takes a descriptor for another."""
    for number in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, b"\x00\x00\x00\x04abcd")
        except OSError:
            continue
    return task


def _run(work: Callable[[int], int], prepare: Callable[[], object], seconds: float = 60.0) -> list[int]:
    return list(run_pool(work, [1], 1, seconds, lambda task: -task, str, prepare))


def test_a_worker_that_is_never_ready_is_killed_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "PREPARATION", 0.5)
    with pytest.raises(WorkersLostError, match=r"worked on 1 \(killed, not ready after 0\.5 s\)"):
        _run(abs, partial(time.sleep, 600), 0.1)


def test_preparing_takes_as_long_as_a_task_may() -> None:
    assert pool.preparation(1.0) == 60.0
    assert pool.preparation(620.0) == 620.0


def test_an_answer_that_cannot_be_read_is_that_of_a_lost_worker() -> None:
    with pytest.raises(WorkersLostError, match=r"worked on 1 \(its answer cannot be read: UnpicklingError\)"):
        _run(_garbage, int)


def test_a_worker_whose_parent_has_gone_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool.signal, "signal", lambda number, handler: None)
    for tasks in ([], [1]):
        here, there = Pipe()
        for task in tasks:
            here.send(task)
        here.close()
        pool._serve(abs, int, there)
