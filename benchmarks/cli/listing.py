"""`boundmark problems | methods | datasets | suites | columns`: list the installed ones."""

import inspect
import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boundmark.problems.errors import BoundmarkError, InvalidInputError

if TYPE_CHECKING:
    from boundmark.benchmarks.running.planning import MethodChoice
    from boundmark.benchmarks.running.suite import InstanceGroup
    from boundmark.problems.dataset import Dataset
    from boundmark.problems.method import Method

# Columns of texts that are no longer are not wrapped.
SHORT = 12

# Indent of lines below a row, and the last column's room on the narrowest terminal.
INDENT, LEAST = 4, 20

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
wide = click.option(
    "--wide", is_flag=True, help="Print the table as wide as it is, whatever the terminal's width."
)


@click.command()
@as_json
@wide
def problems(as_json: bool, wide: bool) -> None:
    """List the problems, in the order in which `solve` tries them."""
    from boundmark.problems.catalog import problems as registered

    print_rows(
        [
            {
                "problem": problem.name,
                "parameters": ", ".join(parameter.name for parameter in problem.parameters),
                "sources": problem.source_words or problem.source_names,
                "description": problem.description,
            }
            for problem in registered().values()
        ],
        as_json,
        wide,
        below={"parameters": "Parameters: {}", "sources": "Made from: {}"},
    )


@click.command()
@as_json
@wide
@click.argument("name", metavar="[PROBLEM|METHOD]", required=False)
def methods(name: str | None, as_json: bool, wide: bool) -> None:
    """List all methods, those of one problem, or one and its file."""
    from boundmark.problems.catalog import methods as registered
    from boundmark.problems.catalog import methods_in_order
    from boundmark.problems.catalog import problems as known
    from boundmark.problems.errors import find

    if name is None or name in known():
        listed = methods_in_order(name)
    else:
        find("problem or method", name, {**known(), **registered()})
        listed = [registered()[name]]
    print_rows(
        [
            {
                "method": method.name,
                "problem": method.problem,
                "kind": method.kind,
                "parameters": ", ".join(f"{key}={value}" for key, value in method.params.items()),
                "summary": method.summary,
                "left out": method.left_out,
                "source": source_file(method) if method.name == name else "",
            }
            for method in listed
        ],
        as_json,
        wide,
        by=("problem", "kind"),
        below={
            "parameters": "Parameters: {}",
            "left out": "Only on request: {}",
            "source": "Source: {}",
        },
    )


def source_file(method: "Method") -> str:
    """Return the file that a method's function is in; empty if there is none, as of a command."""
    from boundmark.problems.method import Deferred

    run = method.run.load() if isinstance(method.run, Deferred) else method.run
    try:
        return str(Path(inspect.getsourcefile(inspect.unwrap(run)) or "").resolve())
    except TypeError:
        return ""


class _Listing(click.Group):
    """A list that is printed without a command; a name of its entries leads to the right command.

    Parameters
    ----------
    hint
        Options or command for an entry, e.g. ``"show"``.
    """

    def __init__(self, *args: Any, hint: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._hint = hint

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called, its name, and its arguments."""
        if self.get_command(ctx, args[0]) is None:
            raise click.UsageError(
                f"there is no command {args[0]!r}; to see an entry of the list: "
                f"{ctx.command_path} {self._hint} {args[0]}.",
                ctx,
            )
        return super().resolve_command(ctx, args)


@click.group(cls=_Listing, hint="--members", invoke_without_command=True)
@as_json
@wide
@click.option("--members", metavar="NAME", help="List the members of one data set.")
@click.pass_context
def datasets(context: click.Context, as_json: bool, wide: bool, members: str | None) -> None:
    """List the data sets or the members of one, or show one graph."""
    if context.invoked_subcommand is not None:
        return
    from boundmark.problems.catalog import datasets as registered
    from boundmark.problems.catalog import problems as known
    from boundmark.problems.errors import find

    if members is not None:
        chosen = find("data set", members, registered())
        print_rows(
            [{"member": f"{chosen.name}/{member}"} for member in _members(chosen)], as_json, wide
        )
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
        wide,
        below={"summary": "{}"},
    )


@datasets.command(name="families")
@as_json
@wide
def families(as_json: bool, wide: bool) -> None:
    """List the families of models that a `config.json` may be of."""
    from boundmark.datasets.file_format import formats

    print_rows(
        [
            {"family": name, "also": ", ".join(also)}
            for known in formats().values()
            for name, also in known.families.items()
        ],
        as_json,
        wide,
    )


def _number_of_members(dataset: "Dataset") -> int | None:
    """Return the number of members, None if listing them fails."""
    try:
        return len(_members(dataset))
    except BoundmarkError as error:
        click.echo(f"warning: {error}", err=True)
        return None


def _members(dataset: "Dataset") -> tuple[str, ...]:
    """Return the members; raise `InvalidInputError` where the data set fails to say."""
    try:
        return tuple(dataset.members())
    except Exception as error:
        # It may be a plug-in's code.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidInputError(
            f"data set {dataset.name!r} does not list its members: {reason}"
        ) from error


@click.group(cls=_Listing, hint="show", invoke_without_command=True)
@as_json
@wide
@click.pass_context
def suites(context: click.Context, as_json: bool, wide: bool) -> None:
    """List the suites that come with the package, or show one."""
    if context.invoked_subcommand is not None:
        return
    from boundmark.benchmarks.running.suite_file import load_collection, suite_names

    loaded = [load_collection(name) for name in suite_names()]
    parts = {
        known.name: [part.name.removeprefix(f"{known.name}/") for part in known.suites]
        for known in loaded
    }
    print_rows(
        [
            {
                "suite": known.name,
                "methods": sum(len(suite.methods) for suite in known.suites),
                "limit [s]": max(suite.settings.time_limit_seconds for suite in known.suites),
                "problem": ", ".join(dict.fromkeys(suite.problem for suite in known.suites)),
                "parts": ", ".join(parts[known.name]) if parts[known.name] != [known.name] else "",
                "description": known.description,
            }
            for known in loaded
        ],
        as_json,
        wide,
        below={"description": "{}", "parts": "Parts: {}"},
    )


@suites.command(name="show")
@click.argument("name")
@click.option("--small", is_flag=True, help="Show the small form of a paper's suite.")
@as_json
@wide
def show_suite(name: str, small: bool, as_json: bool, wide: bool) -> None:
    """List the methods and instances of a suite.

    NAME is a suite of `boundmark suites`, or a TOML file. No instance is loaded.
    """
    from boundmark.benchmarks.running.suite_file import load_collection

    loaded = load_collection(name, small=small)
    parts: list[dict[str, Any]] = [
        {
            "part": part.name,
            "problem": part.problem,
            "limit [s]": part.settings.time_limit_seconds,
            "memory [GiB]": round(part.settings.memory_limit_bytes / 2**30, 3),
            "threads": part.settings.threads,
            "seeds": list(part.settings.seeds),
            "device": part.device.name if part.device else "",
            "methods": [_choice(one) for one in part.methods],
            "instances": [_group(one) for one in part.instances],
        }
        for part in loaded.suites
    ]
    if as_json:
        shown = {"suite": loaded.name, "description": loaded.description, "parts": parts}
        click.echo(json.dumps(shown, indent=2))
        return
    click.echo(f"{loaded.name}: {loaded.description}")
    for part in parts:
        device = f", device {part['device']}" if part["device"] else ""
        seeds = ", ".join(map(str, part["seeds"]))
        click.echo(
            f"\n{part['part']}: problem {part['problem']}, {part['limit [s]']:g} s and "
            f"{part['memory [GiB]']:g} GiB a task, {part['threads']} thread(s), seeds {seeds}"
            f"{device}"
        )
        click.echo(f"methods: {', '.join(part['methods'])}")
        print_rows(part["instances"], False, wide)


def _choice(choice: "MethodChoice") -> str:
    """Return a method with the parameters that differ from its defaults."""
    own = [f"{k}={v}" for k, v in choice.params.items() if choice.method.params[k] != v]
    return f"{choice.method.name} ({', '.join(own)})" if own else choice.method.name


def _group(group: "InstanceGroup") -> dict[str, Any]:
    """Describe a group of a suite's instances in words."""
    from boundmark.benchmarks.running.suite import Files

    sources = group.sources
    if isinstance(sources, Files):
        named, count = sources.pattern, None
        dims = ", ".join(f"{name}={size}" for name, size in sources.dims.items())
    else:
        named, count, dims = ", ".join(sources.names), len(sources.names), ""
    parameters = (
        f"{name}={','.join(map(str, values))}" for name, values in group.parameters.items()
    )
    fusion = "+fusion" if group.fuses else ""
    return {
        "from": sources.dataset,
        "number": count,
        "members": named,
        "parameters": " ".join(parameters),
        "dim": dims,
        "device": f"{group.device.name if group.device else ''}{fusion}",
        "methods": ", ".join(_choice(one) for one in group.methods),
        "optional": "yes" if group.optional else "",
    }


@click.command()
@click.argument("name", metavar="[FILE|NAME]", required=False)
@as_json
@wide
def columns(name: str | None, as_json: bool, wide: bool) -> None:
    """Say what the columns of results and reports mean.

    FILE is a Parquet file that boundmark has written. NAME is a part of a table's or of a column's
    name; by default, all are listed.
    """
    from boundmark.reports.dictionary import all_columns, columns_of_file

    path = Path(name) if name else None
    if path and path.suffix == ".parquet":
        found = list(columns_of_file(path))
    else:
        found = [
            one
            for one in all_columns()
            if not name or name in one.table.partition(":")[0] or name in one.name
        ]
    if not found:
        raise InvalidInputError(
            f"no table and no column has {name!r} in its name; `boundmark columns` lists all."
        )
    print_rows(
        [
            {"table": one.table, "column": one.name, "type": one.type or "that of the data",
             "unit": one.unit, "meaning": one.meaning}
            for one in found
        ],
        as_json, wide, by=("table",), below={"meaning": "{}"},
    )  # fmt: skip


def print_rows(
    rows: Sequence[dict[str, Any]],
    as_json: bool,
    is_wide: bool = False,
    by: Sequence[str] = (),
    below: Mapping[str, str] | None = None,
) -> None:
    """Print a table with a column for each key of the first row, or a JSON list.

    Texts are wrapped where there is no room; names, in the first column, and numbers are not.
    """
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    from boundmark.benchmarks.cli.terminal import wide_tables

    with wide_tables(is_wide):
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in rows:
            groups.setdefault(tuple(row[key] for key in by), []).append(row)
        for number, (values, members) in enumerate(groups.items()):
            if values:
                click.echo(("\n" if number else "") + ", ".join(map(str, values)))
            shown = [{k: v for k, v in row.items() if k not in by} for row in members]
            if below:
                _print_entries(shown, below)
            else:
                _print_rows(shown)


def _print_entries(rows: Sequence[dict[str, Any]], below: Mapping[str, str]) -> None:
    """Print a table whose rows have lines below them, indented; the last column is wrapped."""
    from boundmark.benchmarks.cli.terminal import GAP, console
    from boundmark.problems.errors import printable

    columns = [column for column in rows[0] if column not in below]
    table = [
        [column if row is None else "?" if row[column] is None else str(row[column])
         for column in columns]
        for row in (None, *rows)
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    head = sum(widths[:-1]) + GAP * len(widths[:-1])
    width = max(head + LEAST, console().width)
    indent = " " * INDENT

    def wrapped(text: str, first: str, others: str) -> str:
        return textwrap.fill(
            printable(text), width, initial_indent=first, subsequent_indent=others,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip

    for row, cells in zip((None, *rows), table, strict=True):
        names = [
            cell.rjust(size) if isinstance(rows[0][column], int | float) else cell.ljust(size)
            for cell, size, column in zip(cells[:-1], widths[:-1], columns[:-1], strict=True)
        ]
        first = "".join(printable(name) + " " * GAP for name in names)
        line = wrapped(cells[-1], first, " " * head).rstrip() or first.rstrip()
        click.echo(click.style(line, bold=True) if row is None else line)
        for key, sentence in below.items():
            if row is not None and row[key]:
                click.echo(wrapped(sentence.format(row[key]), indent, indent))


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table

    from boundmark.benchmarks.cli.terminal import plain, print_table

    table = Table(box=None, header_style="bold", pad_edge=False)
    columns = [
        column
        for column in rows[0]
        if column == next(iter(rows[0])) or any(row[column] != "" for row in rows)
    ]
    for at, column in enumerate(columns):
        is_text = isinstance(rows[0][column], str)
        is_short = max(len(str(row[column])) for row in rows) <= SHORT
        table.add_column(
            plain(column),
            justify="left" if is_text else "right",
            no_wrap=at == 0 or not is_text or is_short,
        )
    for row in rows:
        table.add_row(*(plain("?" if row[c] is None else str(row[c])) for c in columns))
    print_table(table, keeps_wrapping=True)
