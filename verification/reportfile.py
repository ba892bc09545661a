"""Reading and writing a run's reports: the one place where the runner meets the report formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def write_report(report: dict[str, Any], out: Path) -> None:
    """report.json, report.md, report.html and junit.xml in ``out``. Drawing is imported only when needed."""
    from verification.report import write

    write(report, out)


def read_report(path: Path) -> dict[str, Any]:
    """A report file, checked; a ValueError says what is wrong with it."""
    from verification.report.files import read

    return read(path)
