"""The command group: version, help, and errors as one sentence."""

from typing import Any

import click

from boundmark.benchmarks.cli.execute import execute
from boundmark.benchmarks.cli.export import export
from boundmark.benchmarks.cli.listing import datasets, methods, suites
from boundmark.benchmarks.cli.microbatches import microbatches
from boundmark.benchmarks.cli.report import report
from boundmark.benchmarks.cli.run import run
from boundmark.benchmarks.cli.simulate import simulate
from boundmark.benchmarks.cli.solve import solve
from boundmark.benchmarks.cli.verify import verify
from boundmark.problems.errors import BoundmarkError


class _Failure(click.ClickException):
    exit_code = 2


class _Group(click.Group):
    """Turns the project's own errors into a sentence on stderr and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BoundmarkError as error:
            raise _Failure(str(error)) from error


@click.group(
    cls=_Group,
    commands=[
        run,
        report,
        verify,
        export,
        solve,
        microbatches,
        simulate,
        execute,
        methods,
        datasets,
        suites,
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="boundmark")
def main() -> None:
    """Benchmarks for running one DNN on many devices, with a certificate for every lower bound."""
