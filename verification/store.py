"""Keeps the results of finished tasks on disk, so that a run which was stopped can go on."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from verification.claim import Arrays
from verification.execute import Result, RowTask, Task
from verification.serialise import canonical_json, write_atomic

WORK = ".work"


@dataclass(frozen=True)
class Store:
    """Results under one fingerprint: rows as JSON, shards as arrays, each with the seconds it took."""

    folder: Path

    def save(self, result: Result) -> None:
        path = self.folder / result.task.key
        # The time first: where there is a result, there is a time.
        write_atomic(self._time(path), f"{result.seconds!r}\n")
        if result.row is not None:
            write_atomic(path, canonical_json(result.row))
        if result.arrays is not None:
            buffer = io.BytesIO()
            named = {f"array.{key}": value for key, value in result.arrays.items()}
            np.savez(buffer, allow_pickle=False, **named)
            write_atomic(path, buffer.getvalue())

    def load(self, task: Task) -> Result | None:
        """The stored result, or None where there is none that can be read."""
        path = self.folder / task.key
        try:
            seconds = float(self._time(path).read_text())
            if isinstance(task, RowTask):
                return Result(task, seconds, row=json.loads(path.read_text()))
            return Result(task, seconds, arrays=_read_arrays(path))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None

    @staticmethod
    def _time(path: Path) -> Path:
        return path.with_name(f"{path.name}.seconds")


@contextmanager
def open_store(out: Path, fingerprint: str, resume: bool) -> Iterator[Store]:
    """The store of this run, for this process alone; emptied first unless ``resume``."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"out {str(out)!r} exists and is not a directory")
    work = out / WORK
    work.mkdir(parents=True, exist_ok=True)
    with _locked(out, work / "lock"):
        if not resume:
            for folder in work.iterdir():
                if folder.is_dir():
                    shutil.rmtree(folder)
        yield Store(work / fingerprint)


@contextmanager
def _locked(out: Path, path: Path) -> Iterator[None]:
    """Hold the lock file, which names its holder. The kernel frees it when its holder dies."""
    with path.open("a+") as file:
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


def _read_arrays(path: Path) -> Arrays:
    # Read first: numpy leaves a file that it opens itself open when it cannot make sense of it.
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as data:
        return {key.removeprefix("array."): data[key] for key in data.files}
