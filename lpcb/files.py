"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path


def check_target(name: str, path: Path | None) -> None:
    """Refuses a file that cannot be written, before the work whose result it should hold is done."""
    if path is None or is_stdout(path):
        return
    try:
        folder, is_folder = path.resolve().parent, path.is_dir()
    except OSError as error:
        raise ValueError(f"{name}: {str(path)[:80]!r} cannot be written ({error.strerror})") from None
    if is_folder:
        raise ValueError(f"{name} is a file to write, and {str(path)!r} is a directory")
    if not folder.is_dir():
        raise ValueError(f"{name}: the folder of {str(path)!r} does not exist")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{name}: the folder of {str(path)!r} is not writable")


def is_stdout(path: Path | None) -> bool:
    """A file called "-" is standard output, as for other commands."""
    return path is not None and str(path) == "-"


def deliver(path: Path | None, content: str) -> bool:
    """Writes ``content`` to ``path`` if there is one; True if standard output is taken by it."""
    if path is None:
        return False
    if is_stdout(path):
        sys.stdout.write(content)
        return True
    write_atomic(path, content)
    return False


def write_atomic(path: str | Path, content: str | bytes) -> None:
    """Writes beside ``path`` first and then moves it there, so that a crash leaves the old file."""
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
