"""The sections on gaps, lower bounds and solutions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from boundmark.reports.pages.page import Section, Table
from boundmark.reports.plots import DASHES, MARKERS, Looks, Plot, plain_log_ticks
from boundmark.reports.plots import looks as looks_of
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import (
    COMMON,
    PageColumn,
    Shown,
    datasets_of,
    methods_by_parameter,
    page_table,
)
from boundmark.reports.statistics import geometric_mean, performance_profile
from boundmark.reports.tables.by_parameter import BEST, common_gaps
from boundmark.reports.tables.parameters import ALL, Value, per_instance, values_in_order
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text import (
    MISSING,
    PERCENT,
    count,
    decimal,
    gap_percent,
    integer,
    natural_order,
    percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Distance between data sets at the same value, so that their intervals do not cover each other.
DATASET_OFFSET = 0.07


def gap_by_parameter_data(certified: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return mean gaps over common instances, with intervals and numbers of instances."""
    columns = ["dataset", by, "instances", "mean_gap", "mean_gap_low", "mean_gap_high"]
    shown = common_gaps(certified, by)
    if shown["dataset"].nunique() <= 2:
        shown = shown[shown["dataset"] != ALL]
    return shown[columns].reset_index(drop=True)


def draw_gap_by_parameter(data: pd.DataFrame, axes: "Axes", by: str, label: str) -> None:
    """Draw points with bootstrap intervals over the values of a parameter, evenly spaced.

    Lines join the values of a number, and none those of a choice among names, which have other
    instances each: there, the number of instances stands at each point.
    """
    values = values_in_order(data[by])
    are_names = any(isinstance(value, str) for value in values)
    datasets = list(dict.fromkeys(data["dataset"]))
    for at, (dataset, look) in enumerate(looks_of(datasets).items()):
        shown = data[data["dataset"] == dataset].fillna(
            {"mean_gap_low": data["mean_gap"], "mean_gap_high": data["mean_gap"]}
        )
        shift = (at - (len(datasets) - 1) / 2) * DATASET_OFFSET
        places = [values.index(value) + shift for value in shown[by]]
        sizes = f"n = {shown['instances'].iloc[0]}"
        if are_names:
            sizes = ""
            for x, y, n in zip(places, 100 * shown["mean_gap"], shown["instances"], strict=True):
                axes.annotate(f"n = {n}", (x, y), (6, 2), textcoords="offset points", fontsize=8.5)
        axes.errorbar(
            places,
            100 * shown["mean_gap"],
            yerr=[
                100 * (shown["mean_gap"] - shown["mean_gap_low"]).clip(lower=0),
                100 * (shown["mean_gap_high"] - shown["mean_gap"]).clip(lower=0),
            ],
            color=look.color,
            marker=look.marker,
            linestyle="none" if are_names else look.linestyle,
            elinewidth=1.0,
            capsize=2.5,
            label=", ".join(filter(None, (dataset, sizes))),
        )
    axes.set_xticks(range(len(values)), [str(value) for value in values])
    axes.set_ylim(bottom=0.0)
    axes.set(xlim=(-0.4, len(values) - 0.6), xlabel=label, ylabel="mean gap (%)")


# The part of the plasma scale that stands out from white as well as from black.
DARKEST, LIGHTEST = 0.25, 0.8


def gap_distribution_data(certified: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return for each value the points of the empirical distribution function of the gap.

    The fraction is of all instances with that value, so it stays below 1 where some have no gap.
    """
    columns: dict[str, list[Any]] = {by: [], "gap": [], "fraction": []}
    for value in values_in_order(certified[by]):
        group = certified.loc[(certified[by] == value).fillna(False).astype(bool), "gap"]
        gaps = np.sort(group.dropna().to_numpy(np.float64))
        columns[by] += [value] * len(gaps)
        columns["gap"] += gaps.tolist()
        columns["fraction"] += (np.arange(1, len(gaps) + 1) / len(group)).tolist()
    data = pd.DataFrame(columns)
    return data.drop_duplicates([by, "gap"], keep="last").reset_index(drop=True)


def draw_gap_distribution(
    data: pd.DataFrame, axes: "Axes", by: str, heading: Callable[[Value], str]
) -> None:
    """Draw one step function per value; values are ordered, and so are the colours."""
    from matplotlib import colormaps

    values = values_in_order(data[by])
    largest = max(float(data["gap"].max()), 0.001) * 100
    for at, value in enumerate(values):
        share = at / max(1, len(values) - 1)
        steps = data[data[by] == value]
        gaps = [0.0, *(100 * steps["gap"]), 1.03 * largest]
        fractions = [0.0, *steps["fraction"], float(steps["fraction"].iloc[-1])]
        axes.plot(
            gaps,
            fractions,
            drawstyle="steps-post",
            color=colormaps["plasma"](DARKEST + share * (LIGHTEST - DARKEST)),
            linestyle=DASHES[at % len(DASHES)],
            marker=MARKERS[at % len(MARKERS)],
            markevery=(1, max(1, len(gaps) // 6)),
            label=heading(value),
        )
    axes.set(
        xlim=(-0.02 * largest, 1.03 * largest),
        ylim=(0.0, 1.02),
        xlabel="gap (%)",
        ylabel="fraction of instances",
    )


NOTES = (
    "n: instances. With gap: instances with a verified solution (UB) and a certified lower bound "
    "(LB) above 0; means are over these only.",
    "Mean gap: geometric mean of UB/LB, minus 1. Mean LB/UB: geometric mean, the form of "
    "Archer et al. (ICML 2024). Interval: percentile bootstrap over instances, 2,000 resamples.",
    "Optimal: UB = LB, so that the best solution is proven optimal.",
)


def gap_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the gaps by data set and value, and their distribution; None without instances."""
    grouping = results.grouping
    gaps = tables[grouping.named("gap")]
    if len(gaps) == 0:
        return None
    columns = (
        PageColumn(grouping.parameter or "group", lambda pair: str(pair[0]), is_text=True),
        PageColumn("n", lambda pair: integer(pair[1].instances)),
        PageColumn("with gap", lambda pair: integer(pair[1].bounded)),
        PageColumn("mean gap (%)", lambda pair: gap_percent(pair[1].mean_gap)),
        PageColumn("95 % interval", lambda pair: gap_interval(pair[1])),
        PageColumn("mean LB/UB", lambda pair: decimal(pair[1].mean_quality, 4)),
        PageColumn("optimal", lambda pair: integer(pair[1].optimal)),
    )
    groups = [
        (dataset, zip(part[grouping.column], rows_of(part), strict=True), dataset)
        for dataset, part in ((name, gaps[gaps["dataset"] == name]) for name in datasets_of(gaps))
    ]
    title = "Gap between best solution and best certified bound"
    table = page_table(title, columns, groups, NOTES)
    return Section("Gaps", (table,), (_distribution_plot(results),))


TO_BEST_KNOWN = "gap to best known (%)"
BEST_KNOWN_NOTE = (
    "Gap to best known: to the higher of the best certified bound and the library's bound, which "
    "was verified when it was found and is not checked again here. It enters no other number."
)


def is_known_better(certified: pd.DataFrame) -> "pd.Series[bool]":
    """Return which instances with a solution have a higher bound on record than here."""
    own, known = certified["bound"], certified["best_known_bound"]
    is_higher = known.notna() & (own.isna() | (known > own).fillna(False))
    return certified["objective"].notna() & is_higher.astype(bool)


def mean_gap(results: ProblemResults, tables: Tables) -> str:
    """Return a sentence with the mean gap over all instances; empty if there is none."""
    return gap_sentence(results.problem, results.certified)


def gap_sentence(problem: str, certified: pd.DataFrame) -> str:
    """Return a sentence on how far the best solutions of a problem are from optimal, at most.

    A second one follows where bounds on record are higher than those here. It is empty where no
    instance has a gap.
    """
    own = certified[certified["gap"].notna()]
    found = [f"{problem}: {_distance(own, 'gap')}."] if len(own) else []
    if is_known_better(certified).any():
        known = certified[certified["gap_to_best_known"].notna()]
        start = "By" if found else f"{problem}: by"
        found.append(
            f"{start} the best known bounds, of the library, which are not checked again here: "
            f"{_distance(known, 'gap_to_best_known')}."
        )
    return " ".join(found)


def _distance(known: pd.DataFrame, column: str) -> str:
    optimal = int((known[column] == 0).sum())
    found = f"{count(len(known), 'instance')}, "
    if optimal == len(known):
        return f"{found}{'all' if optimal > 1 else 'it is'} proven optimal"
    found += f"{optimal or 'none'} proven optimal"
    mean = gap_percent(geometric_mean(1 + known[column]) - 1, PERCENT)
    found += f"; best solutions are at most {mean} above the optimum in the geometric mean"
    worst = known.sort_values(column, kind="stable").iloc[-1]
    where = f"{worst['dataset']}/{worst['instance']}, {worst['parameters']}".removesuffix(", ")
    return f"{found}, and {gap_percent(worst[column], PERCENT)} at the worst ({where})"


def gap_interval(row: Any) -> str:
    """Return the interval of a mean gap in percent; fewer than three instances have none."""
    if pd.isna(row.mean_gap_low):
        return MISSING
    return f"{percent(row.mean_gap_low)} to {percent(row.mean_gap_high)}"


def mean_gap_plot(results: ProblemResults, tables: Tables) -> Plot | None:
    """Return the plot of mean gaps by the grouping's parameter; None without one, or its table."""
    grouping = results.grouping
    name = grouping.named("gap")
    if grouping.parameter is None or name not in tables:
        return None
    return Plot(
        name,
        grouping.titled("Mean gap"),
        "Geometric mean of UB/LB minus 1; where a line joins points, all are means over the same n "
        "instances, those that have a gap at each of its values. Bars are 95 % bootstrap "
        "intervals over instances, from three instances on.",
        gap_by_parameter_data(results.certified, grouping.column),
        partial(draw_gap_by_parameter, by=grouping.column, label=grouping.axis_label),
    )


def _distribution_plot(results: ProblemResults) -> Plot:
    grouping = results.grouping
    return Plot(
        "gap_distribution",
        "Distribution of gaps",
        "Fraction of instances whose gap is at most the value on the axis; a curve ends below 1 "
        "where some of its instances have no gap.",
        gap_distribution_data(results.certified, grouping.column),
        partial(draw_gap_distribution, by=grouping.column, heading=grouping.heading),
    )


UPPER = (
    "Cells: geometric mean of LB/UB, where UB is the best verified solution of the instance by "
    "any method; 1 is best. n: instances with a UB."
)
BOUNDS_CHARGED = (
    "Failures: results that a task reported before it failed count. If a method delivered no "
    "bound, the instance is left out of its mean, and the cell says on how many of n it "
    "delivered; a bound of 0 counts as none. Not ok: tasks by status."
)
CLAIMS = (
    "A claim is a bound that a solver reports in floating point, without a certificate. Claims "
    "above a verified solution are listed among the failed tasks and left out of the means."
)


def bound_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of certified and of claimed bounds; None without bound methods."""
    frame = tables[results.grouping.named("bounds")]
    found = [
        table
        for name, word in (("certified", "Certified"), ("claimed", "Claimed"))
        for table in _bound_tables(results, frame, name, word)
    ]
    return Section("Lower bounds", tuple(found)) if found else None


def _bound_tables(
    results: ProblemResults, frame: pd.DataFrame, name: str, word: str
) -> list[Table]:
    delivered = f"{name}_delivered"
    having = frame[frame.groupby("method")[delivered].transform("sum") > 0]
    if len(having) == 0:
        return []
    several = having["method"].nunique() > 2
    if not several:
        having = having[having["method"] != BEST]
    shown = Shown(
        f"{name}_mean", _bound_ratio, delivered=delivered, smaller_is_better=False, last=BEST
    )
    title = f"{word} lower bounds relative to the best solution"
    notes = [UPPER, BOUNDS_CHARGED, *([CLAIMS] if name == "claimed" else [])]
    tables = [methods_by_parameter(having, results.grouping, title, shown, notes)]
    is_partial = (having[delivered] < having["instances"]).any()
    if several and is_partial and (having[f"{name}_common"] > 0).any():
        shown = Shown(
            f"{name}_common_mean", _bound_ratio, instances=f"{name}_common",
            smaller_is_better=False, last=BEST, with_statuses=False,
        )  # fmt: skip
        title = f"{word} lower bounds on the instances that all methods share"
        tables.append(methods_by_parameter(having, results.grouping, title, shown, [COMMON]))
    return tables


def _bound_ratio(value: Any) -> str:
    return decimal(value, 4)


# Up to this factor a linear axis shows more than a logarithmic one.
LARGEST_LINEAR = 4.0


def performance_profile_data(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the profile over all instances that some method solved; empty for one method."""
    solving = tasks[tasks["method_kind"].isin(["heuristic", "exact"])]
    costs = per_instance(solving, "objective")
    costs = costs.where(costs > 0)
    if len(costs.columns) < 2:
        costs = costs.iloc[:0]
    return performance_profile(costs)


def draw_performance_profile(data: pd.DataFrame, axes: "Axes", looks: Looks | None = None) -> None:
    """Draw one step function per method."""
    methods = natural_order(data["method"])
    looks = looks or looks_of(methods)
    largest = max(float(data["factor"].max()), 1.01)
    for method in methods:
        look = looks[method]
        steps = data[data["method"] == method]
        factors = [*steps["factor"], largest]
        fractions = [*steps["fraction"], float(steps["fraction"].iloc[-1])]
        axes.plot(
            factors,
            fractions,
            drawstyle="steps-post",
            markevery=max(1, len(factors) // 6),
            label=method,
            **look._asdict(),
        )
    axes.set(
        xlim=(1.0, largest),
        ylim=(0.0, 1.02),
        xlabel="objective as a multiple of the best one found",
        ylabel="fraction of instances",
    )
    if largest > LARGEST_LINEAR:
        axes.set_xscale("log")
        plain_log_ticks(axes.xaxis)


@dataclass(frozen=True)
class Reference:
    """The bound L that solutions are divided by, in words.

    Attributes
    ----------
    name
        As in "relative to the best certified bound".
    definition
        As in "L the best certified bound of the instance".
    notes
        Further sentences.
    """

    name: str
    definition: str
    notes: str = ""


BEST_CERTIFIED = Reference("the best certified bound", "the best certified bound of the instance")

SOLUTIONS_CHARGED = (
    "Failures: results that a task reported before it failed count. If a method found no "
    "solution, the instance is left out of its mean, and the cell says on how many of n it "
    "delivered. Not ok: tasks by status."
)
WINS = (
    "Wins: instances on which the method's solution is better than all others', over all columns. "
    "Ties: instances on which it shares the best. A failure wins nothing."
)


def solution_section(
    results: ProblemResults, tables: Tables, reference: Reference = BEST_CERTIFIED
) -> Section | None:
    """Return the tables of solutions and their plot; None without solutions."""
    plot = _profile(results)
    found = _solution_tables(results, tables, reference)
    return Section("Solutions", tuple(found), (plot,)) if found or len(plot.data) else None


def _solution_tables(results: ProblemResults, tables: Tables, reference: Reference) -> list[Table]:
    grouping = results.grouping
    frame = tables[grouping.named("solutions")]
    if len(frame) == 0:
        return []
    counts = ["instances", "delivered", "common", "wins", "ties"]
    frame = frame.assign(**frame[counts].astype("float64").fillna(0.0))
    cells = (
        "Cells: geometric mean of UB/L, where UB is the method's verified solution (seeds "
        f"averaged within an instance) and L is {reference.definition}; lower is better. n: "
        f"instances with an L. {reference.notes}"
    )
    shown = Shown(
        "mean",
        _solution_ratio,
        delivered="delivered",
        smaller_is_better=True,
        totals=("wins", "ties"),
    )
    title = f"Solutions relative to {reference.name}"
    notes = [cells.strip(), SOLUTIONS_CHARGED, WINS]
    found = [methods_by_parameter(frame, grouping, title, shown, notes)]
    is_partial = (frame["delivered"] < frame["instances"]).any()
    if frame["method"].nunique() > 1 and is_partial and (frame["common"] > 0).any():
        shown = Shown(
            "common_mean",
            _solution_ratio,
            instances="common",
            smaller_is_better=True,
            with_statuses=False,
        )
        title = "Solutions on the instances that all methods share"
        found.append(methods_by_parameter(frame, grouping, title, shown, [COMMON]))
    return found


def _profile(results: ProblemResults) -> Plot:
    methods = looks_of(natural_order(results.tasks["method"]))
    return Plot(
        "performance_profile",
        "Performance profile of solutions",
        "Fraction of all instances that a method solves within a factor of the best solution "
        "found; upper left is best.",
        performance_profile_data(results.tasks),
        partial(draw_performance_profile, looks=methods),
    )


def _solution_ratio(value: Any) -> str:
    return decimal(value, 3)
