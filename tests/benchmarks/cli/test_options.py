"""Options that problems declare."""

import dataclasses
import re

import click
import pytest
from click.testing import CliRunner

from boundmark.benchmarks.cli.evaluate import evaluate
from boundmark.benchmarks.cli.options import ParameterCommand
from boundmark.benchmarks.cli.solve import SolvingRequest, solve, solving_options
from boundmark.problems.catalog import problems
from boundmark.problems.parameter import RESERVED, ChoiceParameter, IntegerParameter

FIRST = dataclasses.replace(
    problems()["pipeline"],
    name="first",
    parameters=(
        IntegerParameter("k", "how many", least=1, default=None),
        ChoiceParameter("transfers", "who shares", ("per-edge", "per-tensor"), "per-edge"),
    ),
)
SECOND = dataclasses.replace(
    FIRST, name="second", parameters=(ChoiceParameter("k", "which one", ("a", "b"), "a"),)
)


@click.command(cls=ParameterCommand, problems=lambda: (FIRST, SECOND))
@click.argument("model")
@click.option("--quiet", is_flag=True)
def command(model: str, quiet: bool, parameters: dict[str, str]) -> None:
    """Echo."""
    click.echo(f"{model} {quiet} {parameters}")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["m"], "m False {}"),
        (["m", "-k", "8"], "m False {'k': '8'}"),
        (["m", "--k", "b", "--quiet"], "m True {'k': 'b'}"),
        (["-k8", "m", "--transfers", "per-edge"], "m False {'k': '8', 'transfers': 'per-edge'}"),
        (["m", "-k", "-1"], "m False {'k': '-1'}"),
        (["m", "--costs", "a;b"], "m False {'costs': 'a;b'}"),
    ],
)
def test_texts_reach_the_command(arguments: list[str], expected: str) -> None:
    """Under the parameters' names; what they mean is for the problem to say."""
    assert CliRunner().invoke(command, arguments).output == expected + "\n"


def test_a_declared_option_is_no_parameter() -> None:
    """It reaches the function with its type, beside those that `solve` and `evaluate` share."""

    @click.command(cls=ParameterCommand, problems=lambda: (FIRST, SECOND))
    @solving_options
    @click.option("--foo", type=int)
    def with_foo(foo: int, request: SolvingRequest) -> None:
        click.echo(f"{foo + 1} {request.parameters} {request.workers}")

    done = CliRunner().invoke(with_foo, ["-k", "b", "--foo", "3", "--workers", "2"])
    assert done.output == "4 {'k': 'b'} 2\n"


def test_an_option_that_nobody_takes_is_a_mistake() -> None:
    """It does not become a parameter of problems."""

    @click.command(cls=ParameterCommand, problems=lambda: (FIRST,))
    @solving_options
    @click.option("--foo", type=int)
    def without_foo(request: SolvingRequest) -> None:
        click.echo("not reached")

    done = CliRunner().invoke(without_foo, ["--foo", "3"])
    assert isinstance(done.exception, TypeError)
    assert "foo" in str(done.exception)


def test_help_has_a_section_for_each_problem() -> None:
    """A parameter that both have is explained in both, after the options of the command."""
    text = CliRunner().invoke(command, ["--help"]).output
    own, first, second = re.split("Parameters of first:|Parameters of second:", text)
    assert "--quiet" in own
    assert "-k" not in own
    assert "-k, --k INTEGER How many." in " ".join(first.split())
    assert "[per-edge|per-tensor] Who shares (default per-edge)." in " ".join(first.split())
    assert "-k, --k [a|b] Which one (default a)." in " ".join(second.split())


def test_messages_name_both_problems() -> None:
    """One option stands for both, with what each of them takes it for."""
    (k,) = [one for one in command.get_params(click.Context(command)) if one.name == "k"]
    assert isinstance(k, click.Option)
    assert k.help == "first: how many; second: which one (default a)."


def test_no_parameter_takes_the_place_of_an_option() -> None:
    """The words that `solve` uses itself are reserved."""
    own = {
        spelling.lstrip("-").replace("-", "_")
        for command in (solve, evaluate)
        for option in command.params
        for spelling in (str(option.name), *option.opts)
    }
    assert own - {"as_json"} <= RESERVED
