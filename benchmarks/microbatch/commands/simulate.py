"""`boundmark microbatch simulate`: what a schedule takes when tensors need time to travel."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from boundmark.problems.microbatch.runtime import Program, Simulation


@click.command()
@click.argument("instance", type=click.Path(path_type=Path))
@click.argument("solution", type=click.Path(path_type=Path))
@click.option("--micro-batches", type=click.IntRange(min=1), help="How many, if not as stored.")
@click.option(
    "--transfer", type=click.IntRange(0, 2**53), default=0, show_default=True, metavar="TICKS",
    help="Ticks that a tensor takes from a device to another one.",
)  # fmt: skip
@click.option("--blocking", is_flag=True, help="Devices wait while they send and receive.")
@click.option(
    "--instructions", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="Write the instruction list of each device to this JSON file.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def simulate(
    instance: Path,
    solution: Path,
    micro_batches: int | None,
    transfer: int,
    blocking: bool,
    instructions: Path | None,
    as_json: bool,
) -> None:
    """Turn a schedule into instruction lists and simulate them: SOLUTION of INSTANCE.

    Both are files that `boundmark solve LAYOUT --out DIR` leaves in DIR/instances and
    DIR/solutions.
    """
    from boundmark.benchmarks.microbatch.commands.schedule_files import read_schedule
    from boundmark.problems.canonical import canonical_json
    from boundmark.problems.errors import InvalidInputError
    from boundmark.problems.microbatch.measures import makespan
    from boundmark.problems.microbatch.runtime import program_of
    from boundmark.problems.microbatch.runtime import simulate as simulate_program
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
