"""`boundmark query`: SQL over a results folder."""

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.checks import check_progress

if TYPE_CHECKING:
    from boundmark.reports.query import Answer


@click.command()
@click.argument("sql", metavar="SQL")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--json", "form", flag_value="json", help="Print a JSON list of objects.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
def query(sql: str, directory: Path, form: str | None) -> None:
    """Print what an SQL query (of DuckDB) finds in the results folder DIR.

    Tables are results and traces, and what `boundmark report` made of them: certified, failures,
    and those of each problem, whose names begin with the problem's. SHOW TABLES lists them,
    DESCRIBE results the columns of one. Costs and bounds that no document of the folder supports
    are left out, and counted on the error output. So are those that the checker rejects: as in
    reports, it sees the best documents of each instance. Needs the extra `query`.
    """
    from boundmark.benchmarks.terminal import echo
    from boundmark.reports.query import query_folder

    with check_progress() as on_check:
        answer = query_folder(directory, sql, on_check)
    for note in answer.notes:
        echo(note, err=True)
    if form == "json":
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        click.echo(json.dumps(rows, indent=2, default=str))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([answer.columns, *answer.rows])
    else:
        _print(answer)


def _print(answer: "Answer") -> None:
    from rich.table import Table

    from boundmark.benchmarks.terminal import plain, print_table, wide_tables

    table = Table(box=None, header_style="bold", pad_edge=False)
    for at, name in enumerate(answer.columns):
        is_number = all(isinstance(row[at], int | float | None) for row in answer.rows)
        table.add_column(plain(name), justify="right" if is_number else "left")
    for row in answer.rows:
        table.add_row(*(plain(_text(value)) for value in row))
    if answer.columns:
        with wide_tables(True):
            print_table(table)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
