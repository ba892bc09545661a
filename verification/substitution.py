"""Runs a module with pieces of source text replaced on import, in a process of its own and never on disk.

What a mistake in the code, a larger error rate or fewer samples would do is seen by running the real code
with those few characters changed. Only the standard library is imported here, so that nothing is loaded
before :func:`install` can change it.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any


@dataclass(frozen=True)
class Edit:
    """In the source of ``module`` the text ``old``, which occurs exactly once, becomes ``new``."""

    module: str
    old: str
    new: str

    def apply(self, source: str) -> str:
        # Where two overlap, str.count sees one of them, and which one is meant would be a guess.
        if (found := len(re.findall(f"(?={re.escape(self.old)})", source))) != 1:
            raise ValueError(f"{self.module}: the text {self.old!r} is there {found} times, not once")
        return source.replace(self.old, self.new)


class _Loader(SourceFileLoader):
    """Compiles the edited source; what is cached on disk is neither read nor written."""

    edits: tuple[Edit, ...] = ()

    def get_code(self, fullname: str) -> CodeType | None:
        source = self.get_source(fullname)
        assert source is not None
        for edit in self.edits:
            source = edit.apply(source)
        code: CodeType = self.source_to_code(source.encode(), self.path)
        return code


class _Finder:
    """Finds the modules that are to be edited before anybody else does."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.edits = tuple(edits)

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        mine = tuple(edit for edit in self.edits if edit.module == name)
        spec = PathFinder.find_spec(name, path, target) if mine else None
        if spec is None or spec.origin is None:
            return None
        spec.loader = _Loader(name, spec.origin)
        spec.loader.edits = mine
        return spec


def install(edits: Sequence[Edit]) -> None:
    """From now on these modules are imported in their edited form. None of them may be loaded already."""
    if loaded := sorted({edit.module for edit in edits} & set(sys.modules)):
        raise ValueError(f"{loaded[0]} is loaded already: it cannot be edited any more")
    sys.meta_path.insert(0, _Finder(edits))


def command(edits: Sequence[Edit], module: str, *arguments: str) -> list[str]:
    """The command line that runs ``module`` as a program with ``edits`` in force."""
    text = json.dumps([asdict(edit) for edit in edits])
    return [sys.executable, "-P", __file__, text, module, *arguments]


def run(
    edits: Sequence[Edit], module: str, *arguments: str, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs :func:`command` and returns what it printed."""
    here = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        command(edits, module, *arguments),
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


if __name__ == "__main__":
    given, program, *rest = sys.argv[1:]
    install([Edit(**edit) for edit in json.loads(given)])
    sys.argv = [program, *rest]
    runpy.run_module(program, run_name="__main__", alter_sys=True)
