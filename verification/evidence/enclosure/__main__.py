"""Writes the certificates of every claim module that states inequalities: a tuple STATEMENTS."""

from __future__ import annotations

import importlib
import pkgutil

import verification.claims
from verification.evidence.enclosure.stored import Statement


def statements() -> list[Statement]:
    """All statements with certificates, in the order of their modules."""
    names = sorted(info.name for info in pkgutil.iter_modules(verification.claims.__path__))
    modules = [importlib.import_module(f"verification.claims.{name}") for name in names]
    return [statement for module in modules for statement in getattr(module, "STATEMENTS", ())]


if __name__ == "__main__":
    for statement in statements():
        print(f"{statement.name}: {statement.write().boxes} boxes")
