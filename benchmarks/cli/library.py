"""`boundmark library`: list, check and extend the best-known solutions and certificates."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from boundmark.benchmarks.cli.options import FOLDER
from boundmark.benchmarks.cli.verification import check_progress

if TYPE_CHECKING:
    from boundmark.benchmarks.library import Library


@click.group()
@click.option(
    "--library", "directory", metavar="DIR", type=FOLDER,
    show_default="$BOUNDMARK_LIBRARY, or library/ of the checkout", help="Folder of the library.",
)  # fmt: skip
@click.pass_context
def library(context: click.Context, directory: Path | None) -> None:
    """Show, check and extend the library of best-known results.

    The library is a folder with the best known solution and bound of each instance, both with what
    proves them.
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
@click.option(
    "--part",
    default="1/1",
    metavar="I/N",
    show_default=True,
    help="Check only the I-th of N parts of the library.",
)
@click.option("--afresh", is_flag=True, help="Also check what earlier runs have accepted.")
@click.option(
    "--sources", is_flag=True, help="Also make every instance again from its data set, and compare."
)
@click.option("--quiet", is_flag=True, help="Print only what was rejected, and the counts.")
@click.pass_obj
def verify(directory: Path | None, part: str, afresh: bool, sources: bool, quiet: bool) -> None:
    """Check every solution and certificate of the library.

    The exit code is 0 only if the checker accepts all. What this version of the checker has
    accepted before is not checked again, so that a check that was stopped goes on.
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
    help="Name of who adds them, as under [contributors] in the library's library.toml.",
)  # fmt: skip
@click.option("--trial", is_flag=True, help="Print what would be added, and write nothing.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.pass_obj
def add(directory: Path | None, results: Path, by: str, trial: bool, quiet: bool) -> None:
    """Add what is better in the results folder DIR to the library.

    Solutions and certificates are checked first. Whoever adds some agrees that they are under the
    library's licence.
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
    "--out", required=True, metavar="DIR", type=FOLDER,
    help="Folder that library.html, library.md and library.json are written to.",
)  # fmt: skip
@click.pass_obj
def table(directory: Path | None, out: Path) -> None:
    """Write the library as pages: HTML, Markdown and JSON.

    They hold a table of all entries, which the HTML page sorts by any column, and the history of
    each entry.
    """
    from boundmark.benchmarks.library.tables import write_tables

    for path in write_tables(_library(directory), out):
        click.echo(str(path))


@library.command()
@click.argument("name")
@click.option(
    "--out", metavar="DIR", type=FOLDER,
    help="Also write instance, solution and certificate into this folder, as files that "
    "`boundmark verify` reads.",
)  # fmt: skip
@click.pass_obj
def show(directory: Path | None, name: str, out: Path | None) -> None:
    """Print an entry: the best known results of an instance.

    NAME is the beginning of the entry's name or of its instance's hash.
    """
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
    show_default="beyond if there is one, else bound",
    help="Result to reproduce: the solution, the bound, or the better bound whose certificate is "
    "too large to be kept (beyond).",
)  # fmt: skip
@click.pass_obj
def recipe(directory: Path | None, name: str, what: str | None) -> None:
    """Print a suite that reproduces a result of an entry.

    NAME is the beginning of the entry's name or of its instance's hash. Store what is printed as
    FILE.toml, and run it with `boundmark run FILE.toml --out DIR`.
    """
    from boundmark.benchmarks.library.entry import recipe as suite_of
    from boundmark.problems.errors import InvalidInputError

    entry = _library(directory).named(name)
    find = getattr(entry, what) if what else entry.beyond or entry.bound
    if find is None:
        raise InvalidInputError(f"{entry.name} has no {what or 'bound'}; expected one.")
    click.echo(suite_of(entry, find), nl=False)


@library.command()
@click.argument("name", default="")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def records(name: str, as_json: bool) -> None:
    """List the best known costs and bounds that come with the package.

    Only those are listed whose name, instance or hash begins with NAME. `boundmark library fetch`
    takes their solutions and certificates from a file.
    """
    from boundmark.benchmarks.cli.listing import print_rows
    from boundmark.benchmarks.library.fetching import recorded_entries
    from boundmark.reports.text import percent

    rows = [
        {
            "problem": one.problem,
            "instance": one.full_label,
            "cost": one.solution.value if one.solution else None,
            "bound": one.bound.value if one.bound else None,
            "gap [%]": percent(one.gap),
            "instance_sha256": one.instance_sha256[:12],
        }
        for one in recorded_entries(name)
    ]
    print_rows(rows, as_json)


@library.command()
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.argument("name", default="")
@click.option(
    "--out", required=True, metavar="DIR", type=FOLDER,
    help="Folder for instances, solutions and certificates, as `boundmark verify` reads them.",
)  # fmt: skip
def fetch(source: Path, name: str, out: Path) -> None:
    """Take entries of the library and their proofs from a file or folder.

    Hashes of all documents are compared with the records that come with the package.

    SOURCE is a file NAME.jsonl.gz of the library, or a folder or an archive with such files, such
    as a checkout of the repository. Only entries are taken whose name, instance or hash begins with
    NAME. Nothing is loaded from a network.
    """
    from boundmark.benchmarks.library.fetching import fetch as fetched
    from boundmark.benchmarks.terminal import echo
    from boundmark.reports.text import count

    written = fetched(source, name, out)
    entries = sum(path.parent.name == "instances" for path in written)
    echo(f"{count(entries, 'entry', 'entries')} with the hashes of the records, in {out}")
