"""The default report: that of a problem without its own, and the parts of the others."""

from boundmark.reports.methods import method_section, method_table
from boundmark.reports.problem_report import ProblemReport, ProblemResults, Tables
from boundmark.reports.sections.gaps import bound_section, gap_section, mean_gap, solution_section
from boundmark.reports.sections.instances import instance_section
from boundmark.reports.sections.runtime import runtime_section
from boundmark.reports.tables.by_parameter import best_certified_bounds, tables_by_parameter


def default_tables(results: ProblemResults) -> Tables:
    """Return the tables by one parameter, and that with one row per method."""
    return {
        **tables_by_parameter(results, best_certified_bounds(results.certified)),
        "methods": method_table(results.tasks, results.certified),
    }


DEFAULT = ProblemReport(
    tables=default_tables,
    sections=(
        gap_section,
        bound_section,
        solution_section,
        runtime_section,
        method_section,
        instance_section,
    ),
    headline=mean_gap,
)
