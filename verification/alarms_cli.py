"""``lpcb alarms``: how often the gate is wrong by chance, measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verification.alarms.bounds import CONFIDENCE, count, whole
from verification.alarms.ledger import IncompleteError, hashes, run_seeds
from verification.alarms.levels import SEEDS, beyond, measure_levels
from verification.console import CleanGroup, complain, progress, say, show_table
from verification.execute import check_jobs
from verification.report.studies import STUDIES

app = typer.Typer(
    cls=CleanGroup, no_args_is_help=True, help="How often the gate is wrong by chance, measured."
)

Jobs = Annotated[int, typer.Option(help="Worker processes; -1 is one per core.")]
Claims = Annotated[list[str] | None, typer.Argument(metavar="CLAIM", help="Claim ids; all if none.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]


@app.command()
def seeds(
    claims: Claims = None,
    first: Annotated[int, typer.Option("--from", min=0, help="First root seed.")] = 1,
    last: Annotated[int, typer.Option("--to", min=0, help="Last root seed.")] = 30,
    jobs: Jobs = -1,
    file: Annotated[
        Path, typer.Option(help="The ledger to add to; by default the committed one.", show_default=False)
    ] = STUDIES / "seeds.json",
    quiet: Quiet = False,
) -> None:
    """Run the quick profile at many root seeds and keep a ledger of unexpected rows.

    Claims that the ledger holds already at a seed, made with this code, are not run again.

    Exit codes: 0 no row was unexpected, 1 one was, 2 bad input, 3 incomplete (the same command goes on).

    Example: lpcb alarms seeds --from 1 --to 30 --jobs 2
    """
    if last < first:
        raise ValueError(f"to is at least from, not {last} < {first}")
    with progress(quiet) as bar:
        try:
            entries = run_seeds(file, range(first, last + 1), jobs, claims or [], bar)
        except IncompleteError as error:
            complain(f"Incomplete: {error}. The same command goes on.")
            raise typer.Exit(3) from None
    runs = whole((e for made in entries.values() for e in made), hashes(claims or []))
    show_table(("seed", "unexpected"), [(str(s), ", ".join(rows) or "none") for s, rows in runs.items()])
    found = count(runs.values())
    say(
        f"{found.unexpected} of {found.runs} runs have unexpected rows: "
        f"with {CONFIDENCE:.0%} confidence fewer than {found.bound:.2%} of runs do."
    )
    raise typer.Exit(1 if found.unexpected else 0)


@app.command()
def levels(
    claims: Claims = None,
    most: Annotated[int, typer.Option("--seeds", min=1, help="Seeds for every check.")] = SEEDS,
    jobs: Jobs = 1,
    file: Annotated[
        Path, typer.Option(help="The study to add to; by default the committed one.", show_default=False)
    ] = STUDIES / "levels.json",
    quiet: Quiet = False,
) -> None:
    """Run every random check at level 0.05 with few samples and count how often it is wrong.

    What the file holds already, made with this code, is not run again.

    Exit codes: 0 every check keeps its level, 1 one is beyond it, 2 bad input, 3 incomplete.

    Example: lpcb alarms levels --seeds 2000 --jobs 2
    """
    check_jobs(jobs)
    try:
        study = measure_levels(file, most, jobs, claims or [], (lambda line: None) if quiet else say)
    except RuntimeError as error:  # a worker was killed, or a check fails
        complain(f"Incomplete: {error}. The same command goes on.")
        raise typer.Exit(3) from None
    show_table(
        ("row", "check", "seeds", "wrong", "limit"),
        [
            (c["row"], c["check"], *(str(c[k]) for k in ("seeds", "all_wrong", "limit")))
            for c in study["checks"]
        ],
    )
    found = beyond(study)
    say(*(f"Beyond its limit: {name}" for name in found))
    say(f"{len(found)} of {study['comparisons']} checks and measures are beyond their limits.")
    raise typer.Exit(1 if found else 0)
