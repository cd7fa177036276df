"""The report of `placement`: latencies, what is learned, search times, and what fusion changes."""

from dataclasses import replace

from boundmark.reports.default import DEFAULT
from boundmark.reports.placement.all_tables import tables
from boundmark.reports.placement.drawings import drawing_section
from boundmark.reports.placement.learned_sections import curve_section, learned_section
from boundmark.reports.placement.sections import fusion_section, latency_section, time_section
from boundmark.reports.problem_report import Grouping
from boundmark.reports.sections.gaps import gap_section
from boundmark.reports.sections.instances import instance_section
from boundmark.reports.sections.methods import method_section

REPORT = replace(
    DEFAULT,
    grouping=Grouping("transfers", "transfers"),
    tables=tables,
    sections=(
        learned_section,
        curve_section,
        latency_section,
        time_section,
        fusion_section,
        drawing_section,
        gap_section,
        method_section,
        instance_section,
    ),
)

__all__ = ["REPORT"]
