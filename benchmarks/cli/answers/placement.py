"""Print a placement: a line for every device, and a drawing."""

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from boundmark.benchmarks.solving.answer import Answer
from boundmark.benchmarks.solving.presentation import Loss, Presentation, tick_unit
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import printable
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import (
    check_devices,
    has_room_while_running,
    peaks,
)
from boundmark.problems.placement.schedule import (
    busy_ticks,
    idle_while_receiving,
    moved_ticks,
)
from boundmark.problems.placement.simulation import in_order
from boundmark.reports.placement.drawings import draw_placement, schedule_spans
from boundmark.reports.true_costs import source_of, total_accuracy

if TYPE_CHECKING:
    from boundmark.reports.plots import Plot

COMPLETION = (
    "operators and transfers start when list scheduling has them start, most urgent first, "
    "because the table says only where operators run"
)


def facts(answer: Answer) -> dict[str, Any]:
    """Return the operators, busy time and memory of each device."""
    if answer.solution is None:
        return {"devices": None, "transfers": None}
    instance = _instance(answer)
    schedule = PlacementSchedule.from_json(answer.solution)
    columns = device_columns(instance, schedule)
    devices = [
        {"name": name, **{column: int(values[d]) for column, values in columns.items()}}
        for d, name in enumerate(instance.graph.device_names)
    ]
    return {
        "devices": devices,
        "transfers": len(schedule.transfers),
        **_unfused(instance, schedule),
    }


def _unfused(instance: PlacementInstance, schedule: PlacementSchedule) -> dict[str, int]:
    """Return the placement's makespan on the operators before fusion; nothing if none was fused."""
    if instance.coarse is None:
        return {}
    original, expanded = unfused(instance, schedule)
    found = {} if expanded is None else {"unfused_objective": original.objective(expanded)}
    return {"unfused_operators": original.nodes, **found}


def device_columns(instance: PlacementInstance, schedule: PlacementSchedule) -> dict[str, IntArray]:
    """Return each device's operators, busy ticks and memory, each of shape (D,)."""
    graph = instance.graph
    sent, received = moved_ticks(instance, schedule)
    return {
        "operators": np.bincount(schedule.devices, minlength=graph.devices),
        "busy": busy_ticks(graph, schedule.devices),
        "sending": sent,
        "receiving": received,
        "memory": peaks(graph, schedule, instance.transfers),
        "capacity": graph.capacity,
    }


def print_solution(answer: Answer) -> None:
    """Print each device's operators, share of the makespan and memory, and a drawing."""
    if answer.solution is None or answer.objective is None:
        return
    instance = _instance(answer)
    schedule = PlacementSchedule.from_json(answer.solution)
    columns = device_columns(instance, schedule)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("device", no_wrap=True)
    for column in ("operators", "busy", "share", "sending", "receiving", "memory", "full"):
        table.add_column(column, justify="right", no_wrap=True)
    for d, name in enumerate(instance.graph.device_names):
        row = {column: f"{values[d]:,}" for column, values in columns.items()}
        share = f"{int(columns['busy'][d]) / max(1, answer.objective):.0%}"
        full = f"{int(columns['memory'][d]) / max(1, int(columns['capacity'][d])):.0%}"
        table.add_row(
            name, row["operators"], row["busy"], share, row["sending"], row["receiving"],
            row["memory"], full,
        )  # fmt: skip
    console = Console()
    console.print(table)
    spans = schedule_spans(instance, schedule)
    for line in draw_placement(spans, answer.objective, instance.graph.device_names, console.width):
        console.print(line)
    known = _unfused(instance, schedule)
    if known:
        Console().print(
            f"{instance.nodes:,} operators, fused of {known['unfused_operators']:,}; "
            f"run one by one, the makespan is {known['unfused_objective']:,}"
            f"{tick_unit(answer)}",
            soft_wrap=True,
        )


def losses(answer: Answer) -> list[Loss]:
    """Return how the device that computes longest spends its time until the makespan."""
    if answer.solution is None or answer.objective is None:
        return []
    instance, schedule = _instance(answer), PlacementSchedule.from_json(answer.solution)
    busy = busy_ticks(instance.graph, schedule.devices)
    device = int(busy.argmax())
    computing = int(busy[device])
    receiving = idle_while_receiving(instance, schedule, device)
    where = f"device {printable(instance.graph.device_names[device])}"
    return [
        Loss("computing", computing, where),
        Loss("idle while a tensor is on its way here", receiving, where),
        Loss("idle otherwise", answer.objective - computing - receiving, where),
    ]


def plot(answer: Answer) -> "Plot":
    """Return a chart of the operators that each device runs, and its transfers."""
    from boundmark.reports.placement.drawings import draw_gantt, gantt_data, gantt_height
    from boundmark.reports.plots import Plot

    assert answer.solution is not None
    schedule = PlacementSchedule.from_json(answer.solution)
    data = gantt_data(schedule_spans(_instance(answer), schedule))
    return Plot(
        "placement", answer.source.label, "", data, draw_gantt, width=9.5, height=gantt_height(data)
    )


def _instance(answer: Answer) -> PlacementInstance:
    instance = answer.source.instance
    assert isinstance(instance, PlacementInstance)
    return instance


def list_scheduled(instance: PlacementInstance, devices: IntArray) -> PlacementSchedule:
    """Return the schedule of a placement by the simulator that all heuristics use."""
    # Imports what is compiled.
    from boundmark.problems.placement.compiled import Simulator

    check_devices(instance.graph, devices)
    simulator = Simulator(instance)
    simulator.makespan(devices.copy())
    return simulator.schedule(devices)


def with_times(instance: PlacementInstance, schedule: PlacementSchedule) -> PlacementSchedule:
    """Return the schedule of the same placement; raises as `list_scheduled` does."""
    return list_scheduled(instance, schedule.devices)


def unfused(
    instance: PlacementInstance, schedule: PlacementSchedule
) -> tuple[PlacementInstance, PlacementSchedule | None]:
    """Return the instance without fusion, and the placement there, its operators run one by one.

    Operators start in the order of their chains, or as list scheduling has them, whichever is
    better. What is between the operators of a chain is written and read then, so that this may be
    worse than the schedule given, and may have no room.
    """
    assert instance.coarse is not None
    original = instance.with_parameters({"fusion": "none"})
    devices = instance.coarse.expanded_devices(schedule.devices)
    starts = schedule.starts[instance.coarse.chain_of].tolist()
    in_turn = in_order(original, devices, starts)
    candidates = [in_turn, list_scheduled(original, devices)]
    with_room = [
        one for one in candidates if has_room_while_running(original.graph, one, original.transfers)
    ]
    return original, min(with_room, key=original.objective, default=None)


def cost_accuracy(answer: Answer) -> str:
    """Return what the times of operators on a device have been off by."""
    source = answer.source
    return total_accuracy(source_of(source.device), source.hardware) if source.device else ""


PRESENTATION = Presentation(
    "placement",
    lambda answer: "makespan",
    cost_accuracy=cost_accuracy,
    facts=facts,
    print_solution=print_solution,
    losses=losses,
    plot=plot,
    completed=with_times,
    completion=COMPLETION,
)
