"""Statuses of tasks on the command line: which ones to retry, and over which ones to fail."""

import sys
from collections.abc import Mapping
from typing import Any

import click

from boundmark.reports.stored.statuses import FAILURES


def statuses(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Read a list of statuses with commas between them.

    Raises
    ------
    click.BadParameter
        If one is no status of a task that failed.
    """
    chosen = tuple(part.strip() for part in value.split(",") if part.strip())
    for status in chosen:
        if status not in FAILURES:
            raise click.BadParameter(f"{status!r} is not one of {', '.join(FAILURES)}.")
    return chosen


fail_on_option = click.option(
    "--fail-on", default="", metavar="STATUS,...", callback=statuses,
    help=f"Exit with 1 if a task has one of these statuses ({', '.join(FAILURES)}).",
)  # fmt: skip


def fail_over(chosen: tuple[str, ...], counts: Mapping[Any, int]) -> None:
    """End the command with exit code 1 if any task has one of the chosen statuses.

    Parameters
    ----------
    counts
        Number of tasks by status.
    """
    found = [f"{counts[status]} {status}" for status in chosen if counts.get(status)]
    if found:
        click.echo(f"failed: {', '.join(found)}", err=True)
        sys.exit(1)
