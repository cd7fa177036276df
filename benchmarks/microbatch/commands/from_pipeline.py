"""`boundmark microbatch from-pipeline`: a model's stages, ready for scheduling micro-batches."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundmark.benchmarks.cli.parameter_options import ParameterCommand, given_texts

if TYPE_CHECKING:
    from boundmark.problems.problem import Problem


def _problems() -> "Iterable[Problem]":
    from boundmark.problems.microbatch import PROBLEM

    return (PROBLEM,)


@click.command("from-pipeline", cls=ParameterCommand, problems=_problems)
@click.argument("instance", type=click.Path(path_type=Path))
@click.argument("solution", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
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
def from_pipeline(
    instance: Path,
    solution: Path,
    out: Path,
    backward: str,
    activation: int,
    ticks: int,
    **parameters: str | None,
) -> None:
    """Make a microbatch instance OUT of a partition: SOLUTION of the pipeline INSTANCE.

    Both are files that `boundmark solve MODEL -k K --out DIR` leaves in DIR/instances and
    DIR/solutions. Each stage becomes a device with a forward and a backward block.
    """
    from fractions import Fraction

    from boundmark.benchmarks.stored import load_instance, load_solution
    from boundmark.problems.canonical import canonical_json
    from boundmark.problems.errors import InvalidInputError
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
    made = PROBLEM.maker(layout)(PROBLEM.read_parameters(given_texts(parameters)))
    write_durably(out, (canonical_json(made.to_json()) + "\n").encode())
    click.echo(
        f"{out}: {made.nodes} blocks on {layout.devices} devices, instance {made.sha256[:12]}"
    )
