"""The summary of a run for the terminal."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from boundmark.benchmarks.cli.terminal import plain
from boundmark.problems.errors import printable
from boundmark.reports.sections.gaps import gap_sentence
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.text import gap_percent, integer, natural_order

# What the column of nodes takes, and what gaps are at least.
NODES_WIDTH, NUMBER_WIDTH = 9, 6


def print_certified_table(certified: pd.DataFrame) -> None:
    """Print the gaps of each problem, and a sentence on each; those with most instances come first.

    A table has one row per graph or layout, and one column per set of parameters; what is the same
    for all instances of a problem stands above it.
    """
    console = Console()
    sizes = certified.groupby("problem").size()
    problems = sorted(map(str, sizes.index), key=lambda name: (-int(sizes[name]), name))
    for problem in problems:
        part, common = _without_common(certified[certified["problem"] == problem])
        told = f" ({common})" if common else ""
        console.print(
            plain(
                f"{problem}{told}: gap in %, best verified cost over best certified bound "
                "(* optimal)"
            )
        )
        names = part["dataset"] + "/" + part["instance"]
        room = console.width - names.str.len().max() - NODES_WIDTH
        for columns in _fitting(natural_order(part["parameters"]), room):
            console.print(_gap_table(part[part["parameters"].isin(columns)], columns))
    console.print()
    for problem in problems:
        told = gap_sentence(problem, certified[certified["problem"] == problem])
        console.print(plain(told.replace("\N{NO-BREAK SPACE}", " ")))


def _without_common(certified: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Remove the parameters that all rows share; return the rows, and these parameters."""
    listed = certified["parameters"].map(lambda text: str(text).split(", "))
    common = set.intersection(*map(set, listed))
    if len(certified) == 1 or set(map(len, listed)) == {len(common)}:
        return certified, ""
    rest = listed.map(lambda parts: ", ".join(part for part in parts if part not in common))
    return certified.assign(parameters=rest), ", ".join(sorted(common))


def _fitting(columns: Sequence[str], room: int) -> list[list[str]]:
    """Return the columns in groups that fit side by side, at least one in each."""
    groups: list[list[str]] = []
    used = 0
    for name in columns:
        width = max(NUMBER_WIDTH, *map(len, _heading(name).splitlines())) + 2
        if not groups or used + width > room:
            groups.append([])
            used = 0
        groups[-1].append(name)
        used += width
    return groups


def _gap_table(certified: pd.DataFrame, columns: Sequence[str]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("instance", overflow="fold")
    table.add_column("nodes", justify="right")
    for parameters in columns:
        table.add_column(Text(_heading(parameters)), justify="right", no_wrap=True)
    for (dataset, instance), rows in certified.groupby(["dataset", "instance"], sort=False):
        by_parameters = rows.set_index("parameters")
        cells = [
            _gap(by_parameters.loc[parameters, "gap"]) if parameters in by_parameters.index else ""
            for parameters in columns
        ]
        table.add_row(plain(f"{dataset}/{instance}"), integer(rows["nodes"].iloc[0]), *cells)
    table.add_section()
    gaps = [certified[certified["parameters"] == name]["gap"].dropna() for name in columns]
    means = [_gap(geometric_mean(1 + part) - 1) for part in gaps]
    table.add_row("geometric mean", "", *means)
    table.add_row("instances", "", *(integer(len(part)) for part in gaps))
    return table


def _heading(parameters: str) -> str:
    """Return the parameters in lines, so that columns stay narrow."""
    parts = printable(parameters).split(", ")
    return "\n".join(x if len(x) < 6 else x.replace("=", "\n") for x in parts) or "gap"


def _gap(gap: Any) -> str:
    return "*" if gap == 0 else gap_percent(gap)
