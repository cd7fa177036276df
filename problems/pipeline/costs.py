"""Costs of pipeline partitioning: of a model on a device, or as they were measured.

Those who train have the backward pass of an operator in the stage of its forward pass. So a graph
of training, in which gradients are nodes of their own, is folded: each gradient is joined with what
it is the gradient of. As nodes of their own, they could not run there, because stages must not
depend on each other in a cycle.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dag import Dag
from boundmark.problems.devices import Cluster, Device, Link
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.operator_types import FREE_OP_TYPES
from boundmark.problems.pipeline.graph import TRAINING, PipelineGraph
from boundmark.problems.roofline import operation_seconds, transfer_seconds
from boundmark.problems.ticks import LARGEST_TOTAL, NANOSECONDS, to_nanoseconds


def with_costs(graph: ComputationGraph, device: Device, link: Link) -> PipelineGraph:
    """Return the graph with its costs in nanoseconds, each rounded once."""
    has_consumers = np.diff(graph.dag.consumer_start) > 0
    transfer = transfer_seconds(graph.output_bytes, link)
    with naming(f"device {device.name!r}"):
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
    return made if homes is None else _folded(graph, made, homes, link)


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
    """Return the device that every stage has, and the link between any two of them."""
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
    """Return the costs of a measured graph whose stages all are accelerators.

    Nodes of one colour are one node, and a graph of training is folded.

    Raises
    ------
    InvalidInputError
        If accelerators cannot run some node, or there are gradients and nothing says of what.
    """
    if isinstance(source, PipelineGraph):
        gradient = next((one for one in source.names if is_gradient(one)), None)
        if gradient is not None:
            raise InvalidInputError(
                f"node {quoted(gradient)} is of a backward pass, and a graph with costs does not "
                "say of which node; expected one node for both passes of an operator, with the "
                "time of both."
            )
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
    if not any(source.backward):
        made = within_memory(plain, source.memory, source.capacity)
        return grouped(made, groups.tolist())
    homes = _homes_by_colour(source, groups)
    memory = np.zeros(len(colours), dtype=np.int64)
    np.add.at(memory, homes, source.memory)
    one = folded(plain, homes, _gradients_by_colour(source, groups[homes]), plain.param_load)
    forward = np.flatnonzero(homes == np.arange(len(homes)))
    one = within_memory(one, memory[forward], source.capacity)
    return grouped(one, groups[forward].tolist())


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
        raise InvalidInputError(ALL_GRADIENTS)
    if not any(source.backward[v] and int(groups[v]) in first for v in order):
        name = source.names[source.backward.index(True)]
        raise InvalidInputError(
            f"node {name!r} is of the backward pass, and none of the forward pass has its "
            "colorClass; expected the nodes of an operator to have one."
        )
    for v in order:
        if source.backward[v]:
            read = source.dag.producers_of(v).tolist()
            homes[v] = first.get(int(groups[v]), homes[read[0]] if read else loss)
    return frozen(homes)


def _gradients_by_colour(source: MeasuredGraph, groups: IntArray) -> IntArray:
    """Return the transfer of the gradient of each node's output: the largest that comes back."""
    most: dict[int, int] = {}
    for u, w in source.dag.edge_pairs().tolist():
        if source.backward[u] and source.backward[w] and groups[u] != groups[w]:
            group = int(groups[w])
            most[group] = max(most.get(group, 0), int(source.transfer[u]))
    return frozen([most.get(group, 0) for group in groups.tolist()])


# A part of the names of operators that compute gradients, such as "h.0.mlp.c_fc/grad/MatMul"; what
# other tools call it; and the end of types of such operators in ONNX Runtime's training.
GRADIENT = "grad"
OTHER_GRADIENTS = re.compile(r"gradients(_\d+)?")
GRADIENT_TYPE = "Grad"

ALL_GRADIENTS = "all nodes are of the backward pass; expected some that are not."
FOLDED = "backward operators are on the stages of their forward operators, as in training"

# Their output is their first input, in another order or shape.
REARRANGING = FREE_OP_TYPES | {"Transpose"}


def is_gradient(name: str) -> bool:
    """Return whether a name says that its node computes a gradient."""
    parts = name.split("/")[:-1]
    return GRADIENT in parts or any(map(OTHER_GRADIENTS.fullmatch, parts))


def homes_of(graph: ComputationGraph) -> IntArray | None:
    """Return the operator that each operator runs with, shape (n,); None without gradients.

    Gradients are told by `GRADIENT` in their names, behind the module that they belong to. One runs
    with the last of its module's operators that reads or writes what it reads of the forward pass,
    perhaps by way of a view or a transposition, and with one of its kind if there is: `SoftmaxGrad`
    with `Softmax`. If there is none, it runs with the last operator of its module that takes time,
    or of the innermost module around it that has any; else with the last of all. Operators of the
    forward pass run with themselves.
    """
    parts = [name.split("/") for name in graph.names]
    of_backward = [GRADIENT in part[:-1] for part in parts]
    for v, (name, kind) in enumerate(zip(graph.names, graph.op_types, strict=True)):
        if not of_backward[v] and (is_gradient(name) or kind.endswith(GRADIENT_TYPE)):
            raise InvalidInputError(
                f"operator {quoted(name)} ({kind}) is of a backward pass, and its name does not "
                f"say of which module; expected 'MODULE/{GRADIENT}/OPERATOR'."
            )
    if not any(of_backward):
        return None
    if all(of_backward):
        raise InvalidInputError(ALL_GRADIENTS)
    order = graph.dag.topological_order.tolist()
    forward = [v for v in order if not of_backward[v]]
    last_of: dict[str, int] = {}
    touching: dict[tuple[str, int], list[int]] = {}
    for v in forward:
        module, operator = "/".join(parts[v][:-1]), graph.operators[v]
        if operator.op_type not in FREE_OP_TYPES or module not in last_of:
            last_of[module] = v
            for tensor in {*operator.reads, *operator.writes}:
                touching.setdefault((module, tensor), []).append(v)
    place = {v: at for at, v in enumerate(forward)}
    # What a tensor is a view or a transposition of.
    seen_as: dict[int, int] = {}
    homes = list(range(len(parts)))
    for v in (v for v in order if of_backward[v]):
        operator, module = graph.operators[v], "/".join(parts[v][: parts[v].index(GRADIENT)])
        reads = [seen_as.get(tensor, tensor) for tensor in operator.reads]
        if operator.op_type in REARRANGING and reads:
            seen_as |= dict.fromkeys(operator.writes, reads[0])
        found = [w for tensor in reads for w in touching.get((module, tensor), ())]
        kind = operator.op_type.removesuffix("Grad")
        alike = [w for w in found if graph.op_types[w] == kind]
        while module and module not in last_of:
            module = module.rpartition(".")[0]
        last = last_of.get(module, forward[-1])
        homes[v] = max(alike or found, key=place.__getitem__, default=last)
    return frozen(homes)


def folded(
    graph: PipelineGraph, homes: IntArray, back: IntArray, param_load: IntArray
) -> PipelineGraph:
    """Return the nodes that run with themselves, each with the work of all that run with it.

    What a node hands on passes twice, forward and as a gradient. If its readers are in several
    other stages, several gradients come back; one of them is counted in its own stage.
    """
    home = homes.tolist()
    kept = [v for v, own in enumerate(home) if v == own]
    number = {v: at for at, v in enumerate(kept)}
    place = {v: at for at, v in enumerate(graph.dag.topological_order.tolist())}
    edges = [
        (number[u], number[home[w]])
        for u, w in graph.dag.edge_pairs().tolist()
        # What a gradient reads of the forward pass is taken along if it comes before its home.
        if home[u] == u and place[u] < place[home[w]]
    ]
    work = [0] * len(kept)
    for v, ticks in enumerate(graph.work.tolist()):
        work[number[home[v]]] += ticks
    names = tuple(graph.names[v] for v in kept)
    dag = Dag.from_edges(len(kept), edges, names)
    is_read = np.diff(dag.consumer_start) > 0
    moved = (graph.transfer + back)[kept]
    return PipelineGraph(
        dag, frozen(work), frozen(np.where(is_read, moved, 0)), frozen(param_load[kept]),
        graph.cache, names, graph.tick, phase=TRAINING, notes=(FOLDED,),
    )  # fmt: skip


def grouped(graph: PipelineGraph, groups: Sequence[int]) -> PipelineGraph:
    """Return the graph in which all nodes of a group are one; its optimum is that with groups.

    Groups that depend on each other in a cycle share a stage as well. If several of a group's
    tensors are read outside, each gets a node without work, behind one whose output takes longer
    than all work and transfers together: to leave the group's stage never pays. Parameters, if
    there are any, are those of `within_memory`.
    """
    # Takes long to import, and few graphs have groups.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = graph.dag.edge_pairs()
    one = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    count = int(one.max()) + 1
    links = coo_array((np.ones(len(pairs)), (one[pairs[:, 0]], one[pairs[:, 1]])), (count, count))
    merged, labels = connected_components(links, directed=True, connection="strong")
    if merged == graph.dag.nodes:
        return graph
    # Numbered as their first nodes are.
    label = labels[one]
    first: dict[int, int] = {}
    for group in label.tolist():
        first.setdefault(group, len(first))
    of = [first[group] for group in label.tolist()]
    work, load, transfer = ([0] * merged for _ in range(3))
    names = [""] * merged
    for v, group in enumerate(of):
        work[group] += int(graph.work[v])
        load[group] += int(graph.param_load[v])
        names[group] = names[group] or graph.names[v]
    readers: dict[int, set[int]] = {}
    for u, w in pairs.tolist():
        if of[u] != of[w]:
            readers.setdefault(u, set()).add(of[w])
    outputs: dict[int, list[int]] = {}
    for u in sorted(readers):
        outputs.setdefault(of[u], []).append(u)
    dear = 1 + int(graph.work.sum()) + int(graph.transfer.sum())
    edges = []
    for group, tensors in outputs.items():
        if len(tensors) == 1:
            transfer[group] = int(graph.transfer[tensors[0]])
            edges += [(group, reader) for reader in readers[tensors[0]]]
            continue
        transfer[group] = dear
        for u in tensors:
            edges += [(group, len(work)), *((len(work), reader) for reader in readers[u])]
            work.append(0)
            load.append(0)
            transfer.append(int(graph.transfer[u]))
            names.append(f"output of {graph.names[u]}")
    dag = Dag.from_edges(len(work), edges, tuple(names))
    return replace(
        graph, dag=dag, work=frozen(work), transfer=frozen(transfer), param_load=frozen(load),
        names=tuple(names),
    )  # fmt: skip


def within_memory(
    graph: PipelineGraph, sizes: npt.NDArray[np.int64], capacity: int
) -> PipelineGraph:
    """Return the graph for stages that hold a given number of bytes of parameters.

    What does not fit is streamed, as parameters are, and a unit of it takes longer than all work
    and all transfers. The unit is the smallest power of two bytes for which costs stay within
    their limit; what nodes take is rounded up, and what a device holds, down.
    """
    if int(sizes.sum()) <= capacity:
        return graph
    dear = 1 + int(graph.work.sum()) + 2 * int(graph.transfer.sum())
    room = LARGEST_TOTAL - 2 * dear
    unit = 1
    while (int((-(-sizes // unit)).sum()) + capacity // unit) * dear > room // 2:
        unit *= 2
    load = frozen(-(-sizes // unit) * dear)
    return replace(graph, param_load=load, cache=capacity // unit * dear)
