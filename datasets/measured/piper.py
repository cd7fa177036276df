"""Profiled training graphs of msr-fiddle/piper ([PIPER21])."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from boundmark.datasets.measured.json_fields import (
    Numbering,
    a_count,
    a_number,
    an_object,
    fields_of,
    objects,
    read_object,
)
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.source_file import naming
from boundmark.problems.ticks import NANOSECONDS

# Micro-batches that a node holds on to: one, as in the last stage.
MICROBATCHES_HELD = 1


def is_one(content: bytes) -> bool:
    """Whether a JSON file is of this format."""
    return {"maxDevices", "maxMemoryPerDevice", "bandwidth", "nodes"} <= fields_of(content)


def load(path: str | Path) -> MeasuredGraph:
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
