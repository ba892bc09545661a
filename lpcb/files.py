"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def check_target(name: str, path: Path | None) -> None:
    """Refuses a file that cannot be written, before the work whose result it should hold is done."""
    if path is None:
        return
    folder = path.resolve().parent
    if path.is_dir():
        raise ValueError(f"{name} is a file to write, and {str(path)!r} is a directory")
    if not folder.is_dir():
        raise ValueError(f"{name}: the folder of {str(path)!r} does not exist")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{name}: the folder of {str(path)!r} is not writable")


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
