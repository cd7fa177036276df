"""`boundmark report`: tables, plots and pages from a results folder."""

from pathlib import Path

import click

FORMATS = {"html": "html", "md": "md", "markdown": "md"}


def _formats(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    chosen = [part.strip() for part in value.split(",") if part.strip()]
    for name in chosen:
        if name not in FORMATS:
            raise click.BadParameter(f"{name!r} is not one of html, md.")
    return tuple(dict.fromkeys(FORMATS[name] for name in chosen))


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format", "formats", default="html,md", show_default=True, callback=_formats,
    help="What to write besides the Parquet tables.",
)  # fmt: skip
@click.option(
    "--quiet", is_flag=True, help="Print the paths of all files written, and nothing else."
)
def report(directory: Path, formats: tuple[str, ...], quiet: bool) -> None:
    """Write tables, plots and pages from the results in DIR, and print the certified table."""
    from boundmark.benchmarks.cli.tables import print_certified_table
    from boundmark.reports.report import write_report

    written = write_report(directory, formats)
    if not quiet:
        print_certified_table(directory)
    for path in written:
        if quiet or path.parent == directory:
            click.echo(path)
