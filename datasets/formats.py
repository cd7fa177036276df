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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from boundmark.datasets import graph_file
from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.json_fields import (
    Numbering,
    a_count,
    a_flag,
    a_number,
    an_object,
    fields_of,
    objects,
    read_object,
)
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.devices import default_device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.method import Deferred
from boundmark.problems.ticks import NANOSECONDS

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
        numbering = Numbering(nodes)
        names = numbering.names(nodes)
        values: dict[str, list[Any]] = {"fpgaLatency": [], "cpuLatency": [], "size": []}
        supported, backward, colours = [], [], []
        known: dict[int, int] = {}
        for name, node in zip(names, nodes, strict=True):
            with naming(f"node {name!r}"):
                for field, column in values.items():
                    column.append(a_number(node, field))
                supported.append(a_flag(node, "supportedOnFpga"))
                backward.append("isBackwardNode" in node and a_flag(node, "isBackwardNode"))
                has_colour = node.get("colorClass") is not None
                colour = a_count(node, "colorClass") if has_colour else None
                colours.append(-1 if colour is None else known.setdefault(colour, len(known)))
        transfer = np.zeros(len(nodes))
        pairs = []
        sizes: list[tuple[float, float]] = []
        for at, edge in enumerate(edges):
            with naming(f"edge {at}"):
                pair = numbering.edge(edge, "sourceId", "destId")
                pairs.append(pair)
                transfer[pair[0]] = max(transfer[pair[0]], a_number(edge, "cost"))
                if "size" in edge:
                    sizes.append((a_number(edge, "size"), a_number(edge, "cost")))
        notes = []
        if _are_seconds(sizes):
            transfer *= 1000
            notes.append(SECONDS_MENDED)
        capacity = int(a_number(document, "maxSizePerFPGA"))
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
            accelerators=a_count(document, "maxFPGAs"),
            processors=a_count(document, "maxCPUs"),
            capacity=capacity,
            names=names,
            colours=tuple(colours) if known else (),
            backward=tuple(backward) if known else (),
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
        bandwidth = a_number(document, "bandwidth")
        if bandwidth == 0:
            raise InvalidInputError("bandwidth is 0; expected more.")
        numbering = Numbering(nodes)
        names = numbering.names(nodes)
        seconds, memory = [], []
        for name, node in zip(names, nodes, strict=True):
            with naming(f"node {name!r}"):
                way = _way(node)
                seconds.append(a_number(way, "timePerSample"))
                held = MICROBATCHES_HELD * a_number(way, "memoryUsageA")
                memory.append(held + a_number(way, "memoryUsageB"))
        moved = np.zeros(len(nodes))
        pairs = []
        for at, edge in enumerate(edges):
            with naming(f"edge {at}"):
                pair = numbering.edge(edge, "sourceId", "destId")
                pairs.append(pair)
                moved[pair[0]] = max(moved[pair[0]], a_number(edge, "communicationCost"))
        zeros = frozen([0] * len(nodes))
        return MeasuredGraph(
            dag=Dag.from_edges(len(nodes), pairs, names),
            accelerator=frozen(np.rint(np.array(seconds) * NANOSECONDS)),
            on_accelerator=(True,) * len(nodes),
            processor=zeros,
            transfer=frozen(np.rint(2 * moved / bandwidth * NANOSECONDS)),
            memory=frozen(np.rint(np.array(memory))),
            accelerators=a_count(document, "maxDevices"),
            processors=0,
            capacity=int(a_number(document, "maxMemoryPerDevice")),
            names=names,
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
        numbering = Numbering(nodes)
        names = numbering.names(nodes)
        columns: dict[str, list[float]] = {"cost": [], "out_size": [], "mem": []}
        for name, node in zip(names, nodes, strict=True):
            with naming(f"node {name!r}"):
                for field, column in columns.items():
                    column.append(a_number(node, field))
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
