"""Schedules, and how much devices idle in them ([TESSEL24], Table II, Figures 11 and 12)."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.reports.dictionary import columns_of
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.plots import Looks, Panels, Plot, distinct_names, include_zero, integer_ticks
from boundmark.reports.plots import looks as looks_of
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.stored.store import ResultStore, read_parsed
from boundmark.reports.tables.parameters import parameter_column
from boundmark.reports.tables.rows import best_rows, rows
from boundmark.reports.tables.tasks import charged_seconds
from boundmark.reports.text import (
    MISSING,
    decimal,
    gap_percent,
    integer,
    natural_order,
    percent,
    text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def schedule_table(results: ProblemResults) -> pd.DataFrame:
    """Return one row per task."""
    own = results.tasks
    has_run = own["status"] != "unsupported"
    seconds = charged_seconds(own).where(has_run)
    limited = has_run & ((own["status"] != "ok") | (seconds >= own["time_limit_seconds"]))
    own = own.assign(
        seconds=seconds,
        is_limited=limited,
        memory=_integers(own, "memory"),
        micro_batches=_integers(own, "micro_batches").fillna(0),
        seconds_to_objective=seconds_to_objective(own, results.traces),
    )
    store = results.store
    instances = {
        sha256: read_parsed(store.instances, sha256, MicrobatchInstance.from_json)
        for sha256 in own["instance_sha256"].unique()
    }
    found = [_of_task(task, instances[task.instance_sha256], store) for task in rows(own)]
    names = ["devices", "keeps_memory", "bubble_rate", "repetend_micro_batches"]
    more = pd.DataFrame(found, columns=names, index=own.index)
    kinds: Any = {"devices": "Int64", "keeps_memory": "boolean", "bubble_rate": "float64"}
    more = more.astype({**kinds, "repetend_micro_batches": "Int64"})
    return pd.concat([own, more], axis=1)[columns_of("microbatch/schedules")].reset_index(drop=True)


def _integers(tasks: pd.DataFrame, name: str) -> Any:
    """Return a parameter, missing throughout if no instance has it."""
    missing = pd.Series(pd.NA, index=tasks.index)
    return tasks.get(parameter_column(name), missing).astype("Int64")


def seconds_to_objective(tasks: pd.DataFrame, traces: pd.DataFrame) -> "pd.Series[float]":
    """Return when each task first reported its final cost."""
    found = traces[traces["kind"] == "solution"]
    first = found.groupby(["task_id", "value"])["seconds"].min().to_dict()
    keys = zip(tasks["task_id"], tasks["objective"].astype("float64"), strict=True)
    return pd.Series([first.get(key) for key in keys], index=tasks.index, dtype="float64")


def _of_task(task: Any, instance: MicrobatchInstance | None, store: ResultStore) -> tuple[Any, ...]:
    if instance is None:
        return None, None, None, None
    layout = instance.layout
    keeps_memory = any(block.memory for block in layout.blocks)
    if pd.isna(task.objective):
        return layout.devices, keeps_memory, None, None
    work = sum(layout.loads) * max(1, instance.micro_batches)
    rate = 1 - work / (layout.devices * int(task.objective))
    schedule = read_parsed(store.solutions, task.solution_sha256, Schedule.from_json)
    involved = None
    if schedule and schedule.repetend:
        members = schedule.repetend.members
        involved = int(members.max() - members.min()) + 1
    return layout.devices, keeps_memory, rate, involved


def best_schedules(schedules: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the best schedule of each instance, joined with the certified table."""
    solved = best_rows(schedules, "objective")
    others = schedules[~schedules["instance_sha256"].isin(solved["instance_sha256"])]
    best = pd.concat([solved, others.drop_duplicates("instance_sha256")])
    best.loc[best["objective"].isna(), ["method"]] = None
    known = ["instance_sha256", "bound", "bound_method", "claimed", "gap", "optimal"]
    merged = certified[known].merge(best, on="instance_sha256", how="inner")
    return merged.reset_index(drop=True)


OBJECTIVES = ((True, "period"), (False, "makespan"))

NOTES = (
    "Best: shortest verified period, or makespan if the number of micro-batches is given, in "
    "ticks. Bound: the best certified bound; claimed: the largest that a solver claims, which "
    "enters no gap. Gap: best/bound - 1; optimal if both are equal.",
    "Bubble: bubble rate, the share of time during which devices idle, averaged over devices: in "
    "the steady state if the period counts, until the makespan otherwise. NR: number of "
    "micro-batches that take part in a repetition. Of several methods with the same value, the "
    "fastest is shown.",
)


def instance_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table with one row per instance, periods before makespans; None without any."""
    best = tables["best_schedules"]
    if len(best) == 0:
        return None
    claimed = PageColumn("claimed", lambda row: decimal(row.claimed, 0))
    columns = (
        PageColumn("layout", lambda row: row.instance, is_text=True),
        PageColumn("parameters", lambda row: row.parameters, is_text=True),
        PageColumn("devices", lambda row: integer(row.devices)),
        PageColumn("best", lambda row: integer(row.objective)),
        PageColumn("bound", lambda row: integer(row.bound)),
        *([claimed] if best["claimed"].notna().any() else []),
        PageColumn("gap (%)", lambda row: gap_percent(row.gap)),
        PageColumn("bubble (%)", lambda row: percent(row.bubble_rate)),
        PageColumn("NR", lambda row: integer(row.repetend_micro_batches)),
        PageColumn("found by", lambda row: text(row.method) or MISSING, is_text=True),
        PageColumn("certified by", lambda row: text(row.bound_method) or MISSING, is_text=True),
    )
    groups = [
        (f"{dataset}: {objective}", rows(own), "")
        for is_period, objective in OBJECTIVES
        for dataset, own in best[(best["micro_batches"] == 0) == is_period].groupby("dataset")
    ]
    title = "Best verified schedule and best certified bound of each instance"
    table = page_table(title, columns, groups, NOTES)
    return Section("Instances", (table,), is_filtered=True)


def layout_table(
    title: str,
    frame: pd.DataFrame,
    cell: Callable[[Any, pd.DataFrame], Cell],
    notes: tuple[str, ...],
) -> Table:
    """Return the table of a data frame with one row per instance and method."""
    methods = natural_order(frame["method"])
    groups = []
    for parameters in natural_order(frame["parameters"]):
        part = frame[frame["parameters"] == parameters]
        rows = []
        for sha256 in part["instance_sha256"].unique():
            own = part[part["instance_sha256"] == sha256].set_index("method")
            cells = [
                cell(own.loc[name], own) if name in own.index else Cell("") for name in methods
            ]
            rows.append((Cell(str(own["instance"].iloc[0])), *cells))
        heading = (Cell(parameters), Cell(f"n = {len(rows)}"), *(Cell(""),) * (len(methods) - 1))
        groups.append(Group(heading, tuple(rows)))
    return Table(title, ("layout", *methods), tuple(groups), notes)


KEY = ["dataset", "instance", "parameters", "micro_batches", "instance_sha256", "method"]


def bubble_rates(schedules: pd.DataFrame) -> pd.DataFrame:
    """Return the bubble rate of each method that finds schedules, by instance."""
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
    shown = shown[several][columns].reset_index(drop=True)
    return shown.assign(instance=distinct_names(shown))


def draw_bubble_rate_by_memory(
    data: pd.DataFrame, axes: "Axes", looks: Looks | None = None
) -> None:
    """Draw lines, hollow marks where the period is not proven optimal."""
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
    table = table.reset_index(drop=True)
    return table.assign(instance=distinct_names(table))


def draw_bubble_rate_by_repetend(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw one step function per layout."""
    largest = int(data["repetend_micro_batches"].max())
    for name, look in looks_of(natural_order(data["instance"])).items():
        line = data[data["instance"] == name]
        numbers = [*line["repetend_micro_batches"].astype("int64"), largest]
        rates = [*line["bubble_rate"], line["bubble_rate"].iloc[-1]]
        axes.plot(
            numbers, [100 * rate for rate in rates], drawstyle="steps-post",
            markevery=slice(0, len(line)), label=name, **look._asdict(),
        )  # fmt: skip
    axes.set(xlabel="micro-batches in a repetition (at most)", ylabel="bubble rate (%)")
    integer_ticks(axes.xaxis)
    include_zero(axes, largest)


RATE_NOTES = (
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
        layout_table(title, part, _rate_cell, RATE_NOTES)
        for title, part in halves
        if part["bubble_rate"].notna().any()
    ]
    return Section("Bubble rates", tuple(found), _rate_plots(tables)) if found else None


def _rate_cell(row: Any, own: pd.DataFrame) -> Cell:
    if pd.isna(row["bubble_rate"]):
        if row["status"] == "unsupported":
            return Cell("×")
        return Cell(MISSING, row["status"] if row["status"] != "ok" else "nothing reported")
    return Cell(
        percent(row["bubble_rate"]), best=bool(row["bubble_rate"] == own["bubble_rate"].min())
    )


def _rate_plots(tables: Tables) -> tuple[Plot, ...]:
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
