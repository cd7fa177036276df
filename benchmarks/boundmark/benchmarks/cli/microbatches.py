"""`boundmark microbatches`: the stages of a model, ready for scheduling micro-batches."""

from pathlib import Path

import click


@click.command()
@click.argument("instance", type=click.Path(path_type=Path))
@click.argument("solution", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--memory", type=click.IntRange(min=0), default=0,
    help="Memory of each device; 0, the default, for twice the number of devices.",
)  # fmt: skip
@click.option(
    "--micro-batches", type=click.IntRange(min=0), default=0,
    help="How many, if their makespan counts; 0, the default, if the period does.",
)  # fmt: skip
@click.option(
    "--backward", default="3", show_default=True, metavar="RATIO",
    help="Duration of backward blocks in those of forward blocks; 0 for inference.",
)  # fmt: skip
@click.option(
    "--activation", type=int, default=1, show_default=True,
    help="Memory that a micro-batch takes in a stage until its backward block.",
)  # fmt: skip
@click.option(
    "--ticks", type=int, default=100, show_default=True,
    help="Ticks of the slowest forward block; all durations are rounded up to ticks.",
)  # fmt: skip
def microbatches(
    instance: Path,
    solution: Path,
    out: Path,
    memory: int,
    micro_batches: int,
    backward: str,
    activation: int,
    ticks: int,
) -> None:
    """Make a microbatch instance OUT of a partition: SOLUTION of the pipeline INSTANCE.

    Both are files that `boundmark solve MODEL -k K --out DIR` leaves in DIR/instances and
    DIR/solutions. Each stage becomes a device with a forward and a backward block.
    """
    from fractions import Fraction

    from boundmark.benchmarks.stored import load_instance, load_solution
    from boundmark.problems.canonical import canonical_json
    from boundmark.problems.errors import InvalidInputError
    from boundmark.problems.microbatch import MicrobatchInstance
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
    made = MicrobatchInstance.of(layout, memory=memory, micro_batches=micro_batches)
    write_durably(out, (canonical_json(made.to_json()) + "\n").encode())
    click.echo(
        f"{out}: {made.nodes} blocks on {layout.devices} devices, instance {made.sha256[:12]}"
    )
