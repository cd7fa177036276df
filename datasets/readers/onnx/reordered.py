"""Writes an ONNX file again with its nodes in another order, which runtimes may follow."""

import heapq
from collections.abc import Sequence
from pathlib import Path

import onnx
from onnx.external_data_helper import uses_external_data

from boundmark.datasets.readers.onnx.control_flow import reads_of
from boundmark.datasets.readers.onnx.model import unique_names
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming


def write_reordered(path: Path, order: Sequence[str], target: Path) -> None:
    """Write a model with its operators in an order; nodes that are none come as early as they can.

    Parameters
    ----------
    order
        Names of operators, as the reader of ONNX files gives them.

    Raises
    ------
    InvalidInputError
        If the file has other operators, or its weights are in files beside it and the target is
        elsewhere.
    """
    with naming(path):
        model = onnx.load(path, load_external_data=False)
        graph = model.graph
        is_beside = any(uses_external_data(one) for one in graph.initializer)
        if is_beside and target.resolve().parent != path.resolve().parent:
            raise InvalidInputError(
                f"its weights are in files beside it, and {target} is elsewhere; expected a file "
                "in the same folder."
            )
        names = unique_names(graph)
        missing = set(order) - set(names)
        if missing:
            raise InvalidInputError(
                f"it has no node {min(missing)!r}, since functions in it are taken apart to read "
                "it; expected a file without functions."
            )
    place = {name: at for at, name in enumerate(order)}
    made = {name: at for at, node in enumerate(graph.node) for name in node.output if name}
    readers: list[list[int]] = [[] for _ in names]
    waiting = [0] * len(names)
    for at, node in enumerate(graph.node):
        for producer in {made[name] for name in reads_of(node) if name in made}:
            readers[producer].append(at)
            waiting[at] += 1
    ready = [(place.get(names[at], -1), at) for at, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    nodes = []
    while ready:
        _, at = heapq.heappop(ready)
        nodes.append(graph.node[at])
        for reader in readers[at]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, (place.get(names[reader], -1), reader))
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.save(model, target)
