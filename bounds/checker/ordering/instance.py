"""Reads instances of `ordering`."""

import itertools
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..graph import topological_order
from ..values import LARGEST_COST, Rejected, fields, number, numbers, quoted

INPUT = -1

# What the checks make of each operator, each tensor and each reader of a tensor.
ENTRY_BYTES = 400

FIELDS = {
    "metric", "in_place", "weights", "size", "producer", "consumers", "kept", "parameter_size",
    "parameter_total", "overwrites",
}  # fmt: skip


class Instance(NamedTuple):
    """An instance that has passed all checks.

    Attributes
    ----------
    is_peak
        Whether the maximum is minimised, not the sum.
    reads, writes
        The tensors of each operator.
    workspace, written
        What each operator takes beside other tensors, and the size of all that it writes.
    overwrites
        The tensors that each operator overwrites if nothing else still reads them.
    """

    is_peak: bool
    size: list[int]
    producer: list[int]
    consumers: list[list[int]]
    kept: set[int]
    reads: list[list[int]]
    writes: list[list[int]]
    workspace: list[int]
    written: list[int]
    overwrites: list[list[int]]


def read_instance(document: dict[str, Any]) -> Instance:
    """Return an instance; raise `Rejected` if it is malformed."""
    document = fields(document, "the instance", FIELDS)
    metric = _one_of(document, "metric", ("peak", "sum"))
    in_place = _one_of(document, "in_place", ("no", "yes"))
    weights = _one_of(document, "weights", ("none", "streamed", "resident"))
    size, parameters = (
        numbers(document[name], f"{name} of the instance", 0, LARGEST_COST)
        for name in ("size", "parameter_size")
    )
    nodes, tensors = len(parameters), len(size)
    if not nodes:
        raise Rejected("the instance has no operators")
    producer = numbers(document["producer"], "producer of the instance", INPUT, nodes - 1)
    consumers = _lists(document, "consumers", nodes - 1)
    overwrites = _lists(document, "overwrites", tensors - 1)
    kept = numbers(document["kept"], "kept of the instance", 0, tensors - 1)
    if len(producer) != tensors or len(consumers) != tensors or len(overwrites) != nodes:
        raise Rejected("the lists of the instance are not one entry for each tensor or operator")
    if any(u >= w for row in (*consumers, *overwrites, kept) for u, w in itertools.pairwise(row)):
        raise Rejected("a list of the instance is not ascending")
    total = number(document["parameter_total"], "parameter_total", 0, LARGEST_COST)
    if max(parameters) > total or nodes * (sum(size) + total) > LARGEST_COST:
        raise Rejected("the sizes of the instance are too large, or parameter_total is too small")
    hold(ENTRY_BYTES * (nodes + tensors + sum(map(len, consumers))))
    spend(4 * (nodes + tensors + sum(map(len, consumers))))
    reads: list[list[int]] = [[] for _ in range(nodes)]
    writes: list[list[int]] = [[] for _ in range(nodes)]
    edges = []
    for tensor, readers in enumerate(consumers):
        if producer[tensor] != INPUT:
            writes[producer[tensor]].append(tensor)
        for reader in readers:
            reads[reader].append(tensor)
            if producer[tensor] != INPUT:
                edges.append((producer[tensor], reader))
    if topological_order(edges) is None:
        raise Rejected("the instance's graph has a cycle")
    instance = Instance(
        metric == "peak", size, producer, consumers, set(kept), reads, writes,
        {"none": [0] * nodes, "streamed": parameters, "resident": [total] * nodes}[weights],
        [sum(size[tensor] for tensor in tensors) for tensors in writes],
        overwrites,
    )  # fmt: skip
    _check_overwrites(instance)
    return instance if in_place == "yes" else instance._replace(overwrites=[[]] * nodes)


def _one_of(document: dict[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = document[name]
    if type(value) is not str or value not in known:
        raise Rejected(f"{name} of the instance is not {' or '.join(known)}, but {quoted(value)}")
    return value


def _lists(document: dict[str, Any], name: str, last: int) -> list[list[int]]:
    rows = document[name]
    if type(rows) is not list:
        raise Rejected(f"{name} of the instance is not a list of lists")
    return [numbers(row, f"an entry of {name} of the instance", 0, last) for row in rows]


def _check_overwrites(instance: Instance) -> None:
    spend(sum(map(len, instance.overwrites)))
    for operator, tensors in enumerate(instance.overwrites):
        if tensors and len(instance.writes[operator]) != 1:
            raise Rejected("an operator overwrites a tensor and does not have one output")
        read = set(instance.reads[operator])
        for tensor in tensors:
            if tensor not in read or instance.producer[tensor] == INPUT or tensor in instance.kept:
                raise Rejected("an operator overwrites what it does not read, an input, or a tensor"
                               " that is kept")  # fmt: skip
            if instance.written[operator] > instance.size[tensor]:
                raise Rejected("an operator overwrites a tensor that is smaller than its output")
