"""Print a slicing: a line for every device, and how many devices share an operator."""

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from boundmark.benchmarks.answer import Answer
from boundmark.benchmarks.presentation import Loss, Presentation
from boundmark.benchmarks.slicing.operator_order import in_order
from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.latency import device_loads, plan_times

if TYPE_CHECKING:
    from boundmark.reports.plots import Plot


def facts(answer: Answer) -> dict[str, Any]:
    """Return each device's busy time and memory, and the operators by number of parts."""
    if answer.solution is None:
        return {"devices": None, "parts": None, "order": None}
    instance = _instance(answer)
    plan = SlicingPlan.from_json(answer.solution)
    loads = device_loads(instance, plan)
    devices = [
        {"name": name, **{column: values[d] for column, values in loads.items()}}
        for d, name in enumerate(instance.graph.device_names)
    ]
    return {"devices": devices, "parts": parts(plan), "order": names_in_order(instance, plan)}


def names_in_order(instance: SlicingInstance, plan: SlicingPlan) -> list[str] | None:
    """Return the operators in execution order; None if that is the instance's own order."""
    if plan.order is None:
        return None
    return [instance.graph.names[operator] for operator in plan.order.tolist()]


def parts(plan: SlicingPlan) -> list[int]:
    """Return how many operators have one part, two parts, and so on."""
    used = (plan.vectors[:, 1:] > plan.vectors[:, :-1]).sum(axis=1)
    found: list[int] = np.bincount(used, minlength=plan.vectors.shape[1])[1:].tolist()
    return found


def print_solution(answer: Answer) -> None:
    """Print a line for each device, and the operators by number of parts."""
    if answer.solution is None or answer.objective is None:
        return
    instance = _instance(answer)
    plan = SlicingPlan.from_json(answer.solution)
    loads = device_loads(instance, plan)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("device", no_wrap=True)
    for column in (
        "operators",
        "computing",
        "share",
        "communicating",
        "received",
        "memory",
        "full",
    ):
        table.add_column(column, justify="right", no_wrap=True)
    for d, name in enumerate(instance.graph.device_names):
        row = {column: f"{values[d]:,}" for column, values in loads.items()}
        share = f"{loads['computing'][d] / max(1, answer.objective):.0%}"
        full = f"{loads['memory'][d] / max(1, int(instance.graph.capacity[d])):.0%}"
        table.add_row(
            name, row["operators"], row["computing"], share, row["communicating"],
            row["received"], row["memory"], full,
        )  # fmt: skip
    console = Console()
    console.print(table)
    counts = [f"{count} in {number}" for number, count in enumerate(parts(plan), 1) if count]
    console.print(f"operators by number of parts: {', '.join(counts)}", soft_wrap=True)
    names = names_in_order(instance, plan)
    if names is not None:
        console.print(f"operators run in the order {', '.join(names)}", soft_wrap=True)


def losses(answer: Answer) -> list[Loss]:
    """Return the parts of the latency: each operator takes as long as its slowest device."""
    if answer.solution is None:
        return []
    instance, plan = _instance(answer), SlicingPlan.from_json(answer.solution)
    slowest = [
        max(zip(one.communication, one.computation, strict=True), key=sum)
        for one in plan_times(instance.graph, plan)
    ]
    where = "the slowest device of each operator"
    return [
        Loss("computing", sum(computation for _, computation in slowest), where),
        Loss("communicating", sum(communication for communication, _ in slowest), where),
    ]


def plot(answer: Answer) -> "Plot":
    """Return how long each device computes and communicates."""
    import pandas as pd

    from boundmark.reports.plots import Plot
    from boundmark.reports.slicing import draw_loads, plan_loads

    assert answer.solution is not None
    assert answer.objective is not None
    loads = pd.DataFrame(plan_loads(_instance(answer), SlicingPlan.from_json(answer.solution)))
    for name in ("computing", "communicating"):
        loads[name] /= max(1, answer.objective)
    return Plot("loads", answer.source.label, "", loads, draw_loads)


def _instance(answer: Answer) -> SlicingInstance:
    instance = answer.source.instance
    assert isinstance(instance, SlicingInstance)
    return instance


PRESENTATION = Presentation(
    "slicing",
    lambda answer: "latency",
    facts=facts,
    print_solution=print_solution,
    losses=losses,
    plot=plot,
    in_order=in_order,
)
