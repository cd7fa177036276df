"""Tables for the terminal."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.objective import block_overflow, block_transfer, block_work
from boundmark.reports.store import ResultStore
from boundmark.reports.tables import certified_table


def stage_table(instance: PipelineInstance, partition: Partition) -> Table:
    """Return a line for every stage: what it costs and which operations it holds."""
    graph, k, stages = instance.graph, instance.k, partition.stages
    work = block_work(graph, stages, k)
    incoming, outgoing = block_transfer(graph, stages, k)
    overflow = block_overflow(graph, stages, k)
    costs = work + incoming + outgoing + overflow
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("stage", "nodes", "work", "in", "out", "overflow", "cost", "of slowest"):
        table.add_column(column, justify="right")
    table.add_column("operations", overflow="ellipsis", no_wrap=True)
    for stage in range(k):
        members = np.flatnonzero(stages == stage)
        names = [graph.names[v] for v in members]
        span = names[0] if len(names) == 1 else f"{names[0]} .. {names[-1]}" if names else "(empty)"
        numbers = (work, incoming, outgoing, overflow, costs)
        table.add_row(
            str(stage),
            str(len(members)),
            *(f"{int(column[stage]):,}" for column in numbers),
            f"{costs[stage] / max(1, costs.max()):.0%}",
            span,
        )
    return table


def print_certified_table(directory: Path) -> None:
    """Print best verified cost, best certified bound and gap of every instance of a folder."""
    frame = certified_table(ResultStore.open(directory).results())
    table = Table(box=None, header_style="bold", pad_edge=False, title_justify="left")
    for column in frame.columns:
        numeric = frame[column].dtype.kind in "iuf"
        table.add_column(str(column), justify="right" if numeric else "left")
    for row in frame.itertuples(index=False):
        table.add_row(*(str(value) for value in row))
    Console().print(table)
