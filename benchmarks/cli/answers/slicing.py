"""Print a slicing, a line for every device; and run the operators in another order."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.solving.answer import Answer
from boundmark.benchmarks.solving.model import Model, choose, named_instance
from boundmark.benchmarks.solving.presentation import Loss, Presentation
from boundmark.problems.catalog import methods
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming
from boundmark.problems.method import Budget, Method
from boundmark.problems.ordering.order import ExecutionOrder
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


# As in [MEMORIANOVA24], Section 3.2: the sum of the memory of all operators.
METRIC = {"metric": "sum"}


def in_order(source: NamedInstance, model: Model, order: str, seconds: float) -> NamedInstance:
    """Return a slicing instance whose operators run in another order ([MEMORIANOVA24], 3.1)."""
    instance = source.instance
    assert isinstance(instance, SlicingInstance)
    names, found, how = _found(replace(model, device=None), order, seconds)
    place = {name: at for at, name in enumerate(instance.graph.names)}
    if len(place) < instance.nodes or set(names) != set(place):
        raise InvalidInputError(
            f"{model.name}: operators to order and to slice are not called alike; expected a model "
            "whose operators have names of their own."
        )
    with naming(f"--order {order}"):
        graph = instance.graph.in_order([place[names[node]] for node in found])
    note = f"operators run in the order of {how}"
    return replace(source, instance=replace(instance, graph=graph), notes=(*source.notes, note))


def _found(model: Model, order: str, seconds: float) -> tuple[tuple[str, ...], list[int], str]:
    """Return the names of the model's operators, their order, and where that is from."""
    if order not in methods():
        path = Path(order)
        if not path.is_file():
            known = ", ".join(sorted(m.name for m in methods().values() if _orders(m)))
            raise InvalidInputError(
                f"--order is {quoted(order)}; expected a file, or one of {known}."
            )
        from boundmark.benchmarks.solving.grading import solution_in

        given = solution_in(path, choose(model, METRIC, "ordering"))
        ordered: Any = given.source.instance
        return ordered.graph.names, list(given.document["order"]), order
    method = methods()[order]
    if not _orders(method):
        raise InvalidInputError(
            f"--order is {quoted(order)}, a method of problem {method.problem!r} that makes no "
            "order; expected a method of 'ordering'."
        )
    ordered = named_instance(model, METRIC, "ordering").instance
    kept = _Last()
    method.run(ordered, Budget(wall_seconds=seconds), 1, kept, **method.params)
    if kept.order is None:
        raise InvalidInputError(f"{order} found no order in {seconds:g} s; expected more time.")
    return ordered.graph.names, kept.order.order.tolist(), f"{order}, {METRIC['metric']} of memory"


def _orders(method: Method) -> bool:
    return method.problem == "ordering" and method.kind != "bound"


class _Last:
    """Keeps the last order that is reported, the best one."""

    def __init__(self) -> None:
        self.order: ExecutionOrder | None = None

    def solution(self, solution: Any) -> None:
        self.order = solution

    def bound(self, bound: Certificate | Claim) -> None:
        """Leave bounds out."""


PRESENTATION = Presentation(
    "slicing",
    lambda answer: "latency",
    facts=facts,
    print_solution=print_solution,
    losses=losses,
    plot=plot,
    in_order=in_order,
)
