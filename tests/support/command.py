"""Runs the lpcb command and pytest in processes of their own, as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SYNTHETIC = str(ROOT / "tests/support/synthetic.py")
HOSTILE = str(ROOT / "tests/support/hostile.py")
TOYS = ("toy-mean", "toy-gram", "toy-largest")


def environment(**extra: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    return kept | {"PYTHONPATH": path, "COLUMNS": "80"} | extra


def start(*words: str | Path, cwd: Path | None = None, **extra: str) -> subprocess.Popen[str]:
    """``lpcb`` with ``words``, in a session of its own, so that a signal to its group reaches nobody else."""
    return subprocess.Popen(
        [sys.executable, "-m", "verification", *map(str, words)],
        cwd=cwd,
        env=environment(**extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """What the process said; one that does not end within a minute is killed and fails the test."""
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def lpcb(*words: str | Path, cwd: Path | None = None, **extra: str) -> subprocess.CompletedProcess[str]:
    return finish(start(*words, cwd=cwd, **extra))


def report_in(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report
