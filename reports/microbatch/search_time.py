"""Search time, and its ratio to that of modulo scheduling (the form of [TESSEL24], Figure 9)."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.reports.microbatch.schedules import layout_table
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.plots import GREY, Looks, Plot, distinct_names, names_below, plain_log_ticks
from boundmark.reports.plots import looks as looks_of
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.runtime import SMALLEST_SECONDS
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.text import MISSING, natural_order, plain, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes


REFERENCE = "modulo"

KEY = ["dataset", "instance", "parameters", "instance_sha256", "method"]


def reference_method(methods: Any) -> str | None:
    """Return the method that times are compared with: `modulo`, or its first variant by name."""
    names = [name for name in methods if name == REFERENCE or name.startswith(f"{REFERENCE} (")]
    return natural_order(names)[0] if names else None


def search_time(schedules: pd.DataFrame) -> pd.DataFrame:
    """Return the time of each method that finds schedules, by instance."""
    searching = schedules[schedules["method_kind"] != "bound"]
    best = searching.groupby("instance_sha256")["objective"].transform("min")
    reached = (searching["objective"] == best).fillna(False).astype(bool)
    reached &= searching["seconds_to_objective"].notna()
    searching = searching.assign(
        best_seconds=searching["seconds_to_objective"].where(reached, searching["seconds"]),
        is_best_limited=~reached & searching["seconds"].notna(),
    )
    grouped = searching.groupby(KEY, sort=False)
    table = grouped.agg(
        seconds=("seconds", "mean"),
        is_limited=("is_limited", "any"),
        best_seconds=("best_seconds", "mean"),
        is_best_limited=("is_best_limited", "any"),
    ).reset_index()
    table["ratio"] = _ratios_to_reference(table, "seconds", "is_limited")
    table["best_ratio"] = _ratios_to_reference(table, "best_seconds", "is_best_limited")
    return table


def mean_ratios(times: pd.DataFrame) -> pd.DataFrame:
    """Return the geometric mean of each other method's ratios."""
    others = times[times["method"] != reference_method(times["method"].unique())]
    rows = []
    for method, part in others.groupby("method"):
        row: list[Any] = [method]
        for ratio, limited in (("ratio", "is_limited"), ("best_ratio", "is_best_limited")):
            having = part.dropna(subset=ratio)
            mean = geometric_mean(having[ratio]) if len(having) else float("nan")
            row += [len(having), int(having[limited].sum()), mean]
        if row[1] or row[4]:
            rows.append(row)
    names = ("instances", "limited", "mean_ratio")
    columns = ["method", *names, *(f"best_{name}" for name in names)]
    return pd.DataFrame(rows, columns=columns)


def _ratios_to_reference(table: pd.DataFrame, seconds: str, is_limited: str) -> "pd.Series[float]":
    reference = reference_method(table["method"].unique())
    if reference is None:
        return pd.Series(float("nan"), index=table.index)
    own = table[(table["method"] == reference) & ~table[is_limited] & (table[seconds] > 0)]
    return table[seconds] / table["instance_sha256"].map(own.set_index("instance_sha256")[seconds])


# Marks of all methods take this part of the distance between layouts.
SPREAD = 0.7


def search_time_data(times: pd.DataFrame) -> pd.DataFrame:
    """Return the times there are, one per instance and method."""
    columns = ["dataset", "instance", "parameters", "method", "seconds", "is_limited", "ratio"]
    shown = times[times["seconds"].notna()][columns].reset_index(drop=True)
    return shown.assign(instance=distinct_names(shown))


def draw_search_time(data: pd.DataFrame, axes: "Axes", looks: Looks | None = None) -> None:
    """Draw one mark per instance and method, hollow where the time is limited."""
    names, methods = natural_order(data["instance"]), natural_order(data["method"])
    looks = looks or looks_of(methods)
    seconds = data["seconds"].clip(lower=SMALLEST_SECONDS)
    for at, method in enumerate(methods):
        look = looks[method]
        shift = SPREAD * ((at + 0.5) / len(methods) - 0.5)
        for limited, fill in ((False, look.color), (True, "none")):
            shown = (data["method"] == method) & (data["is_limited"] == limited)
            if not shown.any():
                # An empty line that is not clipped would make room for itself in a corner.
                continue
            axes.plot(
                [names.index(name) + shift for name in data["instance"][shown]], seconds[shown],
                linestyle="none", marker=look.marker, markersize=4, clip_on=False,
                markerfacecolor=fill, markeredgecolor=look.color,
            )  # fmt: skip
        # For the legend: a filled mark, whether or not there is one.
        axes.plot([], [], linestyle="none", color=look.color, marker=look.marker, label=method)
    axes.set(yscale="log", ylabel="search time (s)", xlim=(-0.5, len(names) - 0.5))
    plain_log_ticks(axes.yaxis)
    names_below(axes, names)
    for at in range(1, len(names)):
        axes.axvline(at - 0.5, color=GREY, alpha=0.3, linewidth=0.6)


INCHES_PER_LAYOUT = 0.45


@dataclass(frozen=True)
class _Measure:
    """A measure of search time: its title, the prefix of its columns, and its notes."""

    title: str
    prefix: str
    is_limited: str
    meaning: str
    limited: str


MEASURES = (
    _Measure(
        "Search time",
        "",
        "is_limited",
        "Wall-clock seconds of the whole search, averaged over seeds, without verification",
        "the method used its whole time, or failed and counts with its time limit (or with the "
        "time it took, if that is longer)",
    ),
    _Measure(
        "Time until the best schedule",
        "best_",
        "is_best_limited",
        "Wall-clock seconds until a schedule with the best objective of all methods was first "
        "reported, averaged over seeds",
        "the method did not reach that objective and counts with the time it took (or with its "
        "time limit, if it failed)",
    ),
)


def search_time_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the tables of seconds and of ratios, and the plot; None without times."""
    times, means = tables["search_time"], tables["search_time_ratios"]
    if times["seconds"].notna().sum() == 0:
        return None
    found = []
    for measure in MEASURES:
        found.append(_seconds(times, measure))
        if len(means):
            found.append(_ratios(times, means, measure))
    return Section("Search time", tuple(found), (_plot(times),))


def _plot(times: pd.DataFrame) -> Plot:
    data = search_time_data(times)
    layouts = data["instance"].nunique()
    methods = looks_of(natural_order(times["method"]))
    return Plot(
        "search_time",
        "Search time",
        "One mark per instance and method, averaged over seeds; hollow where a task used its whole "
        "time or failed, so that it needs at least that time.",
        data,
        partial(draw_search_time, looks=methods),
        width=max(7.4, 0.8 + INCHES_PER_LAYOUT * layouts),
        height=3.9,
    )


def _seconds(times: pd.DataFrame, measure: _Measure) -> Table:
    notes = (
        f"{measure.meaning}. The small number is the ratio to the time of {REFERENCE}, given where "
        f"the time of {REFERENCE} is not marked with ≥. Solvers are loaded before tasks start. A "
        "cell is one instance; n: instances of a group.",
        f"≥: {measure.limited}, so that it needs at least this time. ×: the method does not "
        "support the layout.",
    )
    reference = reference_method(times["method"].unique())
    cell = partial(_cell, reference=reference, measure=measure)
    return layout_table(f"{measure.title} in seconds", times, cell, notes)


def _cell(row: Any, own: pd.DataFrame, reference: str | None, measure: _Measure) -> Cell:
    time, ratio = row[f"{measure.prefix}seconds"], row[f"{measure.prefix}ratio"]
    if pd.isna(time):
        return Cell("×")
    sign = "≥ " if row[measure.is_limited] else ""
    is_other = not pd.isna(ratio) and row.name != reference
    return Cell(sign + seconds(time), f"{sign}{_times(ratio)}" if is_other else "")


def _times(ratio: float) -> str:
    return f"{plain(float(f'{ratio:.2g}'))}×" if ratio < 1e5 else f"{ratio:.1e}×"


def _ratios(times: pd.DataFrame, means: pd.DataFrame, measure: _Measure) -> Table:
    by_name = means.set_index("method")
    names = ("instances", "limited", "mean_ratio")
    instances, limited, mean = (measure.prefix + name for name in names)
    lines: list[Any] = [by_name.loc[name] for name in natural_order(by_name.index)]
    rows = tuple(
        (
            Cell(str(row.name)),
            Cell(("≥ " if row[limited] else "") + _times(row[mean])),
            Cell(f"{int(row[instances])}"),
            Cell(f"{int(row[limited])}" if row[limited] else MISSING),
        )
        for row in lines
        if row[instances]
    )
    reference = reference_method(times["method"].unique())
    return Table(
        f"{measure.title} relative to {reference}",
        ("method", "mean ratio", "n", "limited"),
        (Group((), rows),),
        (
            f"Geometric mean of the ratios to the time of {reference}, over the n instances that "
            f"the method ran on and where the time of {reference} is not marked with ≥. Limited: "
            "how many of them are marked for the method; they make the mean a lower bound, "
            "marked with ≥ too.",
        ),
    )
