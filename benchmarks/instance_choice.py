"""Turns what a user names, a model and options, into an instance of a problem."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boundmark.benchmarks.model import Model, load
from boundmark.benchmarks.suite import NamedInstance
from boundmark.problems.catalog import problems
from boundmark.problems.devices import Cluster, Device, cost_model_of, fusing
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming
from boundmark.problems.lookup import find
from boundmark.problems.parameter import ChoiceParameter, IntegerParameter, Parameter
from boundmark.problems.problem import FUSION, Instance, Problem


@dataclass(frozen=True)
class Choice:
    """A problem and a model: an instance but for the parameters that were not given.

    Attributes
    ----------
    given
        Parameters that the user has given.
    make
        Returns the instance with some parameters; see `Problem.maker`.
    is_stored
        Whether the model is an instance, which has parameters of its own.
    device
        Name of the device or cluster that its costs are for; empty if they came with the model.
    costs
        What the costs rest on, in words; empty for a stored instance, which does not say.
    notes
        What was taken for granted when the model was read, as sentences.
    """

    problem: Problem
    dataset: str
    member: str
    given: Mapping[str, int | str]
    make: Callable[[Mapping[str, int | str]], Instance]
    is_stored: bool
    device: str
    costs: str
    notes: tuple[str, ...] = ()

    @property
    def any_parameters(self) -> dict[str, int | str]:
        """The given parameters, and any value for those without one that an instance needs."""
        found = dict(self.given)
        if not self.is_stored:
            for parameter in self.problem.parameters:
                if parameter.name not in found and parameter.default is None:
                    found[parameter.name] = _any_value(parameter)
        return found

    def named(self, instance: Instance) -> NamedInstance:
        """Return one of the instances with where it comes from."""
        return NamedInstance(
            self.dataset,
            self.member,
            instance,
            device=self.device,
            notes=self.notes,
            costs=self.costs,
        )


def choose(
    model: str | Model,
    given: Mapping[str, str],
    problem: str | None = None,
    device: str | None = None,
    dims: Mapping[str, int] | None = None,
) -> Choice:
    """Return the problem that suits a model, and what makes its instances.

    Parameters
    ----------
    model
        A file, the name of a data set's member, or a model that is loaded.
    given
        Parameters as texts; the others are those of the file, or the defaults.
    problem
        Name of the problem. None for the first in `problems` that suits the model and has all
        parameters that are given.
    device
        Name of a device or cluster, or a file with one, for the costs of a model that has none.
    dims
        Sizes of dimensions that a model leaves open, by name. Like the device, not for a loaded
        model, which has both.

    Raises
    ------
    InvalidInputError
        If no problem suits, a parameter is missing, or it is none of the problem's; or if the
        problem cannot use the device, or does not need one here.
    UnknownNameError
        If there is no such problem, data set, member or device.
    """
    asked = None if problem is None else find("problem", problem, problems())
    if isinstance(model, str):
        model = load(model, dims=dims, device=device)
    source = model.source
    chosen = asked or _first_suitable(model.name, source, given)
    with naming(model.name):
        given, used = _with_fusion(chosen, source, given, model.device)
        make = chosen.maker(source, used)
    return Choice(
        chosen,
        model.dataset,
        model.member,
        chosen.read_parameters(given),
        make,
        isinstance(source, Instance),
        used.name if used else "",
        _costs(chosen, source, used),
        model.notes,
    )


def _with_fusion(
    problem: Problem, source: object, given: Mapping[str, str], device: Device | Cluster | None
) -> tuple[Mapping[str, str], Device | Cluster | None]:
    """Return the parameters without what they say of the device, and the device.

    Raises
    ------
    InvalidInputError
        If fusion is asked for where costs do not depend on a device.
    """
    used = problem.device_for(source, device)
    if FUSION not in problem.options or FUSION.name not in given:
        return given, used
    asked = FUSION.read(given[FUSION.name])
    others = {name: text for name, text in given.items() if name != FUSION.name}
    if asked == FUSION.default:
        return others, used
    if used is None:
        raise InvalidInputError(
            f"fusion is {asked!r}, but the costs came with the model; expected no fusion."
        )
    return others, fusing(used)


def _costs(problem: Problem, source: object, device: Device | Cluster | None) -> str:
    if device is not None:
        return cost_model_of(device)
    is_known = problem.cost_model is not None and not isinstance(source, Instance)
    return "the costs that came with the model" if is_known else ""


def named_instance(
    model: str | Model,
    given: Mapping[str, str],
    problem: str | None = None,
    device: str | None = None,
    dims: Mapping[str, int] | None = None,
) -> NamedInstance:
    """Return the instance in a file, or the one that a file's or data set's member makes.

    See `choose`, of which this is the instance with the parameters given.
    """
    chosen = choose(model, given, problem, device, dims)
    return chosen.named(chosen.make(chosen.given))


def _any_value(parameter: Parameter) -> int | str:
    match parameter:
        case IntegerParameter():
            return parameter.least
        case ChoiceParameter():
            return parameter.choices[0]
    raise InvalidInputError(f"{parameter.name} is missing; expected it to be given.")


def _first_suitable(model: str, source: Any, given: Mapping[str, str]) -> Problem:
    suitable = [problem for problem in problems().values() if problem.suits(source)]
    if not suitable:
        raise InvalidInputError(f"{model} is a {type(source).__name__}, which no problem is about.")
    for problem in suitable:
        if set(given) <= {parameter.name for parameter in problem.options}:
            return problem
    if len(suitable) == 1:
        # Its own sentence names the parameter that it has not.
        return suitable[0]
    raise InvalidInputError(
        f"no problem about {model} has {' and '.join(given)}{' together' * (len(given) > 1)}; "
        f"{_parameters(suitable)}."
    )


def _parameters(suitable: Sequence[Problem]) -> str:
    return ", ".join(
        f"{problem.name!r} has {', '.join(p.name for p in problem.parameters) or 'none'}"
        for problem in suitable
    )
