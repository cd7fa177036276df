"""Lines and tables on a terminal or in a pipe: no control characters, no name broken."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import click
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from boundmark.problems.errors import printable, shown

# In pipes and files, which have no width.
USUAL_WIDTH = 80

# Between two columns.
GAP = 2

# The last column has this width, however little room is left.
LEAST_WIDTH = 8

# Wide enough for any name.
WIDE = 10_000

_is_wide: ContextVar[bool] = ContextVar("is_wide", default=False)


@contextmanager
def wide_tables(is_wide: bool) -> Iterator[None]:
    """Let tables be as wide as their contents need, whatever the terminal's width."""
    token = _is_wide.set(is_wide)
    try:
        yield
    finally:
        _is_wide.reset(token)


def console() -> Console:
    """Return the console for tables on standard output."""
    if _is_wide.get():
        return Console(width=WIDE)
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return Console()
    return Console(width=USUAL_WIDTH)


def print_table(table: Table, *, keeps_wrapping: bool = False) -> None:
    """Print a table; numbers, and names in all columns but the last, are never cut."""
    out = console()
    widths = [
        max(
            Measurement.get(out, out.options, text).maximum
            for text in (column.header, *column.cells)
        )
        for column in table.columns
    ]
    for column, width in zip(table.columns, widths, strict=True):
        if not keeps_wrapping:
            column.no_wrap = True
        if column.no_wrap:
            column.min_width = width
    if not keeps_wrapping:
        room = out.width - sum(widths[:-1]) - GAP * len(widths[:-1])
        last = table.columns[-1]
        last.min_width, last.max_width = min(widths[-1], LEAST_WIDTH), max(LEAST_WIDTH, room)
        last.overflow = "ellipsis"
    least = sum(column.min_width or 0 for column in table.columns)
    with out.capture() as captured:
        out.print(table, width=max(out.width, least + GAP * len(widths)), crop=False)
    # Without the blanks that fill lines up.
    lines = captured.get().splitlines()
    out.file.write("".join(f"{line.rstrip()}\n" for line in lines))
    out.file.flush()


def plain(text: str) -> Text:
    """Return a user's text for a table, without markup and control characters."""
    return Text(printable(text))


def echo(text: str, *, err: bool = False) -> None:
    """Print a message on one line, as `shown` does."""
    click.echo(shown(printable(text)), err=err)
