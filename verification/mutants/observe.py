"""Runs rows in this process and prints what a gate would see of each, one line of JSON a row.

    python -m verification.mutants.observe SEED SECONDS ROW…
    python verification/mutants/observe.py --calls SEED SECONDS ROW…

With ``--calls`` each row runs in a fork of its own, and the functions of lpcb that it called are listed: a
row that never calls a function does not notice a change in its body, for up to the first call both runs are
the same. Started as a file, so that it listens before anything of this project is imported; what is called
then belongs to every row.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Literal

PROFILE: Literal["quick"] = "quick"
Call = tuple[str, int]
"""A module of lpcb and the line where a function of it begins."""


@dataclass(frozen=True)
class Seen:
    """A row as a gate sees it.

    ``changes`` are (what, expected, found) against the baseline, ``evidence`` is (check, verdict, value,
    samples); ``error`` says what was raised, if anything was, or with ``lost`` why there is no answer.
    """

    row: str
    changes: tuple[tuple[str, str, str], ...]
    evidence: tuple[tuple[str, str, str, int], ...]
    error: str | None
    seconds: float
    calls: tuple[Call, ...] | None = None
    lost: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Seen:
        data: dict[str, Any] = json.loads(text)
        for name in ("changes", "evidence", "calls"):
            if data[name] is not None:
                data[name] = tuple(tuple(item) for item in data[name])
        return cls(**data)


def look(row: str, seed: int, seconds: float) -> Seen:
    """Runs one row; one without an expectation has changed."""
    from verification import baseline
    from verification.execute import Orders, timed_row
    from verification.registry import load
    from verification.runner import as_variants

    claim, _, variant = row.partition(":")
    (known,) = load().rows([claim], as_variants(variant))
    start = time.perf_counter()
    found = timed_row(known, Orders((), PROFILE, seed, seconds))["row"]
    taken = time.perf_counter() - start
    expected = baseline.find(found, PROFILE, baseline.expectations())
    changes = baseline.changes(found, expected) if expected else [("verdict", "nothing", found["verdict"])]
    error = found["reason"] if found["error"] is not None else None
    evidence = tuple((e["check"], e["verdict"], str(e["value"]), e["samples"]) for e in found["evidence"])
    return Seen(row, tuple(changes), evidence, error, round(taken, 3))


@contextmanager
def listening(calls: set[CodeType]) -> Iterator[None]:
    """Adds every Python function that is called inside the block."""

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            calls.add(frame.f_code)

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def named(codes: set[CodeType]) -> tuple[Call, ...]:
    """Those of lpcb, as module and line."""
    import lpcb

    root = Path(lpcb.__path__[0]).resolve()
    found = set()
    for code in codes:
        path = Path(code.co_filename)
        if path.is_relative_to(root):
            parts = path.relative_to(root.parent).with_suffix("").parts
            found.add((".".join(parts).removesuffix(".__init__"), code.co_firstlineno))
    return tuple(sorted(found))


CALLED: set[CodeType] = set()


def _look_listening(row: str, seed: int, seconds: float) -> str:
    with listening(CALLED):
        seen = look(row, seed, seconds)
    return Seen(**(vars(seen) | {"calls": named(CALLED)})).to_json()


def main(words: list[str], say: Callable[[str], None]) -> None:
    traced = words[0] == "--calls"
    seed, seconds, *rows = words[traced:]
    if not traced:
        for row in rows:
            say(look(row, int(seed), float(seconds)).to_json())
        return
    with listening(CALLED):
        from verification.registry import load

        load()
    for row in rows:
        # A fork for each: what one row has cached, the next would not call.
        with multiprocessing.get_context("fork").Pool(1) as pool:
            say(pool.apply(_look_listening, (row, int(seed), float(seconds))))


if __name__ == "__main__":
    main(sys.argv[1:], lambda line: print(line, flush=True))
