"""The hierarchy of lower bounds of [MTPP24], in the form of its Tables 1 and 3, Figures 4 and 5.

Four levels, each of which costs more than the one before: the simple bound, two relaxations with
three superblocks, and the program of all stages. The paper's tables show for each level "the best
available lower bound from the MIP hierarchy", which is the largest bound up to that level.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from boundmark.reports.pages.page import Cell, Section, Table
from boundmark.reports.pipeline.drawings import SIMPLE_METHODS
from boundmark.reports.plots import Looks, Panels, Plot, plain_log_ticks
from boundmark.reports.plots import looks as looks_of
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, datasets_of, page_table
from boundmark.reports.sections.runtime import draw_runtime_scatter, runtime_scatter_data
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.tables.parameters import groups, per_instance, values_in_order
from boundmark.reports.tables.tasks import is_tenable
from boundmark.reports.text import MISSING, decimal, natural_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Levels as the paper calls them: the best of `SIMPLE_METHODS`, and methods by name.
SIMPLE = "simple (Lemma 3.3)"
PROGRAMS = ("bottleneck", "bottleneck-guess", "exact")

BEST_CERTIFIED = "best certified bound of all methods"
BEST_SOLUTION = "best solution of all methods"

# The method whose solutions the paper's bounds are divided by.
GENETIC = "brkga"

COLUMNS = ["dataset", "level", "kind", "instances", "delivered", "mean"]


def is_run_of(methods: "pd.Series[Any]", names: Sequence[str]) -> "pd.Series[bool]":
    """Return which of the unique names of methods are ways to run one of some methods."""
    found: pd.Series[bool] = methods.str.partition(" (")[0].isin(list(names))
    return found


def normalisers(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return costs by which bounds are divided: BRKGA's best solution, or else the best of all."""
    genetic = tasks[tasks["method"].str.startswith(GENETIC)]
    found = genetic.groupby("instance_sha256")["objective"].min().astype("float64")
    best = certified.set_index("instance_sha256")["objective"].astype("float64")
    found = found.reindex(best.index)
    table = pd.DataFrame({"upper": found.fillna(best), "is_genetic": found.notna()})
    return table[table["upper"] > 0]


def hierarchy_table(results: ProblemResults) -> pd.DataFrame:
    """Return geometric means over instances of the best bound up to each level over BRKGA's cost.

    A claim above a verified solution is no bound and left out. Instances without a simple bound
    are left out too, so that all levels are about the same instances. Below the levels are the best
    certified bound and the best solution of all methods, over the same cost.
    """
    by, tasks, certified = results.grouping.column, results.tasks, results.certified
    programs = [name for name in PROGRAMS if is_run_of(tasks["method"], [name]).any()]
    uppers = normalisers(tasks, certified)
    simple = _best(tasks, SIMPLE_METHODS, "bound_certified")
    known = certified.set_index("instance_sha256")
    known = known[
        known.index.isin(uppers.index) & known.index.isin(simple.index) & known[by].notna()
    ]
    if not programs or known.empty:
        return pd.DataFrame(columns=[*COLUMNS[:3], by, *COLUMNS[3:]])
    tenable = tasks[is_tenable(tasks, known["objective"].astype("float64"))]
    own: dict[tuple[str, str], pd.Series[float]] = {(SIMPLE, "certified"): simple}
    values = dict(own)
    reached = simple
    for name in programs:
        claims = _best(tenable, [name], "bound_claimed").reindex(reached.index)
        reached = reached.where(~(claims > reached), claims)
        own[name, "claimed"], values[name, "claimed"] = claims, reached
    for name, kind, column in (
        (BEST_CERTIFIED, "certified", "bound"),
        (BEST_SOLUTION, "solution", "objective"),
    ):
        own[name, kind] = values[name, kind] = known[column].astype("float64")
    rows = []
    for dataset, value, group in groups(known[["dataset", by]], by):
        upper = uppers["upper"].reindex(group.index)
        for (name, kind), found in values.items():
            ratios = found.reindex(group.index) / upper
            delivered = int(own[name, kind].reindex(group.index).notna().sum())
            mean = geometric_mean(ratios[ratios > 0])
            rows.append((dataset, name, kind, value, len(group), delivered, mean))
    return pd.DataFrame(rows, columns=[*COLUMNS[:3], by, *COLUMNS[3:]])


def _best(tasks: pd.DataFrame, names: Sequence[str], column: str) -> "pd.Series[float]":
    """Return the largest bound of some methods, by hash of the instances that have one."""
    own = tasks[is_run_of(tasks["method"], names)]
    return per_instance(own, column).max(axis=1).dropna()


NOTES = (
    "Cells: geometric mean of the bound over the cost of the best solution that BRKGA found, as "
    "in Archer et al. (ICML 2024), Tables 1 and 3. n: instances that have a simple bound and a "
    "cost.",
    "Each level shows the best bound up to it. Simple: the larger of max work and mean work, "
    "certified. Programs: bounds that solvers claim in floating point within the time limit, "
    "without a certificate; of several solvers, the best. The small number says on how many of n "
    "instances the program itself claims a bound; on others, the previous level counts.",
    "Last rows: the best bound that the checker accepted, and the best verified solution, over "
    "the same cost. Dividing the former by the latter gives the bound over the best solution.",
)


def hierarchy_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table of levels and the curves; None where no program of the paper ran."""
    table = tables[results.grouping.named("hierarchy")]
    if table.empty:
        return None
    plots = (_over_time(results), _times(results))
    return Section("Paper form of bounds", (_page_table(results, table),), plots)


def _page_table(results: ProblemResults, table: pd.DataFrame) -> Table:
    by = results.grouping.column
    values = values_in_order(table[by])
    parts = []
    for dataset in datasets_of(table):
        part = table[table["dataset"] == dataset]
        sizes = part.groupby(by)["instances"].max()
        heading = [Cell(dataset), Cell("")]
        heading += [Cell(f"n = {sizes.get(value, 0)}") for value in values]
        cells = {key: line.set_index(by) for key, line in part.groupby("level", sort=False)}
        parts.append((heading, list(cells.items()), dataset))
    columns = [
        PageColumn("lower bound", lambda row: row[0], is_text=True),
        PageColumn("kind", lambda row: row[1]["kind"].iloc[0], is_text=True),
        *(
            PageColumn(results.grouping.heading(value), partial(_cell, value=value))
            for value in values
        ),
    ]
    costs = normalisers(results.tasks, results.certified)["is_genetic"]
    others = int((~costs).sum())
    fallback = (
        f"On {others} of {len(costs)} instances, BRKGA found none, and the best solution of all "
        "methods counts."
    )
    notes = [*NOTES, *([fallback] if others else [])]
    return page_table("Bounds of the hierarchy over the solution of BRKGA", columns, parts, notes)


def _cell(row: Any, value: Any) -> Cell:
    lines = row[1]
    if value not in lines.index:
        return Cell(MISSING)
    line = lines.loc[value]
    is_partial = line["delivered"] < line["instances"]
    detail = f"{line['delivered']}/{line['instances']}" if is_partial else ""
    return Cell(decimal(line["mean"], 4), detail)


# Curves begin at this time, and have this many times.
FIRST_SECONDS, MOST_TIMES = 0.01, 60


def bounds_over_time(results: ProblemResults) -> pd.DataFrame:
    """Return how the mean bound of each program grows, and that of `certify`, if it ran."""
    by, tasks = results.grouping.column, results.tasks
    simple = _best(tasks, SIMPLE_METHODS, "bound_certified")
    uppers = normalisers(tasks, results.certified)["upper"]
    chosen = tasks[is_run_of(tasks["method"], [*PROGRAMS, "certify"]) & tasks[by].notna()]
    chosen = chosen[chosen["instance_sha256"].isin(simple.index.intersection(uppers.index))]
    values = values_in_order(chosen[by])
    shown = {values[0], values[len(values) // 2], values[-1]} if values else set()
    chosen = chosen[chosen[by].isin(shown) & (chosen["status"] != "unsupported")]
    bounds = results.traces[results.traces["kind"] != "solution"].merge(
        chosen[["task_id", "instance_sha256"]], on="task_id"
    )
    limit = bounds["value"] <= bounds["instance_sha256"].map(uppers) * (1 + 1e-6)
    events = {str(task): part for task, part in bounds[limit].groupby("task_id")}
    rows = []
    for (dataset, value, method), part in chosen.groupby(["dataset", by, "method"], sort=True):
        last = float(part["time_limit_seconds"].max())
        if not last > FIRST_SECONDS:
            continue
        times = np.geomspace(FIRST_SECONDS, last, MOST_TIMES)
        curves = [
            _curve(events.get(task), times, simple[sha256]) / uppers[sha256]
            for task, sha256 in zip(part["task_id"], part["instance_sha256"], strict=True)
        ]
        means = np.exp(np.log(np.stack(curves)).mean(axis=0))
        rows += [(dataset, value, method, *point) for point in zip(times, means, strict=True)]
    return pd.DataFrame(rows, columns=["dataset", by, "method", "seconds", "mean"])


def _curve(events: pd.DataFrame | None, times: Any, floor: float) -> Any:
    """Return the best bound until each time, at least the floor."""
    if events is None:
        return np.full(len(times), floor)
    ordered = events.sort_values("seconds")
    best = np.maximum.accumulate([floor, *ordered["value"]])
    return best[np.searchsorted(ordered["seconds"].to_numpy(), times, side="right")]


def draw_bounds_over_time(data: pd.DataFrame, axes: "Axes", looks: Looks) -> None:
    """Draw a line per method over the seconds."""
    for method in natural_order(data["method"]):
        line = data[data["method"] == method]
        axes.plot(
            line["seconds"], line["mean"], markevery=12, label=method, **looks[method]._asdict()
        )
    axes.set(xscale="log", xlabel="seconds", ylabel="bound over solution of BRKGA")
    plain_log_ticks(axes.xaxis)


def _over_time(results: ProblemResults) -> Plot:
    data = bounds_over_time(results)
    return Plot(
        "bounds_over_time",
        "Bounds over time",
        "Best bound so far over BRKGA's cost, starting from the simple bound: geometric mean over "
        "the instances that a method ran on. Bounds of programs are claimed, those of certify are "
        "checked. Shown for the smallest, the middle and the largest number of stages.",
        data,
        partial(draw_bounds_over_time, looks=looks_of(natural_order(data["method"]))),
        _panels(results),
        height=3.6,
    )


def program_times(results: ProblemResults) -> pd.DataFrame:
    """Return the times of SliceGraph and of the programs, one row per task; see the plot."""
    tasks = results.tasks
    is_slicing = tasks["method"].str.startswith((GENETIC, "slicegraph"))
    chosen = tasks[is_slicing | is_run_of(tasks["method"], PROGRAMS)]
    return runtime_scatter_data(chosen, results.grouping.column)


def _times(results: ProblemResults) -> Plot:
    """Return the plot of [MTPP24], Figures 4 and 5: times of SliceGraph and of the programs."""
    data = program_times(results)
    draw: Callable[[pd.DataFrame, Axes], None] = partial(
        draw_runtime_scatter, looks=looks_of(natural_order(data["method"]))
    )
    return Plot(
        "program_times",
        "Time of SliceGraph and of the programs against size",
        "In the form of Archer et al. (ICML 2024), Figures 4 and 5: one mark per task, filled if "
        "it ended ok. Unsolved programs are at the time limit.",
        data,
        draw,
        _panels(results),
        height=3.6,
    )


def _panels(results: ProblemResults) -> Panels:
    return Panels(results.grouping.column, results.grouping.heading, rows="dataset")
