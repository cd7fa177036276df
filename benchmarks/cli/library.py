"""`boundmark library`: list and extend the best-known solutions and certificates."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundmark.benchmarks.cli.options import FOLDER, PATH

if TYPE_CHECKING:
    from boundmark.benchmarks.library import Library


@click.group()
@click.option(
    "--library", "directory", metavar="DIR", type=FOLDER,
    show_default="$BOUNDMARK_LIBRARY, or library/ of the checkout", help="Folder of the library.",
)  # fmt: skip
@click.pass_context
def library(context: click.Context, directory: Path | None) -> None:
    """Show and extend the library of best-known results.

    The library is a folder with the best known solution and bound of each instance, both with what
    proves them. `boundmark verify DIR` checks all of it.
    """
    context.obj = directory


def _library(directory: Path | None) -> "Library":
    from boundmark.benchmarks.library import usual_library
    from boundmark.problems.errors import StoreError

    found = usual_library(directory)
    if found is None:
        raise StoreError(
            "there is no library here: packages come without it. Expected --library DIR, with the "
            "library/ of a checkout, or its path in BOUNDMARK_LIBRARY."
        )
    return found


@library.command()
@click.argument("results", metavar="DIR", type=PATH)
@click.option("--trial", is_flag=True, help="Print what would be added, and write nothing.")
@click.pass_obj
def add(directory: Path | None, results: Path, trial: bool) -> None:
    """Add what is better in the results folder DIR to the library.

    All solutions and certificates in DIR count, those of `evaluate` too. They are checked first.
    """
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.benchmarks.library.adding import add_results

    for line in add_results(_library(directory), results, is_trial=trial).sentences:
        echo(line)


@library.command()
@click.argument("name", default="")
@click.option("--json", "as_json", is_flag=True, help="Print all about them as JSON.")
@click.pass_obj
def show(directory: Path | None, name: str, as_json: bool) -> None:
    """List the best known results of instances.

    NAME is what `boundmark solve` calls the instance, such as zoo/bert-base, or the beginning of
    this or of the instance's hash; all are listed without. Of a single one, its files are named,
    which `boundmark verify` reads.
    """
    from dataclasses import asdict

    from boundmark.benchmarks.cli.listing import print_rows
    from boundmark.benchmarks.cli.terminal import echo
    from boundmark.reports.text import gap_percent

    opened = _library(directory)
    found = opened.named(name)
    if as_json:
        print_rows([asdict(one) | {"files": one.files} for one in found], as_json)
        return
    print_rows(
        [
            {
                "problem": one.problem,
                "instance": one.label,
                "cost": one.objective,
                "bound": one.bound,
                "gap %": gap_percent(one.gap),
                "found": f"{one.objective_method or '?'}, bound by {one.bound_method or '?'}",
            }
            for one in found
        ],
        as_json,
        by=("problem",),
        below={"found": "Solution by {}"},
    )
    for path in found[0].files if len(found) == 1 else ():
        echo(str(opened.directory / path))
