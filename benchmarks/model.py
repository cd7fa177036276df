"""A model, and the device that its costs are for: what instances of problems are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from boundmark.datasets import python_objects
from boundmark.datasets.python_objects import is_of, is_pair_of_frames
from boundmark.datasets.resolve import load_source
from boundmark.problems.catalog import problems
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import Cluster, Device, find_device
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.problem import Instance


@dataclass(frozen=True, repr=False, eq=False)
class Model:
    """A model as `load` returns it.

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
        """What was taken for granted when the model was read, as sentences."""
        return tuple(getattr(self.source, "notes", ()))

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
        """Return what there is to say of the model, in words."""
        found = {"model": f"{self.dataset}/{self.member}", "kind": _kind(self.source)}
        if self.nodes is not None and self.edges is not None:
            found |= {"operators": f"{self.nodes:,}", "edges": f"{self.edges:,}"}
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
    if isinstance(x, Model):
        _refuse(f"a model that is loaded already, {x.name}", dims=dims, cache=cache)
        return Model(x.source, x.name, x.dataset, x.member, used or x.device)
    if isinstance(x, str | Path):
        _refuse(f"{x}, a file or member", example_inputs=example_inputs, cache=cache)
        path = Path(x)
        source = load_source(str(x), dims or {})
        where = ("file", path.name) if path.exists() else tuple(str(x).split("/", 1))
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
        f"a {type(x).__name__} is no model; expected a path, the name of a data set's member, a "
        "networkx.DiGraph, a pair of pandas.DataFrame (nodes, edges), an onnx.ModelProto, a "
        "torch.export.ExportedProgram, or a torch.nn.Module."
    )


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
