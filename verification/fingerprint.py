"""What results depend on besides their own key: the code and the libraries, as one short hash."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import lru_cache
from importlib import metadata
from modulefinder import ModuleFinder
from pathlib import Path

import lpcb
import verification
from verification.registry import load_module
from verification.verdict import Profile

LIBRARIES = ("lpcb", "numpy", "scipy", "statsmodels", "python-flint")


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """What computes the numbers; an absent library is left out."""
    found = {"python": platform.python_version(), "lpcb": "from source"}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=8)
def code_hash(modules: tuple[str, ...]) -> str:
    """A hash of the sources of lpcb, verification and ``modules``, and of the certificates.

    Cached, so that a long-lived worker keeps the hash of the code that it has loaded.
    """
    digest = hashlib.sha256()
    for package in (lpcb, verification):
        root = Path(package.__path__[0])
        for path in sorted([*root.rglob("*.py"), *root.glob("certificates/*.json")]):
            _feed(digest, path.relative_to(root.parent).as_posix(), path)
    for name in modules:
        for label, path in _sources(name):
            _feed(digest, label, path)
    return digest.hexdigest()


def fingerprint(modules: tuple[str, ...], profile: Profile, seed: int) -> str:
    """The name of the work folder: results are only ever reused under the same name."""
    text = json.dumps([code_hash(modules), versions(), profile, seed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _sources(name: str) -> list[tuple[str, Path]]:
    """A user's claims module and what it imports from beside it."""
    module = load_module(name)
    if module.__file__ is None:
        raise ValueError(f"claims module {name!r} has no source file")
    path = Path(module.__file__)
    dots = 0 if name.endswith(".py") else name.count(".") + (path.name == "__init__.py")
    finder = ModuleFinder(path=[str(path.parents[dots])])
    if name.endswith(".py"):
        finder.run_script(str(path))
    else:
        finder.import_hook(name)
    files = {label: getattr(found, "__file__", None) for label, found in finder.modules.items()}
    return sorted((label, Path(file)) for label, file in files.items() if file)


def _feed(digest: hashlib._Hash, label: str, path: Path) -> None:
    content = path.read_bytes()
    digest.update(f"{label}\0{len(content)}\0".encode() + content)
