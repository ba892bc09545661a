"""The hash of all code that a verdict depends on: what it was measured with is named by it.

Unlike :func:`verification.fingerprint.code_hash` it leaves out commands, reports and studies, whose changes
do not make a measurement stale.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

import lpcb
import verification

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


def sources() -> dict[str, Path]:
    """The files, by their name under the root of the project."""
    root = Path(verification.__path__[0])
    found = [*Path(lpcb.__path__[0]).rglob("*.py"), *(root / name for name in MODULES)]
    found += [path for part in PARTS for path in (root / part).rglob("*") if path.suffix in (".py", ".json")]
    named = {path.relative_to(root.parent).as_posix(): path for path in found}
    return {name: named[name] for name in sorted(named) if name not in LEFT_OUT}


@lru_cache(maxsize=1)
def rows_hash() -> str:
    """Sixteen hexadecimal digits."""
    digest = hashlib.sha256()
    for name, path in sources().items():
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]
