"""The interface between a report and each problem: results in, tables and sections out.

A problem brings one `ProblemReport`: which tables are stored and which sections stand on the page.
A package names it in an entry point whose name is the problem's::

    [project.entry-points."boundmark.reports"]
    my-problem = "my_package.report:REPORT"

and most reports are the default one with something added::

    REPORT = replace(
        DEFAULT,
        grouping=Grouping("devices", "number of devices"),
        tables=lambda results: {**DEFAULT.tables(results), "transfers": transfer_table(results)},
        sections=(*DEFAULT.sections, transfer_section),
    )

where `transfer_section` takes the results and the tables and returns a `Section`, or None if it has
nothing to say. The summary, the settings, the failed tasks and all files are not its business.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from boundmark.reports.pages.page import Section
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.parameters import Value, parameter_column

# Data frames by name, as they are stored: `tables/<problem>/<name>.parquet`.
Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Grouping:
    """The parameter of instances by whose values tables and plots are divided.

    Attributes
    ----------
    parameter
        Its name; None puts all instances into one group.
    label
        What axes say, e.g. ``"number of devices"``; the parameter's name if left out.
    """

    parameter: str | None
    label: str | None = None

    @property
    def column(self) -> str:
        """Column of the groups in tasks, certified table, and tables by group."""
        return "group" if self.parameter is None else parameter_column(self.parameter)

    @property
    def axis_label(self) -> str:
        """The label of an axis over the groups."""
        return self.label or self.parameter or ""

    def heading(self, value: Value) -> str:
        """Return the name of a group, e.g. ``"devices = 8"``."""
        return str(value) if self.parameter is None else f"{self.parameter} = {value}"

    def named(self, what: str) -> str:
        """Return the name of a table or plot by group, e.g. ``"gap_by_devices"``."""
        return what if self.parameter is None else f"{what}_by_{self.parameter}"

    def titled(self, what: str) -> str:
        """Return the title of a table or plot by group, e.g. ``"Mean gap by devices"``."""
        return what if self.parameter is None else f"{what} by {self.parameter}"


# The one group of a problem whose instances have no parameters.
ALL_INSTANCES = "all instances"


@dataclass(frozen=True)
class ProblemResults:
    """The results of one problem in a folder.

    Attributes
    ----------
    problem
        Its name, as in the results.
    tasks
        One row per task: the columns of `results/*.parquet`, `method` made unique to how it was
        run, `parameters` as text, and a column per parameter (see `tables.parameters`).
    certified
        One row per instance, from `certified_table`.
    traces
        What the tasks reported when: the columns of `traces/*.parquet`.
    store
        The folder, for what only instances and solutions tell.
    grouping
        That of the problem's report; its column is there, missing where an instance has no such
        parameter.
    history
        Earlier runs and this one, from `history`; None if no history is kept.
    highlight
        Methods that the reader asked for by name: they stand in front.
    baseline
        A method that the reader wants all others held against; this problem may lack it.
    """

    problem: str
    tasks: pd.DataFrame
    certified: pd.DataFrame
    traces: pd.DataFrame
    store: ResultStore
    grouping: Grouping
    history: pd.DataFrame | None = None
    highlight: tuple[str, ...] = ()
    baseline: str | None = None


def nothing(results: ProblemResults, tables: Tables) -> Sequence[str]:
    """Do nothing with a message."""
    return ()


@dataclass(frozen=True)
class ProblemReport:
    """The tables and sections that one problem adds to a report.

    Attributes
    ----------
    tables
        Computes the tables; they are stored, and the functions below get them.
    sections
        Each makes one section of the page, in this order, or None if there is nothing to say. A
        section brings its tables, plots with their data and captions, and paragraphs.
    headline
        Returns the sentences of the page's summary on this problem.
    grouping
        By which parameter tables are divided; None for that with the most values.
    limitations
        Returns what a reader has to beware of, a sentence or more each.
    baselines
        Methods that practitioners have anyway: solutions are held against the first one of them
        that solved the instance, where costs are times. Empty for no such table.
    """

    tables: Callable[[ProblemResults], Tables]
    sections: tuple[Callable[[ProblemResults, Tables], Section | None], ...]
    headline: Callable[[ProblemResults, Tables], str]
    grouping: Grouping | None = None
    limitations: Callable[[ProblemResults, Tables], Sequence[str]] = nothing
    baselines: tuple[str, ...] = ()
