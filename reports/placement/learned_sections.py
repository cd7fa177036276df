"""Sections about methods that learn: Table 2 of [HSDAG24] with certified gaps, and curves."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.placement.learned_tables import matches
from boundmark.reports.placement.tables import MODEL
from boundmark.reports.plots.plot import Panels, Plot
from boundmark.reports.plots.style import looks
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.text.number_text import MISSING, percent, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MILLION = 1e6


def learned_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return latencies and speedups of what was learned and of all else; None without any."""
    found = tables["learned"]
    if not len(found):
        return None
    groups = []
    for key, part in found.groupby(MODEL, sort=True):
        best = part["makespan"].min()
        rows = tuple(
            _row(row, is_best=bool(row["makespan"] == best))
            for _, row in part.sort_values(["makespan", "seconds"]).iterrows()
        )
        groups.append(Group((Cell(_model(key)),), rows))
    table = Table(
        "Latency and speedup over the first device alone",
        ("method", "makespan", "over seeds", "speedup (%)", "gap (%)", "seconds", "seeds"),
        tuple(groups),
        (
            "Makespan: median over seeds, in millions of ticks, which is milliseconds where a tick "
            "is a nanosecond; then the least and the most. Speedup: 1 - makespan / that of "
            "everything on the first device. Gap: to the best certified lower bound. Seconds: "
            "median, of the whole task.",
        ),
    )
    sentences = tuple(_sentence(row) for _, row in matches(found).iterrows())
    return Section("Learned placement", (table,), (), sentences)


def curve_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return how placements improve with evaluations; None without methods run with several."""
    curves = tables["curves"]
    if not len(curves):
        return None
    plot = Plot(
        "learning_curves",
        "Makespan over evaluations",
        "Best makespan after so many placements were tried: median over seeds, and a band from the "
        "least to the most. Each number of evaluations is a run of its own.",
        curves.assign(model=curves["instance"]),
        draw_curves,
        Panels("model", str, has_common_x=True),
    )
    limits = sorted(set(curves["evaluations"]))
    groups = []
    for key, part in curves.groupby(MODEL, sort=True):
        rows = []
        for method, own in part.groupby("method", sort=True):
            by_limit = {int(row["evaluations"]): row for _, row in own.iterrows()}
            cells = (
                Cell(f"{by_limit[n]['makespan'] / MILLION:.3f}", percent(by_limit[n]["gap"]))
                if n in by_limit
                else Cell(MISSING)
                for n in limits
            )
            rows.append((Cell(str(method)), *cells))
        groups.append(Group((Cell(_model(key)),), tuple(rows)))
    table = Table(
        "Makespan after so many evaluations",
        ("method", *(f"{n:,}" for n in limits)),
        tuple(groups),
        ("Median over seeds in millions of ticks. The small number is the certified gap (%).",),
    )
    return Section("Learning curves", (table,), (plot,))


def draw_curves(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw a line and a band for each method."""
    for method, look in looks(sorted(set(data["method"]))).items():
        part = data[data["method"] == method].sort_values("evaluations")
        axes.plot(
            part["evaluations"], part["makespan"] / MILLION, color=look.color, marker=look.marker,
            linestyle=look.linestyle, label=method,
        )  # fmt: skip
        axes.fill_between(
            part["evaluations"], part["least"] / MILLION, part["most"] / MILLION,
            color=look.color, alpha=0.15, linewidth=0,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set(xlabel="evaluations", ylabel="makespan (million ticks)")


def _row(row: "pd.Series[Any]", *, is_best: bool) -> tuple[Cell, ...]:
    spread = (
        MISSING
        if row["least"] == row["most"]
        else f"{row['least'] / MILLION:.3f} to {row['most'] / MILLION:.3f}"
    )
    return (
        Cell(str(row["method"])),
        Cell(f"{row['makespan'] / MILLION:.3f}", best=is_best),
        Cell(spread),
        Cell(percent(row["speedup"])),
        Cell(percent(row["gap"])),
        Cell(seconds(row["seconds"])),
        Cell(str(row["seeds"])),
    )


def _sentence(row: "pd.Series[Any]") -> str:
    """Return what is as good as the best that was learned on a model, and how soon."""
    learned = (
        f"{row['instance']}: of what is learned, {row['method']} is best, "
        f"{row['makespan'] / MILLION:.3f} after {seconds(row['seconds'])} s"
    )
    if row["other"] is None or pd.isna(row["other"]):
        return f"{learned}; no method of this run that does not learn is as good."
    return (
        f"{learned}; {row['other']}, which does not learn, has "
        f"{row['other_makespan'] / MILLION:.3f} after {seconds(row['other_seconds'])} s."
    )


def _model(key: Any) -> str:
    _, instance, device, transfers = key
    return ", ".join(part for part in (str(instance), str(device), str(transfers)) if part)
