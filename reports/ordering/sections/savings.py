"""Section on what orders save against the default order, in the paper's form."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from boundmark.reports.ordering.tables.savings import mean_savings
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.tables.rows import rows
from boundmark.reports.text.natural_order import natural_order
from boundmark.reports.text.number_text import MISSING, integer, percent

NOTES = (
    "Default: memory of the model file's own order, in bytes; its peak, or the sum over all "
    "operators. Other columns: how much less each method's best verified order takes, in percent "
    "of it; negative if it takes more.",
    "At most: what an order at the certified bound would save; no order saves more. Bold: as much "
    "as that, so that the order is proven optimal.",
    "Mean: arithmetic, over the instances for which the method has an order; the paper states such "
    "a mean over its models.",
)


def saving_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return a table for each metric; None without orders."""
    savings = tables["savings"]
    if len(savings) == 0:
        return None
    made = tuple(
        _table(metric, part) for metric, part in savings.groupby("param_metric", sort=True)
    )
    return Section("Memory against the default order", made)


def _table(metric: Any, savings: pd.DataFrame) -> Table:
    methods = natural_order(savings["method"].unique())
    columns = ("instance", "default", *methods, "at most")
    blank = (Cell(""),) * (len(columns) - 1)
    groups = tuple(
        Group((Cell(str(treatment)), *blank), _lines(part, methods))
        for treatment, part in savings.groupby("treatment", sort=True)
    )
    title = f"Memory saved, in percent of the default order: metric {metric}"
    return Table(title, columns, groups, NOTES)


def _lines(savings: pd.DataFrame, methods: Sequence[str]) -> tuple[tuple[Cell, ...], ...]:
    """Return a line per instance, and their mean."""
    lines = []
    for _, part in savings.groupby("instance_sha256", sort=False):
        first = next(iter(rows(part)))
        saved = part.set_index("method")["saved"]
        optimal = set(part[part["objective"] == part["bound"]]["method"])
        lines.append(
            (
                Cell(first.instance),
                Cell(integer(first.default)),
                *(Cell(_percent(saved.get(name)), best=name in optimal) for name in methods),
                Cell(_percent(first.savable)),
            )
        )
    means = mean_savings(savings).set_index("method")
    bounds = savings.drop_duplicates("instance_sha256")["savable"]
    mean = (
        Cell("mean"),
        Cell(""),
        *(
            Cell(_percent(means["saved"].get(name)), f"{means['instances'].get(name, 0)}")
            for name in methods
        ),
        Cell(_percent(bounds.mean())),
    )
    return (*lines, mean)


def _percent(value: Any) -> str:
    if value is None or pd.isna(value):
        return MISSING
    return percent(value) if value >= 0 else f"-{percent(-value)}"
