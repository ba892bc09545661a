"""What the lpcb command shows: tables that fit 80 columns, progress, and errors in one line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from lpcb.console import say, show_table, tell
from verification.execute import RowTask
from verification.runner import Event, IncompleteError
from verification.serialise import canonical_json, write_atomic

__all__ = ["CleanGroup", "brief", "complain", "progress", "say", "show_table", "tell", "written"]


def complain(message: str) -> None:
    """One red line on stderr."""
    Console(stderr=True).print(f"[red]{escape(message)}[/red]", highlight=False, soft_wrap=True)


def written(path: Path | None, data: Any) -> bool:
    """Writes ``data`` to ``path`` if there is one; True if standard output is taken by it."""
    if path is None:
        return False
    if str(path) != "-":
        write_atomic(path, canonical_json(data))
        return False
    sys.stdout.write(canonical_json(data))
    return True


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
