"""How good methods are at any time, from the traces."""

import pandas as pd

from boundmark.reports.statistics.primal_dual_integral import mean_gap_over_time
from boundmark.reports.tables.events import events_by_task
from boundmark.reports.tables.grouping import with_all
from boundmark.reports.tables.parameters import in_order
from boundmark.reports.tables.rows import rows


def anytime_by_parameter(
    tasks: pd.DataFrame, traces: pd.DataFrame, certified: pd.DataFrame, by: str
) -> pd.DataFrame:
    """Return means of the primal-dual integral by data set, method and value.

    A heuristic has no bounds of its own: it is measured against the best certified bound of the
    instance, and a bound method against the best verified objective. Instances without that
    reference are left out. Exact methods are measured by what they report alone, where claims
    count like certificates. A task that reported nothing has gap 1 throughout.

    Parameters
    ----------
    by
        A parameter's column.

    Returns
    -------
    pandas.DataFrame
        Empty without traces. Columns `dataset`, `method`, that of the parameter, `instances`,
        `mean_gap_over_time`: arithmetic means, seeds averaged within an instance first.
    """
    key = ["dataset", "method", by]
    if len(traces) == 0:
        return pd.DataFrame(columns=[*key, "instances", "mean_gap_over_time"])
    timed = tasks[(tasks["status"] != "unsupported") & (tasks["time_limit_seconds"] > 0)]
    timed = timed.assign(gap=_gaps(timed, traces, certified))
    timed = timed.loc[timed["gap"].notna(), [*key, "instance_sha256", "gap"]]
    instances = with_all(timed).groupby([*key, "instance_sha256"])["gap"].mean()
    means = instances.groupby(key).agg(instances="size", mean_gap_over_time="mean")
    return in_order(means.reset_index(), by)


def _gaps(tasks: pd.DataFrame, traces: pd.DataFrame, certified: pd.DataFrame) -> list[float]:
    """Return each task's mean gap over its time limit, NaN without a reference."""
    known = certified.set_index("instance_sha256")
    upper, lower = known["objective"].to_dict(), known["bound"].to_dict()
    are_solutions = traces["kind"] == "solution"
    solutions, bounds = (
        events_by_task(traces[chosen]) for chosen in (are_solutions, ~are_solutions)
    )
    # Of each kind of method, what it is measured against; exact methods report both.
    references = {"heuristic": lower, "bound": upper}
    gaps = []
    needed = ["task_id", "method_kind", "instance_sha256", "time_limit_seconds"]
    for task in rows(tasks[needed]):
        found, proven = solutions.get(task.task_id, []), bounds.get(task.task_id, [])
        if task.method_kind in references:
            reference = references[task.method_kind][task.instance_sha256]
            if pd.isna(reference):
                gaps.append(float("nan"))
                continue
            if task.method_kind == "heuristic":
                proven = [(0.0, float(reference))]
            else:
                found = [(0.0, float(reference))]
        gaps.append(mean_gap_over_time(found, proven, float(task.time_limit_seconds)))
    return gaps
