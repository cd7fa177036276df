"""`boundmark report`: tables, plots and pages from a results folder."""

import gc
from pathlib import Path

import click

from boundmark.benchmarks.cli.checks import check_progress, print_left_out
from boundmark.benchmarks.cli.options import fail_on_option, fail_over, read_deviations

FORMATS = {
    "html": "html", "md": "md", "markdown": "md", "latex": "latex", "tex": "latex", "csv": "csv",
    "png": "png",
}  # fmt: skip


def _formats(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    chosen = [part.strip() for part in value.split(",") if part.strip()]
    for name in chosen:
        if name not in FORMATS:
            raise click.BadParameter(f"{name!r} is not one of html, md, latex, csv, png.")
    return tuple(dict.fromkeys(FORMATS[name] for name in chosen))


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format", "formats", default="html,md", show_default=True, callback=_formats,
    help="What to write besides Parquet tables and SVG plots: any of html, md, latex, csv, png.",
)  # fmt: skip
@click.option(
    "--highlight", metavar="NAME", multiple=True,
    help="Draw and list this method first; may be repeated.",
)  # fmt: skip
@click.option(
    "--baseline", metavar="METHOD", help="Compare the solutions of all methods with this one's."
)
@click.option(
    "--noise", callback=read_deviations, metavar="FRACTIONS",
    help="Add how leads over a baseline hold up if times are drawn around their values with "
    "these standard deviations, e.g. 0.1,0.2,0.5.",
)  # fmt: skip
@click.option(
    "--draws",
    type=int,
    default=100,
    show_default=True,
    help="Number of draws for each standard deviation of --noise.",
)
@click.option(
    "--history", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="Parquet file of earlier runs: this one is added to it, and the page shows trends.",
)  # fmt: skip
@click.option(
    "--comparison", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="comparison.json of this run, from `boundmark compare --out`: its verdict stands first.",
)  # fmt: skip
@click.option(
    "--unchecked", is_flag=True,
    help="Write a draft from documents that the checker has not seen, and mark it as one.",
)  # fmt: skip
@fail_on_option
@click.option(
    "--quiet", is_flag=True, help="Print the paths of all files written, and nothing else."
)
def report(
    directory: Path,
    formats: tuple[str, ...],
    highlight: tuple[str, ...],
    baseline: str | None,
    noise: tuple[float, ...],
    draws: int,
    history: Path | None,
    comparison: Path | None,
    unchecked: bool,
    fail_on: tuple[str, ...],
    quiet: bool,
) -> None:
    """Write tables, plots and pages from the results in DIR, and print the certified table.

    The checker sees the documents with the best cost and the best bound of each instance, unless it
    has accepted them before; what it rejects is left out, and the next best is checked.
    """
    from boundmark.benchmarks.cli.tables import print_certified_table
    from boundmark.problems.noise import Noise
    from boundmark.reports.report import ReportOptions, write_report
    from boundmark.reports.sections.failures import DRAFT
    from boundmark.reports.stored.parquet import read_table
    from boundmark.reports.stored.store import ResultStore

    # To look for cycles among millions of objects, which all stay until the end, takes a tenth of
    # the time.
    gc.disable()
    try:
        with check_progress(quiet) as on_check:
            noises = tuple(Noise(deviation, draws) for deviation in noise)
            options = ReportOptions(history, highlight, baseline, unchecked, comparison, noises)
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
