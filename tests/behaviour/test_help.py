"""Help is whole sentences that fit a terminal of 80 columns."""

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from boundmark.benchmarks.cli.group import main


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the names of a group's commands, those of its groups included."""
    context = click.Context(group)
    yield path
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


ALL = list(commands(main))


def command_of(path: tuple[str, ...]) -> tuple[click.Command, click.Context]:
    """Return a command and the context in which it shows its help."""
    command: click.Command = main
    context = click.Context(main, info_name="boundmark", terminal_width=80)
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(context, name)
        assert found is not None
        command = found
        context = click.Context(command, info_name=name, parent=context, terminal_width=80)
    return command, context


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_is_whole_sentences(path: tuple[str, ...]) -> None:
    """Of the command and of each of its options; an option says more than its name."""
    command, context = command_of(path)
    assert command.help is not None
    assert command.help.split("\n")[0].endswith((".", ":"))
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and not parameter.hidden:
            said = parameter.help or ""
            assert said.endswith("."), parameter.name
            assert len(said.split()) >= 3, parameter.name


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_no_line_is_cut_or_too_wide(path: tuple[str, ...]) -> None:
    """Groups show the first sentence of each of their commands whole."""
    done = CliRunner().invoke(main, [*path, "--help"], prog_name="boundmark", terminal_width=80)
    lines = done.output.splitlines()
    assert max(map(len, lines)) <= 80
    # `STATUS,...` and `[ARGS]...` are how several values are given.
    assert not [line for line in lines if line.endswith("...") and not line.startswith("Usage:")]
