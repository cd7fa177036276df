"""`boundmark problems | methods | datasets | suites`: what there is to choose from."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from boundmark.problems.dataset import Dataset

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.command()
@as_json
def problems(as_json: bool) -> None:
    """List the registered problems; of several that suit, `solve` takes the first."""
    from boundmark.problems.catalog import problems as registered

    print_rows(
        [
            {
                "problem": problem.name,
                "parameters": ", ".join(parameter.name for parameter in problem.parameters),
                "sources": problem.source_names,
                "description": problem.description,
            }
            for problem in registered().values()
        ],
        as_json,
    )


@click.command()
@as_json
def methods(as_json: bool) -> None:
    """List the registered methods."""
    from boundmark.problems.catalog import methods as registered

    print_rows(
        [
            {
                "method": method.name,
                "problem": method.problem,
                "kind": method.kind,
                "parameters": ", ".join(f"{key}={value}" for key, value in method.params.items()),
                "summary": method.summary,
            }
            for method in registered().values()
        ],
        as_json,
    )


@click.command()
@as_json
@click.option("--members", metavar="NAME", help="List the members of one data set.")
def datasets(as_json: bool, members: str | None) -> None:
    """List the registered data sets, or the members of one."""
    from boundmark.problems.catalog import datasets as registered
    from boundmark.problems.catalog import find
    from boundmark.problems.catalog import problems as known

    if members is not None:
        chosen = find("data set", members, registered())
        print_rows([{"member": f"{chosen.name}/{member}"} for member in chosen.members()], as_json)
        return
    print_rows(
        [
            {
                "data set": dataset.name,
                "members": _number_of_members(dataset),
                "problems": ", ".join(
                    problem.name
                    for problem in known().values()
                    if issubclass(dataset.source, problem.sources)
                ),
                "summary": dataset.summary,
            }
            for dataset in registered().values()
        ],
        as_json,
    )


def _number_of_members(dataset: "Dataset") -> int | None:
    """Return how many members there are, None where the data set fails to say."""
    try:
        return len(dataset.members())
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        click.echo(
            f"warning: data set {dataset.name!r} does not list its members: {reason}", err=True
        )
        return None


@click.command()
@as_json
def suites(as_json: bool) -> None:
    """List the suites that come with the package."""
    from boundmark.benchmarks.suite_file import load_suite, suite_names

    loaded = [load_suite(name) for name in suite_names()]
    print_rows(
        [
            {
                "suite": suite.name,
                "problem": suite.problem,
                "methods": len(suite.methods),
                "limit [s]": suite.settings.time_limit_seconds,
                "description": suite.description,
            }
            for suite in loaded
        ],
        as_json,
    )


def print_rows(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    """Print a table with a column for each key of the first row, or a JSON list."""
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in rows[0] if rows else ():
        numeric = not isinstance(rows[0][column], str)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*("?" if value is None else str(value) for value in row.values()))
    Console().print(table)
