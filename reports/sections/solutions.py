"""The section on solutions: how good each method's are."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.reports.pages.page import Section, Table
from boundmark.reports.plots.plot import Plot
from boundmark.reports.plots.style import Looks, plain_log_ticks
from boundmark.reports.plots.style import looks as looks_of
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import COMMON, Shown, methods_by_parameter
from boundmark.reports.statistics.methods import performance_profile
from boundmark.reports.tables.parameters import per_instance
from boundmark.reports.text import decimal, natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """Draw one step function per method.

    Parameters
    ----------
    looks
        By method, if they are to be those of another plot.
    """
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
            color=look.color,
            linestyle=look.linestyle,
            marker=look.marker,
            markevery=max(1, len(factors) // 6),
            label=method,
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

CHARGED = (
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
    """Return the tables of solutions and their plot; None without solutions.

    Parameters
    ----------
    reference
        What the table of solutions was computed with.
    """
    plot = _profile(results)
    found = _tables(results, tables, reference)
    return Section("Solutions", tuple(found), (plot,)) if found or len(plot.data) else None


def _tables(results: ProblemResults, tables: Tables, reference: Reference) -> list[Table]:
    grouping = results.grouping
    frame = tables[grouping.named("solutions")]
    if len(frame) == 0:
        return []
    frame = frame.fillna({"instances": 0, "delivered": 0, "common": 0, "wins": 0, "ties": 0})
    cells = (
        "Cells: geometric mean of UB/L, where UB is the method's verified solution (seeds "
        f"averaged within an instance) and L is {reference.definition}; lower is better. n: "
        f"instances with an L. {reference.notes}"
    )
    shown = Shown(
        "mean", _ratio, delivered="delivered", smaller_is_better=True, totals=("wins", "ties")
    )
    title = f"Solutions relative to {reference.name}"
    notes = [cells.strip(), CHARGED, WINS]
    found = [methods_by_parameter(frame, grouping, title, shown, notes)]
    is_partial = (frame["delivered"] < frame["instances"]).any()
    if frame["method"].nunique() > 1 and is_partial and (frame["common"] > 0).any():
        shown = Shown(
            "common_mean", _ratio, instances="common", smaller_is_better=True, with_statuses=False
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


def _ratio(value: Any) -> str:
    return decimal(value, 3)
