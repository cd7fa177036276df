"""Print a schedule: what each device runs when."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from boundmark.benchmarks.solving.answer import Answer
from boundmark.benchmarks.solving.presentation import Loss, Presentation
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.microbatch.schedule import bubble_rate, peak_memory, steady_bubble_rate
from boundmark.reports.microbatch.drawings import draw_schedule, schedule_boxes

if TYPE_CHECKING:
    from boundmark.reports.plots import Plot


def objective_name(answer: Answer) -> str:
    """Return the objective's name."""
    return "makespan" if _instance(answer).micro_batches else "period"


def facts(answer: Answer) -> dict[str, Any]:
    """Return the bubble rate, and the number of micro-batches that the schedule is for at least."""
    if answer.solution is None:
        return {"bubble_rate": None, "micro_batches": None}
    schedule = Schedule.from_json(answer.solution)
    return {
        "bubble_rate": float(_bubble_rate(_instance(answer), schedule)),
        "micro_batches": _instance(answer).micro_batches or schedule.micro_batches,
    }


def print_solution(answer: Answer) -> None:
    """Draw the schedule, and print how much the devices idle and what they hold."""
    if answer.solution is None:
        return
    instance = _instance(answer)
    schedule = Schedule.from_json(answer.solution)
    console = Console()
    for line in draw_schedule(schedule_boxes(instance, schedule), console.width):
        console.print(line, overflow="crop", highlight=False)
    layout = instance.layout
    count = instance.micro_batches or schedule.micro_batches
    more = "" if instance.micro_batches else " or more"
    click.echo(f"bubble rate      {float(_bubble_rate(instance, schedule)):.2%}")
    click.echo(f"micro-batches    {count}{more}")
    held = ", ".join(map(str, peak_memory(layout, schedule.starts_for(count))))
    click.echo(f"memory held      {held} on devices 0 to {layout.devices - 1}")


def losses(answer: Answer) -> list[Loss]:
    """Return how long the busiest device computes, in a period or in all, and how long it idles."""
    if answer.solution is None or answer.objective is None:
        return []
    loads = _instance(answer).layout.loads
    busiest = max(range(len(loads)), key=loads.__getitem__)
    computing = loads[busiest] * (_instance(answer).micro_batches or 1)
    return [
        Loss("computing", computing, f"device {busiest}"),
        Loss("waiting", answer.objective - computing, f"device {busiest}"),
    ]


def _bubble_rate(instance: MicrobatchInstance, schedule: Schedule) -> Fraction:
    if instance.micro_batches:
        return bubble_rate(instance.layout, schedule.starts_for(instance.micro_batches))
    assert schedule.repetend is not None
    return steady_bubble_rate(instance.layout, schedule.repetend.period)


def plot(answer: Answer) -> "Plot":
    """Return the schedule as a chart."""
    from boundmark.reports.microbatch.drawings import draw_gantt, gantt_data, gantt_size
    from boundmark.reports.plots import Plot

    assert answer.solution is not None
    boxes = schedule_boxes(_instance(answer), Schedule.from_json(answer.solution))
    data = gantt_data(boxes)
    width, height = gantt_size(data)
    return Plot("schedule", answer.source.label, "", data, draw_gantt, width=width, height=height)


def _instance(answer: Answer) -> MicrobatchInstance:
    instance = answer.source.instance
    assert isinstance(instance, MicrobatchInstance)
    return instance


PRESENTATION = Presentation(
    "microbatch",
    objective_name,
    facts=facts,
    print_solution=print_solution,
    losses=losses,
    plot=plot,
)
