"""Solutions beside those of a baseline that the reader chose."""

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.statistics.means import geometric_mean, geometric_mean_interval
from boundmark.reports.tables.rows import rows
from boundmark.reports.text import MISSING, decimal, integer, natural_order


def speedup_section(speedups: pd.DataFrame) -> Section | None:
    """Return a table with one row per instance and one column per method; None without any.

    Parameters
    ----------
    speedups
        From `speedup_table`.
    """
    if speedups.empty:
        return None
    baseline = str(speedups["baseline"].iloc[0])
    methods = [name for name in natural_order(speedups["method"]) if name != baseline]
    groups = [
        Group(
            (Cell(str(dataset)), *(Cell(""),) * (len(methods) + 1)),
            tuple(_lines(part, methods)),
            str(dataset),
        )
        for dataset, part in speedups.groupby("dataset", sort=False)
    ]
    means = Group(
        (Cell("geometric means"), *(Cell(""),) * (len(methods) + 1)),
        tuple(_means(speedups, methods)),
    )
    table = Table(
        f"Speedup over {baseline}",
        ("instance", "parameters", *methods),
        (*groups, means),
        (
            f"Verified cost of {baseline} over the method's, seeds averaged within an instance: "
            "above 1, the method is better. Costs are latencies, periods, times of the slowest "
            "stage, or memory, as the problem has it. –: no solution. Instances that the baseline "
            "did not solve are left out.",
            "Geometric means: over the n instances that the method solved too, with a 95 % "
            "percentile bootstrap interval; over shared instances: those that all methods solved.",
        ),
        text_columns=2,
    )
    return Section(f"Speedup over {baseline}", (table,))


def _lines(part: pd.DataFrame, methods: list[str]) -> list[tuple[Cell, ...]]:
    found = []
    for _, own in part.groupby("instance_sha256", sort=False):
        quotients = dict(zip(own["method"], own["speedup"], strict=True))
        first = next(iter(rows(own)))
        best = max((quotients[name] for name in methods if name in quotients), default=None)
        cells = (
            Cell(decimal(quotients[name], 3), best=quotients[name] == best)
            if name in quotients
            else Cell(MISSING)
            for name in methods
        )
        found.append((Cell(str(first.instance)), Cell(str(first.parameters)), *cells))
    return found


def _means(speedups: pd.DataFrame, methods: list[str]) -> list[tuple[Cell, ...]]:
    values = speedups.pivot_table(index="instance_sha256", columns="method", values="speedup")
    values = values.reindex(columns=methods)
    own = {name: values[name].dropna() for name in methods}
    shared = values.dropna(axis=1, how="all").dropna()
    intervals = []
    for name in methods:
        low, high = geometric_mean_interval(own[name])
        intervals.append(Cell(f"{low:.3f} to {high:.3f}" if low == low else MISSING))
    return [
        (
            Cell("all"),
            Cell(""),
            *(Cell(decimal(geometric_mean(own[name]), 3)) for name in methods),
        ),
        (Cell("95 % interval"), Cell(""), *intervals),
        (Cell("n"), Cell(""), *(Cell(integer(len(own[name]))) for name in methods)),
        (
            Cell("shared"),
            Cell(f"n = {len(shared)}"),
            *(Cell(decimal(geometric_mean(shared.get(name, [])), 3)) for name in methods),
        ),
    ]
