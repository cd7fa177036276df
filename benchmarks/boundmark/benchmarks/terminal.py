"""Tables on a terminal or in a pipe: never wider than there is room, and no name broken."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

# In pipes and files, where nobody says how much room there is.
USUAL_WIDTH = 80

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


def print_table(table: Table) -> None:
    """Print a table; its last column takes what room is left, and is cut where that is too little.

    Numbers and names in the other columns are never cut nor broken.
    """
    out = console()
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[:-1]:
        texts = [column.header, *column.cells]
        column.min_width = max(Measurement.get(out, out.options, text).maximum for text in texts)
    table.columns[-1].overflow = "ellipsis"
    if _is_wide.get():
        # Without the blanks that fill a line of that length.
        with out.capture() as captured:
            out.print(table)
        out.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
        return
    out.print(table)


def plain(text: str) -> Text:
    """Return a text that comes from a user for a table: no mark-up, nothing that moves a cursor."""
    from boundmark.bounds.checker import printable

    return Text(printable(text))
