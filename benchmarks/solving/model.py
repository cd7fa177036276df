"""A model as a user names it, and the instances of problems that are made of it."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, TypeVar

from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.datasets import python_objects
from boundmark.datasets.python_objects import is_of, is_pair_of_frames
from boundmark.datasets.resolve import load_file, load_source
from boundmark.problems.arrays import plain_value
from boundmark.problems.catalog import problems
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import (
    Cluster,
    Device,
    cost_model_of,
    costed,
    find_device,
    fusing,
    substitutes,
)
from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.problems.files import LARGEST_FILE, naming, read_bytes
from boundmark.problems.json_documents import json_object
from boundmark.problems.parameter import ChoiceParameter, IntegerParameter, Parameter
from boundmark.problems.problem import COSTS, FUSION, SOLUTION_FORMAT, Instance, Problem, Solution
from boundmark.reports.true_costs import Hardware

InstanceKind = TypeVar("InstanceKind")


@dataclass(frozen=True, repr=False, eq=False)
class Model:
    """A model, as `load` returns it, from which instances are made.

    Attributes
    ----------
    source
        The graph or layout, with or without costs; or an instance, which has parameters too.
    name
        What errors call it: as the user does.
    dataset, member
        What results call it, e.g. ``"zoo"`` and ``"bert-base"``.
    device
        Device or cluster for the costs of a model that has none; None for a problem's default.
    """

    source: Any
    name: str
    dataset: str
    member: str
    device: Device | Cluster | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions made when the model was read, as sentences."""
        return tuple(getattr(self.source, "notes", ()))

    @property
    def is_own(self) -> bool:
        """Whether it is a user's file or object, and no member of a data set."""
        return self.dataset in {"file", "networkx", "onnx", "pandas", "torch"}

    @property
    def nodes(self) -> int | None:
        """Number of operators; None if it is no graph."""
        dag = getattr(self.source, "dag", None)
        return None if dag is None else dag.nodes

    @property
    def edges(self) -> int | None:
        """Number of pairs of a producer and a consumer; None if it is no graph."""
        dag = getattr(self.source, "dag", None)
        return None if dag is None else dag.edges

    def facts(self) -> dict[str, str]:
        """Return properties of the model, in words."""
        found = {"model": f"{self.dataset}/{self.member}", "kind": _kind(self.source)}
        if self.nodes is not None and self.edges is not None:
            found |= {"operators": f"{self.nodes:,}", "edges": f"{self.edges:,}"}
        # A language model's size.
        found |= getattr(self.source, "describe", dict)()
        if self.device is not None:
            found["device"] = self.device.name
        found["problems"] = ", ".join(
            problem.name for problem in problems().values() if problem.suits(self.source)
        )
        return found

    def __repr__(self) -> str:
        facts = self.facts()
        kind = facts.pop("kind")
        more = ", ".join(f"{key} {value}" for key, value in facts.items() if key != "model")
        return f"<{kind} {facts['model']}: {more}>"

    def _repr_html_(self) -> str:
        return html_table({**self.facts(), **({"note": self.notes} if self.notes else {})})


def html_table(facts: Mapping[str, str | tuple[str, ...]]) -> str:
    """Return facts as a table of HTML, a line for each, or for each of several texts."""
    lines = [
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for name, texts in facts.items()
        for text in ((texts,) if isinstance(texts, str) else texts)
    ]
    return f"<table>{''.join(lines)}</table>"


def _kind(source: object) -> str:
    if isinstance(source, Instance):
        return f"instance of {source.problem}"
    if isinstance(source, ComputationGraph):
        return "model without costs"
    return type(source).__name__


def load(
    x: Any,
    *,
    dims: Mapping[str, int] | None = None,
    device: str | Device | Cluster | None = None,
    example_inputs: Any = None,
    cache: int | None = None,
    name: str | None = None,
) -> Model:
    """Load a model from a file, a data set or an object.

    Parameters
    ----------
    x
        One of

        - the path of a file of any format that `boundmark solve` reads, or the name of a data set's
          member such as ``"zoo/bert-base"``;
        - a `networkx.DiGraph` whose nodes have the attributes `work` and `transfer`, and perhaps
          `param_load`, in integer ticks of any unit: the time to run the node, to move its output
          to another device, and to stream its parameters;
        - a pair of `pandas.DataFrame`: nodes with the columns `name`, `work`, `transfer` and
          perhaps `param_load`, and edges with `source` and `target`, names of nodes;
        - an `onnx.ModelProto`, a `torch.export.ExportedProgram`, or a `torch.nn.Module`, which
          torch.export records with the example inputs;
        - a `Model`, which is returned with what else is given.
    dims
        Sizes of dimensions that an ONNX model leaves open, by name.
    device
        Name of a device or cluster (`boundmark devices` lists them), a file with one, or the object
        itself, for the costs of a model that comes without; None for a problem's default.
    example_inputs
        Arguments of a module: a tuple of tensors, a dict by name, or one tensor.
    cache
        Ticks' worth of parameters that fit into one device; goes with `param_load`.
    name
        What results call a model that is an object.

    Raises
    ------
    Error
        If it cannot be loaded, with what was expected.

    Examples
    --------
    >>> import boundmark
    >>> boundmark.load("onnx-light/squeezenet").nodes
    66
    """
    used = _device(device)
    if name is not None and (not isinstance(name, str) or not name):
        raise InvalidInputError(f"name is {quoted(name)}; expected a text that is not empty.")
    dims = _plain_sizes(dims)
    if isinstance(x, Model):
        _refuse(f"a model that is loaded already, {x.name}", dims=dims, cache=cache)
        return Model(x.source, x.name, x.dataset, x.member, used or x.device)
    if isinstance(x, str | Path):
        _refuse(f"{x}, a file or member", example_inputs=example_inputs, cache=cache)
        if not str(x):
            raise InvalidInputError(
                "model is an empty text; expected a path or the name of a data set's member."
            )
        source = load_source(str(x), dims or {})
        where = ("file", Path(x).name) if os.path.exists(x) else tuple(str(x).split("/", 1))
        return Model(source, str(x), where[0], name or where[1], used)
    source, package, member = _of_object(x, dims, example_inputs, cache)
    return Model(source, f"{package}/{name or member}", package, name or member, used)


def _of_object(
    x: Any, dims: Mapping[str, int] | None, example_inputs: Any, cache: int | None
) -> tuple[Any, str, str]:
    """Return the graph of an object, the package that it is of, and its name there."""
    if is_of(x, "networkx", "Graph"):
        _refuse("a networkx graph", dims=dims, example_inputs=example_inputs)
        return python_objects.from_networkx(x, cache), "networkx", str(x.name or "graph")
    if is_pair_of_frames(x):
        _refuse("frames", dims=dims, example_inputs=example_inputs)
        return python_objects.from_frames(x[0], x[1], cache), "pandas", "graph"
    if is_of(x, "onnx", "ModelProto"):
        _refuse("an ONNX model", example_inputs=example_inputs, cache=cache)
        return python_objects.from_onnx(x, dims or {}), "onnx", str(x.graph.name or "model")
    if is_of(x, "torch", "ExportedProgram"):
        _refuse("an exported program", dims=dims, example_inputs=example_inputs, cache=cache)
        return python_objects.from_program(x), "torch", "program"
    if is_of(x, "torch", "Module"):
        _refuse("a torch.nn.Module", dims=dims, cache=cache)
        return python_objects.from_module(x, example_inputs), "torch", type(x).__name__
    if isinstance(x, Instance) or any(problem.suits(x) for problem in problems().values()):
        _refuse("a graph of boundmark", dims=dims, example_inputs=example_inputs, cache=cache)
        return x, "object", type(x).__name__
    raise InvalidInputError(
        f"model is {quoted(x)}; expected a path, the name of a data set's member, a "
        "networkx.DiGraph, a pair of pandas.DataFrame (nodes, edges), an onnx.ModelProto, a "
        "torch.export.ExportedProgram, or a torch.nn.Module."
    )


def _plain_sizes(dims: object) -> dict[str, Any] | None:
    """Return sizes of dimensions as Python's integers; readers of models check their range."""
    if dims is None:
        return None
    if not isinstance(dims, Mapping) or not all(isinstance(one, str) for one in dims):
        raise InvalidInputError(
            f"dims is {quoted(dims)}; expected a dict of sizes by name, such as {{'batch': 8}}."
        )
    return {name: plain_value(size) for name, size in dims.items()}


def _refuse(what: str, **given: object) -> None:
    """Refuse arguments that a kind of model does not use."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInputError(f"{name} is given, which {what} does not use; expected none.")


def _device(given: object) -> Device | Cluster | None:
    if given is None or isinstance(given, Device | Cluster):
        return given
    if not isinstance(given, str | Path):
        raise InvalidInputError(
            f"device is {quoted(given)}; expected a name, a file, a Device or a Cluster."
        )
    return find_device(str(given))


@dataclass(frozen=True)
class Choice:
    """A problem and a model that suits it, from which instances are made by parameters.

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
    hardware
        Devices and type of arithmetic of a model whose costs depend on them.
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
    hardware: Hardware | None = None

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
        """Return the instance of some parameters, with its origin."""
        return NamedInstance(
            self.dataset,
            self.member,
            instance,
            device=self.device,
            notes=self.notes,
            costs=self.costs or getattr(instance, "costs", ""),
            hardware=self.hardware,
        )


def choose(
    model: str | Model,
    given: Mapping[str, Any],
    problem: str | None = None,
    device: str | None = None,
    dims: Mapping[str, int] | None = None,
    *,
    are_texts: bool = True,
) -> Choice:
    """Return the problem that suits a model, and the function that makes its instances."""
    asked = None if problem is None else find("problem", problem, problems())
    if isinstance(model, str):
        model = load(model, dims=dims, device=device)
    source = model.source
    if not are_texts:
        given = {name: plain_value(value) for name, value in given.items()}
    chosen = asked or _first_suitable(model.name, source, given)
    with naming(model.name):
        given, used = _with_device(chosen, model, given)
        make = chosen.maker(source, used)
    return Choice(
        chosen,
        model.dataset,
        model.member,
        chosen.read_parameters(given) if are_texts else chosen.check_given(given),
        make,
        isinstance(source, Instance),
        used.name if used else "",
        _costs(chosen, source, used),
        (*model.notes, *_on_dtypes(source, used)),
        _hardware(source, used),
    )


def _with_device(
    problem: Problem, model: Model, given: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Device | Cluster | None]:
    """Return the parameters without `costs` and `fusion`, and the device that has them as asked."""
    used = problem.device_for(model.source, model.device, is_own=model.is_own)
    options = {one.name: one for one in (COSTS, FUSION) if one in problem.options}
    asked = {name: one.check(given[name]) for name, one in options.items() if name in given}
    others = {name: value for name, value in given.items() if name not in asked}
    if used is None:
        for name, value in asked.items():
            if value != options[name].default:
                raise InvalidInputError(
                    f"{name} is {value!r}, but the costs came with the model; expected no {name}."
                )
        return others, None
    if asked.get(FUSION.name, FUSION.default) != FUSION.default:
        used = fusing(used)
    if COSTS.name in options:
        costs = str(asked.get(COSTS.name, COSTS.default))
        used = costed(used, costs, model.source.dtype, is_own=model.is_own)
    return others, used


def _hardware(source: object, device: Device | Cluster | None) -> Hardware | None:
    if device is None or not isinstance(source, ComputationGraph):
        return None
    devices = device.devices if isinstance(device, Cluster) else (device,)
    return Hardware.of((one.name for one in devices), source.dtype)


def _on_dtypes(source: object, device: Device | Cluster | None) -> tuple[str, ...]:
    """Return notes if devices or efficiencies are for another type than the model's arithmetic."""
    if device is None or not isinstance(source, ComputationGraph):
        return ()
    instead = substitutes(device, source.dtype)
    devices = device.devices if isinstance(device, Cluster) else (device,)
    tables = [one.efficiency for one in devices if one.efficiency is not None]
    if not tables or source.dtype in tables[0].dtypes:
        return instead
    return (
        *instead,
        f"efficiencies were measured in {' and '.join(tables[0].dtypes)}, and the model computes "
        f"in {source.dtype}",
    )


def _costs(problem: Problem, source: object, device: Device | Cluster | None) -> str:
    if device is not None:
        return cost_model_of(device)
    if problem.cost_model is None or isinstance(source, Instance):
        return ""
    return getattr(source, "costs", "") or "the costs that came with the model"


def named_instance(
    model: str | Model,
    given: Mapping[str, Any],
    problem: str | None = None,
    device: str | None = None,
    dims: Mapping[str, int] | None = None,
    *,
    are_texts: bool = True,
) -> NamedInstance:
    """Return a stored instance, or the instance made of a model in a file or data set.

    See `choose`, of which this is the instance with the parameters given.
    """
    chosen = choose(model, given, problem, device, dims, are_texts=are_texts)
    return chosen.named(chosen.make(chosen.given))


def _any_value(parameter: Parameter) -> int | str:
    match parameter:
        case IntegerParameter():
            return parameter.least
        case ChoiceParameter():
            return parameter.choices[0]
    raise InvalidInputError(f"{parameter.name} is missing; expected it to be given.")


def _first_suitable(model: str, source: Any, given: Mapping[str, Any]) -> Problem:
    suitable = [problem for problem in problems().values() if problem.suits(source)]
    if not suitable:
        raise InvalidInputError(
            f"{model} is of type {type(source).__name__}, which no problem is about."
        )
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


def load_instance(path: Path, kind: type[InstanceKind]) -> InstanceKind:
    """Read an instance of one problem."""
    found = load_file(path)
    if not isinstance(found, kind):
        raise InvalidInputError(
            f"{path} holds a {type(found).__name__}; expected a {kind.__name__}."
        )
    return found


def load_solution(path: Path, problem: str, instance_sha256: str) -> Solution:
    """Read a solution of an instance."""
    content = read_bytes(path, "a solution", LARGEST_FILE)
    with naming(path):
        document = json_object(content)
        if document.get("format") != SOLUTION_FORMAT:
            raise InvalidInputError(f"format is not {SOLUTION_FORMAT!r}; expected a solution.")
        if document.get("problem") != problem:
            raise InvalidInputError(
                f"problem is {document.get('problem')!r}; expected {problem!r}."
            )
        if document.get("instance_sha256") != instance_sha256:
            raise InvalidInputError(
                f"instance_sha256 is {document.get('instance_sha256')!r}; "
                f"expected that of the given instance, {instance_sha256!r}."
            )
        return problems()[problem].solution_from_json(document)
