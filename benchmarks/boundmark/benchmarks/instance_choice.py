"""From what a user names to an instance: of which problem, with which parameters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boundmark.benchmarks.suite import NamedInstance
from boundmark.datasets.resolve import load_source
from boundmark.problems.catalog import find, problems
from boundmark.problems.devices import find_device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.problem import Problem
from boundmark.problems.source_file import naming


def named_instance(
    model: str,
    given: Mapping[str, str],
    problem: str | None = None,
    device: str | None = None,
) -> NamedInstance:
    """Return the instance in a file, or the one that a file's or data set's member makes.

    Parameters
    ----------
    given
        Parameters as texts; the others are those of the file, or the defaults.
    problem
        Name of the problem. None for the first in `problems` that suits the model and has all
        parameters that are given.
    device
        Name of a device or cluster, or a file with one, for the costs of a model that has none.

    Raises
    ------
    InvalidInputError
        If no problem suits, a parameter is missing, or it is none of the problem's; or if the
        problem cannot use the device, or does not need one here.
    UnknownNameError
        If there is no such problem, data set, member or device.
    """
    asked = None if problem is None else find("problem", problem, problems())
    source = load_source(model)
    path = Path(model)
    dataset, member = ("file", path.name) if path.exists() else tuple(model.split("/", 1))
    chosen = asked or _first_suitable(model, source, given)
    named = None if device is None else find_device(device)
    with naming(model):
        used = chosen.device_for(source, named)
        make = chosen.maker(source, used)
    instance = make(chosen.read_parameters(given))
    return NamedInstance(dataset, member, instance, device=used.name if used else "")


def _first_suitable(model: str, source: Any, given: Mapping[str, str]) -> Problem:
    suitable = [problem for problem in problems().values() if problem.suits(source)]
    if not suitable:
        raise InvalidInputError(f"{model} is a {type(source).__name__}, which no problem is about.")
    for problem in suitable:
        if set(given) <= {parameter.name for parameter in problem.parameters}:
            return problem
    if len(suitable) == 1:
        # Its own sentence names the parameter that it has not.
        return suitable[0]
    raise InvalidInputError(
        f"no problem about {model} has {' and '.join(given)} together; {_parameters(suitable)}."
    )


def _parameters(suitable: Sequence[Problem]) -> str:
    return ", ".join(
        f"{problem.name!r} has {', '.join(p.name for p in problem.parameters) or 'none'}"
        for problem in suitable
    )
