"""`boundmark microbatch execute`: a schedule on real processes that train a small network."""

import json
from pathlib import Path

import click


@click.command()
@click.argument("instance", type=click.Path(path_type=Path))
@click.argument("solution", type=click.Path(path_type=Path))
@click.option("--micro-batches", type=click.IntRange(min=1), help="How many, if not as stored.")
@click.option("--blocking", is_flag=True, help="Devices wait while they send and receive.")
@click.option(
    "--tick", type=click.FloatRange(min=0), default=0.0, show_default=True, metavar="SECONDS",
    help="Let blocks and transfers last as long as they should; 0 for as fast as can be.",
)  # fmt: skip
@click.option(
    "--transfer", type=click.IntRange(min=0), default=0, show_default=True, metavar="TICKS",
    help="Ticks that a tensor takes from a device to another one, with --tick.",
)  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Of weights and samples.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True,
    metavar="SECONDS", help="After which the processes are stopped and called stuck.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def execute(
    instance: Path,
    solution: Path,
    micro_batches: int | None,
    blocking: bool,
    tick: float,
    transfer: int,
    seed: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Execute a schedule with a process a device: SOLUTION of the microbatch INSTANCE.

    The processes train a small network, a layer for each forward block. Exit code 0 means that all
    blocks ran in the order of the schedule, after what they need, and that the gradients are those
    of a single process.
    """
    from boundmark.benchmarks.microbatch.commands.schedule_files import read_schedule
    from boundmark.benchmarks.microbatch.schedule_execution.execution import check
    from boundmark.benchmarks.microbatch.schedule_execution.execution import (
        execute as execute_program,
    )
    from boundmark.problems.microbatch.runtime import program_of

    layout, starts = read_schedule(instance, solution, micro_batches)
    program = program_of(layout, starts, is_blocking=blocking)
    done = execute_program(
        layout,
        program,
        seed=seed,
        tick_seconds=tick,
        transfer=[transfer] * len(layout.blocks),
        timeout_seconds=timeout,
    )
    difference = check(layout, program, done, len(starts), seed)
    blocks = sum(len(runs) for runs in done.runs)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "micro_batches": len(starts),
                    "blocking": blocking,
                    "devices": layout.devices,
                    "blocks": blocks,
                    "seconds": round(done.seconds, 6),
                    "largest_difference": difference,
                }
            )
        )
        return
    click.echo(f"devices          {layout.devices}, a process each")
    click.echo(f"micro-batches    {len(starts)}")
    click.echo(f"blocks           {blocks:,} run, in order, each after what it needs")
    click.echo(f"gradients        as of one process, {difference:.1g} off at most")
    click.echo(f"seconds          {done.seconds:.3f} from the first block to the last")
