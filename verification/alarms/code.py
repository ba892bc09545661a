"""Hashes of the code that a claim's verdicts depend on: what a study was measured with is named by them.

Unlike :func:`verification.fingerprint.code_hash` they leave out commands, reports, studies and other claims,
whose changes do not make a measurement stale, in all files comments and docstrings, and what stands in
functions that nothing a claim imports calls by name.
"""

from __future__ import annotations

import ast
import hashlib
import json
import pkgutil
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import lpcb
import verification
import verification.claims
from verification import baseline
from verification.fingerprint import versions

LEFT_OUT = ("lpcb/cli.py",)
"""Of lpcb: what no row runs."""
PARTS = ("claims", "experiments", "evidence", "certificates")
MODULES = (
    "claim.py",
    "row.py",
    "seeds.py",
    "threads.py",
    "verdict.py",
    "serialise.py",
    "audit.py",
    "baseline.json",
)
"""Of verification: what rows are made of, and what they are compared with."""
ALWAYS = ("row", "seeds", "threads", "verdict", "serialise", "claim")
"""Modules of verification that every row runs."""
ROOT = Path(verification.__path__[0]).parent


def sources() -> dict[str, Path]:
    """The files, by their name under the root of the project."""
    root = ROOT / "verification"
    found = [*Path(lpcb.__path__[0]).rglob("*.py"), *(root / name for name in MODULES)]
    found += [path for part in PARTS for path in (root / part).rglob("*") if path.suffix in (".py", ".json")]
    named = {path.relative_to(root.parent).as_posix(): path for path in found}
    return {name: named[name] for name in sorted(named) if name not in LEFT_OUT}


@lru_cache(maxsize=128)
def claim_hash(claim: str) -> str:
    """Sixteen hexadecimal digits: what the rows of one built-in claim run, and what is expected of them."""
    modules = reached([home(claim), *(f"verification.{name}" for name in ALWAYS)])
    unused = idle(modules)
    parts = [f"{name} {_module_digest(source_file(name), unused[name])}" for name in modules]
    parts += [f"{path.name} {_sha256(path.read_bytes())}" for path in _certificates()]
    return _sha256("\n".join([*parts, json.dumps(_expected().get(claim), sort_keys=True)]))[:16]


@lru_cache(maxsize=512)
def row_code(row: str) -> str:
    """A hash of all that a row's result depends on but the seed: its claim's code and the libraries."""
    return _sha256(json.dumps([claim_hash(row.partition(":")[0]), versions()], sort_keys=True))[:16]


def home(claim: str) -> str:
    """The module that a built-in claim stands in."""
    if claim not in _homes():
        raise ValueError(f"claim {claim!r} is not one of this package")
    return _homes()[claim]


def reached(names: Iterable[str]) -> tuple[str, ...]:
    """The modules of this project that ``names`` import, also inside functions, and what those import.

    The packages that hold a module are executed with it and count, but for ``verification`` itself: it only
    gives other names to what is imported from elsewhere.
    """
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _imports(name)
    return tuple(sorted(found))


@lru_cache(maxsize=1)
def _expected() -> dict[str, dict[str, dict[str, Any] | None]]:
    """What verdicts and measures are compared with in the profile that studies run."""
    return {
        claim: {variant: _compared(found.get("quick")) for variant, found in variants.items()}
        for claim, variants in baseline.expectations().items()
    }


def _compared(expectation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if expectation is None else {name: expectation[name] for name in ("measures", "verdict")}


@lru_cache(maxsize=1)
def _homes() -> dict[str, str]:
    """The module of every built-in claim."""
    names = [
        f"verification.claims.{info.name}" for info in pkgutil.iter_modules(verification.claims.__path__)
    ]
    return {claim.id: name for name in names for claim in import_module(name).CLAIMS}


@lru_cache(maxsize=512)
def _imports(name: str) -> tuple[str, ...]:
    path = source_file(name)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    parents = [".".join(name.split(".")[:i]) for i in range(2, name.count(".") + 1)]
    found = list(parents)
    for node in _read(path)[1]:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        else:
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            inner = [f"{base}.{alias.name}" for alias in node.names]
            found += [one if _exists(one) else base for one in inner]
    return tuple(dict.fromkeys(one for one in found if _exists(one)))


def _exists(name: str) -> bool:
    return name.split(".")[0] in ("lpcb", "verification") and source_file(name).is_file()


def source_file(name: str) -> Path:
    path = ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def idle(modules: Iterable[str]) -> dict[str, frozenset[str]]:
    """For each module its functions that none of ``modules`` mentions, so that none can call them.

    A mention is any word of the code, in strings too, anywhere but in the function itself, in docstrings and
    in ``__all__``, or a word of a certificate, which names functions. What another idle
    function mentions is not idle, so that less is left out than could be. Methods always count, and so do
    functions that a decorator may have handed on and those through which runs come in, of ``ALWAYS``.
    """
    found = {name: _read(source_file(name))[0] for name in modules}
    words = (part.words for parts in found.values() for part in parts)
    mentioned = _certificate_words().union(*words)
    entries = {f"verification.{name}" for name in ALWAYS}
    return {
        name: frozenset(part.function for part in parts if name not in entries and part.function) - mentioned
        for name, parts in found.items()
    }


@dataclass(frozen=True)
class Part:
    """A statement of a module: what it does, and what is left of it without a function's body."""

    text: str
    hollow: str
    function: str
    """The name of a function that only a mention can call, or nothing."""
    words: frozenset[str]
    """What is mentioned."""


@lru_cache(maxsize=1024)
def _read(path: Path) -> tuple[tuple[Part, ...], tuple[ast.Import | ast.ImportFrom, ...]]:
    """What stands in a module, and all that it imports."""
    tree = ast.parse(path.read_bytes())
    imports = _without_texts(tree)
    return tuple(map(_part, tree.body)), imports


def _part(node: ast.stmt) -> Part:
    text = hollow = ast.dump(node)
    words = frozenset(re.findall(r"\w+", text))
    function = ""
    if isinstance(node, ast.FunctionDef):
        words -= {node.name}
        if all(ast.unparse(decorator) in KEEPING for decorator in node.decorator_list):
            function, body = node.name, node.body
            node.body = []
            hollow = ast.dump(node)
            node.body = body
    return Part(text, hollow, function, frozenset() if _is_list_of_names(node) else words)


KEEPING = ("checked",)
"""Decorators that are known to keep what they decorate to themselves."""


@lru_cache(maxsize=1)
def _certificate_words() -> frozenset[str]:
    return frozenset(word for path in _certificates() for word in re.findall(r"\w+", path.read_text()))


def _certificates() -> list[Path]:
    return sorted((ROOT / "verification/certificates").glob("*.json"))


def _is_list_of_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and [getattr(one, "id", "") for one in node.targets] == ["__all__"]


@lru_cache(maxsize=4096)
def _module_digest(path: Path, unused: frozenset[str]) -> str:
    return _sha256(_bare(_read(path)[0], unused))


def _sha256(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def bare(source: str | bytes, unused: Collection[str] = ()) -> str:
    """What a module does, whatever its comments, docstrings and layout say, and ``unused`` functions do.

    >>> bare("x = 1  # one") == bare("'A module.'\\nx = (1)") != bare("x = 2")
    True
    >>> bare("def f(): return 1", {"f"}) == bare("def f(): return 2", {"f"}) != bare("def f(): return 1")
    True
    """
    tree = ast.parse(source)
    _without_texts(tree)
    return _bare(map(_part, tree.body), unused)


def _bare(found: Iterable[Part], unused: Collection[str]) -> str:
    return "\n".join(part.hollow if part.function in unused else part.text for part in found)


def _without_texts(tree: ast.Module) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Takes the docstrings out of ``tree``, and returns its imports: one walk, as walks are slow."""
    imports = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        for name in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(node, name, None), list):
                setattr(node, name, [one for one in block if not _is_text(one)])
    return tuple(imports)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
