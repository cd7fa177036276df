"""How good methods are at any time, from the traces."""

import numpy as np
import pandas as pd

from boundmark.reports.statistics.primal_dual_integral import mean_gaps_over_time
from boundmark.reports.statistics.steps import Floats
from boundmark.reports.tables.events import places_of_tasks
from boundmark.reports.tables.grouping import with_all
from boundmark.reports.tables.parameters import in_order


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


def _gaps(tasks: pd.DataFrame, traces: pd.DataFrame, certified: pd.DataFrame) -> Floats:
    """Return each task's mean gap over its time limit, NaN without a reference."""
    known = certified.set_index("instance_sha256")
    kinds = tasks["method_kind"].to_numpy(dtype=object)
    # Of each kind of method, what it is measured against; exact methods report both.
    measured = [kinds == "heuristic", kinds == "bound"]
    upper, lower = (
        tasks["instance_sha256"].map(known[name].astype("float64")).to_numpy(np.float64)
        for name in ("objective", "bound")
    )
    reference = np.select(measured, [lower, upper], np.nan)
    places = places_of_tasks(traces, tasks)
    traces, places = traces[places >= 0], places[places >= 0]
    solves = (traces["kind"] == "solution").to_numpy(np.bool_)
    # What else such a method says counts for nothing.
    counts = ~np.where(solves, measured[1][places], measured[0][places])
    given = np.flatnonzero(~np.isnan(reference))
    gaps = mean_gaps_over_time(
        np.concatenate([places[counts], given]),
        np.concatenate([traces["seconds"].to_numpy(np.float64)[counts], np.zeros(len(given))]),
        np.concatenate([traces["value"].to_numpy(np.float64)[counts], reference[given]]),
        np.concatenate([solves[counts], measured[1][given]]),
        tasks["time_limit_seconds"].to_numpy(np.float64),
    )
    gaps[np.isnan(reference) & (measured[0] | measured[1])] = np.nan
    return gaps
