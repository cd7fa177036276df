"""`boundmark microbatch`: from a model's stages to schedules that processes execute."""

import click

from boundmark.benchmarks.microbatch.commands.execute import execute
from boundmark.benchmarks.microbatch.commands.from_pipeline import from_pipeline
from boundmark.benchmarks.microbatch.commands.simulate import simulate


@click.group(commands=[from_pipeline, simulate, execute])
def microbatch() -> None:
    """Schedules: make layouts of models, simulate transfers, execute on processes."""
