"""The lpcb command, also as ``python -m verification``."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import NoReturn

INCOMPLETE = 3


def main() -> None:
    """Runs the command. Ctrl-C while it is still being imported is an interruption like any other."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a sign is no error
    try:
        from verification.cli import app

        app(prog_name="lpcb")
    except KeyboardInterrupt:
        sys.stderr.write("Incomplete: it was interrupted.\n")
        _end(INCOMPLETE)
    except SystemExit as done:
        _end(done.code)


def _end(code: object) -> NoReturn:
    """Ends the process with ``code``, whatever the claims of a user have left to be done or waited for.

    Handlers that run at the end of a process could end it with another code, and threads keep it for ever.
    """
    with suppress(Exception):
        _close_workers()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _close_workers() -> None:
    """What joblib keeps for the next call, and would itself close at the end of the process."""
    from joblib.externals.loky import reusable_executor

    if reusable_executor._executor is not None:
        reusable_executor._executor.terminate(kill_workers=True)  # and its folder of shared arrays


if __name__ == "__main__":
    main()
