"""A schedule: what each device runs when."""

import click

from boundmark.benchmarks.solve import Answer
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.microbatch.measures import bubble_rate, peak_memory, steady_bubble_rate


def objective_name(answer: Answer) -> str:
    """Return what the objective is called."""
    return "makespan" if _instance(answer).micro_batches else "period"


def unit(answer: Answer) -> str:
    """Return nothing: ticks of placements have no unit."""
    return ""


def print_solution(answer: Answer) -> None:
    """Print how much the devices idle, and what they hold."""
    if answer.solution is None:
        return
    instance = _instance(answer)
    schedule = Schedule.from_json(answer.solution)
    placement = instance.placement
    if instance.micro_batches:
        starts = schedule.starts_for(instance.micro_batches)
        rate = bubble_rate(placement, starts)
    else:
        assert schedule.repetend is not None
        starts = schedule.starts
        rate = steady_bubble_rate(placement, schedule.repetend.period)
    click.echo(f"bubble rate      {float(rate):.2%}")
    click.echo(f"micro-batches    {len(starts)}")
    held = ", ".join(map(str, peak_memory(placement, starts)))
    click.echo(f"memory held      {held} on devices 0 to {placement.devices - 1}")


def _instance(answer: Answer) -> MicrobatchInstance:
    instance = answer.source.instance
    assert isinstance(instance, MicrobatchInstance)
    return instance
