"""``lpcb mutants``: would the gate notice a mistake?"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from lpcb.files import check_target, is_stdout
from verification.console import brief, complain, say, show_table, written
from verification.execute import check_jobs
from verification.mutants import EQUIVALENT, MUTANTS, Equivalent, Mutant
from verification.mutants.kill import Kill, run_named
from verification.mutants.matrix import WAVES, run_matrix
from verification.mutants.study import SEED, Study, plain, read
from verification.registry import load, load_module
from verification.serialise import canonical_json, write_atomic


def mutants_command(
    names: Annotated[list[str] | None, typer.Argument(metavar="MUTANT", help="All if none.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Show the mutants and stop.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Every row, not only the named one; goes on where it was stopped.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the study here; - is standard output.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Mutants at a time; -1 is one per core.")] = -1,
    module: Annotated[
        str | None,
        typer.Option("--mutants", metavar="MODULE", help="Your own table MUTANTS, not the built-in one."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Make small mistakes in lpcb, one at a time and never on disk, and see whether a row notices.

    With --full, what the JSON file holds already of this code is not run again.

    Exit codes: 0 all noticed by the row that they name, 1 one was not, 2 bad input,
    3 processes were stopped (the same command goes on).

    Examples: lpcb mutants --json out.json · lpcb mutants level-off-by-one --jobs 1
    """
    table, equivalent = _tables(module)
    chosen = _chosen(table, names or [])
    if show_list:
        listed = [{"name": m.name, "row": m.row, "what": m.what} for m in chosen]
        same = [{"name": e.name, "what": e.what, "why": e.why} for e in equivalent]
        if written(json_file, {"schema": 1, "mutants": listed, "equivalent": same}):
            return
        show_table(("mutant", "row", "mistake"), [(m.name, m.row, m.what) for m in chosen])
        show_table(("equivalent", "why"), [(e.name, e.why) for e in equivalent])
        return
    check_jobs(jobs)
    if full and (json_file is None or is_stdout(json_file)):
        raise ValueError("json: --full needs a file to go on with")
    check_target("json", json_file)
    workers = os.cpu_count() or 1 if jobs == -1 else jobs
    pieces = len(chosen) * (len(WAVES) if full else 1)
    tell = (lambda kill: None) if quiet or is_stdout(json_file) else _teller(pieces)
    if full and json_file is not None:

        def keep(study: Study) -> None:
            kills = [study[mutant] for mutant in table if mutant in study]
            write_atomic(json_file, canonical_json(plain(kills, equivalent)))

        study = run_matrix(chosen, read(json_file, table), workers, keep, tell)
        keep(study)
        kills = [study[mutant] for mutant in chosen]
    else:
        kills = run_named(chosen, SEED, workers, tell)
        written(json_file, plain(kills, equivalent))
    if not is_stdout(json_file):
        _show(kills, len(equivalent))
    if any(kill.named and kill.named.lost for kill in kills):
        complain("Incomplete: processes were stopped. The same command runs their rows again.")
        raise typer.Exit(3)
    raise typer.Exit(0 if all(kill.killed for kill in kills) else 1)


def _tables(module: str | None) -> tuple[tuple[Mutant, ...], tuple[Equivalent, ...]]:
    if module is None:
        return MUTANTS, EQUIVALENT
    found = getattr(load_module(module), "MUTANTS", None)
    if not isinstance(found, tuple) or not found or not all(isinstance(m, Mutant) for m in found):
        raise ValueError(f"mutants: module {module!r} must hold MUTANTS, a non-empty tuple of Mutant")
    return found, ()


def _chosen(table: tuple[Mutant, ...], names: Sequence[str]) -> list[Mutant]:
    known = {mutant.name: mutant for mutant in table}
    for name in names:
        if name not in known:
            raise ValueError(f"unknown mutant {name!r}; `lpcb mutants --list` shows all")
    chosen = [mutant for mutant in table if not names or mutant.name in names]
    rows = {row.name for row in load().rows()}
    for mutant in chosen:
        if mutant.row not in rows:
            raise ValueError(f"mutant {mutant.name!r} names {mutant.row!r}, which is no row")
    return chosen


def _teller(total: int) -> Callable[[Kill], None]:
    done = 0

    def tell(kill: Kill) -> None:
        nonlocal done
        done += 1
        (say if kill.killed else complain)(f"{done}/{total} {kill.mutant.name}: {_outcome(kill)}")

    return tell


def _outcome(kill: Kill) -> str:
    row, named = kill.mutant.row, kill.named
    if row not in kill.cells:
        return f"not held against {row} yet"
    if named is None:
        others = ", ".join(other.row for other in kill.also)
        return f"survived {row}" + (f"; noticed by {others}" if others else "")
    if named.lost:
        return f"stopped before {row} had answered: {brief(named.found, 120)}"
    if named.by == "error":
        return f"crashed {row}, which is no kill: {brief(named.found, 120)}"
    return f"killed by {row} ({named.by})"


def _show(kills: Sequence[Kill], equivalent: int) -> None:
    bad = [kill for kill in kills if not kill.killed]
    if bad:
        show_table(("mutant", "outcome"), [(kill.mutant.name, _outcome(kill)) for kill in bad])
    crashed = sum(kill.named is not None for kill in bad)
    say(
        f"{len(kills) - len(bad)} of {len(kills)} mutants killed by the row they name, "
        f"{len(bad) - crashed} survived, {crashed} crashed; {equivalent} more are equivalent."
    )
