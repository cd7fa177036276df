"""Print the progress and the result of checking a results folder's documents."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from boundmark.reports.stored.verified_results import Checks

# Lines on what was left out; the rest is counted.
MOST_LINES = 10


@contextmanager
def check_progress(quiet: bool = False) -> Iterator["Callable[[Checks], None]"]:
    """Show on the error output how many documents have been checked, with the total at the end."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    console = Console(stderr=True, quiet=quiet)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    running = bar.add_task("checking documents", total=None)
    told: list[Checks] = []

    def on_check(checks: "Checks") -> None:
        if checks.checked and console.is_terminal and not bar.live.is_started:
            bar.start()
        told[:] = [checks]
        to_do = checks.documents - checks.remembered
        bar.update(running, total=to_do, completed=checks.checked)

    try:
        yield on_check
    finally:
        if bar.live.is_started:
            bar.stop()
    for checks in told:
        console.print(checks.sentence, markup=False, highlight=False, soft_wrap=True)


def print_left_out(unsupported: "pd.DataFrame") -> None:
    """Print on the error output which costs and bounds of a folder are left out, and why."""
    import click

    from boundmark.benchmarks.cli.terminal import echo

    for row in unsupported.head(MOST_LINES).to_dict("records"):
        echo(
            f"left out: {row['column']} {row['value']} of {row['dataset']}/{row['instance']}, "
            f"task {row['task_id']} ({row['method']}): {row['reason']}",
            err=True,
        )
    if len(unsupported) > MOST_LINES:
        click.echo(f"left out: {len(unsupported) - MOST_LINES:,} more costs and bounds", err=True)
