"""The report of `slicing`: latency against one device and equal slices, and loads of devices."""

from dataclasses import replace

from boundmark.reports.default import DEFAULT
from boundmark.reports.problem_report import Grouping
from boundmark.reports.sections.bounds import bound_section
from boundmark.reports.sections.gaps import gap_section
from boundmark.reports.sections.instances import instance_section
from boundmark.reports.sections.methods import method_section
from boundmark.reports.sections.runtime import runtime_section
from boundmark.reports.sections.solutions import solution_section
from boundmark.reports.slicing.sections.latency import latency_section
from boundmark.reports.slicing.sections.loads import load_section
from boundmark.reports.slicing.tables import tables

REPORT = replace(
    DEFAULT,
    grouping=Grouping("edge_devices", "number of devices"),
    tables=tables,
    sections=(
        latency_section,
        gap_section,
        bound_section,
        solution_section,
        load_section,
        runtime_section,
        method_section,
        instance_section,
    ),
)

__all__ = ["REPORT"]
