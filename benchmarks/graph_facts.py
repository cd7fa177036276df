"""Describes a graph: its size, its shape and its operators."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from boundmark.benchmarks.grading.solution_file import numbered_rows, read_solution_file
from boundmark.benchmarks.graph_drawing import Picture, kinds
from boundmark.problems.catalog import datasets, problems
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.problems.files import naming
from boundmark.problems.graph_statistics import depth, down_sets, width
from boundmark.problems.problem import Instance


@runtime_checkable
class NamedGraph(Protocol):
    """A graph whose nodes have names."""

    @property
    def dag(self) -> Dag:
        """Nodes and edges."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes' names, by number."""


def graph_of(name: str, source: Any) -> NamedGraph:
    """Return the graph in a file, in a data set's member or of an instance.

    Raises
    ------
    InvalidInputError
        If it is or has none.
    """
    inner = getattr(source, "graph", None) if isinstance(source, Instance) else source
    if isinstance(inner, NamedGraph):
        return inner
    raise InvalidInputError(f"{name} is a {type(source).__name__}; expected a graph.")


def facts(name: str, graph: NamedGraph) -> dict[str, Any]:
    """Return a graph's facts by name, as JSON values; more for a `ComputationGraph` or a member.

    Parameters
    ----------
    name
        As the user wrote it.
    """
    counted = down_sets(graph.dag)
    found: dict[str, Any] = {
        "name": name,
        "nodes": graph.dag.nodes,
        "edges": graph.dag.edges,
        "depth": depth(graph.dag),
        "width": width(graph.dag),
        # More digits than JSON readers keep.
        "down_sets": counted.number if counted.number < 2**53 else str(counted.number),
        "down_sets_exact": counted.is_exact,
    }
    if isinstance(graph, ComputationGraph):
        found |= _of_computation(graph)
    origin = origin_of(name)
    return found | ({"origin": origin} if origin else {})


@runtime_checkable
class Described(Protocol):
    """A model that says of itself what people ask, such as a language model's configuration."""

    notes: tuple[str, ...]

    def describe(self) -> dict[str, str]:
        """Return facts in words, by what they are called."""


def described_facts(name: str, model: Described) -> dict[str, Any]:
    """Return the facts of a model that describes itself.

    Raises
    ------
    InvalidInputError
        If it has none to tell.
    """
    described = model.describe()
    if not described:
        raise InvalidInputError(f"{name} is a {type(model).__name__}; expected a graph.")
    origin = origin_of(name)
    found = {"name": name, **described, "notes": list(model.notes)}
    return found | ({"origin": origin} if origin else {})


def origin_of(name: str) -> dict[str, Any]:
    """Return the origin of a data set's member; empty for files."""
    dataset, _, member = name.partition("/")
    if dataset not in datasets() or Path(name).exists():
        return {}
    return dict(find("data set", dataset, datasets()).about(member))


def _of_computation(graph: ComputationGraph) -> dict[str, Any]:
    weights = [graph.tensors[number] for number in graph.parameters]
    return {
        "dtype": graph.dtype,
        "flops": int(graph.flops.sum()),
        "parameters": sum(tensor.elements for tensor in weights),
        "parameter_bytes": sum(tensor.bytes for tensor in weights),
        "output_bytes": int(graph.output_bytes.sum()),
        "inputs": {graph.tensors[x].name: _in_words(graph, x) for x in graph.inputs},
        "results": {graph.tensors[x].name: _in_words(graph, x) for x in graph.results},
        "operators": dict(Counter(graph.op_types).most_common()),
        "notes": list(graph.notes),
    }


def _in_words(graph: ComputationGraph, number: int) -> str:
    tensor = graph.tensors[number]
    return f"{tensor.dtype}{list(tensor.shape)}"


def picture(graph: NamedGraph, solution: Path | None = None, problem: str | None = None) -> Picture:
    """Return the nodes and edges that a drawing of a graph shows.

    Parameters
    ----------
    solution
        A file with a stage or device for every node, in any form that `evaluate` reads; colours
        are theirs. Without it, they are those of the operators' types.
    problem
        That the solution is of; by default, the one of the lowest precedence number.

    Raises
    ------
    InvalidInputError
        If the file is no such solution.
    """
    labels: Sequence[str] = graph.names
    groups: Sequence[str] = ["node"] * len(graph.names)
    hints: Sequence[str] = graph.names
    if isinstance(graph, ComputationGraph):
        labels, groups = graph.op_types, kinds(graph.op_types)
        counted = zip(graph.names, graph.flops.tolist(), strict=True)
        hints = [f"{name} ({flops:,} operations)" for name, flops in counted]
    if solution is not None:
        groups = _parts(graph, solution, problem or next(iter(problems())))
    return Picture(graph.dag, labels, hints, groups, are_parts=solution is not None)


def _parts(graph: NamedGraph, path: Path, name: str) -> list[str]:
    """Return the stage or device of each node, as text."""
    chosen = find("problem", name, problems())
    table = chosen.table
    if table is None or len(table.columns) != 2:
        raise InvalidInputError(
            f"solutions of problem {name!r} do not say of each operator where it is; "
            "expected those of another problem."
        )
    with naming(path):
        found = read_solution_file(path, table)
        if isinstance(found, Mapping):
            rows = list(table.rows(chosen.solution_from_json(found)))
            if len(rows) != len(graph.names):
                raise InvalidInputError(
                    f"the solution has {len(rows)} rows; expected one for each of the "
                    f"{len(graph.names)} nodes."
                )
        else:
            # Without an instance, devices are called what the file calls them.
            called = tuple(dict.fromkeys(str(row[-1]) for row in found))
            is_named = any(not text.isdecimal() for text in called)
            named = {table.columns[-1]: called} if is_named else {}
            rows = numbered_rows(found, graph.names, table, named)
            if is_named:
                return [f"{table.columns[-1]} {called[part]}" for _, part in sorted(rows)]
    parts = {row[0]: f"{table.columns[-1]} {row[-1]}" for row in rows}
    if len(parts) != len(graph.names):
        raise InvalidInputError(f"{quoted(str(path))} has no {table.columns[-1]} for some nodes.")
    return [parts[node] for node in range(len(graph.names))]
