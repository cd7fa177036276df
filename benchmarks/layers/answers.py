"""Print an assignment of layers: a line for each stage, with its waits."""

from typing import Any

from rich.table import Table

from boundmark.benchmarks.answer import Answer
from boundmark.benchmarks.presentation import Loss, Presentation
from boundmark.benchmarks.terminal import print_table
from boundmark.problems.layers import LayerAssignment, LayersInstance
from boundmark.problems.layers.tool_formats import TOOLS, write_as
from boundmark.reports.text import integer, size


def objective_name(answer: Answer) -> str:
    """Return the objective's name."""
    return _instance(answer).goal


def facts(answer: Answer) -> dict[str, Any]:
    """Return each stage's device, layers, time and memory."""
    if answer.solution is None:
        return {"stages": None}
    instance, solution = _instance(answer), LayerAssignment.from_json(answer.solution)
    chain = instance.chain
    return {
        "stages": [
            {
                "device": chain.device_names[stage.device],
                "first": chain.names[stage.first],
                "last": chain.names[stage.end - 1],
                "layers": stage.end - stage.first,
                "computing": load.computing,
                "sending": load.sending,
                "memory": load.memory,
                "capacity": load.capacity,
            }
            for stage, load in zip(solution.stages, instance.stage_loads(solution), strict=True)
        ]
    }


def print_solution(answer: Answer) -> None:
    """Print a line for each stage."""
    if answer.solution is None:
        return
    stages = facts(answer)["stages"]
    slowest = max(stage["computing"] + stage["sending"] for stage in stages)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("device", no_wrap=True)
    for column in ("layers", "computing", "sending", "of slowest", "memory", "full"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for stage in stages:
        total = stage["computing"] + stage["sending"]
        table.add_row(
            stage["device"], integer(stage["layers"]), integer(stage["computing"]),
            integer(stage["sending"]), f"{total / max(1, slowest):.0%}", size(stage["memory"]),
            f"{stage['memory'] / max(1, stage['capacity']):.0%}", stage["first"],
        )  # fmt: skip
    print_table(table)


def losses(answer: Answer) -> list[Loss]:
    """Return the parts of the cost: of the slowest stage, or of all stages."""
    if answer.solution is None:
        return []
    instance, solution = _instance(answer), LayerAssignment.from_json(answer.solution)
    loads = instance.stage_loads(solution)
    slowest = max(range(len(loads)), key=lambda at: loads[at].total)
    name = instance.chain.device_names[solution.stages[slowest].device]
    if instance.goal == "bottleneck":
        where, chosen = f"stage {slowest}, on {name}, is the slowest", [loads[slowest]]
    else:
        where, chosen = "all stages", loads
    found = [
        Loss("computing", sum(load.computing for load in chosen), where),
        Loss("sending", sum(load.sending for load in chosen), where),
    ]
    if instance.goal == "makespan":
        waiting = (instance.micro_batches - 1) * loads[slowest].total
        found.append(Loss(f"the other micro-batches, on {name}", waiting, where))
    return found


def as_tool(answer: Answer, tool: str) -> str:
    """Return the assignment in the words of a tool; raises as `write_as` does."""
    return write_as(tool, _instance(answer), LayerAssignment.from_json(answer.solution or {}))


def _instance(answer: Answer) -> LayersInstance:
    instance = answer.source.instance
    assert isinstance(instance, LayersInstance)
    return instance


PRESENTATION = Presentation(
    "layers",
    objective_name,
    facts=facts,
    print_solution=print_solution,
    losses=losses,
    tools=tuple(TOOLS),
    as_tool=as_tool,
)
