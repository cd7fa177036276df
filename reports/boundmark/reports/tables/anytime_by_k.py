"""How good methods are at any time, from the traces."""

import pandas as pd

from boundmark.reports.statistics.primal_dual_integral import mean_gap_over_time
from boundmark.reports.tables.rows import rows
from boundmark.reports.tables.tasks import ALL

COLUMNS = ["dataset", "method", "k", "instances", "mean_gap_over_time"]


def anytime_by_k(
    tasks: pd.DataFrame, traces: pd.DataFrame, certified: pd.DataFrame
) -> pd.DataFrame:
    """Return means of the primal-dual integral by data set, method and k.

    A heuristic has no bounds of its own: it is measured against the best certified bound of the
    instance, and a bound method against the best verified objective. Instances without that
    reference are left out. Exact methods are measured by what they report alone, where claims
    count like certificates. A task that reported nothing has gap 1 throughout.

    Returns
    -------
    pandas.DataFrame
        Empty without traces. Columns `dataset`, `method`, `k`, `instances`,
        `mean_gap_over_time`: arithmetic means, seeds averaged within an instance first.
    """
    if len(traces) == 0:
        return pd.DataFrame(columns=COLUMNS)
    timed = tasks[(tasks["status"] != "unsupported") & (tasks["time_limit_seconds"] > 0)]
    known = certified.set_index("instance_sha256")
    upper, lower = known["objective"].to_dict(), known["bound"].to_dict()
    solutions, bounds = _events(traces, is_solution=True), _events(traces, is_solution=False)
    found_gaps = []
    for task in rows(timed):
        found, proven = solutions.get(task.task_id, []), bounds.get(task.task_id, [])
        if task.method_kind == "heuristic":
            if pd.isna(lower[task.instance_sha256]):
                continue
            proven = [(0.0, float(lower[task.instance_sha256]))]
        elif task.method_kind == "bound":
            if pd.isna(upper[task.instance_sha256]):
                continue
            found = [(0.0, float(upper[task.instance_sha256]))]
        gap = mean_gap_over_time(found, proven, float(task.time_limit_seconds))
        found_gaps.append((task.dataset, task.method, task.k, task.instance_sha256, gap))
    columns = ["dataset", "method", "k", "instance_sha256", "gap"]
    gaps = pd.DataFrame(found_gaps, columns=columns).astype({"k": "Int64"})
    both = pd.concat([gaps.assign(dataset=ALL), gaps])
    by = ["dataset", "method", "k"]
    instances = both.groupby([*by, "instance_sha256"])["gap"].mean()
    means = instances.groupby(by).agg(instances="size", mean_gap_over_time="mean")
    return means.reset_index()[COLUMNS]


def _events(traces: pd.DataFrame, *, is_solution: bool) -> dict[str, list[tuple[float, float]]]:
    chosen = traces[(traces["kind"] == "solution") == is_solution]
    events: dict[str, list[tuple[float, float]]] = {}
    for task_id, seconds, value in zip(
        chosen["task_id"], chosen["seconds"], chosen["value"], strict=True
    ):
        events.setdefault(task_id, []).append((seconds, value))
    return events
