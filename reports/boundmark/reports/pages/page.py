"""What a report says, apart from how it is written down. All text is plain, nothing is markup."""

from collections.abc import Mapping
from dataclasses import dataclass

from boundmark.reports.plots.plot import Plot


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    detail
        Shown smaller beside the text.
    best
        Whether this is the best value of its column.
    """

    text: str
    detail: str = ""
    best: bool = False


@dataclass(frozen=True)
class Group:
    """Rows under a heading of their own; the heading is itself a row, or empty."""

    heading: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Table:
    """A table with its title and what its reader has to know.

    Attributes
    ----------
    columns
        Heads of the columns.
    text_columns
        How many columns at the left, and `text_columns_right` how many at the right, hold text;
        the ones between hold numbers.
    notes
        How numbers are computed and failures charged, a sentence or more each.
    """

    title: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    text_columns: int = 1
    text_columns_right: int = 0

    def is_number(self, column: int) -> bool:
        """Whether a column holds numbers."""
        return self.text_columns <= column < len(self.columns) - self.text_columns_right


@dataclass(frozen=True)
class Section:
    """A part of the page under one heading; plots without data are left out."""

    title: str
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    paragraphs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """The whole report.

    Attributes
    ----------
    svg
        Each plot of a section as SVG text, by the plot's name.
    """

    title: str
    summary: str
    settings: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    limitations: tuple[str, ...]
    sections: tuple[Section, ...]
    svg: Mapping[str, str]
