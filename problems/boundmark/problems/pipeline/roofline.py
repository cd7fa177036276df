"""The roofline cost model: from operations and bytes to integer nanoseconds.

An operation takes the longer of its arithmetic at peak rate and its memory traffic at full
bandwidth, plus the time to launch it (S. Williams, A. Waterman, D. Patterson: "Roofline: an
insightful visual performance model for multicore architectures", CACM 52(4), 2009).
"""

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.device import DEFAULT_DEVICE, DeviceProfile
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline.graph import PipelineGraph

NANOSECONDS = 1e9

# What an inference runtime turns into metadata or drops: no kernel is launched and no byte moves.
FREE_OP_TYPES = frozenset(
    {"Constant", "ConstantOfShape", "Dropout", "Flatten", "Identity", "Reshape", "Shape"}
    | {"Squeeze", "Unsqueeze"}
)


def _ticks(seconds: npt.NDArray[np.float64]) -> IntArray:
    """Round to the nearest nanosecond: the only rounding between a model and its instance."""
    return frozen(np.rint(seconds * NANOSECONDS))


def costed(graph: ComputationGraph, device: DeviceProfile) -> PipelineGraph:
    """Return the graph's costs on a device, in nanoseconds.

    Raises
    ------
    InvalidInputError
        If the device has no peak rate for the graph's dtype.
    """
    peak = device.peak_flops.get(graph.dtype)
    if peak is None:
        raise InvalidInputError(
            f"device {device.name!r} has no peak rate for {graph.dtype}; "
            f"expected one of {', '.join(device.peak_flops)}."
        )
    moved = graph.read_bytes + graph.param_bytes + graph.output_bytes
    work = np.maximum(graph.flops / peak, moved / device.memory_bandwidth) + device.op_overhead
    free = np.array([op in FREE_OP_TYPES for op in graph.op_types])
    has_consumers = np.diff(graph.dag.consumer_start) > 0
    transfer = device.link_latency + graph.output_bytes / device.link_bandwidth
    return PipelineGraph(
        dag=graph.dag,
        work=_ticks(np.where(free, 0.0, work)),
        transfer=_ticks(np.where(has_consumers, transfer, 0.0)),
        param_load=_ticks(graph.param_bytes / device.link_bandwidth),
        cache=int(device.memory_bytes / device.link_bandwidth * NANOSECONDS),
        names=graph.names,
        tick="ns",
    )


def costed_graph(
    source: ComputationGraph | PipelineGraph, device: DeviceProfile = DEFAULT_DEVICE
) -> PipelineGraph:
    """Return the graph with costs: its own if it has any, else those on the device.

    Raises
    ------
    InvalidInputError
        If the device cannot compute in the graph's dtype.
    """
    return source if isinstance(source, PipelineGraph) else costed(source, device)
