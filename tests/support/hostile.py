"""Claims that go wrong in every way that a check can."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from verification import Check, Claim, Context, Evidence, Experiment, Finding, Measure


class OwnError(Exception):
    """An exception whose name would otherwise carry the path of this file into the report."""


FINE = Evidence("fine", "exact", "decides", "nothing", "HOLDS", 0.0, 1.0, (0.0, 0.0))
TESTED = replace(FINE, grade="tested", false_alarm=1e-9, detectable=0.5)
FAILING = Experiment("failing", lambda setting, rng: _fail(), {"quick": 2, "standard": 2, "thorough": 2})


def _fail() -> dict[str, list[float]]:
    raise OwnError(f"cannot open {Path(__file__).resolve()} at {object()!r}")


def _die_once() -> Finding:
    """Kills its own process, as the out-of-memory killer would, unless a marker says it has."""
    marker = Path(os.environ["LPCB_TEST_MARKER"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Finding((FINE,))


def _hang() -> Finding:
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


def _interrupted() -> Finding:
    """Waits until somebody removes the marker: long enough to be told to stop."""
    marker = Path(os.environ["LPCB_TEST_MARKER"])
    marker.touch()
    while marker.exists():
        time.sleep(0.01)
    return Finding((FINE,))


def _leave(error: BaseException) -> Finding:
    raise error


def _deaf(*args: object) -> Finding:
    """One endless call into C: no exception can be raised in it, not even by a signal."""
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # the second time it waits for itself
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)
    return Finding((FINE,))


def _killed(*args: object) -> dict[str, list[float]]:
    """Dies again and again, as on a machine without enough memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


KILLED = Experiment("../../killed shard", _killed, {"quick": 2, "standard": 2, "thorough": 2})
LEAVING = Experiment("leaving", lambda setting, rng: os._exit(0), {"quick": 1, "standard": 1, "thorough": 1})


def _claim(name: str, run: Callable[[Context], object], random: bool = False, **fields: object) -> Claim:
    return Claim(f"bad-{name}", name, "$1 < 2$", None, "by hand", (Check(name, run, random),), **fields)


def _evidence(**fields: object) -> Callable[[Context], Finding]:
    return lambda context: Finding((replace(FINE, **fields),))


CLAIMS = (
    _claim("fine", lambda context: Finding((FINE,))),
    _claim("exception", lambda context: _fail()),
    _claim("nan", _evidence(value=float("nan"))),
    _claim(
        "nan-inside", lambda context: Finding((FINE,), {"m": Measure(1.0, (0.0, 2.0), note=float("nan"))})
    ),
    _claim("no-evidence", lambda context: Finding(())),
    _claim("wrong-type", lambda context: True),
    _claim("misspelt", _evidence(verdict="Refuted")),
    _claim("no-example", _evidence(verdict="REFUTED")),
    _claim("unstated", _evidence(), random=True),
    _claim("overspent", lambda context: Finding((TESTED, replace(TESTED, check="again"))), random=True),
    _claim("undeclared", lambda context: Finding((TESTED,))),
    _claim("twice", lambda context: Finding((FINE, FINE))),
    _claim("only-supports", _evidence(role="supports")),
    _claim(
        "experiment",
        lambda context: Finding((FINE,)) if context.result(FAILING) else None,
        experiments=(FAILING,),
    ),
    _claim("hang", lambda context: _hang()),
    _claim("exit", lambda context: sys.exit(0)),
    _claim("exit-at-once", lambda context: os._exit(0)),
    _claim("interrupt", lambda context: _leave(KeyboardInterrupt())),
    _claim("skip", lambda context: pytest.skip("not today")),
    _claim("generator", lambda context: _leave(GeneratorExit())),
    _claim("leaving-shard", lambda context: context.result(LEAVING), experiments=(LEAVING,)),
    _claim("deaf", _deaf),
    _claim("killed", _killed),
    _claim("killed-shard", lambda context: context.result(KILLED), experiments=(KILLED,)),
    _claim("die-once", lambda context: _die_once()),
    _claim("interrupted", lambda context: _interrupted()),
)
