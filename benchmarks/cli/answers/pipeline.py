"""Print a partition: a line for every stage."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from boundmark.benchmarks.cli.terminal import print_table
from boundmark.benchmarks.solving.answer import GIVEN, Answer
from boundmark.benchmarks.solving.grading import checked_document
from boundmark.benchmarks.solving.presentation import Loss, Presentation, tick_unit
from boundmark.problems.errors import InvalidInputError, printable
from boundmark.problems.layers.tools.formats import TOOLS
from boundmark.problems.layers.tools.torchtitan import split_file
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import (
    in_pipeline_order,
    stage_costs,
    stage_overflow,
    stage_transfer,
    stage_work,
)
from boundmark.reports.true_costs import accuracy, source_of

if TYPE_CHECKING:
    from boundmark.reports.plots import Plot

MOST_EMPTY = 8


NS_PER_S = 10**9


def facts(answer: Answer) -> dict[str, Any]:
    """Return throughput, latency of one input, and the cache of each stage.

    Every `objective` ticks each stage passes its input on, so the throughput is 1 over it, and an
    input takes as many times that as there are stages with nodes ([MTPP24], Section 2).
    """
    graph, cost = _instance(answer).graph, answer.objective
    is_time = graph.tick == "ns" and bool(cost)
    return {
        "throughput_per_second": NS_PER_S / cost if is_time and cost else None,
        "input_latency": None if cost is None else _filled_stages(answer) * cost,
        "cache": graph.cache,
    }


def remarks(answer: Answer) -> list[tuple[str, str]]:
    """Return throughput and latency in words, and the cache if parameters can overflow it."""
    graph, cost = _instance(answer).graph, answer.objective
    if not cost:
        return []
    filled = _filled_stages(answer)
    stages = "1 stage" if filled == 1 else f"{filled:,} stages"
    if graph.tick == "ns":
        a_second = NS_PER_S / cost
        throughput = f"{a_second:,.0f}" if a_second >= 100 else f"{a_second:.3g}"
        many = "inputs" if graph.item == "input" else "minibatches"
        throughput, latency = f"{throughput} {many} a second", _duration(filled * cost)
    else:
        throughput, latency = f"1 {graph.item} in {cost:,} ticks", f"{filled * cost:,} ticks"
    lines = [
        ("throughput", throughput),
        ("latency", f"{latency} for one {graph.item} ({stages}, at the pace of the slowest)"),
    ]
    if not graph.is_cached:
        cached = (
            f"parameters of {graph.cache:,}{tick_unit(answer)} in each stage, however much room "
            "its tensors take; what is beyond is overflow"
        )
        lines.append(("cache", cached))
    return lines


def _duration(ns: int) -> str:
    name, size = next((one for one in _UNITS if ns >= one[1]), _UNITS[-1])
    return f"{ns / size:.3f} {name}"


_UNITS = (("s", 10**9), ("ms", 10**6), ("us", 10**3))


def _filled_stages(answer: Answer) -> int:
    return 0 if answer.solution is None else len(set(shown(answer).stages.tolist()))


def print_solution(answer: Answer) -> None:
    """Print the stages, numbered in the order in which data flows."""
    if answer.solution is not None:
        print_table(stage_table(_instance(answer), shown(answer)))


def losses(answer: Answer) -> list[Loss]:
    """Return what the slowest stage takes: its fair share of the work, and what makes it slow."""
    if answer.solution is None:
        return []
    instance, partition = _instance(answer), shown(answer)
    graph, k, stages = instance.graph, instance.k, partition.stages
    slowest = int(np.argmax(stage_costs(graph, stages, k)))
    work = int(stage_work(graph, stages, k)[slowest])
    incoming, outgoing = (int(column[slowest]) for column in stage_transfer(graph, stages, k))
    fair = min(work, -(-int(graph.work.sum()) // k))
    parts = {
        "work, as much as the mean stage": fair,
        "work beyond the mean stage's": work - fair,
        "transfer of tensors that enter": incoming,
        "transfer of tensors that leave": outgoing,
        "overflow: parameters that are streamed": int(stage_overflow(graph, stages, k)[slowest]),
    }
    return [Loss(name, ticks, f"stage {slowest}") for name, ticks in parts.items()]


def shown(answer: Answer) -> Partition:
    """Return the partition with the user's own numbers, or else numbered as data flows."""
    assert answer.solution is not None
    partition = Partition.from_json(answer.solution)
    return partition if answer.method == GIVEN else in_pipeline_order(_instance(answer), partition)


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
    table.add_column("operations", overflow="fold")
    filled = [stage for stage in range(k) if (stages == stage).any()]
    # Nobody reads hundreds of empty stages.
    rows = range(k) if k - len(filled) <= MOST_EMPTY else filled
    for stage in rows:
        names = [graph.names[v] for v in np.flatnonzero(stages == stage)]
        span = " .. ".join(dict.fromkeys(map(printable, (names[0], names[-1])))) if names else "-"
        table.add_row(
            str(stage),
            f"{len(names):,}",
            *(f"{column[stage]:,}" for column in ticks.values()),
            f"{costs[stage]:,}",
            f"{costs[stage] / max(1, costs.max()):.0%}",
            Text(span),
        )
    if len(rows) < k:
        table.caption = f"and {k - len(filled):,} of {k:,} stages that are empty"
        table.caption_justify = "left"
    return table


def plot(answer: Answer) -> "Plot":
    """Return the graph with its nodes in the colours of their stages."""
    from boundmark.reports.pipeline.drawings import (
        draw_partition,
        partition_data,
        partition_size,
    )
    from boundmark.reports.plots import Plot

    assert answer.solution is not None
    data = partition_data(_instance(answer), Partition.from_json(answer.solution))
    width, height = partition_size(data)
    return Plot(
        "partition", answer.source.label, "", data, draw_partition, width=width, height=height
    )


def _instance(answer: Answer) -> PipelineInstance:
    instance = answer.source.instance
    assert isinstance(instance, PipelineInstance)
    return instance


def cost_accuracy(answer: Answer) -> str:
    """Return what costs of a device have been off by for as many stages."""
    source = answer.source
    k = _instance(answer).k
    return accuracy(source_of(source.device), k, source.hardware) if source.device else ""


def as_tool(answer: Answer, tool: str, model: str, hosts: str) -> str:
    """Return a Python file that cuts a program of torch.export where its modules begin or end."""
    from boundmark.datasets.pipeline.torch_split import best_split, split_points

    if not model.endswith(".pt2"):
        raise InvalidInputError(
            f"{model} is no program of torch.export, whose modules --as {tool} names; expected a "
            ".pt2 file."
        )
    instance, unit = _instance(answer), tick_unit(answer)
    order, points = split_points(Path(model), instance.graph.names)
    partition, cuts = best_split(instance, order, sorted(points))
    cost, stages = checked_document(instance, partition)["objective"], len(cuts) + 1
    said = [f"The slowest of {stages} stages takes {cost:,}{unit} by the model of costs."]
    if answer.certified_bound:
        above = cost / answer.certified_bound - 1
        said.append(
            f"That is at most {above:.2%} above the optimum of any partition into {instance.k} "
            f"(certified: {answer.certified_bound:,}{unit})."
        )
    if answer.objective is not None and answer.objective < cost:
        said.append(
            f"The best that was found, {answer.objective:,}{unit}, has cuts where no module that "
            "runs once begins or ends, or leaves the program's order."
        )
    said.append(f"torchrun --nproc-per-node {stages} YOUR_SCRIPT, which imports `split` from here")
    lines = "\n".join(f"# {line}" for line in (TOOLS[tool].release, *said))
    return f"{lines}\n{split_file([points[cut] for cut in cuts])}"


PRESENTATION = Presentation(
    "pipeline",
    lambda answer: "cost",
    cost_accuracy=cost_accuracy,
    facts=facts,
    remarks=remarks,
    print_solution=print_solution,
    losses=losses,
    plot=plot,
    shown=shown,
    tools=("torch-pipelining", "torch"),
    tool_title=lambda tool: "torch.distributed.pipelining",
    as_tool=as_tool,
)
