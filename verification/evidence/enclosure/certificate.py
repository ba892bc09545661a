"""Writes proofs down, so that :mod:`~verification.evidence.enclosure.recheck` can verify them on its own."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path

from verification.evidence.enclosure.balls import Ball
from verification.evidence.enclosure.search import Proved
from verification.serialise import write_atomic

SCHEMA = 1


def function_name(f: Callable[..., Ball]) -> str:
    """``module:function``, checked to lead back to ``f``: a certificate must say what it is about."""
    name = f"{f.__module__}:{f.__qualname__}"
    if getattr(importlib.import_module(f.__module__), f.__qualname__, None) is not f:
        raise ValueError(f"{name} is not a function at the top level of its module, so no file can name it")
    return name


def certificate(f: Callable[..., Ball], proof: Proved) -> str:
    """The proof that ``f ≤ 0`` on its box, as JSON text."""
    content = {
        "schema": SCHEMA,
        "function": function_name(f),
        "box": {name: [str(low), str(high)] for name, low, high in proof.box},
        "precision": proof.precision,
        "tree": proof.tree,
    }
    return json.dumps(content, indent=1) + "\n"


def write_certificate(path: Path, f: Callable[..., Ball], proof: Proved) -> None:
    write_atomic(path, certificate(f, proof))
