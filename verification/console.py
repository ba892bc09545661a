"""What the lpcb command shows: tables that fit 80 columns, progress, and errors in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from typer.core import TyperGroup

from verification.execute import RowTask
from verification.runner import Event, IncompleteError

STYLES = {"HOLDS": "green", "REFUTED": "red", "UNDECIDED": "yellow"}


def say(*lines: str) -> None:
    """Plain text on stdout, unbroken so that commands can be copied."""
    for line in lines:
        Console().print(line, markup=False, highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    """One red line on stderr."""
    Console(stderr=True).print(f"[red]{escape(message)}[/red]", highlight=False, soft_wrap=True)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """A table in which nothing is cut off: long cells are folded."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(f"[{STYLES[cell]}]{cell}[/]" if cell in STYLES else escape(cell) for cell in row))
    Console().print(table)


def brief(value: Any, length: int = 300) -> str:
    """``value`` in a few words."""
    text = str(value)
    return text if len(text) <= length else f"{text[:length]}…"


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[Event], None]]:
    """A progress bar on a terminal; elsewhere a line for every finished row; nothing if ``quiet``."""
    console = Console(stderr=True)
    if quiet:
        yield lambda event: None
    elif console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("verifying", total=None)
            yield lambda event: bar.update(task, completed=event.done, total=event.total)
    else:
        yield lambda event: _line(console, event)


def _line(console: Console, event: Event) -> None:
    if isinstance(event.task, RowTask) and event.row is not None:
        text = f"{event.done}/{event.total} {event.task.row.name} {event.row['verdict']}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)


class CleanGroup(TyperGroup):
    """Bad input ends a command with exit code 2, an interruption with 3; one line, no traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (IncompleteError, KeyboardInterrupt) as error:
            complain(f"Incomplete: {error or 'it was interrupted'}.")
            raise typer.Exit(3) from None
        except (ValueError, OSError) as error:
            complain(f"Error: {error}")
            raise typer.Exit(2) from None
