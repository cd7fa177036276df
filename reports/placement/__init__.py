"""The report of `placement`: latencies, learned placements, search times, effects of fusion."""

from dataclasses import replace

from boundmark.reports.default import DEFAULT
from boundmark.reports.methods import method_section
from boundmark.reports.placement.drawings import drawing_section
from boundmark.reports.placement.latencies import (
    fusion_section,
    fusion_table,
    latency_section,
    latency_table,
    time_section,
)
from boundmark.reports.placement.learned import (
    curve_section,
    curve_table,
    learned_section,
    learned_table,
)
from boundmark.reports.problem_report import Grouping, ProblemResults, Tables
from boundmark.reports.sections.gaps import gap_section
from boundmark.reports.sections.instances import instance_section


def tables(results: ProblemResults) -> Tables:
    """Return the default tables and those of `placement`."""
    latencies = latency_table(results.tasks, results.certified)
    return {
        **DEFAULT.tables(results),
        "latencies": latencies,
        "fusion": fusion_table(latencies),
        "learned": learned_table(results.tasks, results.certified),
        "curves": curve_table(results.tasks, results.certified),
    }


REPORT = replace(
    DEFAULT,
    grouping=Grouping("transfers", "transfers"),
    tables=tables,
    baselines=("single-device", "m-topo", "m-etf", "heft"),
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
