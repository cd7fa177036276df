"""Graphs with the attributes of Placeto ([PLACETO19]), in networkx's node-link JSON.

Placeto's own files are pickles, which run code when they are read. `networkx.node_link_data` of
such a graph, written as JSON, is what is read here.
"""

from pathlib import Path

import numpy as np

from boundmark.datasets.measured.json_fields import (
    Numbering,
    a_number,
    fields_of,
    objects,
    read_object,
)
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.devices import default_device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.source_file import naming
from boundmark.problems.ticks import NANOSECONDS

# Placeto's experiments have up to eight devices; theirs are GPUs of 10 GB and more.
DEVICES = 4

MICROSECONDS = 1e3


def is_one(content: bytes) -> bool:
    """Whether a JSON file is of this format."""
    fields = fields_of(content)
    return "nodes" in fields and bool(fields & {"links", "edges"}) and "directed" in fields


def load(path: str | Path) -> MeasuredGraph:
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
