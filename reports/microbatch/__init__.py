"""The report of `microbatch`: schedules, how much devices idle in them, and how they are found."""

from boundmark.reports.methods import method_section, method_table
from boundmark.reports.microbatch.communication import communication_section, communication_table
from boundmark.reports.microbatch.drawings import chosen_for_drawing, drawing_section, stored_pairs
from boundmark.reports.microbatch.schedules import (
    best_schedules,
    bubble_rate_section,
    bubble_rates,
    instance_section,
    schedule_table,
)
from boundmark.reports.microbatch.search_time import mean_ratios, search_time, search_time_section
from boundmark.reports.problem_report import Grouping, ProblemReport, ProblemResults, Tables
from boundmark.reports.sections.gaps import gap_section, mean_gap
from boundmark.reports.tables.by_parameter import gap_by_parameter


def tables(results: ProblemResults) -> Tables:
    """Return all tables of the report, by the names of their files."""
    grouping = results.grouping
    schedules = schedule_table(results)
    best = best_schedules(schedules, results.certified)
    times = search_time(schedules)
    chosen = chosen_for_drawing(best)
    return {
        "schedules": schedules,
        "best_schedules": best,
        grouping.named("gap"): gap_by_parameter(results.certified, grouping.column),
        "bubble_rates": bubble_rates(schedules),
        "methods": method_table(results.tasks, results.certified),
        "search_time": times,
        "search_time_ratios": mean_ratios(times),
        "communication": communication_table(chosen, stored_pairs(chosen, results.store)),
    }


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
    baselines=("1f1b", "1f1b-plus", "gpipe", "chimera-direct"),
)

__all__ = ["REPORT"]
