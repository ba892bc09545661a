"""The study of mutants as a file: what every row that was looked at says of each, and with which code.

A study can be gone on with wherever it lies: results stay as long as the mutant's text and the code that the
row's claim runs are the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from verification.alarms.code import row_code
from verification.fingerprint import versions
from verification.mutants.kill import Kill, Noticed
from verification.mutants.mutant import Equivalent, Mutant
from verification.mutants.observe import PROFILE
from verification.report.studies import read_mutants

SEED = 0

Study = dict[Mutant, Kill]


def plain(kills: Sequence[Kill], equivalent: Sequence[Equivalent]) -> dict[str, Any]:
    """What is written; only ``seconds`` differs from run to run.

    ``complete`` are the rows that every mutant was held against: one that is not named there, in ``also`` or
    in ``errors`` of a mutant was silent. Rows whose process was stopped are left out, so that they are run
    when the study is gone on with.
    """
    kills = [kill.kept for kill in kills]
    rows = sorted({row for kill in kills for row in kill.cells})
    complete = {row for row in rows if all(row in kill.cells for kill in kills)}
    return {
        "schema": 1,
        "versions": versions(),
        "profile": PROFILE,
        "seed": SEED,
        "mutants": [_mutant(kill, complete) for kill in kills],
        "rows": {row: row_code(row) for row in rows},
        "complete": sorted(complete),
        "equivalent": [{"name": e.name, "what": e.what, "why": e.why} for e in equivalent],
        "seconds": {kill.mutant.name: round(kill.seconds, 1) for kill in kills},
    }


def _mutant(kill: Kill, complete: set[str]) -> dict[str, Any]:
    mutant, named = kill.mutant, kill.named
    others = sorted((row, cell) for row, cell in kill.cells.items() if row != mutant.row and cell)
    return {
        "name": mutant.name,
        "what": mutant.what,
        "module": mutant.edit.module,
        "edit": _edit(mutant),
        "row": mutant.row,
        "killed": kill.killed,
        "by": named and named.by,
        "expected": named and named.expected,
        "found": named and named.found,
        "samples": named.samples if named else 0,
        "also": [_cell(cell) for _, cell in others if cell.by != "error"],
        "errors": [row for row, cell in others if cell.by == "error"],
        "silent": sorted(row for row, cell in kill.cells.items() if cell is None and row not in complete),
    }


def _cell(cell: Noticed) -> dict[str, Any]:
    return {name: value for name, value in asdict(cell).items() if name != "lost"}


def read(path: Path, table: Iterable[Mutant]) -> Study:
    """What ``path`` holds of the mutants in ``table`` and is still true; nothing if there is no file."""
    if not path.exists():
        return {}
    found = read_mutants(path)
    held = {m["name"]: m for m in found["mutants"]}
    good = {row for row, code in found["rows"].items() if _same(row, code)}
    study = {}
    for mutant in table:
        old = held.get(mutant.name)
        if old and (old["edit"], old["row"]) == (_edit(mutant), mutant.row):
            cells = {row: cell for row, cell in _cells(old, found["complete"]).items() if row in good}
            study[mutant] = Kill(mutant, cells, float(found["seconds"].get(mutant.name, 0.0)))
    return study


def _cells(old: Mapping[str, Any], complete: Sequence[str]) -> dict[str, Noticed | None]:
    cells: dict[str, Noticed | None] = dict.fromkeys([*complete, *old["silent"]])
    cells |= {row: Noticed(row, "error", "none", "", 0) for row in old["errors"]}
    cells |= {cell["row"]: Noticed(**cell) for cell in old["also"]}
    if old["by"] is not None:
        cells[old["row"]] = Noticed(old["row"], old["by"], old["expected"], old["found"], old["samples"])
    return cells


def _same(row: str, code: str) -> bool:
    try:
        return row_code(row) == code
    except ValueError:  # a claim that is no more
        return False


def _edit(mutant: Mutant) -> str:
    """Sixteen hexadecimal digits that name the change of text."""
    text = json.dumps(asdict(mutant.edit), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
