"""The report of `microbatch`: schedules, how much devices idle in them, and how they are found."""

from boundmark.reports.microbatch.sections.bubble_rates import bubble_rate_section
from boundmark.reports.microbatch.sections.communication import communication_section
from boundmark.reports.microbatch.sections.drawings import drawing_section
from boundmark.reports.microbatch.sections.instances import instance_section
from boundmark.reports.microbatch.sections.search_time import search_time_section
from boundmark.reports.microbatch.tables import tables
from boundmark.reports.problem_report import Grouping, ProblemReport
from boundmark.reports.sections.gaps import gap_section, mean_gap
from boundmark.reports.sections.methods import method_section

REPORT = ProblemReport(
    grouping=Grouping("memory", "memory of a device"),
    tables=tables,
    sections=(
        instance_section,
        gap_section,
        bubble_rate_section,
        method_section,
        search_time_section,
        communication_section,
        drawing_section,
    ),
    headline=mean_gap,
)

__all__ = ["REPORT"]
