"""`boundmark query`: SQL over a results folder."""

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.checks import check_progress
from boundmark.benchmarks.cli.options import PATH

if TYPE_CHECKING:
    from boundmark.reports.query import Answer


@click.command()
@click.argument("sql", metavar="SQL")
@click.argument("directory", metavar="DIR", type=PATH)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON list with an object for each row, instead of a table.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of a table.")
def query(sql: str, directory: Path, as_json: bool, as_csv: bool) -> None:
    """Print the answer to an SQL query on a results folder.

    SQL is a query of DuckDB, DIR the results folder. Its tables are results, traces and those that
    `boundmark report` has made: certified, failures, and others whose names begin with a problem's.
    The query SHOW TABLES lists them; DESCRIBE results lists the columns of one. Needs the extra
    `query`.

    As in reports, the best documents of each instance are checked first. Costs and bounds that are
    rejected, or that no document supports, are left out; a line on the error output says how
    many.
    """
    from boundmark.benchmarks.terminal import echo
    from boundmark.reports.query import query_folder

    if as_json and as_csv:
        raise click.UsageError("--json and --csv are given; expected one of them.")
    with check_progress() as on_check:
        answer = query_folder(directory, sql, on_check)
    for note in answer.notes:
        echo(note, err=True)
    if as_json:
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        click.echo(json.dumps(rows, indent=2, default=str))
    elif as_csv:
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
