"""The plots of a report: drawn, stored with their data, and ready for the page."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from boundmark.reports.analysis import Analysis
from boundmark.reports.durable import write_durably
from boundmark.reports.natural_order import natural_order
from boundmark.reports.page import Plot
from boundmark.reports.plots.gap_by_k import draw_gap_by_k, gap_by_k_data
from boundmark.reports.plots.gap_distribution import draw_gap_distribution, gap_distribution_data
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
}


def write_plots(analysis: Analysis, folder: Path) -> tuple[dict[str, Plot], list[Path]]:
    """Draw every plot that has data; the files of those without are removed.

    Returns
    -------
    tuple
        The plots by name, and the files written.
    """
    methods = looks(natural_order(analysis.tasks["method"]))
    chosen: dict[str, tuple[pd.DataFrame, Callable[[pd.DataFrame], Figure]]] = {
        "gap_by_k": (gap_by_k_data(analysis.gap_by_k), draw_gap_by_k),
        "gap_distribution": (gap_distribution_data(analysis.certified), draw_gap_distribution),
        "performance_profile": (
            performance_profile_data(analysis.tasks),
            lambda data: draw_performance_profile(data, methods),
        ),
        "runtime_scatter": (
            runtime_scatter_data(analysis.tasks),
            lambda data: draw_runtime_scatter(data, methods),
        ),
    }
    plots, paths = {}, []
    for name, (data, draw) in chosen.items():
        files = [folder / f"{name}.{ending}" for ending in ("parquet", "svg", "png")]
        if len(data) == 0:
            for path in files:
                path.unlink(missing_ok=True)
            continue
        with settings():
            figure = draw(data)
            svg, png = to_svg(figure, name), to_png(figure)
        for path, content in zip(files, (parquet_bytes(data), svg.encode(), png), strict=True):
            write_durably(path, content)
        plots[name] = Plot(name, *CAPTIONS[name], svg)
        paths += files
    return plots, paths
