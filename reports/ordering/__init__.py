"""The report of `ordering`: memory against the default order and the bound, and timelines."""

from dataclasses import replace

from boundmark.reports.default import DEFAULT
from boundmark.reports.ordering.sections.savings import saving_section
from boundmark.reports.ordering.sections.timelines import timeline_section
from boundmark.reports.ordering.tables.savings import saving_table
from boundmark.reports.ordering.tables.timelines import timeline_table
from boundmark.reports.problem_report import Grouping, ProblemResults, Tables


def tables(results: ProblemResults) -> Tables:
    """Return the default tables, what orders save, and the memory of some orders over time."""
    savings = saving_table(results)
    return {
        **DEFAULT.tables(results),
        "savings": savings,
        "timelines": timeline_table(results, savings),
    }


REPORT = replace(
    DEFAULT,
    grouping=Grouping("metric"),
    tables=tables,
    sections=(saving_section, *DEFAULT.sections, timeline_section),
)

__all__ = ["REPORT"]
