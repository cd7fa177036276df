"""The section of a page that unfolds instances, as many as a page can hold."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from boundmark.reports.instance_details.anchor import anchor_of
from boundmark.reports.instance_details.curve import Steps, curve_svg, improving
from boundmark.reports.instance_details.lines import task_table
from boundmark.reports.pages.page import Cell, Detail, Section
from boundmark.reports.plots.plot import Plot
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.tables.rows import rows, values_of
from boundmark.reports.text.natural_order import natural_order
from boundmark.reports.text.number_text import count, integer, percent

TITLE = "Each instance"

# Of all problems of a page together, so that it stays below 3 MB; a task takes some 350 bytes.
MOST_TASKS = 4500

# A step of a curve is some 20 bytes.
MOST_STEPS = 24

MEANING = (
    "Every task with its verified cost, certified bound, status and time; costs lead to the "
    "solution's file, bounds to the certificate's. Curves: best solution (lines) and best "
    "certified bound (dashed) of each method over time, as multiples of the best solution, at most "
    "a factor of two; of several seeds, the one that ended best."
)


def detail_section(
    results: ProblemResults, plots: Sequence[Plot], most_tasks: int = MOST_TASKS
) -> Section | None:
    """Return what can be unfolded of each instance; None without room for any.

    Where there is not room for all, those with the largest gaps are there.

    Parameters
    ----------
    plots
        Of the problem's other sections, for links to those of an instance.
    """
    chosen = _chosen(results, most_tasks)
    if chosen.empty:
        return None
    marks = {name: at for at, name in enumerate(natural_order(results.tasks["method"]))}
    tasks = dict(iter(results.tasks.groupby("instance_sha256")))
    events = _events(results.traces, results.tasks, set(chosen["instance_sha256"]))
    drawn: dict[str, list[Cell]] = {}
    for plot in plots:
        if plot.instance and len(plot.data):
            link = Cell(f"drawing: {plot.title}", href=f"#plot-{plot.name}")
            drawn.setdefault(plot.instance, []).append(link)
    details = tuple(
        _detail(row, tasks[row.instance_sha256], events, marks, drawn.get(row.instance_sha256, []))
        for row in rows(chosen)
    )
    paragraphs = [MEANING]
    left_out = len(results.certified) - len(chosen)
    if left_out:
        paragraphs.append(
            f"There is room for the {count(len(chosen), 'instance')} with the largest gaps. The "
            f"{left_out:,} others are in the tables above and in results/."
        )
    return Section(TITLE, paragraphs=tuple(paragraphs), details=details)


def _chosen(results: ProblemResults, most_tasks: int) -> pd.DataFrame:
    """Return the instances that there is room for, in the order of the certified table."""
    certified = results.certified
    sizes = certified["instance_sha256"].map(results.tasks["instance_sha256"].value_counts())
    by_gap = certified["gap"].fillna(float("inf")).sort_values(ascending=False, kind="stable").index
    fits = sizes[by_gap].cumsum() <= most_tasks
    return certified[fits.reindex(certified.index)]


def _events(
    traces: pd.DataFrame, tasks: pd.DataFrame, instances: set[str]
) -> Mapping[tuple[str, str], list[tuple[float, float]]]:
    """Return seconds and values by task and kind, of the tasks of some instances."""
    own = tasks.loc[tasks["instance_sha256"].isin(instances), "task_id"]
    shown = traces[traces["task_id"].isin(own) & (traces["kind"] != "bound_claimed")]
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    columns = (values_of(shown[name]) for name in ("task_id", "kind", "seconds", "value"))
    for task_id, kind, seconds, value in zip(*columns, strict=True):
        found.setdefault((task_id, kind), []).append((seconds, value))
    return found


def _detail(
    row: Any,
    tasks: pd.DataFrame,
    events: Mapping[tuple[str, str], list[tuple[float, float]]],
    marks: Mapping[str, int],
    drawn: Sequence[Cell],
) -> Detail:
    title = " ".join(filter(None, (f"{row.dataset}/{row.instance}", row.parameters)))
    ordered = tasks.assign(
        by_cost=tasks["objective"].astype("float64").fillna(float("inf")),
        by_bound=-tasks["bound_certified"].astype("float64").fillna(0.0),
    ).sort_values(["by_cost", "by_bound", "method", "seed"], kind="stable")
    return Detail(
        anchor_of(row.instance_sha256),
        title,
        _summary(row),
        str(row.dataset),
        task_table(f"Tasks on {title}", ordered, marks, str(row.dataset)),
        _curve(row, ordered, events, marks),
        (Cell("instance", href=f"instances/{row.instance_sha256}.json"), *drawn),
        _commands(row, tasks),
    )


def _summary(row: Any) -> str:
    gap = "optimal" if row.optimal else f"gap {percent(row.gap)}\N{NO-BREAK SPACE}%"
    return f"best cost {integer(row.objective)}, best bound {integer(row.bound)}, {gap}"


def _commands(row: Any, tasks: pd.DataFrame) -> tuple[str, ...]:
    """Return the command that checks the best solution and the best certificate."""
    files = [
        f"{folder}/{digest}.json"
        for folder, column, best, hashes in (
            ("solutions", "objective", row.objective, "solution_sha256"),
            ("certificates", "bound_certified", row.bound, "certificate_sha256"),
        )
        for digest in tasks.loc[(tasks[column] == best).fillna(False).astype(bool), hashes].head(1)
    ]
    return (f"boundmark verify {' '.join(files)}",) if files else ()


def _curve(
    row: Any,
    tasks: pd.DataFrame,
    events: Mapping[tuple[str, str], list[tuple[float, float]]],
    marks: Mapping[str, int],
) -> str:
    reference = row.objective if not pd.isna(row.objective) else row.bound
    if pd.isna(reference) or reference <= 0:
        return ""
    steps = []
    # The tasks are in order: the first of a method is its best.
    for task in rows(tasks.drop_duplicates("method")):
        for kind in ("solution", "bound_certified"):
            is_bound = kind == "bound_certified"
            points = improving(events.get((task.task_id, kind), []), is_bound=is_bound)
            look = marks[task.method]
            steps.append(Steps(task.method, look, is_bound, _thinned(points)))
    limit = tasks["time_limit_seconds"].fillna(0.0).max()
    return curve_svg(steps, float(reference), float(limit))


def _thinned(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """Return the last steps of many: of the first ones, every few."""
    if len(points) <= MOST_STEPS:
        return points
    every = -(-len(points) // MOST_STEPS)
    return (*points[:-1:every], points[-1])
