"""Methods compared: certified gaps, the page's first section, and further statistics."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, datasets_of, page_table
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import MISSING, count, decimal, integer, natural_order, percent, seconds

# Comparisons of one data set on the page; the table that is stored has all.
MOST_COMPARISONS = 4

ANSWER = "How far from optimal"

TITLES = {
    "solutions": "How far are solutions from optimal, at most?",
    "bounds": "How far are bounds from optimal, at most?",
}
REFERENCES = {
    "solutions": 'the best certified bound of the instance, and of "to best" the best verified '
    "solution of all methods",
    "bounds": 'the best verified solution of the instance, and of "to best" the best certified '
    "bound of all methods",
}
GAP_NOTES = (
    "Methods stand together only over instances that all of them treated; of methods that were "
    "given other instances, each such set is a comparison of its own, and methods that share no "
    "instance are not compared. n: instances on which every method of the comparison delivered, "
    "one that delivered nowhere left out; the small number says on how many of the comparison's "
    "instances the method itself did.",
    "Gap: geometric mean of UB/LB, minus 1, over these n instances, with seeds averaged within an "
    "instance first and a percentile bootstrap interval over instances. Optimal: instances on "
    "which a seed is proven optimal. Wins and ties: over all instances of the comparison. "
    "Seconds: geometric mean of wall-clock time, shifted by 1 s, failed tasks with their limit.",
)


def answer_section(results: ProblemResults, gaps: pd.DataFrame) -> Section | None:
    """Return the tables of certified gaps by method; None where no method has any.

    Parameters
    ----------
    gaps
        From `method_gaps`.
    """
    found = [
        _table(role, gaps[gaps["role"] == role], results.highlight)
        for role in TITLES
        if (gaps["role"] == role).any()
    ]
    return Section(ANSWER, tuple(found)) if found else None


def _table(role: str, gaps: pd.DataFrame, highlight: Sequence[str]) -> Table:
    groups = []
    for dataset in datasets_of(gaps):
        own = gaps[gaps["dataset"] == dataset]
        for _, part in list(own.groupby("comparison"))[:MOST_COMPARISONS]:
            heading = f"{dataset}: {count(int(part['instances'].iloc[0]), 'instance')}"
            groups.append((heading, rows(_ordered(part, highlight)), dataset))
    notes: tuple[str, ...] = (f"The gap is that to {REFERENCES[role]}.", *GAP_NOTES)
    left_out = int((gaps["comparison"] >= MOST_COMPARISONS).sum())
    if left_out:
        notes += (
            f"Comparisons over fewer instances ({count(left_out, 'row')}): method_gaps.parquet.",
        )
    return page_table(TITLES[role], GAP_COLUMNS, groups, notes)


def _ordered(part: pd.DataFrame, highlight: Sequence[str]) -> pd.DataFrame:
    """Return the methods of a comparison, those that were asked for first, then by gap."""
    is_smallest = (part["mean_gap"] == part["mean_gap"].min()) & (len(part) > 1)
    marked = part.assign(is_smallest=is_smallest, is_asked_for=part["method"].isin(highlight))
    ordered = marked.assign(
        behind=~marked["is_asked_for"], gap=part["mean_gap"].fillna(float("inf"))
    )
    return ordered.sort_values(["behind", "gap", "method"], kind="stable")


def _delivered(row: Any) -> str:
    return f"{row.delivered}/{row.instances}" if row.delivered < row.instances else ""


def _interval(row: Any) -> str:
    if row.mean_gap_low != row.mean_gap_low:
        return MISSING
    return f"{percent(row.mean_gap_low)} to {percent(row.mean_gap_high)}"


GAP_COLUMNS = (
    PageColumn("method", lambda row: Cell(row.method, best=row.is_asked_for), is_text=True),
    PageColumn("n", lambda row: Cell(integer(row.common), _delivered(row))),
    PageColumn("gap (%)", lambda row: Cell(percent(row.mean_gap), best=row.is_smallest)),
    PageColumn("95 % interval", _interval),
    PageColumn("to best (%)", lambda row: percent(row.mean_gap_to_best)),
    PageColumn("optimal", lambda row: integer(row.optimal)),
    PageColumn("wins", lambda row: integer(row.wins)),
    PageColumn("ties", lambda row: integer(row.ties)),
    PageColumn("seconds", lambda row: seconds(row.mean_seconds)),
    PageColumn("tasks not ok", lambda row: integer(row.failed)),
)


METHOD_NOTES = (
    "Over instances that all methods of a group treated. PAR10: mean time in seconds, where a task "
    "that did not end ok with a result counts with ten times its limit (Hutter et al., 2009).",
    "Integral: mean over the time limit of the gap to the best verified solution, 100 % before "
    "anything was reported; of solutions (primal) or of certified bounds (dual) (Berthold, 2013).",
    "Virtual best: takes the best of all methods on every instance. As good: share of instances on "
    "which the method is, within 0.1 %; alone: instances on which no other is; loss: how much "
    "worse the virtual best is in the geometric mean without the method (Xu et al., 2012).",
)
PAIR_NOTES = (
    "The method with the smallest mean gap against every other, over the instances on which both "
    "delivered. Better, equal, worse: instances, equal within 0.1 %. Quotient: geometric mean of "
    "its value over the other's.",
    "p: two-sided Wilcoxon signed-rank test on the logarithms of the quotients (Wilcoxon, 1945), "
    "corrected for all pairs of methods by Holm (1979). All pairs are in pairs.parquet.",
)
ROLES = {"solutions": "solutions", "bounds": "certified bounds"}


def statistics_section(tables: Tables) -> Section | None:
    """Return the tables of method statistics and of pairs; None without methods.

    Parameters
    ----------
    tables
        With `method_statistics`, `pairs` and `method_gaps`.
    """
    found = []
    for role, words in ROLES.items():
        statistics = tables["method_statistics"]
        own = statistics[statistics["role"] == role]
        if len(own):
            found.append(_methods(own, words))
        pairs = _with_best(tables["pairs"], tables["method_gaps"], role)
        if len(pairs):
            found.append(_pairs(pairs, words))
    return Section("Statistics of methods", tuple(found)) if found else None


def _methods(statistics: pd.DataFrame, words: str) -> Table:
    kind = "primal" if words == "solutions" else "dual"
    columns = (
        PageColumn("method", lambda row: row["method"], is_text=True),
        PageColumn("PAR10", lambda row: seconds(row["par10_seconds"])),
        PageColumn(f"{kind} integral (%)", lambda row: percent(row[f"{kind}_integral"])),
        PageColumn("as good (%)", lambda row: percent(row["best_share"])),
        PageColumn("alone", lambda row: integer(row["only_best"])),
        PageColumn("loss (%)", lambda row: percent(row["virtual_best_loss"])),
    )
    groups = []
    for _, part in list(statistics.groupby("comparison"))[:MOST_COMPARISONS]:
        by_name = part.set_index("method", drop=False)
        lines: list[Any] = [by_name.loc[name] for name in natural_order(by_name.index)]
        groups.append((count(int(part["instances"].iloc[0]), "instance"), lines, ""))
    return page_table(f"Time, progress and virtual best: {words}", columns, groups, METHOD_NOTES)


def _with_best(pairs: pd.DataFrame, gaps: pd.DataFrame, role: str) -> pd.DataFrame:
    """Return the pairs of the method with the smallest mean gap, with that method first."""
    shown = gaps[(gaps["role"] == role) & gaps["mean_gap"].notna() & (gaps["comparison"] == 0)]
    own = pairs[pairs["role"] == role]
    if shown.empty or own.empty:
        return own.iloc[:0]
    best = shown.sort_values(["mean_gap", "method"], kind="stable")["method"].iloc[0]
    first = own[own["method"] == best]
    turned = own[own["other"] == best].rename(
        columns={"method": "other", "other": "method", "wins": "losses", "losses": "wins"}
    )
    turned = turned.assign(mean_ratio=1 / turned["mean_ratio"])
    both: pd.DataFrame = pd.concat([first, turned])
    return both


def _pairs(pairs: pd.DataFrame, words: str) -> Table:
    best = str(pairs["method"].iloc[0])
    by_name = pairs.set_index("other")
    ordered: list[Any] = [by_name.loc[name] for name in natural_order(by_name.index)]
    columns = (
        PageColumn("method", lambda row: str(row.name), is_text=True),
        PageColumn("n", lambda row: integer(row["instances"])),
        PageColumn("better", lambda row: integer(row["wins"])),
        PageColumn("equal", lambda row: integer(row["ties"])),
        PageColumn("worse", lambda row: integer(row["losses"])),
        PageColumn("quotient", lambda row: decimal(row["mean_ratio"], 4)),
        PageColumn("p", lambda row: _p(row["p_holm"])),
    )
    title = f"{best} against each other method: {words}"
    return page_table(title, columns, [((), ordered, "")], PAIR_NOTES)


def _p(value: float) -> str:
    if value != value:
        return MISSING
    return "<0.001" if value < 0.001 else f"{value:.3f}"
