"""The report of `pipeline`: the default one by number of stages, with a reference of its own."""

from dataclasses import replace

from boundmark.reports.default import DEFAULT
from boundmark.reports.pipeline.drawings import drawing_section
from boundmark.reports.pipeline.solutions import solution_section
from boundmark.reports.pipeline.tables import tables
from boundmark.reports.problem_report import Grouping
from boundmark.reports.sections.bounds import bound_section
from boundmark.reports.sections.gaps import gap_section
from boundmark.reports.sections.instances import instance_section
from boundmark.reports.sections.methods import method_section
from boundmark.reports.sections.runtime import runtime_section

REPORT = replace(
    DEFAULT,
    grouping=Grouping("k", "k (stages)"),
    tables=tables,
    sections=(
        gap_section,
        bound_section,
        solution_section,
        runtime_section,
        drawing_section,
        method_section,
        instance_section,
    ),
)

__all__ = ["REPORT"]
