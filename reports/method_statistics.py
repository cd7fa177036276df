"""Compare methods on the instances that all were given: tables, and their section."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from boundmark.reports.dictionary import columns_of
from boundmark.reports.pages.page import Section, Table
from boundmark.reports.problem_report import Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.statistics import (
    Floats,
    contributions,
    geometric_mean,
    geometric_mean_intervals,
    holm,
    mean_dual_gaps,
    mean_primal_gaps,
    par10,
    signed_rank_p,
    wins_and_ties,
)
from boundmark.reports.tables.parameters import per_instance, with_all
from boundmark.reports.tables.rows import is_among, places_of_tasks, values_of
from boundmark.reports.tables.tasks import SHIFT_SECONDS, charged_seconds, is_tenable
from boundmark.reports.text import MISSING, count, decimal, integer, natural_order, percent, seconds


@dataclass(frozen=True)
class Comparison:
    """Some instances, and the methods that treated all of them.

    Attributes
    ----------
    instances
        By hash, sorted.
    methods
        In no particular order; at least one of them treated no further instance.
    """

    instances: tuple[str, ...]
    methods: frozenset[str]


def comparisons(tasks: pd.DataFrame) -> Iterator[Comparison]:
    """Yield the comparisons in descending order of instances."""
    treated = tasks[tasks["status"] != "unsupported"]
    sets = {
        str(method): frozenset(values_of(part))
        for method, part in treated.groupby("method")["instance_sha256"]
    }
    for instances in sorted(set(sets.values()), key=lambda one: (-len(one), sorted(one))):
        methods = frozenset(method for method, own in sets.items() if own >= instances)
        yield Comparison(tuple(sorted(instances)), methods)


BEST_KNOWN = "best_known_bound"

# For each role, the kinds of methods that have it, and the column of what they deliver.
ROLES = {
    "solutions": (("heuristic", "exact"), "objective"),
    "bounds": (("bound", "exact"), "bound_certified"),
}

# Columns of tasks; to choose rows takes long where there are forty.
NEEDED = [
    "dataset",
    "instance",
    "method",
    "method_kind",
    "instance_sha256",
    "status",
    "objective",
    "bound_certified",
    "bound_claimed",
    "wall_seconds",
    "time_limit_seconds",
]


def method_gaps(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return one row per role, data set (and all), comparison and method."""
    known = certified.set_index("instance_sha256")
    best = {
        "objective": known["objective"].astype("float64"),
        "bound_certified": known["bound"].astype("float64"),
        BEST_KNOWN: known[BEST_KNOWN].astype("float64"),
    }
    rows: list[dict[str, Any]] = []
    tasks = tasks[NEEDED]
    for role, (kinds, column) in ROLES.items():
        chosen = tasks[tasks["method_kind"].isin(kinds)]
        for dataset, part in with_all(chosen).groupby("dataset"):
            for number, comparison in enumerate(comparisons(part)):
                common = {"role": role, "dataset": dataset, "comparison": number}
                found = _compared(part, comparison, column, best)
                rows += [common | row for row in found]
    return pd.DataFrame(rows, columns=columns_of("*/method_gaps"))


def instance_gaps(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return one row per role, method and instance that have a gap; seeds are averaged."""
    known = certified.set_index("instance_sha256")
    found = []
    for role, (kinds, column) in ROLES.items():
        chosen = tasks.loc[tasks["method_kind"].isin(kinds), NEEDED]
        if chosen.empty:
            continue
        values = per_instance(chosen, column)
        values = values.where(values > 0)
        upward = column == "objective"
        other = known["bound" if upward else "objective"].astype("float64")
        ratios = _quotients(values, other.where(other > 0), upward)
        long = ratios.rename_axis("instance_sha256").reset_index()
        found.append(
            long.melt("instance_sha256", var_name="method", value_name="ratio").assign(role=role)
        )
    columns = columns_of("*/instance_gaps")
    if not found:
        return pd.DataFrame(columns=columns)
    table = pd.concat(found).dropna(subset=["ratio"])
    return table.assign(gap=table["ratio"] - 1)[columns].reset_index(drop=True)


def _compared(
    tasks: pd.DataFrame, comparison: Comparison, column: str, best: dict[str, "pd.Series[float]"]
) -> Iterator[dict[str, Any]]:
    own = tasks[
        is_among(tasks["method"], comparison.methods)
        & is_among(tasks["instance_sha256"], comparison.instances)
    ]
    places = list(comparison.instances)
    values = per_instance(own, column).reindex(places)
    values = values.where(values > 0)
    upward = column == "objective"
    other = best["bound_certified" if upward else "objective"]
    other = other.where(other > 0)
    gaps, to_best = (_quotients(values, one, upward) for one in (other, best[column]))
    shared = gaps.dropna(axis=1, how="all").dropna().index
    recorded = best[BEST_KNOWN] if upward else best[BEST_KNOWN].iloc[:0]
    to_known = _quotients(values, recorded.where(recorded > 0), upward)
    to_known = to_known.loc[to_known.dropna(axis=1, how="all").dropna().index]
    members = gaps.loc[shared, gaps.columns[gaps.notna().any()]]
    intervals = geometric_mean_intervals(members)
    counts = wins_and_ties(values if upward else -values)
    seconds = per_instance(own.assign(seconds=charged_seconds(own)), "seconds")
    proven = own[(own[column] == own["instance_sha256"].map(other)).fillna(False).astype(bool)]
    common, common_to_best = gaps.loc[shared], to_best.loc[shared]
    claims = _claims(own, best["objective"], upward).reindex(columns=sorted(comparison.methods))
    graphs = _members(own["instance"])
    for method in sorted(comparison.methods):
        delivered = common[method].notna()
        ratios = common.loc[delivered, method]
        low, high = intervals.get(method, (float("nan"), float("nan")))
        statuses = own.loc[own["method"] == method, "status"]
        claimed = claims[method].dropna()
        yield {
            "method": method,
            "members": graphs,
            "instances": len(places),
            "delivered": int(values[method].notna().sum()),
            "common": len(ratios),
            "mean_gap": geometric_mean(ratios) - 1,
            "mean_gap_low": low - 1,
            "mean_gap_high": high - 1,
            "mean_gap_to_best": geometric_mean(common_to_best.loc[delivered, method]) - 1,
            "known": int(to_known[method].notna().sum()),
            "mean_gap_to_best_known": geometric_mean(to_known[method].dropna()) - 1,
            "claiming": len(claimed),
            "mean_claimed_gap": geometric_mean(1 / claimed) - 1,
            "optimal": proven.loc[proven["method"] == method, "instance_sha256"].nunique(),
            "wins": int(counts["wins"][method]),
            "ties": int(counts["ties"][method]),
            "mean_seconds": geometric_mean(seconds[method].dropna(), SHIFT_SECONDS),
            "failed": int((statuses != "ok").sum()),
        }


def _quotients(values: pd.DataFrame, reference: "pd.Series[float]", upward: bool) -> pd.DataFrame:
    """Return costs over a reference, or that over bounds, by instance and method: 1 is best."""
    over = values.div(reference.reindex(values.index), axis=0)
    return over if upward else 1 / over


def _claims(
    tasks: pd.DataFrame, objective: "pd.Series[float]", are_solutions: bool
) -> pd.DataFrame:
    """Return claimed bounds as fractions of the best objective, by instance and method."""
    tenable = tasks.assign(claim=tasks["bound_claimed"].where(is_tenable(tasks, objective)))
    fractions = per_instance(tenable.iloc[:0] if are_solutions else tenable, "claim")
    fractions = fractions.div(objective.where(objective > 0).reindex(fractions.index), axis=0)
    return fractions.where(fractions > 0)


# Names of graphs that say what a set of instances is.
MOST_NAMED = 4


def _members(names: "pd.Series[Any]") -> str:
    """Return which graphs a set of instances is of, in a few words."""
    known = natural_order(set(map(str, names)))
    if len(known) <= MOST_NAMED:
        return ", ".join(known)
    return f"{', '.join(known[: MOST_NAMED - 1])} and {len(known) - MOST_NAMED + 1} more"


# Values that differ by a thousandth count as equal.
TOLERANCE = 0.001


def method_statistics(
    tasks: pd.DataFrame, traces: pd.DataFrame, certified: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per role, comparison and method, over all data sets of a problem."""
    best = certified.set_index("instance_sha256")["objective"].astype("float64")
    tasks = tasks[["task_id", *NEEDED]]
    found: list[dict[str, Any]] = []
    for role, (kinds, column) in ROLES.items():
        chosen = tasks[tasks["method_kind"].isin(kinds)]
        chosen = chosen.assign(progress=_progress(chosen, traces, best, column))
        for number, comparison in enumerate(comparisons(chosen)):
            own = chosen[
                is_among(chosen["method"], comparison.methods)
                & is_among(chosen["instance_sha256"], comparison.instances)
            ]
            common = {"role": role, "comparison": number, "instances": len(comparison.instances)}
            found += [common | row for row in _of_comparison(own, column)]
    return pd.DataFrame(found, columns=columns_of("*/method_statistics"))


def _of_comparison(tasks: pd.DataFrame, column: str) -> Iterator[dict[str, Any]]:
    values = per_instance(tasks, column)
    values = values.where(values > 0)
    # The larger a bound, the better: its reciprocal is a cost.
    added = contributions(values if column == "objective" else 1 / values, TOLERANCE)
    integral = "primal_integral" if column == "objective" else "dual_integral"
    for method, own in tasks.groupby("method"):
        delivered = (own["status"] == "ok") & own[column].notna()
        penalised = par10(
            own["wall_seconds"].fillna(0.0), own["time_limit_seconds"].fillna(0.0), delivered
        )
        contribution = added.get(str(method))
        yield {
            "method": method,
            "par10_seconds": penalised,
            integral: own.groupby("instance_sha256")["progress"].mean().mean(),
            "best_share": contribution.best_share if contribution else float("nan"),
            "only_best": contribution.only_best if contribution else 0,
            "virtual_best_loss": contribution.loss if contribution else float("nan"),
            "tolerance": TOLERANCE,
        }


def _progress(
    tasks: pd.DataFrame, traces: pd.DataFrame, best: "pd.Series[float]", column: str
) -> Floats:
    """Return the primal or dual integral of each task, NaN without a reference."""
    kind = "solution" if column == "objective" else column
    mean_gaps = mean_primal_gaps if column == "objective" else mean_dual_gaps
    references = np.asarray(tasks["instance_sha256"].map(best), np.float64)
    limits = np.asarray(tasks["time_limit_seconds"], np.float64)
    found = np.full(len(tasks), np.nan)
    known = (references > 0) & (limits > 0) & (len(traces) > 0)
    events = traces[traces["kind"] == kind]
    places = places_of_tasks(events, tasks[known])
    counts = places >= 0
    found[known] = mean_gaps(
        places[counts],
        events["seconds"].to_numpy(np.float64)[counts],
        events["value"].to_numpy(np.float64)[counts],
        references[known],
        limits[known],
    )
    return found


def method_pairs(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per role and pair of methods, over the instances on which both delivered."""
    rows: list[dict[str, Any]] = []
    for role, (kinds, column) in ROLES.items():
        values = per_instance(tasks[tasks["method_kind"].isin(kinds)], column)
        values = values.where(values > 0)
        found = [
            _pair(values, one, other, is_cost=column == "objective")
            for one, other in combinations(natural_order(values.columns), 2)
        ]
        found = [row for row in found if row["instances"]]
        corrected = holm([row["p_value"] for row in found])
        rows += [
            {"role": role, **row, "p_holm": p} for row, p in zip(found, corrected, strict=True)
        ]
    return pd.DataFrame(rows, columns=columns_of("*/pairs"))


def _pair(values: pd.DataFrame, one: str, other: str, *, is_cost: bool) -> dict[str, Any]:
    both = values[[one, other]].dropna()
    ratios = both[one] / both[other]
    below, above = ratios < 1 / (1 + TOLERANCE), ratios > 1 + TOLERANCE
    wins, losses = (below, above) if is_cost else (above, below)
    return {
        "method": one,
        "other": other,
        "instances": len(both),
        "wins": int(wins.sum()),
        "ties": int((~below & ~above).sum()),
        "losses": int(losses.sum()),
        "mean_ratio": geometric_mean(ratios),
        "p_value": signed_rank_p(both[one], both[other]),
        "tolerance": TOLERANCE,
    }


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
ROLES_IN_WORDS = {"solutions": "solutions", "bounds": "certified bounds"}


def statistics_section(tables: Tables) -> Section | None:
    """Return the tables of method statistics and of pairs; None without methods."""
    found = []
    for role, words in ROLES_IN_WORDS.items():
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
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
