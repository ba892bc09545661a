"""The committed studies of the gate itself: read, and refused when they are not what they should be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from verification import strict

Json = dict[str, Any]
Kind = Literal["levels", "seeds", "mutants"]

Studies = dict[Kind, Json | None]

STUDIES = Path(__file__).parents[1] / "studies"

_HELD: ContextVar[Studies | None] = ContextVar("held studies", default=None)


def read_seeds(path: Path) -> Json:
    """The ledger of whole runs."""
    return _read(path, "seeds")


def read_levels(path: Path) -> Json:
    """Every random check at a level that can be counted."""
    return _read(path, "levels")


def read_mutants(path: Path) -> Json:
    """Mistakes made on purpose, and what caught them."""
    return _read(path, "mutants")


def read_all(folder: Path | None = None) -> Studies:
    """Each study, or None where it was not made; those that are :func:`held`, unless a folder is named."""
    if folder is None and (kept := _HELD.get()) is not None:
        return kept
    where = STUDIES if folder is None else folder
    kinds: tuple[Kind, ...] = ("levels", "seeds", "mutants")
    paths = {kind: where / f"{kind}.json" for kind in kinds}
    return {kind: _read(path, kind) if path.exists() else None for kind, path in paths.items()}


@contextmanager
def held() -> Iterator[None]:
    """Within the block the committed studies are as they were at its beginning."""
    try:
        found = read_all()
    except ValueError as error:
        raise ValueError(f"{error}; mend it, or delete it, and the study counts as not made") from error
    token = _HELD.set(found)
    try:
        yield
    finally:
        _HELD.reset(token)


def _read(path: Path, kind: Kind) -> Json:
    try:
        found = strict.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ValueError(f"{path}: not JSON, or cut off: {error}") from error
    if (fault := best_match(_validator(kind).iter_errors(found))) is not None:
        raise ValueError(f"{path}: not a study of schema 1: at {fault.json_path}, {fault.message[:200]}")
    return dict(found)


@cache
def _validator(kind: Kind) -> Draft202012Validator:
    text = files("verification.report").joinpath("studies_schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator({"$ref": f"#/$defs/{kind}", **schema})
