"""The command group: version, help, and errors as one sentence."""

import errno
import io
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import click

from boundmark.benchmarks.cli.devices import devices
from boundmark.benchmarks.cli.evaluate import evaluate
from boundmark.benchmarks.cli.folders import baseline, compare, merge, verify
from boundmark.benchmarks.cli.graphs import export_graph, show
from boundmark.benchmarks.cli.library import library
from boundmark.benchmarks.cli.listing import columns, datasets, methods, problems, suites
from boundmark.benchmarks.cli.nightly import gate, nightly
from boundmark.benchmarks.cli.profile import profile
from boundmark.benchmarks.cli.report import report
from boundmark.benchmarks.cli.run import conformance, run
from boundmark.benchmarks.cli.solve import solve
from boundmark.benchmarks.solving.ending import heeding_sigterm
from boundmark.problems.errors import BoundmarkError, printable

datasets.add_command(show)
datasets.add_command(export_graph)


# Errors of a disk that is full or read-only, or of a limit on what a user or process may write.
_NO_ROOM = {errno.EFBIG, errno.ENOSPC, errno.EDQUOT, errno.EROFS}


class _Failure(click.ClickException):
    exit_code = 2


class _Group(click.Group):
    """Turns the project's own errors into a sentence on stderr and exit code 2.

    Problems add commands of their own with entry points in the group ``boundmark.commands`` that
    name a `click.Command`; they are looked for when a name is none of the commands given here.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as the command of a process, which SIGTERM ends gently."""
        # A terminal that cannot encode a character gets its number instead.
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        with heeding_sigterm():
            return super().__call__(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that the arguments name."""
        try:
            return super().invoke(ctx)
        except BoundmarkError as error:
            raise _Failure(str(error)) from error
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            place = error.filename or "a file"
            raise _Failure(printable(f"{place} cannot be written: {error.strerror}.")) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *self._of_problems])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with a name, or None."""
        return super().get_command(ctx, cmd_name) or self._of_problems.get(cmd_name)

    @cached_property
    def _of_problems(self) -> Mapping[str, click.Command]:
        from boundmark.problems.entry_points import registered

        return registered("boundmark.commands", click.Command, taken=self.commands)


def _print_version(context: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
    """Print versions and end the command."""
    if not is_asked or context.resilient_parsing:
        return
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from boundmark.reports.stored.run_records import SOLVERS

    click.echo(f"boundmark {version('boundmark')}, Python {platform.python_version()}")
    for name in SOLVERS:
        try:
            click.echo(f"{name} {version(name)}")
        except PackageNotFoundError:
            click.echo(f"{name} is not installed")
    context.exit()


@click.group(
    cls=_Group,
    commands=[
        run,
        report,
        verify,
        compare,
        baseline,
        gate,
        nightly,
        columns,
        merge,
        library,
        solve,
        evaluate,
        profile,
        conformance,
        problems,
        methods,
        datasets,
        devices,
        suites,
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
    help="Print the versions of boundmark, Python, and the packages that results depend on.",
)  # fmt: skip
def main() -> None:
    """Benchmarks for running one DNN on many devices, with a certificate for every lower bound."""
