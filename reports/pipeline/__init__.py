"""The report of `pipeline`: the default one by number of stages, and the tables of [MTPP24]."""

from dataclasses import replace

from boundmark.reports.default import DEFAULT
from boundmark.reports.methods import method_section, method_table
from boundmark.reports.pipeline.drawings import (
    drawing_section,
    paper_form_section,
    reference_bounds,
)
from boundmark.reports.pipeline.hierarchy import hierarchy_section, hierarchy_table
from boundmark.reports.problem_report import Grouping, ProblemResults, Tables
from boundmark.reports.sections.gaps import bound_section, gap_section
from boundmark.reports.sections.instances import instance_section
from boundmark.reports.sections.runtime import runtime_section
from boundmark.reports.tables.by_parameter import tables_by_parameter


def tables(results: ProblemResults) -> Tables:
    """Return the default tables, with solutions relative to the simple lower bound."""
    bounds = reference_bounds(results.tasks, results.certified)
    reference = bounds.set_index("instance_sha256")["bound"]
    return {
        **tables_by_parameter(results, reference),
        "methods": method_table(results.tasks, results.certified),
        "reference_bounds": bounds,
        results.grouping.named("hierarchy"): hierarchy_table(results),
    }


REPORT = replace(
    DEFAULT,
    grouping=Grouping("k", "k (stages)"),
    tables=tables,
    baselines=("balanced-work", "uniform", "slicegraph"),
    sections=(
        gap_section,
        bound_section,
        hierarchy_section,
        paper_form_section,
        runtime_section,
        drawing_section,
        method_section,
        instance_section,
    ),
)

__all__ = ["REPORT"]
