"""What the lpcb command shows: tables that fit 80 columns, progress, and errors in one line."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from lpcb.console import say, show_table, shown, tell
from lpcb.files import deliver
from verification.execute import RowTask
from verification.runner import Event, IncompleteError
from verification.serialise import canonical_json

__all__ = ["CleanGroup", "brief", "complain", "progress", "say", "show_table", "tell", "written"]


def complain(message: str) -> None:
    """One red line on stderr."""
    Console(stderr=True).print(f"[red]{escape(shown(message))}[/red]", highlight=False, soft_wrap=True)


def written(path: Path | None, data: Any) -> bool:
    """Writes ``data`` to ``path`` if there is one; True if standard output is taken by it."""
    return deliver(path, canonical_json(data))


def brief(value: Any, length: int = 300) -> str:
    """``value`` in a few words."""
    text = str(value)
    return text if len(text) <= length else f"{text[:length]}…"


SILENCE = 10.0
"""Seconds after which somebody who reads a log wants to know that the work goes on."""


@contextmanager
def progress(quiet: bool, rows: int = 0) -> Iterator[Callable[[Event], None]]:
    """A progress bar on a terminal; elsewhere lines; nothing if ``quiet``. ``rows`` are announced first."""
    console = Console(stderr=True)
    if quiet:
        yield lambda event: None
    elif console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("verifying", total=None)
            yield lambda event: bar.update(task, completed=event.done, total=event.total)
    else:
        lines = Lines(console)
        if rows:
            lines.say(f"{rows} row{'' if rows == 1 else 's'} to check, and what is simulated for them …")
        yield lines.tell


class Lines:
    """A line for every finished row, and one with the time left after every ten seconds of work."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.console, self.clock = console, clock
        self.start = self.last = clock()

    def say(self, text: str) -> None:
        self.console.print(shown(text), markup=False, highlight=False, soft_wrap=True)

    def tell(self, event: Event) -> None:
        finished = isinstance(event.task, RowTask) and event.row is not None
        late = self.clock() - self.last > SILENCE
        text = f"{event.done}/{event.total}"
        if isinstance(event.task, RowTask) and event.row is not None:
            text += f" {event.task.row.name} {event.row['verdict']}"
        if late and event.done < event.total:
            self.last = self.clock()
            left = (self.last - self.start) / event.done * (event.total - event.done)
            text += f", about {_span(left)} left"
        if finished or late:
            self.say(text)


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


class CleanGroup(TyperGroup):
    """Bad input ends a command with exit code 2, an interruption with 3; one line, no traceback."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            # Typer keeps the source's line breaks in every paragraph but the first.
            paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
            command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
            _plain_switches(command.get_params(ctx))
        return command

    def get_params(self, ctx: Any) -> Any:
        return _plain_switches(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (IncompleteError, KeyboardInterrupt) as error:
            complain(f"Incomplete: {str(error) or 'it was interrupted'}.")
            raise typer.Exit(3) from None
        except (ValueError, OSError) as error:
            complain(f"Error: {error}")
            raise typer.Exit(2) from None


def _plain_switches(parameters: list[Any]) -> list[Any]:
    """Typer shows <bool> behind a switch, which takes no value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters
