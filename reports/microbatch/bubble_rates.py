"""How much devices idle (the form of [TESSEL24], Table II, Figures 11 and 12)."""

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.reports.microbatch.schedules import layout_table
from boundmark.reports.pages.page import Cell, Section
from boundmark.reports.plots.plot import Panels, Plot
from boundmark.reports.plots.style import Looks, include_zero, integer_ticks
from boundmark.reports.plots.style import looks as looks_of
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.text import MISSING, natural_order, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KEY = ["dataset", "instance", "parameters", "micro_batches", "instance_sha256", "method"]


def bubble_rates(schedules: pd.DataFrame) -> pd.DataFrame:
    """Return the bubble rate of each method that finds schedules, by instance.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `instance`, `parameters`, `micro_batches`, `instance_sha256`, `method`;
        `bubble_rate`, the mean over seeds, missing without a verified schedule; `status`, the worst
        of its tasks, by the alphabet if there are several.
    """
    searching = schedules[schedules["method_kind"] != "bound"]
    grouped = searching.groupby(KEY, sort=False)
    return grouped.agg(
        bubble_rate=("bubble_rate", "mean"),
        status=("status", lambda status: min(set(status) - {"ok"}, default="ok")),
    ).reset_index()


# Distance between lines as a fraction of the axis, so that they do not cover each other.
OFFSET = 0.008


def bubble_rate_by_memory_data(best: pd.DataFrame) -> pd.DataFrame:
    """Return the best periods' bubble rates, of layouts with at least two memories.

    Layouts that keep nothing in memory are left out.
    """
    shown = best[(best["micro_batches"] == 0) & best["bubble_rate"].notna()]
    shown = shown[shown["keeps_memory"].fillna(False).astype(bool) & shown["memory"].notna()]
    several = shown.groupby(["dataset", "instance"])["memory"].transform("nunique") > 1
    columns = ["dataset", "instance", "devices", "memory", "bubble_rate", "optimal"]
    return shown[several][columns].reset_index(drop=True)


def draw_bubble_rate_by_memory(
    data: pd.DataFrame, axes: "Axes", looks: Looks | None = None
) -> None:
    """Draw lines, hollow marks where the period is not proven optimal.

    Parameters
    ----------
    data
        Best of layouts with the same number of devices.
    looks
        By layout, if they are to be those of another panel.
    """
    lines = natural_order(data["instance"])
    looks = looks or looks_of(lines)
    reach = float(data["memory"].max() - data["memory"].min())
    for at, name in enumerate(lines):
        line = data[data["instance"] == name].sort_values("memory")
        look = looks[name]
        shift = (at - (len(lines) - 1) / 2) * OFFSET * reach
        memory = line["memory"].astype("float64") + shift
        axes.plot(
            memory, 100 * line["bubble_rate"],
            color=look.color, linestyle=look.linestyle, label=name,
            marker=look.marker, markevery=list(line["optimal"].to_numpy().nonzero()[0]),
        )  # fmt: skip
        unproven = ~line["optimal"].astype(bool)
        axes.plot(
            memory[unproven], 100 * line["bubble_rate"][unproven],
            color=look.color, linestyle="none", marker=look.marker, markerfacecolor="none",
        )  # fmt: skip
    axes.set(xlabel="memory of a device", ylabel="bubble rate (%)")
    integer_ticks(axes.xaxis)
    include_zero(axes, float(data["memory"].min()))


def bubble_rate_by_repetend_data(schedules: pd.DataFrame) -> pd.DataFrame:
    """Return the smallest bubble rate of schedules by the most micro-batches of a repetend.

    Of each layout at its largest memory, over all methods, for the numbers that occur;
    layouts whose schedules all have the same number are left out.
    """
    having = schedules[
        (schedules["micro_batches"] == 0)
        & schedules["repetend_micro_batches"].notna()
        & schedules["bubble_rate"].notna()
    ]
    key = ["dataset", "instance"]
    largest = having.groupby(key)["memory"].transform("max")
    having = having[(having["memory"] == largest).fillna(False).astype(bool)]
    points = having.groupby([*key, "memory", "repetend_micro_batches"])["bubble_rate"].min()
    table = points.reset_index()
    several = table.groupby(key)["repetend_micro_batches"].transform("size") > 1
    table = table[several].assign(
        bubble_rate=lambda frame: frame.groupby(key)["bubble_rate"].cummin()
    )
    return table.reset_index(drop=True)


def draw_bubble_rate_by_repetend(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw one step function per layout."""
    largest = int(data["repetend_micro_batches"].max())
    for name, look in looks_of(natural_order(data["instance"])).items():
        line = data[data["instance"] == name]
        numbers = [*line["repetend_micro_batches"].astype("int64"), largest]
        rates = [*line["bubble_rate"], line["bubble_rate"].iloc[-1]]
        axes.plot(
            numbers, [100 * rate for rate in rates], drawstyle="steps-post",
            color=look.color, linestyle=look.linestyle, marker=look.marker,
            markevery=slice(0, len(line)), label=name,
        )  # fmt: skip
    axes.set(xlabel="micro-batches in a repetition (at most)", ylabel="bubble rate (%)")
    integer_ticks(axes.xaxis)
    include_zero(axes, largest)


NOTES = (
    "Computed from the verified period or makespan, averaged over seeds, in the form of Lin et "
    "al., Tessel (HPCA 2024), Table II. The smallest value of each row is marked. A cell is one "
    "instance; n: instances of a group.",
    f"×: the method does not support the layout. {MISSING}: it found no schedule, and its status "
    "is beside. Schedules found before a failure count.",
)


def bubble_rate_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of bubble rates and their plots; None without a schedule."""
    rates = tables["bubble_rates"]
    is_period = rates["micro_batches"] == 0
    halves = (
        ("Bubble rate in percent while schedules repeat", rates[is_period]),
        ("Bubble rate in percent until the makespan", rates[~is_period]),
    )
    found = [
        layout_table(title, part, _cell, NOTES)
        for title, part in halves
        if part["bubble_rate"].notna().any()
    ]
    return Section("Bubble rates", tuple(found), _plots(tables)) if found else None


def _cell(row: Any, own: pd.DataFrame) -> Cell:
    if pd.isna(row["bubble_rate"]):
        if row["status"] == "unsupported":
            return Cell("×")
        return Cell(MISSING, row["status"] if row["status"] != "ok" else "nothing reported")
    return Cell(
        percent(row["bubble_rate"]), best=bool(row["bubble_rate"] == own["bubble_rate"].min())
    )


def _plots(tables: Tables) -> tuple[Plot, ...]:
    by_memory = bubble_rate_by_memory_data(tables["best_schedules"])
    layouts = looks_of(natural_order(by_memory["instance"]))
    return (
        Plot(
            "bubble_rate_by_memory",
            "Bubble rate over memory",
            "Bubble rate of the best verified period, one line per layout that keeps something in "
            "memory; marks are filled where the period is proven optimal.",
            by_memory,
            partial(draw_bubble_rate_by_memory, looks=layouts),
            Panels("devices", lambda devices: f"{devices} devices", has_common_x=False),
        ),
        Plot(
            "bubble_rate_by_repetend",
            "Bubble rate over micro-batches in a repetition",
            "Smallest bubble rate of all verified schedules whose repetition involves at most the "
            "given number of micro-batches; each layout at its largest memory.",
            bubble_rate_by_repetend_data(tables["schedules"]),
            draw_bubble_rate_by_repetend,
            height=3.2,
        ),
    )
