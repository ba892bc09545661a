"""A check that gets away without an answer is an error; a user who stops a run is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
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
