"""The section of instances: the certified table, and details of each to unfold."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Detail, Section, Table
from boundmark.reports.plots import COLOURS, GLYPHS, Plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.gaps import BEST_KNOWN_NOTE, TO_BEST_KNOWN, is_known_better
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.tables.rows import (
    Events,
    best_rows,
    events_by_task,
    is_among,
    rows,
    values_of,
)
from boundmark.reports.text import (
    PERCENT,
    amount,
    count,
    decimal,
    gap_percent,
    integer,
    natural_order,
    plain,
    seconds,
    text,
    visible,
)

# In pixels of the drawing.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 460, 190, 52, 14, 8, 32

# Height of a label.
TEXT = 12

# Below this, times are those of the clock and of the runner.
SMALLEST_SECONDS = 1e-3

# Values further from the best solution than this factor are drawn at the edge.
LARGEST_FACTOR = 2.0


@dataclass(frozen=True)
class Steps:
    """The values that one task has found, or proven, and from when on.

    Attributes
    ----------
    look
        Number of its colour and mark.
    is_bound
        Whether the values are lower bounds.
    points
        Pairs of seconds and value, by time, each better than the one before.
    """

    name: str
    look: int
    is_bound: bool
    points: tuple[tuple[float, float], ...]


def improving(
    events: Sequence[tuple[float, float]], *, is_bound: bool
) -> tuple[tuple[float, float], ...]:
    """Return the events that are better than all before."""
    found: list[tuple[float, float]] = []
    for at, value in sorted(events):
        if not found or (value > found[-1][1] if is_bound else value < found[-1][1]):
            found.append((at, value))
    return tuple(found)


def curve_svg(steps: Sequence[Steps], reference: float, time_limit: float) -> str:
    """Return the drawing: logarithmic time, values as multiples of a reference above 0.

    Bounds are dashed; names and last values are shown when pointed at.
    """
    steps = [one for one in steps if one.points]
    if not steps:
        return ""
    seconds = [point[0] for one in steps for point in one.points]
    first = max(SMALLEST_SECONDS, min(seconds))
    last = max(time_limit, max(seconds), 2 * first)
    factors = [_factor(point[1], reference) for one in steps for point in one.points]
    low, high = min([*factors, 1 / 1.02]), max([*factors, 1.02])
    across = _Scale(first, last, LEFT, WIDTH - RIGHT)
    down = _Scale(low, high, HEIGHT - BOTTOM, TOP)
    lines = [
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Solutions and bounds over time">',
        f'<path class="frame" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>',
        *_ticks(first, last, low, high, across, down),
    ]
    for one in steps:
        places = [(across(t), down(_factor(value, reference))) for t, value in one.points]
        path = f"M{places[0][0]} {places[0][1]}"
        path += "".join(f"H{x}V{y}" for x, y in places[1:]) + f"H{WIDTH - RIGHT}"
        t, value = one.points[-1]
        what = "bound" if one.is_bound else "cost"
        hint = escape(visible(f"{one.name}: {what} {amount(value)} after {t:.3g} s"))
        colour, glyph = one.look % len(COLOURS), GLYPHS[one.look % len(GLYPHS)]
        kind = " lower" if one.is_bound else ""
        lines.append(
            f'<g class="c{colour}{kind}"><title>{hint}</title><path d="{path}"/>'
            f'<text x="{places[-1][0]}" y="{places[-1][1]}">{glyph}</text></g>'
        )
    return "".join([*lines, "</svg>"])


def _factor(value: float, reference: float) -> float:
    return min(LARGEST_FACTOR, max(1 / LARGEST_FACTOR, value / reference))


@dataclass(frozen=True)
class _Scale:
    """A logarithmic axis from a value at one place to a larger one at another."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> int:
        """Return the place of a value in whole pixels; below the least, the start."""
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return round(self.start + share * (self.end - self.start))


def _ticks(
    first: float, last: float, low: float, high: float, across: _Scale, down: _Scale
) -> list[str]:
    found = []
    for power in range(math.ceil(math.log10(first)), math.floor(math.log10(last)) + 1):
        x = across(10.0**power)
        found.append(f'<text class="tick" x="{x}" y="{HEIGHT - 16}">{plain(10.0**power)}</text>')
    found.append(f'<text class="tick" x="{(LEFT + WIDTH) // 2}" y="{HEIGHT - 2}">seconds</text>')
    apart = {factor for factor in (low, high) if abs(down(factor) - down(1.0)) >= TEXT}
    for factor in sorted({1.0, *apart}):
        y = down(factor) + 4
        found.append(f'<text class="side" x="{LEFT - 6}" y="{y}">{factor:.3g}</text>')
    return found


NOTE = (
    "Costs are in ticks of the instance. Gap: UB/LB - 1; missing without a solution or a bound. "
    "Of several methods with the same value, the fastest is shown."
)


def instance_section(results: ProblemResults, tables: Tables) -> Section:
    """Return the table with one row per instance."""
    certified = results.certified
    claimed = PageColumn("claimed LB", lambda row: decimal(row.claimed, 1))
    to_best_known = PageColumn(TO_BEST_KNOWN, lambda row: gap_percent(row.gap_to_best_known))
    has_better = bool(is_known_better(certified).any())
    columns = (
        PageColumn("instance", _linked, is_text=True),
        PageColumn("parameters", lambda row: row.parameters, is_text=True),
        PageColumn("nodes", lambda row: integer(row.nodes)),
        PageColumn("edges", lambda row: integer(row.edges)),
        PageColumn("best UB", lambda row: integer(row.objective)),
        PageColumn("best LB", lambda row: integer(row.bound)),
        PageColumn("gap (%)", lambda row: gap_percent(row.gap)),
        *([to_best_known] if has_better else []),
        *([claimed] if certified["claimed"].notna().any() else []),
        PageColumn("UB found by", lambda row: text(row.objective_method), is_text=True),
        PageColumn(
            "LB certified by",
            lambda row: Cell(text(row.bound_method), text(row.bound_kind)),
            is_text=True,
        ),
    )
    title = "Best verified solution and best certified bound of each instance"
    notes = (NOTE, BEST_KNOWN_NOTE) if has_better else (NOTE,)
    table = page_table(title, columns, [((), rows(certified), "")], notes)
    return Section("Instances", (table,), is_filtered=True)


def _linked(row: Any) -> Cell:
    return Cell(f"{row.dataset}/{row.instance}", href=f"#{anchor_of(row.instance_sha256)}")


def anchor_of(sha256: str) -> str:
    """Return the anchor of an instance's details."""
    return f"instance-{sha256[:16]}"


# Enough to recognise a message; the whole text is in the results.
LONGEST = 100


def task_table(title: str, tasks: Sequence[Any], marks: Mapping[str, int], dataset: str) -> Table:
    """Return one row per task, with links to its solution and its certificate."""
    lowest = min(_known(task.objective for task in tasks), default=None)
    highest = max(_known(task.bound_certified for task in tasks), default=None)
    claimed = PageColumn("claimed", lambda row: decimal(row.bound_claimed, 1))
    columns = (
        PageColumn("method", lambda row: Cell(row.method, mark=marks[row.method]), is_text=True),
        PageColumn("kind", lambda row: row.method_kind, is_text=True),
        PageColumn("seed", lambda row: integer(row.seed)),
        PageColumn(
            "cost",
            lambda row: _linked_value(row.objective, lowest, "solutions", row.solution_sha256),
        ),
        PageColumn(
            "bound",
            lambda row: _linked_value(
                row.bound_certified, highest, "certificates", row.certificate_sha256
            ),
        ),
        *([claimed] if list(_known(task.bound_claimed for task in tasks)) else []),
        PageColumn("seconds", lambda row: seconds(row.wall_seconds)),
        PageColumn("status", lambda row: row.status, is_text=True),
        PageColumn("detail", _reason, is_text=True),
    )
    return page_table(title, columns, [((), tasks, dataset)])


def _known(values: Iterable[Any]) -> Iterator[Any]:
    return (value for value in values if not pd.isna(value))


def _linked_value(value: Any, best: Any, folder: str, digest: Any) -> Cell:
    if pd.isna(value):
        return Cell("")
    return Cell(integer(value), best=bool(value == best), href=f"{folder}/{digest}.json")


def _reason(row: Any) -> str:
    if row.status == "ok" or pd.isna(row.status_detail):
        return ""
    text = str(row.status_detail)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


# Bytes for all problems of a page together, so that it stays below 3 MB.
MOST_BYTES = 1_500_000

# About what one of each takes.
TASK_BYTES, CURVE_BYTES, INSTANCE_BYTES = 320, 130, 700

# A step of a curve is some 20 bytes.
MOST_STEPS = 24

# Curves show events of these kinds.
KINDS = ("solution", "bound_certified")

MEANING = (
    "Every task with its verified cost, certified bound, status and time; costs link to solution "
    "files, bounds to certificates. Curves: best solution (solid) and best certified bound "
    "(dashed) of each method over time, as multiples of the best solution, up to a factor of two; "
    "of several seeds, the one with the best result."
)


def detail_section(
    results: ProblemResults, plots: Sequence[Plot], most_bytes: int = MOST_BYTES
) -> Section | None:
    """Return the details of each instance, to be unfolded; None without room for any.

    Where there is not room for all, those with the largest gaps are there.
    """
    chosen = _chosen(results, most_bytes)
    if chosen.empty:
        return None
    marks = {name: at for at, name in enumerate(natural_order(results.tasks["method"]))}
    are_shown = is_among(results.tasks["instance_sha256"], values_of(chosen["instance_sha256"]))
    tasks = results.tasks[are_shown]
    events, commands = _events(results.traces, tasks), _commands(tasks)
    of_instance = _ordered(tasks)
    drawn: dict[str, list[Cell]] = {}
    for plot in plots:
        if plot.instance and len(plot.data):
            link = Cell(f"drawing: {plot.title}", href=f"#plot-{plot.name}")
            drawn.setdefault(plot.instance, []).append(link)
    details = tuple(
        _detail(
            row, of_instance[sha256], events, marks, drawn.get(sha256, []), commands.get(sha256, "")
        )
        for row, sha256 in zip(rows(chosen), chosen["instance_sha256"], strict=True)
    )
    paragraphs = [MEANING]
    left_out = len(results.certified) - len(chosen)
    if left_out:
        paragraphs.append(
            f"Shown are the {count(len(chosen), 'instance')} with the largest gaps, for which "
            f"there is room. The {left_out:,} others are in the tables above and in results/."
        )
    return Section("Each instance", paragraphs=tuple(paragraphs), details=details, is_filtered=True)


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
    """Return the reports of some tasks, by kind and task."""
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
    command: str,
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
        (command,) if command else (),
    )


def _summary(row: Any) -> str:
    gap = gap_percent(row.gap, PERCENT)
    known = gap if row.optimal else f"gap {gap}"
    return f"best cost {integer(row.objective)}, best bound {integer(row.bound)}, {known}"


def _commands(tasks: pd.DataFrame) -> Mapping[str, str]:
    """Return for each instance the command that checks its best solution and best certificate."""
    files: dict[str, list[str]] = {}
    for folder, column, digest in (
        ("solutions", "objective", "solution_sha256"),
        ("certificates", "bound_certified", "certificate_sha256"),
    ):
        for row in rows(best_rows(tasks, column, highest=column != "objective")):
            path = f"{folder}/{getattr(row, digest)}.json"
            files.setdefault(row.instance_sha256, []).append(path)
    return {sha256: f"boundmark verify {' '.join(paths)}" for sha256, paths in files.items()}


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
