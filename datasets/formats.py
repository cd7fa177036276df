"""The file formats of this package that serve several problems.

A reader that takes a while to import, such as that of ONNX files, is imported with the first file.
Measured graphs in the JSON files of other planners are read here:

- dnn-partitioning: profiled graphs of msr-fiddle/dnn-partitioning ([TARNAWSKI20]), for throughput
  and latency.
- Piper: profiled training graphs of msr-fiddle/piper ([PIPER21]).
- Placeto: graphs with the attributes of Placeto ([PLACETO19]) in networkx's node-link JSON.
  Placeto's own files are pickles, which run code when they are read. `networkx.node_link_data` of
  such a graph, written as JSON, is what is read here.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boundmark.datasets import graph_file
from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.json_fields import (
    an_object,
    fields_of,
    objects,
    read_object,
)
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.devices import default_device
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.method import Deferred
from boundmark.problems.ticks import NANOSECONDS

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


def load_dnn_partitioning(path: str | Path) -> MeasuredGraph:
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
                pair = numbering.edge(edge, "sourceId", "destId")
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


# Micro-batches that a node holds on to: one, as in the last stage.
MICROBATCHES_HELD = 1


def is_piper(content: bytes) -> bool:
    """Whether a JSON file is of this format."""
    return {"maxDevices", "maxMemoryPerDevice", "bandwidth", "nodes"} <= fields_of(content)


def load_piper(path: str | Path) -> MeasuredGraph:
    """Read a graph; times are seconds in the file, as Piper takes them, and ticks nanoseconds.

    A node runs on one device, without tensor parallelism, in the first way that the file lists for
    it. Its time is that of forward and backward pass together. Its tensor passes its dearest edge
    twice, forward and back. Memory is for one micro-batch in flight.

    Raises
    ------
    InvalidInputError
        If a field is missing or is not what it should be, a node has no way to run on one device,
        an id is unknown or there twice, or edges form a cycle.
    """
    path = Path(path)
    document = read_object(path)
    with naming(path):
        nodes, edges = objects(document, "nodes"), objects(document, "edges")
        bandwidth = _a_number(document, "bandwidth")
        if bandwidth == 0:
            raise InvalidInputError("bandwidth is 0; expected more.")
        numbering = _Numbering(nodes)
        names = numbering.names(nodes)
        seconds, memory = [], []
        for name, node in zip(names, nodes, strict=True):
            with naming(f"node {name!r}"):
                way = _way(node)
                seconds.append(_a_number(way, "timePerSample"))
                held = MICROBATCHES_HELD * _a_number(way, "memoryUsageA")
                memory.append(held + _a_number(way, "memoryUsageB"))
        moved = np.zeros(len(nodes))
        pairs = []
        for at, edge in enumerate(edges):
            with naming(f"edge {at}"):
                pair = numbering.edge(edge, "sourceId", "destId")
                pairs.append(pair)
                moved[pair[0]] = max(moved[pair[0]], _a_number(edge, "communicationCost"))
        zeros = frozen([0] * len(nodes))
        return MeasuredGraph(
            dag=Dag.from_edges(len(nodes), pairs, names),
            accelerator=frozen(np.rint(np.array(seconds) * NANOSECONDS)),
            on_accelerator=(True,) * len(nodes),
            processor=zeros,
            transfer=frozen(np.rint(2 * moved / bandwidth * NANOSECONDS)),
            memory=frozen(np.rint(np.array(memory))),
            accelerators=_a_count(document, "maxDevices"),
            processors=0,
            capacity=int(_a_number(document, "maxMemoryPerDevice")),
            names=names,
            notes=("each time is of forward and backward pass, as in training",),
        )


def _way(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first way to run a node on one device."""
    ways = an_object(node.get("TMPCs"), "TMPCs").get("1")
    if not isinstance(ways, list) or not ways:
        raise InvalidInputError('TMPCs has no entry "1"; expected a way to run on one device.')
    return an_object(ways[0], "the first way on one device")


# Placeto's experiments have up to eight devices; theirs are GPUs of 10 GB and more.
DEVICES = 4

MICROSECONDS = 1e3


def is_placeto(content: bytes) -> bool:
    """Whether a JSON file is of this format."""
    fields = fields_of(content)
    return "nodes" in fields and bool(fields & {"links", "edges"}) and "directed" in fields


def load_placeto(path: str | Path) -> MeasuredGraph:
    """Read a graph: `cost` in microseconds, `out_size` and `mem` in bytes for each node.

    A tensor takes its bytes over the default device's link; there are four such devices. Groups of
    colocation are left out.

    Raises
    ------
    InvalidInputError
        If the graph is not directed, a field is missing or is not what it should be, an id is
        unknown or there twice, or edges form a cycle.
    """
    path = Path(path)
    document = read_object(path)
    with naming(path):
        if document["directed"] is not True:
            raise InvalidInputError("directed is not true; expected a directed graph.")
        nodes = objects(document, "nodes")
        edges = objects(document, "links" if "links" in document else "edges")
        numbering = _Numbering(nodes)
        names = numbering.names(nodes)
        columns: dict[str, list[float]] = {"cost": [], "out_size": [], "mem": []}
        for name, node in zip(names, nodes, strict=True):
            with naming(f"node {name!r}"):
                for field, column in columns.items():
                    column.append(_a_number(node, field))
        pairs = []
        for at, edge in enumerate(edges):
            with naming(f"edge {at}"):
                pairs.append(numbering.edge(edge, "source", "target"))
        device = default_device()
        if device.link is None:
            raise InvalidInputError(f"device {device.name!r} has no link to others of its kind.")
        dag = Dag.from_edges(len(nodes), pairs, names)
        is_read = np.diff(dag.consumer_start) > 0
        seconds = device.link.latency + np.array(columns["out_size"]) / device.link.bandwidth
        return MeasuredGraph(
            dag=dag,
            accelerator=frozen(np.rint(np.array(columns["cost"]) * MICROSECONDS)),
            on_accelerator=(True,) * len(nodes),
            processor=frozen([0] * len(nodes)),
            transfer=frozen(np.rint(np.where(is_read, seconds, 0.0) * NANOSECONDS)),
            memory=frozen(np.rint(np.array(columns["mem"]))),
            accelerators=DEVICES,
            processors=0,
            capacity=int(device.memory_bytes),
            names=names,
        )


class _Numbering:
    """Numbers of nodes by the ids that a file gives them."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], field: str = "id") -> None:
        self.numbers: dict[int | str, int] = {}
        for at, node in enumerate(nodes):
            key = node.get(field)
            if not isinstance(key, int | str) or isinstance(key, bool):
                raise InvalidInputError(f"{field} of node {at} is {quoted(key)}; expected an id.")
            if key in self.numbers:
                raise InvalidInputError(f"two nodes have the id {quoted(key)}; expected one.")
            self.numbers[key] = at

    def edge(self, entry: Mapping[str, Any], tail: str, head: str) -> tuple[int, int]:
        """Return the numbers of an edge's ends.

        Raises
        ------
        InvalidInputError
            If one is the id of no node.
        """
        found = []
        for field in (tail, head):
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


def _a_number(table: Mapping[str, Any], field: str, default: float | None = None) -> float:
    """Return a field that has to be a number that is not negative.

    Raises
    ------
    InvalidInputError
        If it is anything else, or missing and has no default.
    """
    value = table.get(field, default)
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


_load_onnx = Deferred("boundmark.datasets.kernel_recognition:load_onnx")
_load_program = Deferred("boundmark.datasets.kernel_recognition:load_program")

FORMATS = (
    FileFormat("Parquet graph", (".parquet",), graph_file.load),
    FileFormat("JSON graph", (".json",), graph_file.load_json, graph_file.is_json),
    FileFormat("ONNX", (".onnx",), _load_onnx, load_with_dims=_load_onnx),
    FileFormat("OpenVINO IR", (".xml",), Deferred("boundmark.datasets.openvino_file:load")),
    FileFormat("torch.export", (".pt2",), _load_program),
    FileFormat(
        "dnn-partitioning",
        (".json",),
        load_dnn_partitioning,
        is_dnn_partitioning,
    ),
    FileFormat("Piper", (".json",), load_piper, is_piper),
    FileFormat("Placeto", (".json",), load_placeto, is_placeto),
)
