"""The plots of a report: drawn, stored with their data, and ready for the page."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from boundmark.reports.analysis import Analysis, has_k
from boundmark.reports.durable import write_durably
from boundmark.reports.natural_order import natural_order
from boundmark.reports.number_text import integer, percent
from boundmark.reports.page import Plot
from boundmark.reports.plots.gap_by_k import draw_gap_by_k, gap_by_k_data
from boundmark.reports.plots.gap_distribution import draw_gap_distribution, gap_distribution_data
from boundmark.reports.plots.microbatch.bubble_rate_by_memory import (
    bubble_rate_by_memory_data,
    draw_bubble_rate_by_memory,
)
from boundmark.reports.plots.microbatch.bubble_rate_by_repetend import (
    bubble_rate_by_repetend_data,
    draw_bubble_rate_by_repetend,
)
from boundmark.reports.plots.microbatch.communication import draw_communication
from boundmark.reports.plots.microbatch.gantt import draw_gantt, gantt_data
from boundmark.reports.plots.microbatch.search_time import draw_search_time, search_time_data
from boundmark.reports.plots.performance_profile import (
    draw_performance_profile,
    performance_profile_data,
)
from boundmark.reports.plots.runtime_scatter import draw_runtime_scatter, runtime_scatter_data
from boundmark.reports.plots.style import looks, settings, to_png, to_svg
from boundmark.reports.tables.parquet import parquet_bytes

# Name: title and caption. The order is that of the page.
CAPTIONS = {
    "gap_by_k": (
        "Mean gap by k",
        "Geometric mean of UB/LB minus 1, with 95 % bootstrap intervals over instances.",
    ),
    "gap_distribution": (
        "Distribution of gaps",
        "Fraction of instances whose gap is at most the value; a curve that ends below 1 belongs "
        "to a k with instances that have no gap.",
    ),
    "performance_profile": (
        "Performance profile of solutions",
        "Fraction of instances, over all k, that a method solves within a factor of the best "
        "solution found; upper left is best.",
    ),
    "runtime_scatter": (
        "Time against size",
        "One mark a task, filled if it ended ok; times below 0.1 ms are shown there.",
    ),
    "bubble_rate_by_memory": (
        "Bubble rate over memory",
        "Of the best verified period, a line a layout that keeps something in memory; filled "
        "marks where the period is proven optimal.",
    ),
    "bubble_rate_by_repetend": (
        "Bubble rate over micro-batches in a repetition",
        "Smallest bubble rate of any verified schedule in whose repetition at most so many "
        "micro-batches take part, at the largest memory of each layout.",
    ),
    "communication": (
        "Blocking and non-blocking communication",
        "Simulated makespan of the best schedule of a layout over that without transfers; each "
        "transfer takes that part of the shortest block.",
    ),
    "search_time": (
        "Search time",
        "One mark an instance and method, seeds averaged; hollow where a task used its whole time "
        "or failed, so that it needs that time at least.",
    ),
}


# Plots of schedules; what follows is the instance.
GANTT = "schedule_"


class _Sketch(NamedTuple):
    title: str
    caption: str
    data: pd.DataFrame
    draw: Callable[[pd.DataFrame], Figure]


def write_plots(analysis: Analysis, folder: Path) -> tuple[dict[str, Plot], list[Path]]:
    """Draw every plot that has data; the files of those without are removed.

    Returns
    -------
    tuple
        The plots by name, and the files written.
    """
    staged = looks(natural_order(analysis.staged["method"]))
    searching = looks(natural_order(analysis.search_time["method"]))
    chosen: dict[str, tuple[pd.DataFrame, Callable[[pd.DataFrame], Figure]]] = {
        "gap_by_k": (gap_by_k_data(analysis.gap_by_k), draw_gap_by_k),
        "gap_distribution": (
            gap_distribution_data(analysis.certified[has_k(analysis.certified)]),
            draw_gap_distribution,
        ),
        "performance_profile": (
            performance_profile_data(analysis.staged),
            lambda data: draw_performance_profile(data, staged),
        ),
        "runtime_scatter": (
            runtime_scatter_data(analysis.staged),
            lambda data: draw_runtime_scatter(data, staged),
        ),
        "bubble_rate_by_memory": (
            bubble_rate_by_memory_data(analysis.best_schedules),
            draw_bubble_rate_by_memory,
        ),
        "bubble_rate_by_repetend": (
            bubble_rate_by_repetend_data(analysis.schedules),
            draw_bubble_rate_by_repetend,
        ),
        "search_time": (
            search_time_data(analysis.search_time),
            lambda data: draw_search_time(data, searching),
        ),
        "communication": (analysis.communication, draw_communication),
    }
    sketches = {name: _Sketch(*CAPTIONS[name], *chosen[name]) for name in chosen}
    sketches |= _gantts(analysis)
    stale = {path.stem for path in folder.glob(f"{GANTT}*")} | set(sketches)
    plots: dict[str, Plot] = {}
    paths: list[Path] = []
    for name, sketch in sketches.items():
        if len(sketch.data) == 0:
            continue
        with settings():
            figure = sketch.draw(sketch.data)
            svg, png = to_svg(figure, name), to_png(figure)
        contents = (parquet_bytes(sketch.data), svg.encode(), png)
        for path, content in zip(_files(folder, name), contents, strict=True):
            write_durably(path, content)
            paths.append(path)
        plots[name] = Plot(name, sketch.title, sketch.caption, svg)
    for name in stale - set(plots):
        for path in _files(folder, name):
            path.unlink(missing_ok=True)
    return plots, paths


def _files(folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}.{ending}" for ending in ("parquet", "svg", "png")]


def _gantts(analysis: Analysis) -> dict[str, _Sketch]:
    best = analysis.best_schedules.set_index("instance_sha256")
    sketches = {}
    for sha256, boxes in analysis.drawings.items():
        row: Any = best.loc[sha256]
        label = f"{row.instance}, {row.parameters}"
        data = gantt_data(boxes)
        objective = "makespan" if row.micro_batches else "period"
        caption = (
            f"By {row.method}: {objective} {integer(row.objective)}, "
            f"{'proven optimal' if row.optimal else f'certified bound {integer(row.bound)}'}, "
            "bubble rate "
            f"{percent(row.bubble_rate)}\N{NO-BREAK SPACE}%."
        )
        if len(data) < len(boxes):
            caption += f" Only the first {integer(data['end'].max())} ticks are drawn."
        slug = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
        sketches[f"{GANTT}{slug}_{sha256[:8]}"] = _Sketch(label, caption, data, draw_gantt)
    return sketches
