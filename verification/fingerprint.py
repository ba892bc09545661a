"""What results depend on besides their own key: the code and the libraries, as one short hash."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import platform
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import metadata
from itertools import islice
from pathlib import Path
from types import ModuleType

import lpcb
import verification
from verification.registry import load_module
from verification.verdict import Profile

LIBRARIES = ("lpcb", "numpy", "scipy", "statsmodels", "python-flint")
COUNTED = ("lpcb", "verification", "numpy", "scipy", "statsmodels", "flint")
"""Packages whose code or version is in every hash."""

STANDARD = Path(sysconfig.get_path("stdlib"))

READ, LOOKED_AT, LARGEST = 2000, 20_000, 2**24
"""Of so many files of a folder, the larger and the later ones are known by their size and time alone."""

OUTPUTS = ("report.json", "report.md", "report.html", "junit.xml", "timings.json")
NEVER_READ = (".pyc", ".log")


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

    Cached, so that a long-lived worker keeps the hash of the code that it has loaded. It is the same in all
    processes; what else ``modules`` may depend on is in :func:`surroundings`.
    """
    digest = hashlib.sha256()
    for package in (lpcb, verification):
        root = Path(package.__path__[0])
        for path in sorted([*root.rglob("*.py"), *root.glob("certificates/*.json")]):
            _feed(digest, path.relative_to(root.parent).as_posix(), path)
    for name in modules:
        module = load_module(name)
        if _source(module) is None:
            raise ValueError(f"claims module {name!r} has no source file")
        for path in _sources(reached(module)):
            _feed(digest, path.name, path)
    return digest.hexdigest()


def surroundings(modules: tuple[str, ...]) -> str:
    """A hash of all that claims of a user may read or call besides: rather too much than too little.

    The files beside them and in the packages that they import, whatever else was imported from a place that
    is not a library, and what is installed. Computed once for a run, not by its workers: checks may write
    files, and what a process has imported depends on what it did before.
    """
    if not modules:
        return ""
    digest = hashlib.sha256()
    known = [(name, module) for name in modules for module in reached(load_module(name))]
    folders = {folder for name, module in known for folder in _folders(name, module)}
    for folder in sorted(folders):
        for path, whole in _files(folder):
            _feed(digest, path.relative_to(folder).as_posix(), path, whole)
    others = [m for name, m in sorted(sys.modules.items()) if _own(m) and name != "__main__"]
    for path in sorted({*_sources(others), *_later(_sources(module for _, module in known if _own(module)))}):
        _feed(digest, path.name, path)
    # Holds a hash of every installed file: a package may be installed anew under its old version.
    for path in sorted(path for place in _installed() for path in place.glob("*.dist-info/RECORD")):
        _feed(digest, path.parent.name, path)
    return digest.hexdigest()


def fingerprint(modules: tuple[str, ...], profile: Profile, seed: int, around: str = "") -> str:
    """The name of the work folder: results are only ever reused under the same name.

    ``around`` is the hash of the :func:`surroundings`.
    """
    text = json.dumps([code_hash(modules), versions(), profile, seed, around], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def reached(module: ModuleType) -> list[ModuleType]:
    """``module`` and what is imported with it, and what with that; libraries are not looked into."""
    found: dict[str, ModuleType] = {}
    left = [module]
    while left:
        one = left.pop()
        if one.__name__ not in found and (one is module or _counts(one)):
            found[one.__name__] = one
            if one is module or _own(one) or _top(one) == _top(module):
                left += _imported(one)
    return [found[name] for name in sorted(found)]


def _imported(module: ModuleType) -> list[ModuleType]:
    """What the statements of ``module`` import as it is loaded, with the packages around, and its attributes.

    What functions import is found in one process and not in another.
    """
    path = _source(module)
    names = set() if path is None else _named(path, module.__package__ or "")
    names |= {name.rpartition(".")[0] for name in [*names, module.__name__]}
    held = [value for value in list(vars(module).values()) if isinstance(value, ModuleType)]
    return [*held, *(sys.modules[name] for name in sorted(names) if name in sys.modules)]


def _later(paths: Sequence[Path]) -> set[Path]:
    """The sources of what functions in ``paths`` import when they are called, and what these import."""
    found: set[Path] = set()
    left, asked = list(paths), {*COUNTED, *sys.stdlib_module_names, ""}
    while left:
        tops = {name.partition(".")[0] for name in _named(left.pop(), "", functions=True)} - asked
        asked |= tops
        for path in (path for top in sorted(tops) for path in _lying(top)):
            if path not in found and not _in_site(path):
                found.add(path)
                left.append(path)
    return found


def _lying(top: str) -> list[Path]:
    """The sources of a module or package that is perhaps not loaded, and is not loaded for this."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    inside = [path for folder in folders for path, _ in _files(folder) if path.suffix == ".py"]
    return inside or [path for path in (Path(spec.origin or ""),) if path.is_file()]


def _named(path: Path, package: str, functions: bool = False) -> set[str]:
    """All names that the file's import statements may mean, those in functions included only if asked."""
    try:
        left: list[ast.AST] = [ast.parse(path.read_bytes())]
    except (SyntaxError, ValueError):  # an extension module, or not text
        return set()
    names: set[str] = set()
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute("." * node.level + (node.module or ""), package)
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        elif functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            left += ast.iter_child_nodes(node)
    return names | {name.rpartition(".")[0] for name in names}


def _absolute(name: str, package: str) -> str:
    try:
        return importlib.util.resolve_name(name, package)
    except ImportError:  # more dots than there are packages: it was never executed
        return ""


def _source(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if isinstance(file, str) and os.path.isfile(file) else None


def _sources(modules: Iterable[ModuleType]) -> list[Path]:
    return sorted({path for module in modules if (path := _source(module)) is not None})


def _top(module: ModuleType) -> str:
    return module.__name__.partition(".")[0]


def _counts(module: ModuleType) -> bool:
    """Neither of this project, nor of Python, nor of a library whose version is in the hash."""
    path = _source(module)
    if path is None:
        return _top(module) not in (*COUNTED, *sys.stdlib_module_names)
    return _top(module) not in COUNTED and (STANDARD not in path.parents or _in_site(path))


def _own(module: object) -> bool:
    """A module with a file that is neither of this project nor installed: somebody is working on it."""
    if not isinstance(module, ModuleType):
        return False
    path = _source(module)
    return path is not None and _counts(module) and not _in_site(path)


def _in_site(path: Path) -> bool:
    return any(place in path.parents for place in _installed())


@lru_cache(maxsize=1)
def _installed() -> tuple[Path, ...]:
    """Where installed packages lie."""
    named = {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}
    listed = {Path(p) for p in sys.path if Path(p).name in ("site-packages", "dist-packages")}
    return tuple(sorted(named | listed))


def _folders(name: str, module: ModuleType) -> list[Path]:
    """The whole of the package that ``module`` is of, and what lies beside it if it is the claims' own."""
    package = sys.modules.get(_top(module), module)
    inside = [Path(place) for place in getattr(package, "__path__", ())]
    path = _source(module)
    beside = path is not None and not _in_site(path) and name in (str(path), module.__name__)
    return [*inside, *([path.parent] if beside and path is not None else [])]


def _files(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Regular files in ``folder`` in a fixed order, and whether they are to be read whole."""
    found = (path for path in _walk(folder) if path.is_file() and not _is_output(path))
    for index, path in enumerate(islice(found, LOOKED_AT)):
        yield path, index < READ and path.stat().st_size <= LARGEST


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _passed_over(Path(place, name)))
        yield from (Path(place, name) for name in sorted(names))


def _passed_over(folder: Path) -> bool:
    """Hidden folders, caches, virtual environments, and where reports of lpcb are."""
    if folder.name.startswith(".") or folder.name in ("__pycache__", "node_modules"):
        return True
    return any((folder / sign).exists() for sign in ("pyvenv.cfg", ".work"))


def _is_output(path: Path) -> bool:
    """What runs write and nobody reads: reports beside the claims, logs, and where this output goes."""
    if path.suffix in NEVER_READ:
        return True
    if path.name in OUTPUTS and (path.parent / ".work").exists():
        return True
    return any(os.path.samestat(path.stat(), stream) for stream in _streams())


@lru_cache(maxsize=1)
def _streams() -> list[os.stat_result]:
    found = []
    for number in (1, 2):
        try:
            found.append(os.fstat(number))
        except OSError:
            continue
    return found


def _feed(digest: hashlib._Hash, label: str, path: Path, whole: bool = True) -> None:
    try:
        status = path.stat()
        content = path.read_bytes() if whole else f"{status.st_size} {status.st_mtime_ns}".encode()
    except OSError as error:  # a file that may not be read, or has just gone
        content = f"{error.errno}".encode()
    digest.update(f"{label}\0{len(content)}\0".encode(errors="surrogateescape") + content)
