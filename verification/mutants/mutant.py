"""A mutant: one small mistake, as a change of source text, and the row that is expected to notice it."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from verification.substitution import Edit


@dataclass(frozen=True)
class Mutant:
    """``what`` says the mistake in one sentence; ``row`` is claim:variant."""

    name: str
    what: str
    edit: Edit
    row: str


@dataclass(frozen=True)
class Equivalent:
    """A change of text that changes nothing that matters, and the proof of that in a sentence or two."""

    name: str
    what: str
    edit: Edit
    why: str


def source(module: str) -> str:
    """The text of ``module`` as it is on disk."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"mutants: there is no module {module!r}")
    return Path(spec.origin).read_text(encoding="utf-8")


def place(edit: Edit) -> int | None:
    """The first line of the innermost function whose body holds the edited text.

    None where the text is run on import: outside functions, or in a function's decorators, defaults and
    annotations.
    """
    text = source(edit.module)
    edit.apply(text)
    before = text[: text.index(edit.old)]
    first = before.count("\n") + 1
    last = first + edit.old.count("\n")
    found: tuple[int, int] | None = None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body, end = node.body[0].lineno, node.end_lineno or node.lineno
            if body <= first and last <= end and (found is None or body > found[0]):
                found = body, min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return None if found is None else found[1]
