"""Keeps the results of finished tasks on disk, so that a run which was stopped can go on.

Beside each result lies the time it took and its hash: one that was damaged is computed again.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from verification.claim import Arrays
from verification.execute import Result, RowTask, Task
from verification.serialise import canonical_json, write_atomic

WORK = ".work"


@dataclass(frozen=True)
class Store:
    """Results under one fingerprint: rows as JSON, shards as arrays."""

    folder: Path

    def save(self, result: Result) -> None:
        path = self.folder / result.task.key
        if result.row is not None:
            content = canonical_json(result.row).encode()
        else:
            assert result.arrays is not None
            buffer = io.BytesIO()
            named = {f"array.{key}": value for key, value in result.arrays.items()}
            np.savez(buffer, allow_pickle=False, **named)
            content = buffer.getvalue()
        # The label first: where there is a result, there is a label.
        label = {"seconds": result.seconds, "sha256": hashlib.sha256(content).hexdigest()}
        write_atomic(self._label(path), canonical_json(label))
        write_atomic(path, content)

    def load(self, task: Task) -> Result | None:
        """The stored result, or None where there is none, or not what was stored."""
        path = self.folder / task.key
        try:
            label, content = json.loads(self._label(path).read_text()), path.read_bytes()
            if label["sha256"] != hashlib.sha256(content).hexdigest():
                return None
            seconds = float(label["seconds"])
            if isinstance(task, RowTask):
                return Result(task, seconds, row=json.loads(content))
            return Result(task, seconds, arrays=_read_arrays(content))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @staticmethod
    def _label(path: Path) -> Path:
        return path.with_name(f"{path.name}.label")


@contextmanager
def open_store(out: Path, fingerprint: str, resume: bool) -> Iterator[Store]:
    """The store of this run, for this process alone; emptied first unless ``resume``."""
    work = out / WORK
    try:
        if out.exists() and not out.is_dir():
            raise ValueError(f"out {str(out)!r} exists and is not a directory")
        _refuse_links(work)
        work.mkdir(parents=True, exist_ok=True)
        lock = (work / "lock").open("a+")
    except OSError as error:
        raise ValueError(f"out {str(out)!r} cannot be written to: {error.strerror}") from None
    with _locked(out, lock):
        if not resume:
            for folder in work.iterdir():
                if folder.is_dir():
                    shutil.rmtree(folder)
        yield Store(work / fingerprint)


def _refuse_links(work: Path) -> None:
    """What a link leads to is somebody else's, and here folders are deleted and the lock is written to."""
    if work.is_symlink():
        raise ValueError(f"out: {str(work)!r} is a symbolic link, and is not followed")
    for path in work.iterdir() if work.is_dir() else ():
        if path.is_symlink():
            raise ValueError(f"out: {str(path)!r} is a symbolic link, and is not followed")


@contextmanager
def _locked(out: Path, file: TextIO) -> Iterator[None]:
    """Hold the lock file, which names its holder. The kernel frees it when its holder dies."""
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise ValueError(f"out {str(out)!r} is in use by another run, process {holder}") from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
        file.truncate(0)


def _read_arrays(content: bytes) -> Arrays:
    with np.load(io.BytesIO(content), allow_pickle=False) as data:
        return {key.removeprefix("array."): data[key] for key in data.files}
