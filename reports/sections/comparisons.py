"""Methods compared: time, progress, the virtual best, and pairs."""

from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Section, Table
from boundmark.reports.problem_report import Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.text import MISSING, count, decimal, integer, natural_order, percent, seconds

# Comparisons of one data set on the page; the table that is stored has all.
MOST_COMPARISONS = 4

METHOD_NOTES = (
    "Over the instances that all methods of a group were given. PAR10: mean time in seconds; a "
    "task that did not end ok with a result counts with ten times its limit (Hutter et al., 2009).",
    "Integral: mean over the time limit of the gap to the best verified solution, 100 % before "
    "the first report, for solutions (primal) or certified bounds (dual) (Berthold, 2013).",
    "Virtual best: the best of all methods on each instance. As good: share of instances on which "
    "the method equals it, within 0.1 %; alone: instances on which no other method does; loss: "
    "how much worse the virtual best is without the method, in the geometric mean (Xu et al., "
    "2012).",
)
PAIR_NOTES = (
    "Compares the method with the smallest mean gap with every other one, over the instances on "
    "which both delivered. Better, equal, worse: numbers of instances; values within 0.1 % are "
    "equal. Quotient: geometric mean of its value over the other's.",
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
