"""A partition: a line for every stage."""

import numpy as np
from rich.console import Console
from rich.table import Table

from boundmark.benchmarks.presentation import Presentation
from boundmark.benchmarks.solve import Answer
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import in_pipeline_order
from boundmark.problems.pipeline.objective import stage_overflow, stage_transfer, stage_work
from boundmark.reports.text.number_text import integer


def objective_name(answer: Answer) -> str:
    """Return what the objective is called."""
    return "cost"


def unit(answer: Answer) -> str:
    """Return what a tick of the graph is, e.g. nanoseconds."""
    tick = _instance(answer).graph.tick
    return "" if tick == "unit" else f" {tick}"


def print_solution(answer: Answer) -> None:
    """Print the stages, numbered in the order in which data flows."""
    if answer.solution is not None:
        instance = _instance(answer)
        partition = in_pipeline_order(instance, Partition.from_json(answer.solution))
        Console().print(stage_table(instance, partition))


def stage_table(instance: PipelineInstance, partition: Partition) -> Table:
    """Return a line for every stage: its costs, its share of the slowest's, its operations."""
    graph, k, stages = instance.graph, instance.k, partition.stages
    incoming, outgoing = stage_transfer(graph, stages, k)
    ticks = {"work": stage_work(graph, stages, k), "in": incoming, "out": outgoing}
    if not graph.is_cached:
        ticks["overflow"] = stage_overflow(graph, stages, k)
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


def _instance(answer: Answer) -> PipelineInstance:
    instance = answer.source.instance
    assert isinstance(instance, PipelineInstance)
    return instance


PRESENTATION = Presentation("pipeline", objective_name, unit, print_solution=print_solution)
