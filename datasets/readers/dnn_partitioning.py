"""Profiled graphs of msr-fiddle/dnn-partitioning ([TARNAWSKI20]), for throughput and latency."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.json_fields import fields_of, objects, read_object
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming
from boundmark.problems.measured_graph import MeasuredGraph

# As a number of anything; sums of these as nanoseconds are refused later, where they are formed.
LARGEST_NUMBER = 1e15

NANOSECONDS_PER_MS = 1e6

SECONDS_MENDED = (
    "Costs of edges are their bytes at 2 GiB/s in seconds, where the format has milliseconds; they "
    "were multiplied by 1,000."
)


def is_dnn_partitioning(content: bytes) -> bool:
    """Whether a JSON file is of this format."""
    return {"maxFPGAs", "maxCPUs", "nodes", "edges"} <= fields_of(content)


def load(path: str | Path) -> MeasuredGraph:
    """Read a graph; times are milliseconds in the file, and ticks are nanoseconds.

    A node's tensor takes as long as its dearest edge; in published files all edges of a node cost
    the same. In the published layer graphs for throughput, edges cost their bytes divided by 2^31,
    which are seconds and not milliseconds: those costs are multiplied by 1,000, and a note says so.

    Raises
    ------
    InvalidInputError
        If a field is missing or is not what it should be, an id is unknown or there twice, or
        edges form a cycle.
    """
    path = Path(path)
    document = read_object(path)
    with naming(path):
        nodes, edges = objects(document, "nodes"), objects(document, "edges")
        numbering = _Numbering(nodes)
        names = numbering.names(nodes)
        values: dict[str, list[Any]] = {"fpgaLatency": [], "cpuLatency": [], "size": []}
        supported, backward, colours = [], [], []
        known: dict[int, int] = {}
        for name, node in zip(names, nodes, strict=True):
            with naming(f"node {name!r}"):
                for field, column in values.items():
                    column.append(_a_number(node, field))
                supported.append(_a_flag(node, "supportedOnFpga"))
                backward.append("isBackwardNode" in node and _a_flag(node, "isBackwardNode"))
                has_colour = node.get("colorClass") is not None
                colour = _a_count(node, "colorClass") if has_colour else None
                colours.append(-1 if colour is None else known.setdefault(colour, len(known)))
        transfer = np.zeros(len(nodes))
        pairs = []
        sizes: list[tuple[float, float]] = []
        for at, edge in enumerate(edges):
            with naming(f"edge {at}"):
                pair = numbering.edge(edge)
                pairs.append(pair)
                transfer[pair[0]] = max(transfer[pair[0]], _a_number(edge, "cost"))
                if "size" in edge:
                    sizes.append((_a_number(edge, "size"), _a_number(edge, "cost")))
        notes = []
        if _are_seconds(sizes):
            transfer *= 1000
            notes.append(SECONDS_MENDED)
        capacity = int(_a_number(document, "maxSizePerFPGA"))
        if known and sum(values["size"]) > capacity:
            notes.append(
                f"A stage holds {capacity:,} bytes at most; a cost beyond all work "
                "and transfers says that one holds more."
            )
        return MeasuredGraph(
            dag=Dag.from_edges(len(nodes), pairs, names),
            accelerator=_ticks(values["fpgaLatency"]),
            on_accelerator=tuple(supported),
            processor=_ticks(values["cpuLatency"]),
            transfer=_ticks(transfer),
            memory=frozen(np.rint(np.array(values["size"]))),
            accelerators=_a_count(document, "maxFPGAs"),
            processors=_a_count(document, "maxCPUs"),
            capacity=capacity,
            names=names,
            colours=tuple(colours) if known or any(backward) else (),
            backward=tuple(backward) if known or any(backward) else (),
            notes=tuple(notes),
        )


def _are_seconds(edges: list[tuple[float, float]]) -> bool:
    """Whether most costs of edges, by their bytes, are seconds at 2 GiB/s, as published."""
    both = [(size, cost) for size, cost in edges if size and cost]
    alike = sum(math.isclose(size, cost * 2**31, rel_tol=1e-3) for size, cost in both)
    return 2 * alike > len(both)


def _ticks(milliseconds: Any) -> Any:
    return frozen(np.rint(np.asarray(milliseconds, dtype=float) * NANOSECONDS_PER_MS))


class _Numbering:
    """Numbers of nodes by the ids that a file gives them."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        self.numbers: dict[int | str, int] = {}
        for at, node in enumerate(nodes):
            key = node.get("id")
            if not isinstance(key, int | str) or isinstance(key, bool):
                raise InvalidInputError(f"id of node {at} is {quoted(key)}; expected an id.")
            if key in self.numbers:
                raise InvalidInputError(f"two nodes have the id {quoted(key)}; expected one.")
            self.numbers[key] = at

    def edge(self, entry: Mapping[str, Any]) -> tuple[int, int]:
        """Return the numbers of an edge's ends."""
        found = []
        for field in ("sourceId", "destId"):
            key = entry.get(field)
            if isinstance(key, list | dict) or key not in self.numbers:
                raise InvalidInputError(f"{field} is {quoted(key)}; expected the id of a node.")
            found.append(self.numbers[key])
        return found[0], found[1]

    def names(self, nodes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Return the nodes' names; their ids if names are missing or repeated."""
        names = [node.get("name") for node in nodes]
        if all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names):
            return tuple(map(str, names))
        return tuple(map(str, self.numbers))


def _a_number(table: Mapping[str, Any], field: str) -> float:
    """Return a field that has to be a number that is not negative."""
    value: Any = table.get(field)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Comparison is false for what is no number.
    if not is_number or not 0 <= value <= LARGEST_NUMBER:
        raise InvalidInputError(f"{field} is {quoted(value)}; expected a number from 0 to 10^15.")
    return float(value)


def _a_count(table: Mapping[str, Any], field: str) -> int:
    """Return a field that has to be a whole number; raises as `_a_number` does."""
    value = _a_number(table, field)
    if not value.is_integer():
        raise InvalidInputError(f"{field} is {value}; expected a whole number.")
    return int(value)


def _a_flag(table: Mapping[str, Any], field: str) -> bool:
    """Return a field that has to be true, false, 1 or 0; raises as `_a_number` does."""
    value = table.get(field)
    if value not in (0, 1, False, True):
        raise InvalidInputError(f"{field} is {quoted(value)}; expected true or false.")
    return bool(value)


FORMAT = FileFormat("dnn-partitioning", (".json",), load, is_dnn_partitioning)
