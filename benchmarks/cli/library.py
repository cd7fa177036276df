"""`boundmark library`: list, check and extend the best-known solutions and certificates."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundmark.benchmarks.cli.checks import check_progress

if TYPE_CHECKING:
    from boundmark.benchmarks.library import Library


@click.group()
@click.option(
    "--library", "directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the library.  [default: $BOUNDMARK_LIBRARY, or library/ of the checkout]",
)  # fmt: skip
@click.pass_context
def library(context: click.Context, directory: Path | None) -> None:
    """Check, extend and show the library of best-known solutions and certificates."""
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


@contextmanager
def _counting(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show how many entries are done, on terminals."""
    from rich.progress import Progress

    from boundmark.benchmarks.progress import progress_console

    console = progress_console(quiet)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        running = bar.add_task(what, total=None)
        yield lambda done, planned: bar.update(running, completed=done, total=planned)


@library.command()
@click.option("--part", default="1/1", metavar="I/N", help="Check the I-th of N parts only.")
@click.option("--afresh", is_flag=True, help="Check again what earlier runs have accepted.")
@click.option("--sources", is_flag=True, help="Also build every instance again from its data set.")
@click.option("--quiet", is_flag=True, help="Print only what was rejected, and the counts.")
@click.pass_obj
def verify(directory: Path | None, part: str, afresh: bool, sources: bool, quiet: bool) -> None:
    """Let the checker see every solution and certificate; exit 0 only if all are accepted.

    Goes on where it was stopped: what this version of the checker has accepted counts.
    """
    from boundmark.benchmarks.library.verifying import Part, verify_library
    from boundmark.benchmarks.terminal import echo

    opened = _library(directory)
    with _counting("checking the library", quiet) as on_progress:
        seen = verify_library(
            opened,
            Part.parsed(part),
            are_remembered=not afresh,
            with_sources=sources,
            on_progress=on_progress,
        )
    for subject, reason in seen.rejected:
        echo(f"rejected: {subject}: {reason}")
    echo(seen.sentence)
    if seen.rejected:
        sys.exit(1)


@library.command()
@click.argument("results", metavar="DIR", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--by", required=True, metavar="NAME",
    help="Who adds them: a name under [contributors] in the library's library.toml.",
)  # fmt: skip
@click.option("--trial", is_flag=True, help="Say what would be added, and write nothing.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.pass_obj
def add(directory: Path | None, results: Path, by: str, trial: bool, quiet: bool) -> None:
    """Take from the results folder DIR what is better than the library.

    The checker sees it first. Who adds something agrees that it is under the library's licence.
    """
    from boundmark.benchmarks.library.adding import add_results
    from boundmark.benchmarks.terminal import echo

    opened = _library(directory)
    with check_progress(quiet) as on_check:
        added = add_results(opened, results, by, is_trial=trial, on_check=on_check)
    for line in added.sentences:
        echo(line)


@library.command()
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Folder for library.html, library.md and library.json.",
)  # fmt: skip
@click.pass_obj
def table(directory: Path | None, out: Path) -> None:
    """Write pages with all entries: a table that sorts by any column, with each one's history."""
    from boundmark.benchmarks.library.tables import write_tables

    for path in write_tables(_library(directory), out):
        click.echo(str(path))


@library.command()
@click.argument("name")
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
    help="Write instance, solution and certificate to this folder, as files for the checker.",
)  # fmt: skip
@click.pass_obj
def show(directory: Path | None, name: str, out: Path | None) -> None:
    """Print the entry NAME: the beginning of its name or of its instance's hash."""
    from boundmark.benchmarks.library.folder import unpack
    from boundmark.benchmarks.terminal import echo

    opened = _library(directory)
    entry = opened.named(name)
    for line in entry.to_text().splitlines():
        echo(line)
    if out is not None:
        for path in unpack(entry, opened.documents(entry), out):
            click.echo(str(path), err=True)


@library.command()
@click.argument("name")
@click.option(
    "--of", "what", type=click.Choice(("beyond", "bound", "solution")),
    help="Which result to reproduce.  [default: the bound beyond the one that is kept, if any]",
)  # fmt: skip
@click.pass_obj
def recipe(directory: Path | None, name: str, what: str | None) -> None:
    """Print the suite that makes the certificate of the entry NAME again.

    To be run with `boundmark run FILE.toml --out DIR`.
    """
    from boundmark.benchmarks.library.recipe import recipe as suite_of
    from boundmark.problems.errors import InvalidInputError

    entry = _library(directory).named(name)
    find = getattr(entry, what) if what else entry.beyond or entry.bound
    if find is None:
        raise InvalidInputError(f"{entry.name} has no {what or 'bound'}; expected one.")
    click.echo(suite_of(entry, find), nl=False)
