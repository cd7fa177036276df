"""`boundmark report`: tables, plots and pages from a results folder."""

import gc
from pathlib import Path

import click

from boundmark.benchmarks.cli.options import (
    FILE,
    PATH,
    fail_on_option,
    fail_over,
)
from boundmark.benchmarks.cli.verification import check_progress, print_left_out

FORMATS = {
    "html": "html", "md": "md", "markdown": "md", "latex": "latex", "tex": "latex", "csv": "csv",
    "png": "png",
}  # fmt: skip


def _formats(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    chosen = [part.strip() for value in values for part in value.split(",") if part.strip()]
    for name in chosen:
        if name not in FORMATS:
            raise click.BadParameter(f"{name!r} is not one of html, md, latex, csv, png.")
    return tuple(dict.fromkeys(FORMATS[name] for name in chosen))


@click.command()
@click.argument("directory", metavar="DIR", type=PATH)
@click.option(
    "--format", "formats", multiple=True, default=("html,md",), show_default=True,
    callback=_formats,
    help="Formats to write besides Parquet tables and SVG plots: any of html, md, latex, csv, png, "
    "separated by commas; may be repeated.",
)  # fmt: skip
@click.option(
    "--highlight", metavar="NAME", multiple=True,
    help="Show this method before others in plots and tables; may be repeated.",
)  # fmt: skip
@click.option(
    "--baseline",
    metavar="METHOD",
    show_default="the problem's usual ones",
    help="Method that the solutions of all others are compared with.",
)
@click.option(
    "--history", metavar="FILE", type=FILE,
    help="Parquet file that this run is added to; the page shows trends over the runs in it.",
)  # fmt: skip
@click.option(
    "--comparison", metavar="FILE", type=FILE,
    help="comparison.json of this run, which `boundmark compare --out` wrote; the page begins with "
    "its verdict.",
)  # fmt: skip
@click.option(
    "--unchecked", is_flag=True,
    help="Write a draft without checking documents; every page is marked as a draft.",
)  # fmt: skip
@fail_on_option
@click.option("--quiet", is_flag=True, help="Print only the paths of the files written.")
def report(
    directory: Path,
    formats: tuple[str, ...],
    highlight: tuple[str, ...],
    baseline: str | None,
    history: Path | None,
    comparison: Path | None,
    unchecked: bool,
    fail_on: tuple[str, ...],
    quiet: bool,
) -> None:
    """Write pages, tables and plots about the results in DIR.

    Also prints the table of certified gaps. The documents with the best cost and the best bound of
    each instance are checked unless they were accepted before; what is rejected is left out, and
    the next best is checked.
    """
    from boundmark.benchmarks.cli.certified_table import print_certified_table
    from boundmark.reports.report import ReportOptions, write_report
    from boundmark.reports.sections.failures import DRAFT
    from boundmark.reports.stored.parquet import read_table
    from boundmark.reports.stored.store import ResultStore

    # To look for cycles among millions of objects, which all stay until the end, takes a tenth of
    # the time.
    gc.disable()
    try:
        with check_progress(quiet) as on_check:
            options = ReportOptions(history, highlight, baseline, unchecked, comparison)
            written = write_report(directory, formats, options, on_check)
    finally:
        gc.enable()
    if unchecked:
        click.echo(DRAFT, err=True)
    print_left_out(read_table(directory / "tables" / "unsupported.parquet").to_pandas())
    if not quiet:
        table = read_table(directory / "tables" / "certified.parquet")
        print_certified_table(table.to_pandas())
    for path in written:
        if quiet or path.parent == directory:
            click.echo(path)
    if fail_on:
        fail_over(fail_on, ResultStore.open(directory).results()["status"].value_counts().to_dict())
