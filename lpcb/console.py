"""What commands show: plain lines, and tables that fit the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
"""Signs that move the cursor or change what a terminal shows, and are never text."""

STYLES = {"HOLDS": "green", "REFUTED": "red", "UNDECIDED": "yellow"}


def shown(text: str) -> str:
    """``text`` without control characters: what a report or a claim holds must not command a terminal.

    >>> shown("a\\x1b[2Jb")
    'a[2Jb'
    """
    return text.translate(CONTROL)


def say(*lines: str) -> None:
    """Plain text on stdout, unbroken so that commands can be copied."""
    for line in lines:
        Console().print(shown(line), markup=False, highlight=False, soft_wrap=True)


def tell(*paragraphs: str, indent: int = 0, style: str = "") -> None:
    """Sentences on stdout, broken between words to fit the terminal and 80 columns."""
    console = Console()
    width = min(console.width, 80) - indent
    for paragraph in paragraphs:
        for line in Text(shown(paragraph), style).wrap(console, width) or [Text("")]:
            line.rstrip()
            console.print(Text(" " * indent) + line, highlight=False, soft_wrap=True)


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    title: str | None = None,
    right: frozenset[str] = frozenset(),
) -> None:
    """A table in which nothing is cut off: long cells are folded, names in the first column last.

    Columns in ``right`` hold numbers.
    """
    columns = [shown(name) for name in columns]
    cells = [tuple(shown(cell) for cell in row) for row in rows]
    longest = max((len(word) for row in cells for word in row[0].split()), default=0)
    table = Table(
        box=box.SIMPLE_HEAD,
        title=title and escape(shown(title)),
        title_justify="left",
        title_style="",
        pad_edge=False,
    )
    for index, name in enumerate(columns):
        table.add_column(
            escape(name),
            overflow="fold",
            justify="right" if name in right else "left",
            min_width=min(longest, Console().width // 2) if index == 0 else None,
        )
    for row in cells:
        table.add_row(*(f"[{STYLES[cell]}]{cell}[/]" if cell in STYLES else escape(cell) for cell in row))
    Console().print(table)


class Report(Protocol):
    def __call__(self, done: int, total: int) -> None: ...


@contextmanager
def counting(what: str) -> Iterator[Report]:
    """A progress bar with the time left, on a terminal; nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield report
