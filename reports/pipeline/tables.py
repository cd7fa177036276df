"""The tables of `pipeline`."""

from boundmark.reports.pipeline.reference import reference_bounds
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.tables.by_parameter import tables_by_parameter
from boundmark.reports.tables.methods import method_table


def tables(results: ProblemResults) -> Tables:
    """Return those of the default report, with solutions relative to the simple lower bound."""
    bounds = reference_bounds(results.tasks, results.certified)
    reference = bounds.set_index("instance_sha256")["bound"]
    return {
        **tables_by_parameter(results, reference),
        "methods": method_table(results.tasks, results.certified),
        "reference_bounds": bounds,
    }
