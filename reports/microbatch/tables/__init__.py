"""Tables of `microbatch`: what verified schedules are like."""

from boundmark.reports.microbatch.gantt.chosen import chosen_for_drawing
from boundmark.reports.microbatch.stored_schedules import stored_pairs
from boundmark.reports.microbatch.tables.best import best_schedules
from boundmark.reports.microbatch.tables.bubble_rates import bubble_rates
from boundmark.reports.microbatch.tables.communication import communication_table
from boundmark.reports.microbatch.tables.schedules import schedule_table
from boundmark.reports.microbatch.tables.search_time import mean_ratios, search_time
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.tables.gap_by_parameter import gap_by_parameter
from boundmark.reports.tables.methods import method_table


def tables(results: ProblemResults) -> Tables:
    """Return all of them, by the names of their files."""
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
