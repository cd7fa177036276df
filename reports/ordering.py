"""The report of `ordering`: memory against the default order and the bound, and timelines."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.problems.ordering.order import memory_parts
from boundmark.reports.default import DEFAULT
from boundmark.reports.dictionary import columns_of
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.plots import Plot, instance_plot
from boundmark.reports.plots import looks as looks_of
from boundmark.reports.problem_report import Grouping, ProblemResults, Tables
from boundmark.reports.stored.store import parsed_pair, read_parsed
from boundmark.reports.tables.rows import best_rows, rows
from boundmark.reports.text import MISSING, integer, natural_order, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MIB = 2**20


def draw_timeline(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw a step line for each order and a dotted one at its peak."""
    names = ["default", "best"]
    for name, look in looks_of(names).items():
        part = data[data["order"] == name].sort_values("step")
        memory = part["memory"] / MIB
        axes.step(
            part["step"] + 1, memory, where="mid", color=look.color, linestyle=look.linestyle,
            label=f"{name} order",
        )  # fmt: skip
        axes.axhline(memory.max(), color=look.color, linestyle=":", linewidth=0.8)
    axes.set(xlabel="operator, in the order in which they run", ylabel="memory (MiB)")
    axes.set_xlim(1, int(data["step"].max()) + 1)
    axes.set_ylim(0, None)


KEY = ["param_metric", "treatment", "dataset", "instance", "instance_sha256", "parameters"]


def saving_table(results: ProblemResults) -> pd.DataFrame:
    """Return the best verified order of each method and instance."""
    solved = results.tasks[results.tasks["objective"].notna()]
    best = best_rows(solved, "objective", of=("instance_sha256", "method"))
    best["treatment"] = [_treatment(text) for text in best["parameters"]]
    order = [*KEY, "method"]
    table = best[[*order, "objective", "solution_sha256", "wall_seconds"]].sort_values(order)
    ran = best[best["method"] == "default-order"]
    defaults = dict(zip(ran["instance_sha256"], ran["objective"], strict=True))
    for sha in set(table["instance_sha256"]) - set(defaults):
        defaults[sha] = _default(results, sha)
    table["default"] = table["instance_sha256"].map(defaults).astype("Int64")
    bounds = results.certified.set_index("instance_sha256")["bound"]
    table["bound"] = table["instance_sha256"].map(bounds).astype("Int64")
    reference = table["default"].where(table["default"] > 0).astype("float64")
    table["saved"] = 1 - table["objective"].astype("float64") / reference
    table["savable"] = 1 - table["bound"].astype("float64") / reference
    return table.reset_index(drop=True)


def _treatment(parameters: str) -> str:
    """Return parameters as a text without the metric."""
    others = (part for part in parameters.split(", ") if not part.startswith("metric="))
    return ", ".join(others)


def _default(results: ProblemResults, sha256: str) -> int | None:
    instance = read_parsed(results.store.instances, sha256, OrderingInstance.from_json)
    if instance is None:
        return None
    return instance.objective(ExecutionOrder(instance.graph.dag.topological_order))


def best_orders(savings: pd.DataFrame) -> pd.DataFrame:
    """Return the row of the best method of each instance."""
    return best_rows(savings, "objective").sort_index()


def mean_savings(savings: pd.DataFrame) -> pd.DataFrame:
    """Return each method's mean saving over instances, by metric and treatment."""
    by = ["param_metric", "treatment", "method"]
    grouped = savings.dropna(subset="saved").groupby(by, as_index=False)
    means: pd.DataFrame = grouped.agg(instances=("saved", "size"), saved=("saved", "mean"))
    return means


MOST_DRAWINGS = 8


def timeline_table(results: ProblemResults, savings: pd.DataFrame) -> pd.DataFrame:
    """Return the memory while each operator runs, in the default order and in the best one.

    Of each model only one instance is there, that in which most is saved, and of all models those
    with the most to save, at most `MOST_DRAWINGS`.
    """
    best = best_orders(savings[savings["saved"] > 0])
    by_saving = best.sort_values("saved", ascending=False, kind="stable")
    chosen = by_saving.drop_duplicates(["dataset", "instance"]).head(MOST_DRAWINGS)
    found = []
    for row in rows(chosen.sort_index()):
        pair = parsed_pair(results.store, row, OrderingInstance.from_json, ExecutionOrder.from_json)
        if pair is None:
            continue
        instance, solution = pair
        found += [
            {"instance_sha256": row.instance_sha256, **entry}
            for entry in order_timelines(instance, solution)
        ]
    return pd.DataFrame(found, columns=columns_of("ordering/timelines"))


def order_timelines(instance: OrderingInstance, best: ExecutionOrder) -> list[dict[str, Any]]:
    """Return `order`, `step` and `memory` of each operator, in the default order and in another."""
    default = ExecutionOrder(instance.graph.dag.topological_order)
    return [
        {"order": name, "step": step, "memory": taken.total}
        for name, order in (("default", default), ("best", best))
        for step, taken in enumerate(memory_parts(instance, order))
    ]


NOTES = (
    "Default: memory of the model file's own order, in bytes; its peak, or the sum over all "
    "operators. Other columns: how much less each method's best verified order takes, in percent "
    "of the default; negative if it takes more.",
    "At most: the saving of an order at the certified bound; no order saves more. Bold: this "
    "saving is reached, so the order is proven optimal.",
    "Mean: arithmetic, over the instances for which the method has an order; the paper states such "
    "a mean over its models.",
)


def saving_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return a table for each metric; None without orders."""
    savings = tables["savings"]
    if len(savings) == 0:
        return None
    made = tuple(
        _table(metric, part) for metric, part in savings.groupby("param_metric", sort=True)
    )
    return Section("Memory against the default order", made)


def _table(metric: Any, savings: pd.DataFrame) -> Table:
    methods = natural_order(savings["method"].unique())
    columns = ("instance", "default", *methods, "at most")
    blank = (Cell(""),) * (len(columns) - 1)
    groups = tuple(
        Group((Cell(str(treatment)), *blank), _lines(part, methods))
        for treatment, part in savings.groupby("treatment", sort=True)
    )
    title = f"Memory saved, in percent of the default order: metric {metric}"
    return Table(title, columns, groups, NOTES)


def _lines(savings: pd.DataFrame, methods: Sequence[str]) -> tuple[tuple[Cell, ...], ...]:
    """Return a line per instance, and their mean."""
    lines = []
    for _, part in savings.groupby("instance_sha256", sort=False):
        first = next(iter(rows(part)))
        saved = part.set_index("method")["saved"]
        optimal = set(part[part["objective"] == part["bound"]]["method"])
        lines.append(
            (
                Cell(first.instance),
                Cell(integer(first.default)),
                *(Cell(_percent(saved.get(name)), best=name in optimal) for name in methods),
                Cell(_percent(first.savable)),
            )
        )
    means = mean_savings(savings).set_index("method")
    bounds = savings.drop_duplicates("instance_sha256")["savable"]
    mean = (
        Cell("mean"),
        Cell(""),
        *(
            Cell(_percent(means["saved"].get(name)), f"{means['instances'].get(name, 0)}")
            for name in methods
        ),
        Cell(_percent(bounds.mean())),
    )
    return (*lines, mean)


def _percent(value: Any) -> str:
    if value is None or pd.isna(value):
        return MISSING
    return percent(value) if value >= 0 else f"-{percent(-value)}"


MEANING = (
    "Memory while each operator runs, in the default order and in the best verified one; dotted "
    "lines are at the peaks. The models with the largest savings are drawn, one instance each."
)


def timeline_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return a plot per instance; None if no order saves anything."""
    data = tables["timelines"]
    if len(data) == 0:
        return None
    best = best_orders(tables["savings"])
    chosen = best[best["instance_sha256"].isin(data["instance_sha256"])]
    plots = tuple(
        _plot(row, data[data["instance_sha256"] == row.instance_sha256]) for row in rows(chosen)
    )
    return Section("Memory over time", plots=plots, paragraphs=(MEANING,))


def _plot(row: Any, data: pd.DataFrame) -> Plot:
    bound = (
        "proven optimal" if row.objective == row.bound else "certified bound " + integer(row.bound)
    )
    caption = (
        f"By {row.method}: {row.param_metric} {integer(row.objective)} B, {bound}; "
        f"{percent(row.saved)}\N{NO-BREAK SPACE}% less than the default order."
    )
    plot = instance_plot("timeline", row, caption, data.reset_index(drop=True), draw_timeline)
    return replace(plot, legend_is_above=True)


def tables(results: ProblemResults) -> Tables:
    """Return the default tables, the savings of orders, and the memory of some orders over time."""
    savings = saving_table(results)
    return {
        **DEFAULT.tables(results),
        "savings": savings,
        "timelines": timeline_table(results, savings),
    }


REPORT = replace(
    DEFAULT,
    grouping=Grouping("metric"),
    tables=tables,
    sections=(saving_section, *DEFAULT.sections, timeline_section),
)

__all__ = ["REPORT"]
