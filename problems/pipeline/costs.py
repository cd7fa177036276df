"""Costs of pipeline partitioning: of a model on a device, or as they were measured."""

import numpy as np

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import Cluster, Device, Link
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.roofline import operation_seconds, transfer_seconds
from boundmark.problems.ticks import LARGEST_TOTAL, NANOSECONDS, to_nanoseconds


def with_costs(graph: ComputationGraph, device: Device, link: Link) -> PipelineGraph:
    """Return the graph with its costs in nanoseconds, each rounded once.

    Parameters
    ----------
    device
        Kind of all stages' devices. Parameters that its memory has no room for are streamed.
    link
        Over which tensors enter and leave a stage, and parameters are streamed. An output that no
        operation reads is transferred nowhere.

    Raises
    ------
    InvalidInputError
        If the device has no peak rate for the graph's dtype.
    """
    has_consumers = np.diff(graph.dag.consumer_start) > 0
    transfer = transfer_seconds(graph.output_bytes, link)
    return PipelineGraph(
        dag=graph.dag,
        work=to_nanoseconds(operation_seconds(graph, device)),
        transfer=to_nanoseconds(np.where(has_consumers, transfer, 0.0)),
        param_load=to_nanoseconds(graph.param_bytes / link.bandwidth),
        # More than the limit of all costs is refused, infinity included.
        cache=int(min(device.memory_bytes / link.bandwidth * NANOSECONDS, 2 * LARGEST_TOTAL)),
        names=graph.names,
        tick="ns",
    )


def pipeline_graph(graph: ComputationGraph, hardware: Device | Cluster) -> PipelineGraph:
    """Return the graph with its costs on the hardware.

    Parameters
    ----------
    hardware
        A device, of which every stage has one, or a cluster of equal devices.

    Raises
    ------
    InvalidInputError
        If the hardware has several kinds of devices or links, or no link, or cannot compute in
        the graph's dtype.
    """
    return with_costs(graph, *stage_hardware(hardware))


def stage_hardware(hardware: Device | Cluster) -> tuple[Device, Link]:
    """Return the device that every stage has, and the link between any two of them.

    Raises
    ------
    InvalidInputError
        If there are several kinds of devices or links, or no link.
    """
    if isinstance(hardware, Device):
        if hardware.link is None:
            raise InvalidInputError(
                f"device {hardware.name!r} has no link to others of its kind; problem 'pipeline' "
                f"needs one, [devices.{hardware.name}.link] in a file."
            )
        return hardware, hardware.link
    kinds = {device.name for device in hardware.devices}
    if len(kinds) > 1:
        raise InvalidInputError(
            f"cluster {hardware.name!r} has {', '.join(sorted(kinds))}; "
            "problem 'pipeline' needs devices of one kind."
        )
    links = {(link.bandwidth, link.latency): link for link in hardware.links}
    if len(links) != 1:
        raise InvalidInputError(
            f"cluster {hardware.name!r} has {len(links) or 'no'} kinds of links; "
            "problem 'pipeline' needs one kind."
        )
    (link,) = links.values()
    return hardware.devices[0], link


def pipeline_graph_of(source: MeasuredGraph | PipelineGraph) -> PipelineGraph:
    """Return the costs of stages that all are accelerators, with parameters that always fit.

    Raises
    ------
    InvalidInputError
        If accelerators cannot run some node.
    """
    if isinstance(source, PipelineGraph):
        return source
    for name, can_run in zip(source.names, source.on_accelerator, strict=True):
        if not can_run:
            raise InvalidInputError(
                f"node {name!r} runs on no accelerator; problem 'pipeline' needs all to."
            )
    return PipelineGraph.without_parameters(
        source.dag, source.accelerator, source.transfer, source.names, source.tick
    )
