"""Print an execution order: its memory over time, and what fills it at the peak."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.solving.answer import Answer
from boundmark.benchmarks.solving.presentation import Loss, Presentation
from boundmark.problems.errors import InvalidInputError, printable
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.problems.ordering.order import Taken, memory_parts
from boundmark.reports.text import size

if TYPE_CHECKING:
    from boundmark.reports.plots import Plot

BARS = "▁▂▃▄▅▆▇█"
# Characters of a timeline.
WIDEST = 64


def objective_name(answer: Answer) -> str:
    """Return the objective's name."""
    return "peak" if _instance(answer).metric == "peak" else "sum"


def facts(answer: Answer) -> dict[str, Any]:
    """Return the operators' names in order, the memory of each, and that of the default order."""
    if answer.solution is None:
        return {"operators": None, "memory": None, "default": None}
    instance, order = _instance(answer), ExecutionOrder.from_json(answer.solution)
    return {
        "operators": [instance.graph.names[node] for node in order.order],
        "memory": [taken.total for taken in memory_parts(instance, order)],
        "default": instance.objective(_default(instance)),
    }


def print_solution(answer: Answer) -> None:
    """Print a timeline, where the peak is and what fills it, and the default order's memory."""
    if answer.solution is None or answer.objective is None:
        return
    instance, order = _instance(answer), ExecutionOrder.from_json(answer.solution)
    parts = memory_parts(instance, order)
    at = _peak(parts)
    name = printable(instance.graph.names[int(order.order[at])])
    taken = parts[at]
    click.echo(f"timeline         {timeline([part.total for part in parts])}")
    click.echo(
        f"peak             {size(taken.total)} at operator {at + 1} of {instance.nodes}, {name}"
    )
    click.echo(
        f"at the peak      inputs {size(taken.inputs)}, outputs {size(taken.outputs)}, "
        f"waiting {size(taken.waiting)}, weights {size(taken.weights)}"
    )
    default = instance.objective(_default(instance))
    saved = 1 - answer.objective / default if default else 0.0
    click.echo(f"default order    {default:,} B, of which {saved:.2%} is saved")


def timeline(values: list[int]) -> str:
    """Return a bar for each value, or for the largest of some neighbours if there are many."""
    columns = min(len(values), WIDEST)
    starts = [column * len(values) // columns for column in range(columns + 1)]
    largest = [max(values[a:b]) for a, b in itertools.pairwise(starts)]
    top = max(1, *largest)
    return "".join(BARS[min(len(BARS) - 1, len(BARS) * value // top)] for value in largest)


def losses(answer: Answer) -> list[Loss]:
    """Return what the peak is made of, or the sum: what operators need and what waits meanwhile."""
    if answer.solution is None:
        return []
    instance, order = _instance(answer), ExecutionOrder.from_json(answer.solution)
    parts = memory_parts(instance, order)
    where = "all operators"
    if instance.metric == "peak":
        at = _peak(parts)
        parts, where = [parts[at]], printable(instance.graph.names[int(order.order[at])])
    named = {
        "tensors that wait for later operators": sum(part.waiting for part in parts),
        "inputs of the running operator": sum(part.inputs for part in parts),
        "outputs of the running operator": sum(part.outputs for part in parts),
        "parameters": sum(part.weights for part in parts),
    }
    return [Loss(name, taken, where) for name, taken in named.items()]


def _peak(parts: list[Taken]) -> int:
    """Return the first position of the largest memory."""
    return max(range(len(parts)), key=lambda at: parts[at].total)


def _default(instance: OrderingInstance) -> ExecutionOrder:
    return ExecutionOrder(instance.graph.dag.topological_order)


def plot(answer: Answer) -> "Plot":
    """Return the memory from operator to operator, in the default order and in this one."""
    import pandas as pd

    from boundmark.reports.ordering import draw_timeline, order_timelines
    from boundmark.reports.plots import Plot

    assert answer.solution is not None
    data = order_timelines(_instance(answer), ExecutionOrder.from_json(answer.solution))
    return Plot("timeline", answer.source.label, "", pd.DataFrame(data), draw_timeline)


def _instance(answer: Answer) -> OrderingInstance:
    instance = answer.source.instance
    assert isinstance(instance, OrderingInstance)
    return instance


def write_model(answer: Answer, model: str, target: Path) -> None:
    """Write the model's ONNX file with its nodes in the order of the answer."""
    from boundmark.datasets.readers.onnx.reordered import write_reordered

    if not model.endswith(".onnx"):
        raise InvalidInputError(f"--out-model is given for {model}; expected an ONNX file.")
    order = ExecutionOrder.from_json(answer.solution or {}).order.tolist()
    names = _instance(answer).graph.names
    write_reordered(Path(model), [names[node] for node in order], target)


PRESENTATION = Presentation(
    "ordering",
    objective_name,
    lambda answer: " B",
    facts,
    print_solution,
    losses,
    plot=plot,
    write_model=write_model,
)
