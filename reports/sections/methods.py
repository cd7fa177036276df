"""Results of each method over all instances of a problem, and against a baseline."""

from operator import itemgetter
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Section
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.statistics import geometric_mean, geometric_mean_interval
from boundmark.reports.tables.rows import rows as rows_of
from boundmark.reports.text import MISSING, count, decimal, integer, natural_order, seconds

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

ACCEPTED_NOTE = (
    "accepted/UB: the same for bounds with certificates that only an installed package can check; "
    "the kind of a task's bound names the package. They are not certified by boundmark."
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
    with_accepted = bool((methods["accepting"] > 0).any())
    with_cpu = bool(methods["mean_cpu_seconds"].notna().any())
    claimed = PageColumn("claimed/UB", lambda row: _mean(row, "claimed", "claiming"))
    accepted = PageColumn("accepted/UB", lambda row: _mean(row, "accepted", "accepting"))
    cpu = PageColumn("CPU seconds", lambda row: seconds(row.mean_cpu_seconds))
    columns = (
        PageColumn("method", lambda row: str(row.name), is_text=True),
        PageColumn("kind", lambda row: row.method_kind, is_text=True),
        PageColumn("n", lambda row: integer(row.instances)),
        PageColumn("UB/LB", lambda row: _mean(row, "upper", "solved")),
        PageColumn("UB/LB, shared", lambda row: _mean(row, "shared_upper", "shared", "shared")),
        PageColumn("LB/UB", lambda row: _mean(row, "lower", "bounded")),
        *([claimed] if with_claims else []),
        *([accepted] if with_accepted else []),
        PageColumn(
            "seconds",
            lambda row: Cell(seconds(row.mean_seconds), f"n = {row.timed}" if row.timed else ""),
        ),
        *([cpu] if with_cpu else []),
        PageColumn("tasks not ok", lambda row: integer(row.failed)),
    )
    notes = (
        *NOTES,
        *([ACCEPTED_NOTE] if with_accepted else []),
        *([CPU_NOTE] if with_cpu else []),
    )
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


def speedup_section(speedups: pd.DataFrame) -> Section | None:
    """Return a table with one row per instance and one column per method; None without any.

    Parameters
    ----------
    speedups
        From `speedup_table`.
    """
    if speedups.empty:
        return None
    sizes = speedups.groupby("baseline")["instance_sha256"].nunique()
    sizes = sizes.sort_values(ascending=False, kind="stable")
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
    means = ("geometric means", _mean_speedups(speedups, methods), "")
    notes = (
        f"Verified cost of {baseline} over the method's, seeds averaged within an instance: above "
        "1, the method is better. Costs are latencies, periods, times of the slowest stage, or "
        "memory, depending on the problem. –: no solution.",
        *_other_baselines(sizes),
        "Geometric means: over the n instances that the method solved too, with a 95 % "
        "percentile bootstrap interval; over shared instances: those that all methods solved.",
    )
    title = f"Speedup over {baseline}"
    return Section(title, (page_table(title, columns, [*groups, means], notes),))


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
        first = next(iter(rows_of(own)))
        best = max((quotients[name] for name in methods if name in quotients), default=None)
        cells = (
            Cell(decimal(quotients[name], 3), best=quotients[name] == best)
            if name in quotients
            else MISSING
            for name in methods
        )
        found.append((str(first.instance), str(first.parameters), *cells))
    return found


def _mean_speedups(speedups: pd.DataFrame, methods: list[str]) -> list[tuple[str, ...]]:
    """Return rows in the form of `_lines` with means, their intervals and numbers of instances."""
    values = speedups.pivot_table(index="instance_sha256", columns="method", values="speedup")
    values = values.reindex(columns=methods)
    own = {name: values[name].dropna() for name in methods}
    shared = values.dropna(axis=1, how="all").dropna()
    intervals = []
    for name in methods:
        low, high = geometric_mean_interval(own[name])
        intervals.append(f"{low:.3f} to {high:.3f}" if low == low else MISSING)
    common = (decimal(geometric_mean(shared.get(name, [])), 3) for name in methods)
    return [
        ("all", "", *(decimal(geometric_mean(own[name]), 3) for name in methods)),
        ("95 % interval", "", *intervals),
        ("n", "", *(integer(len(own[name])) for name in methods)),
        ("shared", f"n = {len(shared)}", *common),
    ]
