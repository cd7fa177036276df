"""The first section of each problem: how far from optimal methods are, on equal terms."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from boundmark.reports.pages.page import Cell, Section, Table
from boundmark.reports.plots import COLOURS, GREY, INK, Plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.gaps import (
    BEST_KNOWN_NOTE,
    TO_BEST_KNOWN,
    gap_interval,
    mean_gap_plot,
)
from boundmark.reports.sections.page_tables import PageColumn, datasets_of, page_table
from boundmark.reports.tables.parameters import ALL
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import count, gap_percent, integer, percent, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ANSWER = "How far from optimal"

TITLES = {
    "solutions": "How far are solutions from optimal, at most?",
    "bounds": "How far are bounds from optimal, at most?",
}
LEADS = {
    "solutions": "Gap: how far a method's costs are above the best certified bound of the "
    "instance, in the mean. Above best cost: above the lowest cost that any method found.",
    "bounds": "Gap: how far the lowest cost of the instance is above a method's bounds, in the "
    "mean. Below best bound: how far the highest bound of any method is above them.",
}
TO_BEST = {"solutions": "above best cost (%)", "bounds": "below best bound (%)"}
FEWER_LEAD = (
    " Best of first rows: the smallest gap, on the same instances, of the methods given all."
)
GAP_NOTES = (
    "The first rows compare methods on equal terms, over the instances that all of them were "
    "given. Methods that were given fewer follow, each over its own instances. n: instances on "
    "which all methods of the comparison delivered a result, ignoring methods that never did; the "
    "small number: instances on which the method itself did.",
    "Gap: geometric mean of UB/LB, minus 1, over these n instances, with seeds averaged within an "
    "instance first, and a percentile bootstrap interval over instances. Optimal: instances on "
    "which at least one seed is proven optimal. Wins and ties: over all instances of the "
    "comparison. Seconds: geometric mean of wall-clock time with a shift of 1 s; failed tasks "
    "count with their limit. Not ok: tasks that failed.",
)
CLAIMED_NOTE = (
    "Claimed: the same gap for bounds that solvers report without a certificate, over the "
    "instances on which no solution contradicts the claim. Claims enter no other number."
)

# Comparisons of one data set on the page; the table that is stored has all.
MOST_COMPARISONS = 4

# Methods of the picture; the table has all. Half of them may be methods given fewer instances.
MOST_DRAWN = 16


def answer_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the certified gaps by method, drawn and as tables; None where no method has any."""
    gaps = tables["method_gaps"]
    found = [
        _table(role, _of_all(gaps[gaps["role"] == role]), results.highlight)
        for role in TITLES
        if (gaps["role"] == role).any()
    ]
    if not found:
        return None
    plots = [_method_plot(gaps, tables["instance_gaps"])]
    if results.certified["gap"].max() > 0:
        # Where all instances are proven optimal, there is nothing to see in the means.
        plots.append(mean_gap_plot(results, tables))
    shown = tuple(replace(plot, width=DRAWN_WIDTH) for plot in plots if plot is not None)
    return Section(ANSWER, tuple(found), shown, is_headline=True)


def dataset_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return gaps by method for each data set and each set of instances; None for one of them."""
    gaps = tables["method_gaps"]
    found = [
        _dataset_table(role, gaps[gaps["role"] == role], results.highlight)
        for role in TITLES
        if len(gaps[gaps["role"] == role].groupby(["dataset", "comparison"])) > 1
    ]
    return Section("Gaps by data set", tuple(found)) if found else None


def _of_all(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the comparisons of all data sets together."""
    return gaps[gaps["dataset"] == ALL]


def _table(role: str, gaps: pd.DataFrame, highlight: Sequence[str]) -> Table:
    together = gaps[gaps["comparison"] == 0]
    n = int(together["instances"].iloc[0])
    lead = LEADS[role]
    groups: list[tuple[str, Iterable[Any], str]] = [
        (f"methods given all {count(n, 'instance')}", rows(_ordered(together, highlight)), "")
    ]
    others = list(_others(gaps, set(together["method"])))
    if others:
        groups.append(("methods given fewer", others, ""))
    notes: tuple[str, ...] = GAP_NOTES
    columns = _gap_columns(role)
    if others:
        best = PageColumn("best of first rows (%)", _best_of_first)
        columns = (*columns[:2], best, *columns[2:])
        lead += FEWER_LEAD
    if (gaps["known"] > gaps["common"]).any() or (
        gaps["mean_gap_to_best_known"] < gaps["mean_gap"]
    ).any():
        columns = (*columns[:2], PageColumn(TO_BEST_KNOWN, _to_best_known), *columns[2:])
        notes = (*notes, BEST_KNOWN_NOTE)
    if not gaps["failed"].any():
        columns = tuple(column for column in columns if column is not NOT_OK)
    if gaps["mean_claimed_gap"].notna().any():
        columns = (*columns, PageColumn("claimed (%)", _claimed))
        notes = (*notes, CLAIMED_NOTE)
    return page_table(TITLES[role], columns, groups, notes, lead)


@dataclass(frozen=True)
class _Fewer:
    """The row of a method that was given fewer instances than others.

    Attributes
    ----------
    best_of_first
        Smallest gap, on these instances, of the methods that were given all.
    """

    row: Any
    best_of_first: float

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


def _others(gaps: pd.DataFrame, compared: set[str]) -> Iterator[_Fewer]:
    """Yield the methods that were given fewer instances, each over the most that it was given."""
    left = gaps[~gaps["method"].isin(compared)].sort_values("comparison", kind="stable")
    own = left.drop_duplicates("method")
    for row in rows(own.assign(is_smallest=False, is_asked_for=False).sort_values("method")):
        there = gaps[(gaps["comparison"] == row.comparison) & gaps["method"].isin(compared)]
        yield _Fewer(row, float(there["mean_gap"].min()))


def _ordered(part: pd.DataFrame, highlight: Sequence[str]) -> pd.DataFrame:
    """Return the methods of a comparison, those that were asked for first, then by gap."""
    is_smallest = (part["mean_gap"] == part["mean_gap"].min()) & (len(part) > 1)
    marked = part.assign(is_smallest=is_smallest, is_asked_for=part["method"].isin(highlight))
    ordered = marked.assign(
        behind=~marked["is_asked_for"], gap=part["mean_gap"].fillna(float("inf"))
    )
    return ordered.sort_values(["behind", "gap", "method"], kind="stable")


def _dataset_table(role: str, gaps: pd.DataFrame, highlight: Sequence[str]) -> Table:
    groups = []
    for dataset in datasets_of(gaps):
        own = gaps[gaps["dataset"] == dataset]
        parts = list(own.groupby("comparison"))
        for _, part in parts[:MOST_COMPARISONS]:
            heading = f"{dataset}: {count(int(part['instances'].iloc[0]), 'instance')}"
            if len(parts) > 1:
                heading += f" of {part['members'].iloc[0]}"
            groups.append((heading, rows(_ordered(part, highlight)), dataset))
    notes: tuple[str, ...] = ("As in the first table, separately for each set of instances.",)
    left_out = int((gaps["comparison"] >= MOST_COMPARISONS).sum())
    if left_out:
        notes += (
            f"Comparisons over fewer instances ({count(left_out, 'row')}) are in "
            "method_gaps.parquet.",
        )
    return page_table(TITLES[role], _gap_columns(role), groups, notes, LEADS[role])


def _delivered(row: Any) -> str:
    return f"{row.delivered}/{row.instances}" if row.delivered < row.instances else ""


def _best_of_first(row: Any) -> str:
    return gap_percent(row.best_of_first) if isinstance(row, _Fewer) else ""


def _to_best_known(row: Any) -> Cell:
    n = "" if row.known == row.common else f"n = {row.known}"
    return Cell(gap_percent(row.mean_gap_to_best_known), n)


def _claimed(row: Any) -> Cell:
    if not row.claiming:
        return Cell("")
    return Cell(percent(row.mean_claimed_gap), f"{row.claiming}/{row.instances}")


NOT_OK = PageColumn("not ok", lambda row: integer(row.failed))


def _gap_columns(role: str) -> tuple[PageColumn, ...]:
    return (
        PageColumn("method", lambda row: Cell(row.method, best=row.is_asked_for), is_text=True),
        PageColumn("gap (%)", lambda row: Cell(gap_percent(row.mean_gap), best=row.is_smallest)),
        PageColumn("95 % interval", gap_interval),
        PageColumn("n", lambda row: Cell(integer(row.common), _delivered(row))),
        PageColumn(TO_BEST[role], lambda row: percent(row.mean_gap_to_best)),
        PageColumn("optimal", lambda row: integer(row.optimal)),
        PageColumn("wins", lambda row: integer(row.wins)),
        PageColumn("ties", lambda row: integer(row.ties)),
        PageColumn("seconds", lambda row: seconds(row.mean_seconds)),
        NOT_OK,
    )


# Width in inches of the headline's plots, of which two stand side by side.
DRAWN_WIDTH = 5.4


def _method_plot(gaps: pd.DataFrame, instance_gaps: pd.DataFrame) -> Plot | None:
    """Return the plot of the gaps that methods' solutions have; of bounds' where there are none."""
    for role in TITLES:
        data = method_gap_data(gaps, instance_gaps, role)
        if len(data):
            return Plot(
                "gap_by_method",
                f"Certified gaps of {role}",
                f"A row for each method and a dot for each of its n of "
                f"{count(data['instance_sha256'].nunique(), 'instance')}; the bar spans the first "
                "to the third quartile, the stroke is the median. Beside each name: mean seconds "
                "and n. Below the line are methods given fewer instances, which the rows above do "
                "not compare with. Left is better; 0 is proven optimal. The axis is logarithmic in "
                "cost over bound.",
                data,
                draw_method_gaps,
                height=0.9 + 0.24 * data["method"].nunique(),
            )
    return None


def method_gap_data(gaps: pd.DataFrame, instance_gaps: pd.DataFrame, role: str) -> pd.DataFrame:
    """Return each method's gaps, first of those that were given all instances.

    Those with smaller mean gaps come first. Of a method given fewer, all its own instances count.
    """
    own = _of_all(gaps[(gaps["role"] == role) & gaps["mean_gap"].notna()])
    own = own.sort_values(["comparison", "mean_gap", "method"], kind="stable")
    own = own.drop_duplicates("method")
    are_fewer = own["comparison"] > 0
    first = own[~are_fewer]
    fewer = own[are_fewer].head(max(MOST_DRAWN // 2, MOST_DRAWN - len(first)))
    chosen = pd.concat([first.head(MOST_DRAWN - len(fewer)), fewer])
    drawn = instance_gaps[instance_gaps["role"] == role]
    found = chosen.assign(is_fewer=chosen["comparison"] > 0).merge(drawn, on="method")
    return found.rename(columns={"mean_seconds": "seconds"})[
        ["method", "is_fewer", "seconds", "instance_sha256", "gap"]
    ]


# Where ticks may stand, in percent.
TICKS = (0, 1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10000)

# Ticks that are nearer to each other, as a share of the axis, are left out.
LEAST_DISTANCE = 0.11


def draw_method_gaps(data: pd.DataFrame, axes: "Axes") -> None:
    """Draw a row of dots for each method, on a logarithmic axis of UB/LB labelled with gaps."""
    methods = list(dict.fromkeys(data["method"]))
    compared = data.loc[~data["is_fewer"], "method"].nunique()
    if 0 < compared < len(methods):
        axes.axhline(compared - 0.5, color=GREY, linewidth=0.8, linestyle=":")
    largest = max(1.02, 1.05 * (1 + float(data["gap"].max())))
    for at, method in enumerate(methods):
        ratios = 1 + data.loc[data["method"] == method, "gap"].to_numpy(np.float64)
        colour = COLOURS[at % len(COLOURS)]
        low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
        axes.plot([low, high], [at, at], color=colour, linewidth=7, alpha=0.35)
        axes.plot(
            ratios, np.full(len(ratios), at), color=colour, linestyle="none", marker="o",
            markersize=3, alpha=0.6,
        )  # fmt: skip
        axes.plot([middle], [at], color=INK, linestyle="none", marker="|", markersize=11)
    of_method = data.groupby("method")["seconds"].agg(["first", "size"])
    labels = [
        f"{method} ({seconds(own['first'])} s, n = {own['size']:.0f})"
        for method, own in of_method.loc[methods].iterrows()
    ]
    axes.set_xscale("log")
    axes.set_yticks(range(len(methods)), labels)
    axes.set_ylim(len(methods) - 0.4, -0.6)
    axes.set_xlim(largest**-0.015, largest)
    axes.set_xlabel("gap, at most (%)")
    ticks = list(_ticks(largest))
    axes.set_xticks([1 + tick / 100 for tick in ticks], [f"{tick}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.grid(visible=False, axis="y")


def _ticks(largest: float) -> Iterator[int]:
    last = -1.0
    for tick in TICKS:
        place = float(np.log1p(tick / 100) / np.log(largest))
        if place <= 1 and place - last >= LEAST_DISTANCE:
            last = place
            yield tick
