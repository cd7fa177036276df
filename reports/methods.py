"""Methods over all instances: what each delivered, how fast, and their section."""

import json
import statistics
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import pandas as pd

from boundmark.reports.dictionary import columns_of
from boundmark.reports.history import BEST, start_of
from boundmark.reports.pages.page import Cell, Section
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.statistics import (
    geometric_mean,
    geometric_mean_interval,
    geometric_mean_intervals,
)
from boundmark.reports.stored.run_records import RunLabel
from boundmark.reports.tables.parameters import ALL, per_instance, with_all
from boundmark.reports.tables.rows import rows
from boundmark.reports.tables.tasks import (
    SHIFT_SECONDS,
    charged_seconds,
    is_tenable,
)
from boundmark.reports.text import MISSING, count, decimal, integer, natural_order, seconds

NO_TIMES = pd.Series(dtype="float64")


def method_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return one row per method, with the columns that `dictionary.toml` declares and defines."""
    known = certified.set_index("instance_sha256")
    objective, bound = known["objective"].astype("float64"), known["bound"].astype("float64")
    uppers = per_instance(tasks, "objective").div(bound.where(bound > 0), axis=0)
    lowers = _fractions(tasks, "bound_certified", objective)
    claim = tasks["bound_claimed"].where(is_tenable(tasks, objective))
    claims = _fractions(tasks.assign(claim=claim), "claim", objective)
    everywhere = tasks.groupby("method")["instance_sha256"].nunique() == len(known)
    shared = uppers.loc[:, everywhere].dropna(axis=1, how="all").dropna()
    ran = tasks[tasks["status"] != "unsupported"]
    seconds = per_instance(ran.assign(seconds=charged_seconds(ran)), "seconds")
    processor = per_instance(ran, "cpu_seconds")
    rows = []
    for method, own in tasks.groupby("method")[["method_kind", "instance_sha256", "status"]]:
        upper, lower = uppers[method].dropna(), lowers[method].dropna()
        claimed = claims[method].dropna()
        times = seconds.get(method, NO_TIMES).dropna()
        rows.append(
            {
                "method": method,
                "method_kind": own["method_kind"].iloc[0],
                "instances": own["instance_sha256"].nunique(),
                "solved": len(upper),
                "upper": geometric_mean(upper),
                "shared": len(shared) if method in shared else 0,
                "shared_upper": geometric_mean(shared.get(method, [])),
                "bounded": len(lower),
                "lower": geometric_mean(lower),
                "claiming": len(claimed),
                "claimed": geometric_mean(claimed),
                "timed": len(times),
                "mean_seconds": geometric_mean(times, SHIFT_SECONDS),
                "mean_cpu_seconds": geometric_mean(
                    processor.get(method, NO_TIMES).dropna(), SHIFT_SECONDS
                ),
                "failed": int((own["status"] != "ok").sum()),
            }
        )
    return pd.DataFrame(rows, columns=columns_of("*/methods"))


def _fractions(tasks: pd.DataFrame, column: str, objective: "pd.Series[float]") -> pd.DataFrame:
    """Return bounds above 0 as fractions of the best objective, by instance and method."""
    fractions = per_instance(tasks, column).div(objective.where(objective > 0), axis=0)
    return fractions.where(fractions > 0)


def speedup_table(
    tasks: pd.DataFrame, certified: pd.DataFrame, baselines: Sequence[str]
) -> pd.DataFrame:
    """Return one row per instance that a baseline solved and method that solved it too.

    Instances are in the order of the certified table. Costs of 0 have no quotient.
    """
    solving = tasks[tasks["method_kind"].isin(["heuristic", "exact"])]
    costs = per_instance(solving, "objective")
    costs = costs.where(costs > 0)
    known = costs.reindex(columns=[name for name in baselines if name in costs])
    known = known.dropna(how="all")
    if known.empty:
        return pd.DataFrame(columns=columns_of("*/speedups"))
    chosen = known.notna().idxmax(axis=1)
    cost = known.bfill(axis=1).iloc[:, 0]
    quotients = costs.loc[known.index].rdiv(cost, axis=0).reset_index()
    long = quotients.melt("instance_sha256", var_name="method", value_name="speedup")
    names = certified[["dataset", "instance", "parameters", "instance_sha256"]]
    table = names.merge(long.dropna(subset=["speedup"]), on="instance_sha256")
    table = table.assign(baseline=table["instance_sha256"].map(chosen))
    return table[columns_of("*/speedups")]


def speedup_means(speedups: pd.DataFrame) -> pd.DataFrame:
    """Return geometric means of speedups, one row per data set (and all) and method."""
    found = []
    for dataset, part in with_all(speedups).groupby("dataset", sort=False):
        values = part.pivot_table(index="instance_sha256", columns="method", values="speedup")
        common = values.dropna()
        ends = geometric_mean_intervals(common)
        for method in natural_order(values.columns):
            own = values[method].dropna()
            low, high = geometric_mean_interval(own)
            found.append(
                {
                    "dataset": dataset,
                    "baseline": ", ".join(_baselines(part).index),
                    "method": method,
                    "instances": len(own),
                    "mean_speedup": geometric_mean(own),
                    "mean_speedup_low": low,
                    "mean_speedup_high": high,
                    "common": len(common),
                    "common_mean_speedup": geometric_mean(common[method]),
                    "common_mean_speedup_low": ends[method][0],
                    "common_mean_speedup_high": ends[method][1],
                }
            )
    return pd.DataFrame(found, columns=columns_of("*/speedup_means"))


def _baselines(speedups: pd.DataFrame) -> "pd.Series[int]":
    """Return on how many instances each method is the baseline, the most first."""
    sizes = speedups.groupby("baseline")["instance_sha256"].nunique()
    return sizes.sort_values(ascending=False, kind="stable")


def history_rows(
    label: RunLabel,
    tasks: pd.DataFrame,
    certified: pd.DataFrame,
    reference_seconds: Sequence[float],
) -> Iterator[dict[str, Any]]:
    """Yield one row per problem and method, and one per problem for the best of all methods."""
    run = {
        "run": f"{label.started} {', '.join(label.hosts)} {label.commit_text}",
        "started_at": start_of(label.started),
        "commit": label.commit_text,
        "solvers": json.dumps(dict(label.solvers), sort_keys=True),
        "suites": ", ".join(label.suites),
        "reference_seconds": statistics.median(reference_seconds) if reference_seconds else None,
    }
    for problem, known in certified.groupby("problem"):
        own = tasks[tasks["problem"] == problem]
        yield {**run, "problem": str(problem), **_best(own, known)}
        for row in rows(method_table(own, known)):
            yield {
                **run,
                "problem": str(problem),
                "method": row.method,
                "instances": int(row.instances),
                "solved": int(row.solved),
                "mean_gap": _number(row.upper - 1),
                "bounded": int(row.bounded),
                "mean_bound_gap": _number(1 / row.lower - 1),
                "optimal": None,
                "mean_seconds": _number(row.mean_seconds),
                "failed": int(row.failed),
            }


def _best(tasks: pd.DataFrame, certified: pd.DataFrame) -> dict[str, Any]:
    gaps = certified["gap"].dropna()
    mean = _number(geometric_mean(1 + gaps) - 1)
    return {
        "method": BEST,
        "instances": len(certified),
        "solved": int(certified["objective"].notna().sum()),
        "mean_gap": mean,
        "bounded": int(certified["bound"].notna().sum()),
        "mean_bound_gap": mean,
        "optimal": int(certified["optimal"].sum()),
        "mean_seconds": None,
        "failed": int((tasks["status"] != "ok").sum()),
    }


def _number(value: float) -> float | None:
    return None if value != value else float(value)


NOTES = (
    "n: instances that the method was run on. UB/LB: geometric mean of its verified objective "
    "over the best certified bound of the instance; shared: the same for methods that were run on "
    "every instance, over the instances that all of these solved, which compares them on equal "
    "terms. LB/UB: geometric mean of its certified bound over the best verified objective; "
    "claimed: the same for bounds that a solver claims and no solution contradicts. 1 is best in "
    "all columns. The small number: instances behind a mean.",
    "Seconds: geometric mean of wall-clock time, with a shift of 1 s; a task that did not end ok "
    "counts with its time limit, or with the time it took if that is longer.",
    "Failures: if a method delivered nothing, the instance is left out of its mean. Results that "
    "a task reported before it failed count.",
)

CPU_NOTE = (
    "CPU seconds: the same mean of the processor time of all threads and processes of a task, also "
    "of tasks that failed. On a busy machine it is more reliable than seconds, which are "
    "wall-clock time, here and elsewhere on this page."
)


def method_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table with one row per method; None without any."""
    methods = tables["methods"]
    if len(methods) == 0:
        return None
    by_name = methods.set_index("method")
    lines: list[Any] = [by_name.loc[name] for name in natural_order(by_name.index)]
    with_claims = bool((methods["claiming"] > 0).any())
    with_cpu = bool(methods["mean_cpu_seconds"].notna().any())
    claimed = PageColumn("claimed/UB", lambda row: _mean(row, "claimed", "claiming"))
    cpu = PageColumn("CPU seconds", lambda row: seconds(row.mean_cpu_seconds))
    columns = (
        PageColumn("method", lambda row: str(row.name), is_text=True),
        PageColumn("kind", lambda row: row.method_kind, is_text=True),
        PageColumn("n", lambda row: integer(row.instances)),
        PageColumn("UB/LB", lambda row: _mean(row, "upper", "solved")),
        PageColumn("UB/LB, shared", lambda row: _mean(row, "shared_upper", "shared", "shared")),
        PageColumn("LB/UB", lambda row: _mean(row, "lower", "bounded")),
        *([claimed] if with_claims else []),
        PageColumn(
            "seconds",
            lambda row: Cell(seconds(row.mean_seconds), f"n = {row.timed}" if row.timed else ""),
        ),
        *([cpu] if with_cpu else []),
        PageColumn("tasks not ok", lambda row: integer(row.failed)),
    )
    notes = (*NOTES, *([CPU_NOTE] if with_cpu else []))
    table = page_table("Methods over all instances", columns, [((), lines, "")], notes)
    return Section("Methods", (table,))


def _mean(row: Any, mean: str, instances: str, of: str = "instances") -> Cell:
    """Return a mean with the number of instances behind it; nothing where it is not asked for."""
    is_of_solutions = mean in ("upper", "shared_upper")
    if row.method_kind == ("bound" if is_of_solutions else "heuristic"):
        return Cell("")
    if not row[instances]:
        return Cell(MISSING)
    over = f"{row[instances]}"
    return Cell(decimal(row[mean], 4), over if over == f"{row[of]}" else f"{over}/{row[of]}")


def speedup_section(speedups: pd.DataFrame, means: pd.DataFrame) -> Section | None:
    """Return a table with one row per instance and one column per method; None without any."""
    if speedups.empty:
        return None
    sizes = _baselines(speedups)
    baseline = str(sizes.index[0])
    methods = [name for name in natural_order(speedups["method"]) if name != baseline]
    if not methods:
        return None
    columns = (
        PageColumn("instance", itemgetter(0), is_text=True),
        PageColumn("parameters", itemgetter(1), is_text=True),
        *(PageColumn(name, itemgetter(at)) for at, name in enumerate(methods, 2)),
    )
    groups = [
        (str(dataset), _lines(part, methods), str(dataset))
        for dataset, part in speedups.groupby("dataset", sort=False)
    ]
    if len(groups) > 1:
        # One data set alone has the means of all.
        groups = [
            (name, [*own, *_mean_lines(means, name, methods)], name) for name, own, _ in groups
        ]
    groups.append(("geometric means", _mean_lines(means, ALL, methods), ""))
    notes = (
        f"Verified cost of {baseline} over the method's, seeds averaged within an instance: above "
        "1, the method is better. Costs are latencies, periods, times of the slowest stage, or "
        "memory, depending on the problem. –: no solution.",
        *_other_baselines(sizes),
        "Geometric means: over the n instances that the method and a baseline solved; common: over "
        "those that all methods solved. In small print, 95 % percentile bootstrap intervals.",
    )
    title = f"Speedup over {baseline}"
    return Section(title, (page_table(title, columns, groups, notes),))


def _other_baselines(sizes: "pd.Series[int]") -> list[str]:
    """Return a sentence on the instances that the first baseline did not solve, if there are."""
    others = [f"{name} ({count(int(number), 'instance')})" for name, number in sizes[1:].items()]
    if not others:
        return []
    return [f"Where {sizes.index[0]} has no solution, the baseline is {', '.join(others)}."]


def _lines(part: pd.DataFrame, methods: list[str]) -> list[tuple[Cell | str, ...]]:
    """Return a row for each instance: its name, its parameters, and a cell for each method."""
    found: list[tuple[Cell | str, ...]] = []
    for _, own in part.groupby("instance_sha256", sort=False):
        quotients = dict(zip(own["method"], own["speedup"], strict=True))
        first = next(iter(rows(own)))
        best = max((quotients[name] for name in methods if name in quotients), default=None)
        cells = (
            Cell(decimal(quotients[name], 3), best=quotients[name] == best)
            if name in quotients
            else MISSING
            for name in methods
        )
        found.append((str(first.instance), str(first.parameters), *cells))
    return found


def _mean_lines(
    means: pd.DataFrame, dataset: str, methods: list[str]
) -> list[tuple[Cell | str, ...]]:
    """Return rows in the form of `_lines` with means, their intervals and numbers of instances."""
    part = means[means["dataset"] == dataset].set_index("method")
    own = part.reindex(methods)
    return [
        (f"mean, {dataset}", "", *(_mean_cell(own, name, "mean_speedup") for name in methods)),
        ("n", "", *map(integer, own["instances"])),
        (
            "mean, common",
            f"n = {part['common'].iloc[0]}",
            *(_mean_cell(own, name, "common_mean_speedup") for name in methods),
        ),
    ]


def _mean_cell(means: pd.DataFrame, method: str, column: str) -> Cell:
    mean, low, high = (float(means[f"{column}{end}"][method]) for end in ("", "_low", "_high"))
    if mean != mean:
        return Cell(MISSING)
    return Cell(decimal(mean, 3), f"{low:.3f} to {high:.3f}" if low == low else "")
