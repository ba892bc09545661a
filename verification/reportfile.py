"""Reading and writing a run's reports: the one place where the runner meets the report formats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any

LARGEST = 2**30
"""Bytes that a report file may have."""


def write_report(report: dict[str, Any], out: Path) -> None:
    """report.json, report.md, report.html and junit.xml in ``out``. Drawing is imported only when needed."""
    from verification.report import write

    write(report, out)


@contextmanager
def studies_at_hand() -> Iterator[None]:
    """The committed studies are read now, and reports written within the block show these.

    A damaged one is a ValueError before the work, and not after it instead of a report.
    """
    from verification.report.studies import held

    with held():
        yield


def read_report(path: Path) -> dict[str, Any]:
    """A report file, checked; a ValueError says what is wrong with it."""
    from verification.report.files import read

    check_file("report", path)
    return read(path)


def check_file(name: str, path: Path) -> None:
    """A device or a pipe may never end."""
    try:
        found = path.stat()
    except OSError as error:
        raise ValueError(f"{name} {str(path)!r} cannot be read ({error.strerror})") from None
    if not S_ISREG(found.st_mode):
        raise ValueError(f"{name} {str(path)!r} is not a regular file")
    if found.st_size > LARGEST:
        raise ValueError(f"{name} {str(path)!r} has {found.st_size} bytes; at most {LARGEST} are read")
