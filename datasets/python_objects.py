"""Graphs from objects of other packages: networkx, pandas, ONNX and torch.

None of these packages is imported to find out what an object is.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from boundmark.datasets.file_format import NO_DIMS
from boundmark.problems.arrays import non_negative_integers, plain_value
from boundmark.problems.catalog import problems
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.problem import NodeCosts

if TYPE_CHECKING:
    import pandas as pd


def is_of(value: object, package: str, name: str) -> bool:
    """Whether a value's type is a class of a package, by its name there, or derived from it.

    Examples
    --------
    >>> from pathlib import Path
    >>> is_of(Path("."), "pathlib", "PurePath")
    True
    """
    return any(
        kind.__name__ == name and kind.__module__.partition(".")[0] == package
        for kind in type(value).__mro__
    )


def is_pair_of_frames(value: object) -> bool:
    """Whether a value is a pair of `pandas.DataFrame`."""
    return (
        isinstance(value, tuple | list)
        and len(value) == 2
        and all(is_of(one, "pandas", "DataFrame") for one in value)
    )


def from_networkx(graph: Any, cache: int | None = None) -> Any:
    """Return a graph with the costs that its nodes have as attributes."""
    if not graph.is_directed():
        raise InvalidInputError("the graph has no directions; expected a networkx.DiGraph.")
    nodes = dict(graph.nodes(data=True))
    declared = _declared({name for given in nodes.values() for name in given})
    costs: dict[str, list[Any]] = {}
    for cost in (*declared.required, *declared.optional):
        if cost in declared.optional and not any(cost in given for given in nodes.values()):
            continue
        for name, given in nodes.items():
            if cost not in given:
                raise InvalidInputError(
                    f"node {quoted(name)} has no attribute {cost!r}; "
                    "expected an integer number of ticks."
                )
        costs[cost] = [given[cost] for given in nodes.values()]
    return _with_costs(declared, list(nodes), graph.edges(), costs, cache)


def from_frames(nodes: "pd.DataFrame", edges: "pd.DataFrame", cache: int | None = None) -> Any:
    """Return a graph with the costs that a frame has in columns.

    Examples
    --------
    >>> import pandas as pd
    >>> nodes = pd.DataFrame({"name": ["a", "b"], "work": [3, 4], "transfer": [1, 1]})
    >>> edges = pd.DataFrame({"source": ["a"], "target": ["b"]})
    >>> from_frames(nodes, edges).work.tolist()
    [3, 4]
    """
    declared = _declared(set(nodes.columns))
    _check_columns("nodes", nodes, ("name", *declared.required))
    _check_columns("edges", edges, ("source", "target"))
    costs = {
        name: nodes[name].tolist()
        for name in (*declared.required, *declared.optional)
        if name in nodes
    }
    pairs = zip(edges["source"].tolist(), edges["target"].tolist(), strict=True)
    return _with_costs(declared, nodes["name"].tolist(), pairs, costs, cache)


def _declared(given: Collection[str]) -> NodeCosts:
    """Return the costs of the first problem whose required ones are given, or else of the first."""
    known = [one.node_costs for one in problems().values() if one.node_costs is not None]
    if not known:
        raise InvalidInputError("no problem is about graphs whose nodes have costs.")
    return next((one for one in known if set(one.required) <= set(given)), known[0])


def _check_columns(what: str, frame: "pd.DataFrame", expected: Sequence[str]) -> None:
    missing = [name for name in expected if name not in frame]
    if missing:
        found = ", ".join(map(str, frame.columns)) or "none"
        raise InvalidInputError(
            f"the frame of {what} has no column {' or '.join(map(repr, missing))}; expected "
            f"{', '.join(expected)}, found {found}."
        )


def _with_costs(
    declared: NodeCosts,
    given_names: Sequence[Hashable],
    edges: Iterable[tuple[Hashable, Hashable]],
    costs: Mapping[str, Sequence[Any]],
    cache: int | None,
) -> Any:
    """Return the graph of nodes in the order of their names."""
    for at, name in enumerate(given_names):
        # Pandas turns a cell without a text into None or a number that differs from itself.
        if not isinstance(name, Hashable) or name is None or name != name:
            raise InvalidInputError(f"the name of node {at} is {quoted(name)}; expected a text.")
    number = {name: at for at, name in enumerate(given_names)}
    names = tuple(map(str, given_names))
    for name, often in Counter(names).items():
        if often > 1:
            raise InvalidInputError(f"{often} nodes are called {name!r}; expected unique names.")
    pairs = []
    for edge in edges:
        for end in edge:
            if not isinstance(end, Hashable) or end not in number:
                raise InvalidInputError(
                    f"an edge names {quoted(end)}, which is no node; expected names of nodes."
                )
        pairs.append((number[edge[0]], number[edge[1]]))
    arrays = {
        name: non_negative_integers(map(_integer, column), name, names)
        for name, column in costs.items()
    }
    return declared.make(
        Dag.from_edges(len(names), pairs, names), arrays, names, plain_value(cache)
    )


def _integer(value: Any) -> Any:
    """Return a whole number as an integer: a column with one missing value has only floats."""
    plain = plain_value(value)
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


def from_onnx(model: Any, dims: Mapping[str, int] = NO_DIMS) -> ComputationGraph:
    """Return the graph of an `onnx.ModelProto`; see `onnx_file.load`."""
    from boundmark.datasets.readers.kernel_recognition import with_kernels
    from boundmark.datasets.readers.onnx.file import of_model

    return with_kernels(of_model(model, dims))


def from_program(program: Any) -> ComputationGraph:
    """Return the graph of a `torch.export.ExportedProgram`."""
    from boundmark.datasets.readers.kernel_recognition import with_kernels
    from boundmark.datasets.readers.torch_export.graph_module import functional, to_graph

    try:
        return with_kernels(to_graph(functional(program)))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidInputError(
            "expected a program with operators and shapes that are known, found "
            f"{type(error).__name__}: {reason}"
        ) from error


def from_module(module: Any, example_inputs: object) -> ComputationGraph:
    """Return the graph of a `torch.nn.Module`, recorded by torch.export in evaluation mode."""
    return from_program(recorded(module, example_inputs))


def recorded(module: Any, example_inputs: object) -> Any:
    """Return the `torch.export.ExportedProgram` of a module in evaluation mode."""
    import torch

    if example_inputs is None:
        raise InvalidInputError(
            "a torch.nn.Module needs example inputs, with which it is recorded; expected "
            "example_inputs=(tensor, ...)."
        )
    named = dict(example_inputs) if isinstance(example_inputs, Mapping) else {}
    placed = example_inputs if isinstance(example_inputs, tuple | list) else (example_inputs,)
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        return torch.export.export(module, () if named else tuple(placed), kwargs=named or None)
    except Exception as error:
        # Whatever tracing somebody's code runs into.
        first = next(iter(str(error).strip().splitlines()), "")
        raise InvalidInputError(
            f"torch.export cannot record {type(module).__name__}: {type(error).__name__}: "
            f"{first.rstrip('.')}; expected a module that it can, or an ONNX file of it."
        ) from error
    finally:
        for part, was_training in modes:
            part.training = was_training
