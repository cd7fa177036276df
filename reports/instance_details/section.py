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
from boundmark.reports.tables.events import Events, events_by_task
from boundmark.reports.tables.rows import is_among, rows, values_of
from boundmark.reports.text.natural_order import natural_order
from boundmark.reports.text.number_text import count, integer, percent

TITLE = "Each instance"

# Of all problems of a page together, so that it stays below 3 MB.
MOST_BYTES = 1_500_000

# About what one of each takes.
TASK_BYTES, CURVE_BYTES, INSTANCE_BYTES = 320, 130, 700

# A step of a curve is some 20 bytes.
MOST_STEPS = 24

# Of the events that curves show.
KINDS = ("solution", "bound_certified")

MEANING = (
    "Every task with its verified cost, certified bound, status and time; costs lead to the "
    "solution's file, bounds to the certificate's. Curves: best solution (lines) and best "
    "certified bound (dashed) of each method over time, as multiples of the best solution, at most "
    "a factor of two; of several seeds, the one that ended best."
)


def detail_section(
    results: ProblemResults, plots: Sequence[Plot], most_bytes: int = MOST_BYTES
) -> Section | None:
    """Return what can be unfolded of each instance; None without room for any.

    Where there is not room for all, those with the largest gaps are there.

    Parameters
    ----------
    plots
        Of the problem's other sections, for links to those of an instance.
    """
    chosen = _chosen(results, most_bytes)
    if chosen.empty:
        return None
    marks = {name: at for at, name in enumerate(natural_order(results.tasks["method"]))}
    are_shown = is_among(results.tasks["instance_sha256"], values_of(chosen["instance_sha256"]))
    tasks = results.tasks[are_shown]
    events = _events(results.traces, tasks)
    of_instance = _ordered(tasks)
    drawn: dict[str, list[Cell]] = {}
    for plot in plots:
        if plot.instance and len(plot.data):
            link = Cell(f"drawing: {plot.title}", href=f"#plot-{plot.name}")
            drawn.setdefault(plot.instance, []).append(link)
    details = tuple(
        _detail(row, of_instance[sha256], events, marks, drawn.get(sha256, []))
        for row, sha256 in zip(rows(chosen), chosen["instance_sha256"], strict=True)
    )
    paragraphs = [MEANING]
    left_out = len(results.certified) - len(chosen)
    if left_out:
        paragraphs.append(
            f"There is room for the {count(len(chosen), 'instance')} with the largest gaps. The "
            f"{left_out:,} others are in the tables above and in results/."
        )
    return Section(TITLE, paragraphs=tuple(paragraphs), details=details)


def _chosen(results: ProblemResults, most_bytes: int) -> pd.DataFrame:
    """Return the instances that there is room for, in the order of the certified table."""
    certified = results.certified
    of_instance = results.tasks.groupby("instance_sha256")["method"]
    taken = TASK_BYTES * of_instance.size() + CURVE_BYTES * of_instance.nunique() + INSTANCE_BYTES
    sizes = certified["instance_sha256"].map(taken)
    by_gap = certified["gap"].fillna(float("inf")).sort_values(ascending=False, kind="stable").index
    fits = sizes[by_gap].cumsum() <= most_bytes
    return certified[fits.reindex(certified.index)]


def _events(traces: pd.DataFrame, tasks: pd.DataFrame) -> Mapping[str, Events]:
    """Return what some tasks reported, by kind and task."""
    own = traces[is_among(traces["task_id"], values_of(tasks["task_id"]))]
    return {kind: events_by_task(own[own["kind"] == kind]) for kind in KINDS}


def _ordered(tasks: pd.DataFrame) -> Mapping[str, list[Any]]:
    """Return each instance's tasks as rows, the best solutions first and then the best bounds."""
    ordered = tasks.assign(
        by_cost=tasks["objective"].astype("float64").fillna(float("inf")),
        by_bound=-tasks["bound_certified"].astype("float64").fillna(0.0),
    ).sort_values(["by_cost", "by_bound", "method", "seed"], kind="stable")
    found: dict[str, list[Any]] = {}
    for task in rows(ordered):
        found.setdefault(task.instance_sha256, []).append(task)
    return found


def _detail(
    row: Any,
    tasks: Sequence[Any],
    events: Mapping[str, Events],
    marks: Mapping[str, int],
    drawn: Sequence[Cell],
) -> Detail:
    title = " ".join(filter(None, (f"{row.dataset}/{row.instance}", row.parameters)))
    return Detail(
        anchor_of(row.instance_sha256),
        title,
        _summary(row),
        str(row.dataset),
        task_table(f"Tasks on {title}", tasks, marks, str(row.dataset)),
        _curve(row, tasks, events, marks),
        (Cell("instance", href=f"instances/{row.instance_sha256}.json"), *drawn),
        _commands(row, tasks),
    )


def _summary(row: Any) -> str:
    gap = "optimal" if row.optimal else f"gap {percent(row.gap)}\N{NO-BREAK SPACE}%"
    return f"best cost {integer(row.objective)}, best bound {integer(row.bound)}, {gap}"


def _commands(row: Any, tasks: Sequence[Any]) -> tuple[str, ...]:
    """Return the command that checks the best solution and the best certificate."""
    files = [
        f"{folder}/{_first(tasks, column, best, hashes)}.json"
        for folder, column, best, hashes in (
            ("solutions", "objective", row.objective, "solution_sha256"),
            ("certificates", "bound_certified", row.bound, "certificate_sha256"),
        )
        if not pd.isna(best)
    ]
    return (f"boundmark verify {' '.join(files)}",) if files else ()


def _first(tasks: Sequence[Any], column: str, value: Any, wanted: str) -> Any:
    """Return what a task with a value in one column has in another: the first by method."""
    having = (task for task in tasks if not pd.isna(getattr(task, column)))
    found = (task for task in having if getattr(task, column) == value)
    return getattr(min(found, key=lambda task: task.method), wanted)


def _curve(
    row: Any,
    tasks: Sequence[Any],
    events: Mapping[str, Events],
    marks: Mapping[str, int],
) -> str:
    reference = row.objective if not pd.isna(row.objective) else row.bound
    if pd.isna(reference) or reference <= 0:
        return ""
    steps = []
    best: dict[str, Any] = {}
    for task in tasks:
        # They are in order: the first of a method is its best.
        best.setdefault(task.method, task)
    for task in best.values():
        for kind in KINDS:
            is_bound = kind == "bound_certified"
            points = improving(events[kind].get(task.task_id, []), is_bound=is_bound)
            look = marks[task.method]
            steps.append(Steps(task.method, look, is_bound, _thinned(points)))
    limits = (task.time_limit_seconds for task in tasks)
    limit = max((float(one) for one in limits if not pd.isna(one)), default=0.0)
    return curve_svg(steps, float(reference), limit)


def _thinned(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """Return the last steps of many: of the first ones, every few."""
    if len(points) <= MOST_STEPS:
        return points
    every = -(-len(points) // MOST_STEPS)
    return (*points[:-1:every], points[-1])
