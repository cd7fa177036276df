"""The contents of a report, apart from how it is written down. All text is plain, no markup."""

from collections.abc import Mapping
from dataclasses import dataclass

from boundmark.reports.plots import Plot


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    detail
        Shown smaller beside the text.
    best
        Whether this is the best value of its column.
    href
        Where the text leads: a file below the results folder, or ``#`` and the anchor of a place on
        the page. Left out where the page has no such place.
    mark
        Number of the mark that stands before the text, as in the curves; none if left out.
    """

    text: str
    detail: str = ""
    best: bool = False
    href: str = ""
    mark: int | None = None


@dataclass(frozen=True)
class Group:
    """Rows under a heading of their own; the heading is itself a row, or empty.

    Attributes
    ----------
    dataset
        The data set that all rows are about, a word that readers may filter by; empty for none.
    """

    heading: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    dataset: str = ""


@dataclass(frozen=True)
class Table:
    """A table with its title and its notes.

    Attributes
    ----------
    columns
        Heads of the columns.
    text_columns
        How many columns at the left, and `text_columns_right` how many at the right, hold text;
        the ones between hold numbers.
    notes
        How numbers are computed and failures charged, a sentence or more each.
    is_folded
        Whether pages show its title only, until a reader asks for it.
    lead
        What readers have to know before they read a number; shown above the rows.
    """

    title: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    text_columns: int = 1
    text_columns_right: int = 0
    is_folded: bool = False
    lead: str = ""

    def is_number(self, column: int) -> bool:
        """Whether a column holds numbers."""
        return self.text_columns <= column < len(self.columns) - self.text_columns_right


@dataclass(frozen=True)
class Detail:
    """Contents that a reader can unfold below one row.

    Attributes
    ----------
    anchor
        By which the page's links know it.
    title, summary
        What is seen before it is unfolded.
    dataset
        A word that readers may filter by.
    curve
        A drawing as SVG text; empty if there is none.
    links
        What leads further: other places and files, with their name.
    commands
        Commands that check what is shown, to be run in the results folder.
    """

    anchor: str
    title: str
    summary: str
    dataset: str
    table: Table
    curve: str = ""
    links: tuple[Cell, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """A part of the page under one heading; plots without data are left out.

    Details are for pages that can unfold them; others leave them out.

    Attributes
    ----------
    problem
        Whose section it is, on pages about several problems; empty otherwise.
    is_headline
        Whether it answers what readers ask first: its plots come before its tables.
    is_open
        Whether readers see it at once; pages may fold the others away.
    is_filtered
        Whether readers may choose rows by words, which changes the tables and details below.
    """

    title: str
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    paragraphs: tuple[str, ...] = ()
    details: tuple[Detail, ...] = ()
    problem: str = ""
    is_headline: bool = False
    is_open: bool = False
    is_filtered: bool = False

    @property
    def heading(self) -> str:
        """The title, with the problem in front where there are several."""
        return f"{self.problem}: {self.title}" if self.problem else self.title


@dataclass(frozen=True)
class Page:
    """The whole report.

    Attributes
    ----------
    warning
        What readers have to know before they read anything else; empty if there is nothing.
    findings
        A sentence for each problem, where there are several; the summary says it otherwise.
    svg
        Each plot of a section as SVG text, by the plot's name.
    verdict
        How the run compares with an earlier one, and a line for each of the worst differences;
        empty if it was not compared.
    """

    title: str
    summary: str
    findings: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    limitations: tuple[str, ...]
    sections: tuple[Section, ...]
    svg: Mapping[str, str]
    warning: str = ""
    verdict: tuple[str, ...] = ()

    @property
    def open(self) -> Mapping[int, Section]:
        """The sections that readers see at once, by number."""
        return {at: one for at, one in enumerate(self.sections, 1) if one.is_open}

    @property
    def folded(self) -> Mapping[str, Mapping[int, Section]]:
        """The folded sections by problem and number; those without a problem come last."""
        found: dict[str, dict[int, Section]] = {}
        for number, section in enumerate(self.sections, 1):
            if not section.is_open:
                found.setdefault(section.problem, {})[number] = section
        return {problem: found[problem] for problem in sorted(found, key=lambda name: not name)}
