"""Costs of pipeline partitioning: of a model on a device, or as they were measured."""

from dataclasses import replace

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import Cluster, Device, Link
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.pipeline.folding import folded, grouped, homes_of, within_memory
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
    made = PipelineGraph(
        dag=graph.dag,
        work=to_nanoseconds(operation_seconds(graph, device)),
        transfer=to_nanoseconds(np.where(has_consumers, transfer, 0.0)),
        param_load=to_nanoseconds(graph.param_bytes / link.bandwidth),
        # More than the limit of all costs is refused, infinity included.
        cache=int(min(device.memory_bytes / link.bandwidth * NANOSECONDS, 2 * LARGEST_TOTAL)),
        names=graph.names,
        tick="ns",
    )
    homes = homes_of(graph)
    return made if homes is None else replace(made, folded=_folded(graph, made, homes, link))


def _folded(
    graph: ComputationGraph, made: PipelineGraph, homes: IntArray, link: Link
) -> PipelineGraph:
    """Return the graph with gradients folded into their operators.

    The gradient of a tensor is as large as the tensor, if that has one: integers have none. A stage
    keeps its parameters, their gradients, and of one micro-batch what the backward pass reads.
    """
    is_gradient = homes != np.arange(len(homes))
    sources, targets = graph.dag.sources, graph.dag.targets
    saved = np.zeros(len(homes), dtype=bool)
    saved[sources[is_gradient[targets] & ~is_gradient[sources]]] = True
    has_gradient = np.array(
        [
            any(graph.tensors[t].dtype.startswith(("float", "bfloat")) for t in one.writes)
            for one in graph.operators
        ]
    )
    kept = 2 * graph.param_bytes + np.where(saved, graph.output_bytes, 0)
    back = frozen(np.where(has_gradient, made.transfer, 0))
    return folded(made, homes, back, to_nanoseconds(kept / link.bandwidth))


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
    """Return the costs of stages that all are accelerators, and hold what one accelerator holds.

    Nodes of one colour are one node. In a graph of training that is not folded, those of the
    forward and those of the backward pass are: together they would depend on themselves.

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
    plain = PipelineGraph.without_parameters(
        source.dag, source.accelerator, source.transfer, source.names, source.tick
    )
    if not source.colours:
        return plain
    colours = np.asarray(source.colours)
    alone = np.arange(len(colours)) + 1 + colours.max()
    groups = np.where(colours < 0, alone, colours)
    is_gradient = np.asarray(source.backward)
    made = within_memory(plain, source.memory, source.capacity)
    apart = groups + is_gradient * (1 + groups.max())
    separate = grouped(made, apart.tolist())
    if not is_gradient.any():
        return separate
    homes = _homes_by_colour(source, groups)
    memory = np.zeros(len(colours), dtype=np.int64)
    np.add.at(memory, homes, source.memory)
    one = folded(plain, homes, _gradients_by_colour(source, groups[homes]), plain.param_load)
    forward = np.flatnonzero(homes == np.arange(len(homes)))
    one = within_memory(one, memory[forward], source.capacity)
    return replace(separate, folded=grouped(one, groups[forward].tolist()))


def _homes_by_colour(source: MeasuredGraph, groups: IntArray) -> IntArray:
    """Return the node that each one runs with: the first of its colour, or what it reads first.

    One of the backward pass that has no such colour and reads nothing runs with the last node of
    the forward pass, which is the loss.
    """
    order = source.dag.topological_order.tolist()
    first: dict[int, int] = {}
    homes = list(range(len(order)))
    for v in order:
        if not source.backward[v]:
            first.setdefault(int(groups[v]), v)
            loss = v
    if not first:
        raise InvalidInputError("all nodes are of the backward pass; expected some that are not.")
    for v in order:
        if source.backward[v]:
            read = source.dag.producers_of(v).tolist()
            homes[v] = first.get(int(groups[v]), homes[read[0]] if read else loss)
    return frozen(homes)


def _gradients_by_colour(source: MeasuredGraph, groups: IntArray) -> IntArray:
    """Return how long the gradient of each node's output takes: of those that come back, the most.

    Parameters
    ----------
    groups
        Of each node, that of the node which it runs with.
    """
    most: dict[int, int] = {}
    for u, w in source.dag.edge_pairs().tolist():
        if source.backward[u] and source.backward[w] and groups[u] != groups[w]:
            group = int(groups[w])
            most[group] = max(most.get(group, 0), int(source.transfer[u]))
    return frozen([most.get(group, 0) for group in groups.tolist()])
