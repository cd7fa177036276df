"""Device placement of measured graphs: on the accelerators and processors that they come with."""

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.placement.graph import UNSUPPORTED, PlacementGraph


def placement_graph_of(source: MeasuredGraph | PlacementGraph) -> PlacementGraph:
    """Return the costs on all devices; a tensor takes as long between any two of them.

    Raises
    ------
    InvalidInputError
        If some node runs on no device, or there is no room for it.
    """
    if isinstance(source, PlacementGraph):
        return source
    dag = source.dag
    on_accelerator = np.where(np.array(source.on_accelerator), source.accelerator, UNSUPPORTED)
    columns = [on_accelerator] * source.accelerators + [source.processor] * source.processors
    devices = len(columns)
    producers = [v for v in range(dag.nodes) if len(dag.consumers_of(v))]
    ticks, size = np.unique(source.transfer[producers], return_inverse=True)
    between = 1 - np.eye(devices, dtype=np.int64)
    room = int(source.memory.sum())
    return PlacementGraph(
        duration=frozen(np.stack(columns, 1) if columns else np.zeros((dag.nodes, 0), np.int64)),
        memory=source.memory,
        capacity=frozen([source.capacity] * source.accelerators + [room] * source.processors),
        producer=frozen(producers),
        consumers=tuple(tuple(dag.consumers_of(v).tolist()) for v in producers),
        size=frozen(size),
        times=frozen(ticks[:, None, None] * between[None]),
        names=source.names,
        device_names=(
            *(f"accelerator {number}" for number in range(source.accelerators)),
            *(f"processor {number}" for number in range(source.processors)),
        ),
        tick=source.tick,
    )
