"""Profiled graphs of msr-fiddle/dnn-partitioning ([TARNAWSKI20]), for throughput and latency."""

from pathlib import Path
from typing import Any

import numpy as np

from boundmark.datasets.measured.json_fields import (
    Numbering,
    a_count,
    a_flag,
    a_number,
    fields_of,
    objects,
    read_object,
)
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.source_file import naming

NANOSECONDS_PER_MS = 1e6


def is_one(content: bytes) -> bool:
    """Whether a JSON file is of this format."""
    return {"maxFPGAs", "maxCPUs", "nodes", "edges"} <= fields_of(content)


def load(path: str | Path) -> MeasuredGraph:
    """Read a graph; times are milliseconds in the file, and ticks are nanoseconds.

    A node's tensor takes as long as its dearest edge; in published files all edges of a node cost
    the same. Costs are taken as they are written, although those of layer graphs for throughput are
    in another unit. Colours, which ask that nodes share a device, are left out: bounds hold for the
    problem with colours as well, solutions need not.

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
        supported = []
        for name, node in zip(names, nodes, strict=True):
            with naming(f"node {name!r}"):
                for field, column in values.items():
                    column.append(a_number(node, field))
                supported.append(a_flag(node, "supportedOnFpga"))
        transfer = np.zeros(len(nodes))
        pairs = []
        for at, edge in enumerate(edges):
            with naming(f"edge {at}"):
                pair = numbering.edge(edge, "sourceId", "destId")
                pairs.append(pair)
                transfer[pair[0]] = max(transfer[pair[0]], a_number(edge, "cost"))
        return MeasuredGraph(
            dag=Dag.from_edges(len(nodes), pairs, names),
            accelerator=_ticks(values["fpgaLatency"]),
            on_accelerator=tuple(supported),
            processor=_ticks(values["cpuLatency"]),
            transfer=_ticks(transfer),
            memory=frozen(np.rint(np.array(values["size"]))),
            accelerators=a_count(document, "maxFPGAs"),
            processors=a_count(document, "maxCPUs"),
            capacity=int(a_number(document, "maxSizePerFPGA")),
            names=names,
        )


def _ticks(milliseconds: Any) -> Any:
    return frozen(np.rint(np.asarray(milliseconds, dtype=float) * NANOSECONDS_PER_MS))
