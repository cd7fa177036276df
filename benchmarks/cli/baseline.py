"""`boundmark baseline`: what to compare later runs with, in one small file."""

from pathlib import Path

import click

from boundmark.benchmarks.cli.checks import check_progress


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def baseline(directory: Path, file: Path) -> None:
    """Write FILE, the part of the run in DIR that `boundmark compare` needs.

    As in reports, the checker sees the best documents of each instance; if it rejects one, nothing
    is written.
    """
    from boundmark.benchmarks.terminal import plain
    from boundmark.reports.comparison import read_run
    from boundmark.reports.comparison.recorded_run import keep_as_baseline

    with check_progress() as on_check:
        run = read_run(directory, on_check)
    keep_as_baseline(run, file)
    size = file.stat().st_size
    click.echo(plain(f"{file}: {len(run.tasks):,} tasks of {run.label.short}, {size:,} bytes"))
