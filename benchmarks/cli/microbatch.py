"""`boundmark microbatch`: simulate schedules; layouts of a pipeline's stages."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundmark.benchmarks.cli.options import FILE, PATH, ParameterCommand

if TYPE_CHECKING:
    from boundmark.problems.arrays import IntArray
    from boundmark.problems.microbatch import BlockLayout
    from boundmark.problems.microbatch.runtime import Program, Simulation
    from boundmark.problems.problem import Problem


def read_schedule(
    instance: Path, solution: Path, micro_batches: int | None
) -> "tuple[BlockLayout, IntArray]":
    """Return a layout, and the start times of a number of micro-batches, shape (N, K)."""
    from boundmark.benchmarks.solving.model import load_instance, load_solution
    from boundmark.problems.microbatch import MicrobatchInstance, Schedule
    from boundmark.problems.microbatch.schedule import check_schedule

    found = load_instance(instance, MicrobatchInstance)
    schedule = load_solution(solution, "microbatch", found.sha256)
    assert isinstance(schedule, Schedule)
    count = micro_batches or found.micro_batches or schedule.micro_batches
    starts = schedule.starts_for(count)
    check_schedule(found.layout, found.capacity, starts)
    return found.layout, starts


micro_batches_option = click.option(
    "--micro-batches",
    type=click.IntRange(min=1),
    help="Number of micro-batches; by default, that of the instance.",
)

blocking_option = click.option(
    "--blocking",
    is_flag=True,
    help="Let devices wait while they send and receive; by default, they compute meanwhile.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command()
@click.argument("instance", type=PATH)
@click.argument("solution", type=PATH)
@micro_batches_option
@click.option(
    "--transfer", type=click.IntRange(0, 2**53), default=0, show_default=True, metavar="TICKS",
    help="Time that a tensor takes from one device to another, in ticks.",
)  # fmt: skip
@blocking_option
@click.option(
    "--instructions", metavar="FILE", type=FILE,
    help="Write the instruction list of each device to this JSON file.",
)  # fmt: skip
@json_option
def simulate(
    instance: Path,
    solution: Path,
    micro_batches: int | None,
    transfer: int,
    blocking: bool,
    instructions: Path | None,
    as_json: bool,
) -> None:
    """Simulate a schedule, with transfers between devices.

    Every device has a list of instructions: compute, send, receive. SOLUTION is a schedule of the
    microbatch INSTANCE. Both are files that `boundmark solve LAYOUT --out DIR` leaves in
    DIR/instances and DIR/solutions.
    """
    from boundmark.problems.errors import InvalidInputError
    from boundmark.problems.json_documents import canonical_json
    from boundmark.problems.microbatch.runtime import program_of
    from boundmark.problems.microbatch.runtime import simulate as simulate_program
    from boundmark.problems.microbatch.schedule import makespan
    from boundmark.problems.ticks import LARGEST_TOTAL
    from boundmark.reports.stored.durable import write_durably

    layout, starts = read_schedule(instance, solution, micro_batches)
    program = program_of(layout, starts, is_blocking=blocking)
    if instructions is not None:
        write_durably(instructions, (canonical_json(program.to_json()) + "\n").encode())
    done = simulate_program(layout, program, [transfer] * len(layout.blocks))
    scheduled = makespan(layout, starts)
    if done.makespan > LARGEST_TOTAL:
        raise InvalidInputError(
            f"the simulation takes {done.makespan:.3g} ticks; expected at most 2^53, which every "
            "reader of JSON keeps, so use shorter transfers."
        )
    if as_json:
        click.echo(
            json.dumps(
                {
                    "micro_batches": len(starts),
                    "blocking": blocking,
                    "transfer": transfer,
                    "scheduled": scheduled,
                    "makespan": done.makespan,
                    "busy": done.busy,
                    "transferring": done.transferring,
                    "waiting": done.waiting,
                }
            )
        )
        return
    _print(program, done)
    kind = "blocking" if blocking else "beside blocks"
    click.echo(f"micro-batches    {len(starts)}")
    click.echo(f"scheduled        {scheduled:,}, with transfers that take no time")
    click.echo(f"makespan         {done.makespan:,}, with transfers of {transfer:,} ticks, {kind}")


def _print(program: "Program", done: "Simulation") -> None:
    from rich.console import Console
    from rich.table import Table

    from boundmark.problems.microbatch.runtime import Run, Send
    from boundmark.reports.text import integer, percent

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("device", "blocks", "sends", "busy", "transferring", "waiting", "waiting %"):
        table.add_column(column, justify="right", no_wrap=True)
    for device, items in enumerate(program.devices):
        table.add_row(
            str(device),
            integer(sum(isinstance(item, Run) for item in items)),
            integer(sum(isinstance(item, Send) for item in items)),
            integer(done.busy[device]),
            integer(done.transferring[device]),
            integer(done.waiting[device]),
            percent(done.waiting[device] / done.makespan),
        )
    Console().print(table)


def _problems() -> "Iterable[Problem]":
    from boundmark.problems.microbatch import PROBLEM

    return (PROBLEM,)


@click.command("from-pipeline", cls=ParameterCommand, problems=_problems)
@click.argument("instance", type=PATH)
@click.argument("solution", type=PATH)
@click.argument("out", type=FILE)
@click.option(
    "--backward", default="3", show_default=True, metavar="RATIO",
    help="Duration of a backward block, relative to its forward block; 0 for inference.",
)  # fmt: skip
@click.option(
    "--activation", type=int, default=1, show_default=True,
    help="Units of memory that a micro-batch takes in a stage from its forward to its backward "
    "block.",
)  # fmt: skip
@click.option(
    "--ticks", type=int, default=100, show_default=True,
    help="Duration of the slowest forward block in ticks; others are scaled and rounded up.",
)  # fmt: skip
def from_pipeline(
    instance: Path,
    solution: Path,
    out: Path,
    backward: str,
    activation: int,
    ticks: int,
    parameters: dict[str, str],
) -> None:
    """Make a microbatch instance of a pipeline partition.

    SOLUTION is a partition of the pipeline INSTANCE, OUT the file to write. The first two are files
    that `boundmark solve MODEL -k K --out DIR` leaves in DIR/instances and DIR/solutions. Each
    stage becomes a device with a forward and a backward block.
    """
    from fractions import Fraction

    from boundmark.benchmarks.solving.model import load_instance, load_solution
    from boundmark.problems.errors import InvalidInputError
    from boundmark.problems.json_documents import canonical_json
    from boundmark.problems.microbatch import PROBLEM
    from boundmark.problems.microbatch.from_pipeline import layout_of
    from boundmark.problems.pipeline import Partition, PipelineInstance
    from boundmark.reports.stored.durable import write_durably

    try:
        ratio = Fraction(backward)
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidInputError(
            f"--backward is {backward!r}; expected a ratio such as 2, 2.5 or 5/2."
        ) from error
    model = load_instance(instance, PipelineInstance)
    partition = load_solution(solution, "pipeline", model.sha256)
    assert isinstance(partition, Partition)
    layout = layout_of(model, partition, backward=ratio, activation=activation, ticks=ticks)
    made = PROBLEM.maker(layout)(PROBLEM.read_parameters(parameters))
    write_durably(out, (canonical_json(made.to_json()) + "\n").encode())
    click.echo(
        f"{out}: {made.nodes} blocks on {layout.devices} devices, instance {made.sha256[:12]}"
    )


@click.group(commands=[from_pipeline, simulate])
def microbatch() -> None:
    """Make and simulate schedules of micro-batches."""
