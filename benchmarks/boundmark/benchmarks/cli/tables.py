"""Tables for the terminal."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.objective import block_overflow, block_transfer, block_work
from boundmark.reports.number_text import integer, percent
from boundmark.reports.store import ResultStore
from boundmark.reports.tables.certified import certified_table
from boundmark.reports.tables.gap_by_k import gap_by_k
from boundmark.reports.tables.tasks import ALL


def stage_table(instance: PipelineInstance, partition: Partition) -> Table:
    """Return a line for every stage: its costs, its share of the slowest's, its operations."""
    graph, k, stages = instance.graph, instance.k, partition.stages
    incoming, outgoing = block_transfer(graph, stages, k)
    ticks = {"work": block_work(graph, stages, k), "in": incoming, "out": outgoing}
    if not graph.is_cached:
        ticks["overflow"] = block_overflow(graph, stages, k)
    costs = np.sum(list(ticks.values()), axis=0)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("stage", "nodes", *ticks, "cost", "share"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("operations", overflow="ellipsis", no_wrap=True)
    for stage in range(k):
        names = [graph.names[v] for v in np.flatnonzero(stages == stage)]
        span = names[0] if len(names) == 1 else f"{names[0]} .. {names[-1]}" if names else "(empty)"
        table.add_row(
            str(stage),
            integer(len(names)),
            *(integer(column[stage]) for column in ticks.values()),
            integer(costs[stage]),
            f"{costs[stage] / max(1, costs.max()):.0%}",
            span,
        )
    for numbers in table.columns[:-1]:
        # Names may be cut to fit the terminal, numbers not.
        texts = (str(numbers.header), *map(str, numbers.cells))
        numbers.min_width = max(map(len, texts))
    return table


def print_certified_table(directory: Path) -> None:
    """Print each graph's gap by k, and what is known of all graphs together."""
    certified = certified_table(ResultStore.open(directory).results())
    stages = sorted(certified["k"].unique())
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("graph")
    table.add_column("nodes", justify="right")
    for k in stages:
        table.add_column(f"k={k}", justify="right")
    for (dataset, instance), rows in certified.groupby(["dataset", "instance"], sort=False):
        by_k = rows.set_index("k")
        cells = [
            ("*" if by_k.at[k, "optimal"] else percent(by_k.at[k, "gap"]))
            if k in by_k.index
            else ""
            for k in stages
        ]
        table.add_row(f"{dataset}/{instance}", integer(rows["nodes"].iloc[0]), *cells)
    means = gap_by_k(certified)
    over_all = means[means["dataset"] == ALL].set_index("k")
    table.add_section()
    table.add_row("geometric mean", "", *(percent(over_all.at[k, "mean_gap"]) for k in stages))
    table.add_row("graphs", "", *(integer(over_all.at[k, "bounded"]) for k in stages))
    console = Console()
    console.print("Gap in % between best verified cost and best certified bound (* proven optimal)")
    console.print(table)
