"""All tables by one parameter at once."""

import pandas as pd

from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.tables.anytime_by_parameter import anytime_by_parameter
from boundmark.reports.tables.bounds_by_parameter import bounds_by_parameter
from boundmark.reports.tables.gap_by_parameter import gap_by_parameter
from boundmark.reports.tables.runtime_by_parameter import runtime_by_parameter
from boundmark.reports.tables.solutions_by_parameter import solutions_by_parameter

# Tables are selected and put together many times, which takes long where there are forty columns.
OF_TASKS = [
    "task_id",
    "instance_sha256",
    "dataset",
    "method",
    "method_kind",
    "status",
    "objective",
    "bound_certified",
    "bound_claimed",
    "wall_seconds",
    "time_limit_seconds",
]
OF_INSTANCES = ["instance_sha256", "dataset", "objective", "bound", "gap", "optimal"]


def tables_by_parameter(results: ProblemResults, reference: "pd.Series[float]") -> Tables:
    """Return gap, bounds, solutions, runtime and anytime, named after the parameter.

    Instances without the parameter are left out.

    Parameters
    ----------
    reference
        What solutions are divided by, above 0, by instance hash.
    """
    by, named = results.grouping.column, results.grouping.named
    tasks, known = results.tasks[[*OF_TASKS, by]], results.certified[[*OF_INSTANCES, by]]
    tasks, known = tasks[tasks[by].notna()], known[known[by].notna()]
    return {
        named("gap"): gap_by_parameter(known, by),
        named("bounds"): bounds_by_parameter(tasks, known, by),
        named("solutions"): solutions_by_parameter(tasks, known, reference, by),
        named("runtime"): runtime_by_parameter(tasks, by),
        named("anytime"): anytime_by_parameter(tasks, results.traces, known, by),
    }
