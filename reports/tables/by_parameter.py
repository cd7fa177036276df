"""Tables by the values of one parameter: gaps, bounds, solutions, times and progress.

`dictionary.toml` says what each column means. Each table has rows by data set, with all data sets
together as one more, and by value of the parameter; all but the gaps by method too.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pandas as pd

from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.statistics import (
    Floats,
    geometric_mean,
    geometric_mean_interval,
    mean_gaps_over_time,
    wins_and_ties,
)
from boundmark.reports.tables.parameters import (
    PREFIX,
    in_order,
    per_instance,
    status_counts,
    values_in_order,
    with_all,
)
from boundmark.reports.tables.parameters import groups as groups_of
from boundmark.reports.tables.rows import places_of_tasks
from boundmark.reports.tables.tasks import SHIFT_SECONDS, charged_seconds, is_tenable

GAP_COLUMNS = [
    "instances",
    "bounded",
    "mean_gap",
    "mean_gap_low",
    "mean_gap_high",
    "mean_quality",
    "optimal",
]


def gap_by_parameter(certified: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return mean gaps over the instances that have one, with bootstrap intervals."""
    rows = [
        (dataset, value, *_mean_gap(group)) for dataset, value, group in groups_of(certified, by)
    ]
    return pd.DataFrame(rows, columns=["dataset", by, *GAP_COLUMNS])


def _mean_gap(group: pd.DataFrame) -> tuple[float, ...]:
    ratios = 1 + group["gap"].dropna()
    mean = geometric_mean(ratios)
    low, high = geometric_mean_interval(ratios)
    optimal = int((group["gap"] == 0).sum())
    return len(group), len(ratios), mean - 1, low - 1, high - 1, 1 / mean, optimal


# What tells instances apart that differ in one parameter only.
GRAPH = ("dataset", "instance", "device")


def common_gaps(certified: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return mean gaps by data set and value, over the same instances at all values of a data set.

    A line over other instances at each value would show how these differ. Not all instances have
    all values: the values are those that have the most gaps of common instances. Values that are
    names have all instances, since no line joins them.
    """
    known = certified[certified["gap"].notna() & certified[by].notna()]
    others = [name for name in known.columns if name.startswith(PREFIX) and name != by]
    key = [*(name for name in GRAPH if name in known), *others]
    known = known.assign(key=known.groupby(key, dropna=False).ngroup())
    rows = []
    for dataset, part in with_all(known).groupby("dataset"):
        values = values_in_order(part[by])
        own = part if any(isinstance(one, str) for one in values) else _common(part, by)
        shown = ((value, own[own[by] == value]) for value in values_in_order(own[by]))
        rows += [(dataset, value, *_mean_gap(group)) for value, group in shown]
    return pd.DataFrame(rows, columns=["dataset", by, *GAP_COLUMNS])


def _common(part: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the rows of instances with the values that have the most rows together."""
    of_instance = part.groupby("key")[by].agg(frozenset)
    sizes: Mapping[frozenset[int], int] = Counter(of_instance)

    def rank(values: frozenset[int]) -> tuple[int, int, list[int]]:
        instances = sum(n for own, n in sizes.items() if values <= own)
        return len(values) * instances, instances, sorted(values)

    chosen = max(sizes, key=rank)
    complete = of_instance.index[[chosen <= own for own in of_instance]]
    return part[part["key"].isin(complete) & part[by].isin(chosen)]


RATIO_COLUMNS = ["instances", "delivered", "mean", "common", "common_mean"]


def mean_ratios(ratios: pd.DataFrame, groups: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return geometric means over the instances of each data set (and of all) and value.

    A method that delivered nothing on an instance has no ratio there, and no number could be
    charged that would not be arbitrary. So the mean is over the instances on which the method
    delivered, their number stands beside it, and a second mean is over the instances on which
    *every* method of the table delivered, methods that delivered nowhere in the group left out.
    """
    rows = []
    for dataset, value, group in groups_of(groups, by):
        members = ratios.reindex(group.index)
        everywhere = members.dropna(axis=1, how="all").dropna()
        for method in members.columns:
            delivered = members[method].dropna()
            numbers = (
                len(members),
                len(delivered),
                geometric_mean(delivered),
                len(everywhere),
                geometric_mean(everywhere.get(method, [])),
            )
            rows.append((dataset, method, value, *numbers))
    return pd.DataFrame(rows, columns=["dataset", "method", by, *RATIO_COLUMNS])


BEST = "best of all"


def bounds_by_parameter(tasks: pd.DataFrame, certified: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return geometric means of LB/UB by data set, bound method and value.

    UB is the best verified objective of the instance over all methods; instances without one, or
    with an optimum of 0, are no reference. Certified and claimed bounds never meet in one mean. A
    bound of 0 says nothing and counts as none, and so does a claim above the UB. The method
    `BEST` takes the best bound of each instance.
    """
    having = certified[(certified["objective"] > 0).fillna(False)].set_index("instance_sha256")
    upper = having["objective"].astype("float64")
    bounding = tasks[tasks["method_kind"].isin(["bound", "exact"])]
    bounding = bounding.assign(
        bound_claimed=bounding["bound_claimed"].where(is_tenable(bounding, upper))
    )
    key = ["dataset", "method", by]
    means = None
    for name, column in (("certified", "bound_certified"), ("claimed", "bound_claimed")):
        bounds = per_instance(bounding, column)
        bounds = bounds.where(bounds > 0)
        bounds[BEST] = bounds.max(axis=1)
        part = mean_ratios(bounds.div(upper, axis=0), having[["dataset", by]], by)
        part = part.rename(
            columns={x: f"{name}_{x}" for x in ("delivered", "mean", "common", "common_mean")}
        )
        means = part if means is None else means.merge(part, on=[*key, "instances"])
    assert means is not None
    return means.merge(status_counts(bounding, by), on=key, how="left")


def solutions_by_parameter(
    tasks: pd.DataFrame, certified: pd.DataFrame, reference: "pd.Series[float]", by: str
) -> pd.DataFrame:
    """Return geometric means of UB/L by data set, method and value, with wins and ties.

    Wins and ties are counted over the group's instances, whether or not they have an L.
    """
    solving = tasks[tasks["method_kind"].isin(["heuristic", "exact"])]
    costs = per_instance(solving, "objective")
    members = certified.set_index("instance_sha256")[["dataset", by]]
    ratios = costs.where(costs > 0).div(reference, axis=0)
    means = mean_ratios(ratios, members.loc[members.index.isin(reference.index)], by)
    key = ["dataset", "method", by]
    table = status_counts(solving, by).merge(means, on=key, how="left")
    wins = [
        wins_and_ties(costs.reindex(group.index))
        .rename_axis(index="method")
        .reset_index()
        .assign(**{"dataset": dataset, by: value})
        for dataset, value, group in groups_of(members, by)
    ]
    return table.merge(pd.concat(wins), on=key, how="left") if wins else table


def best_certified_bounds(certified: pd.DataFrame) -> "pd.Series[float]":
    """Return the best certified bound of each instance that has one above 0, by instance hash."""
    bounds = certified.set_index("instance_sha256")["bound"].astype("float64")
    return bounds[bounds > 0]


def runtime_by_parameter(tasks: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return shifted geometric means of wall-clock seconds by data set, method and value.

    Seeds are averaged within an instance first. Unsupported tasks did not run: they are counted
    but have no time.
    """
    ran = tasks[tasks["status"] != "unsupported"]
    key = ["dataset", "method", by]
    both = with_all(ran[[*key, "instance_sha256"]].assign(seconds=charged_seconds(ran)))
    instances = both.groupby([*key, "instance_sha256"])["seconds"].mean()
    means = instances.groupby(key).agg(
        instances="size",
        mean_seconds=lambda seconds: geometric_mean(seconds, SHIFT_SECONDS),
        largest_seconds="max",
    )
    kinds = tasks.drop_duplicates("method")[["method", "method_kind"]]
    table = status_counts(tasks, by).merge(means.reset_index(), on=key, how="left")
    return table.merge(kinds, on="method")


def anytime_by_parameter(
    tasks: pd.DataFrame, traces: pd.DataFrame, certified: pd.DataFrame, by: str
) -> pd.DataFrame:
    """Return means of the primal-dual integral by data set, method and value.

    A heuristic has no bounds of its own: it is measured against the best certified bound of the
    instance, and a bound method against the best verified objective. Instances without that
    reference are left out. Exact methods are measured by what they report alone, where claims
    count like certificates. A task that reported nothing has gap 1 throughout.
    """
    key = ["dataset", "method", by]
    if len(traces) == 0:
        return pd.DataFrame(columns=[*key, "instances", "mean_gap_over_time"])
    timed = tasks[(tasks["status"] != "unsupported") & (tasks["time_limit_seconds"] > 0)]
    timed = timed.assign(gap=_gaps_over_time(timed, traces, certified))
    timed = timed.loc[timed["gap"].notna(), [*key, "instance_sha256", "gap"]]
    instances = with_all(timed).groupby([*key, "instance_sha256"])["gap"].mean()
    means = instances.groupby(key).agg(instances="size", mean_gap_over_time="mean")
    return in_order(means.reset_index(), by)


def _gaps_over_time(tasks: pd.DataFrame, traces: pd.DataFrame, certified: pd.DataFrame) -> Floats:
    """Return each task's mean gap over its time limit, NaN without a reference."""
    known = certified.set_index("instance_sha256")
    kinds = tasks["method_kind"].to_numpy(dtype=object)
    # Heuristics are measured against bounds, and bounds against solutions; exact methods have both.
    measured = [kinds == "heuristic", kinds == "bound"]
    upper, lower = (
        tasks["instance_sha256"].map(known[name].astype("float64")).to_numpy(np.float64)
        for name in ("objective", "bound")
    )
    reference = np.select(measured, [lower, upper], np.nan)
    places = places_of_tasks(traces, tasks)
    traces, places = traces[places >= 0], places[places >= 0]
    solves = (traces["kind"] == "solution").to_numpy(np.bool_)
    # Other events of such a method do not count.
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
