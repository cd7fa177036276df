"""Reads instances of `placement`."""

import itertools
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..graph import topological_order
from ..values import LARGEST_COST, Rejected, fields, numbers, require_text

UNSUPPORTED = -1
MOST_DEVICES = 64

# Fields for methods that learn, and how the graph was made: no difference to any schedule.
FEATURES = ("op_types", "output_shapes")
FUSION = "fusion"
RULES = ("moirai", "backends")

# What tensors take while they are live, and what operators write and nobody reads.
LIVE = ("tensor_memory", "result_memory")

LARGEST_EXTENT = 2**63 - 1

# What the checks make of each operator, and of each consumer of a tensor.
ENTRY_BYTES = 500


class Instance(NamedTuple):
    """An instance that has passed all checks."""

    transfers: str
    duration: list[list[int]]
    memory: list[int]
    capacity: list[int]
    producer: list[int]
    consumers: list[list[int]]
    size: list[int]
    times: list[list[int]]
    tensor_memory: list[int]
    result_memory: list[int]

    @property
    def is_live(self) -> bool:
        """Whether tensors take memory while they are live, besides `memory`."""
        return bool(self.result_memory)

    def ticks(self, tensor: int, source: int, target: int) -> int:
        """Return how long a tensor takes from one device to another."""
        return self.times[self.size[tensor]][source * len(self.capacity) + target]


def read_instance(document: dict[str, Any]) -> Instance:
    """Return an instance; raise `Rejected` if it is malformed or certainly infeasible."""
    described = {name: document[name] for name in (*FEATURES, FUSION) if name in document}
    document = {name: value for name, value in document.items() if name not in described}
    live = {"memory_model", *LIVE} if "memory_model" in document else set()
    document = fields(document, "the instance", {*Instance._fields} - {*LIVE} | live)
    if live:
        require_text(document["memory_model"], "memory_model of the instance", "parameters+live")
    if document["transfers"] != "per-edge":
        require_text(document["transfers"], "transfers of the instance", "per-tensor")
    memory, capacity = (
        numbers(document[name], f"{name} of the instance", 0, LARGEST_COST)
        for name in ("memory", "capacity")
    )
    nodes, devices = len(memory), len(capacity)
    if not nodes or not 1 <= devices <= MOST_DEVICES:
        raise Rejected(f"the instance has no operators, or not 1 to {MOST_DEVICES} devices")
    _check_described(described, nodes)
    duration = _table(document, "duration", nodes, devices, UNSUPPORTED)
    times = _table(document, "times", None, devices**2, 0)
    producer = numbers(document["producer"], "producer of the instance", 0, nodes - 1)
    size = numbers(document["size"], "size of the instance", 0, len(times) - 1)
    consumers = _lists(document, "consumers")
    consumers = [numbers(row, "consumers of the instance", 0, nodes - 1) for row in consumers]
    if len({len(producer), len(size), len(consumers)}) != 1:
        raise Rejected("producer, consumers and size are not of one length")
    if any(not row or any(v >= w for v, w in itertools.pairwise(row)) for row in consumers):
        raise Rejected("the consumers of a tensor are not ascending, or there are none")
    sizes, results = (
        numbers(document.get(name, []), f"{name} of the instance", 0, LARGEST_COST) for name in LIVE
    )
    if live and (len(sizes), len(results)) != (len(producer), nodes):
        raise Rejected("the memory of tensors and results is not one for each")
    costs = duration, memory, capacity, producer, consumers, size, times
    instance = Instance(document["transfers"], *costs, sizes, results)
    spend(nodes * devices + 2 * len(producer))
    _check_costs(instance)
    _check_order(instance)
    return instance


def _check_described(described: dict[str, Any], nodes: int) -> None:
    if described.get(FUSION, RULES[0]) not in RULES:
        raise Rejected(f"fusion of the instance is not {' or '.join(RULES)}")
    if not any(name in described for name in FEATURES):
        return
    for name in FEATURES:
        if type(described.get(name)) is not list or len(described[name]) != nodes:
            raise Rejected(f"{name} of the instance is not a list of an entry for each operator")
    if any(type(one) is not str for one in described["op_types"]):
        raise Rejected("op_types of the instance has something else than texts")
    for shape in described["output_shapes"]:
        numbers(shape, "an entry of output_shapes of the instance", 0, LARGEST_EXTENT)


def _lists(document: dict[str, Any], name: str) -> list[Any]:
    rows = document[name]
    if type(rows) is not list or not all(type(row) is list for row in rows):
        raise Rejected(f"{name} of the instance is not a list of lists")
    return rows


def _table(
    document: dict[str, Any], name: str, height: int | None, width: int, low: int
) -> list[list[int]]:
    rows = _lists(document, name)
    if len(rows) != (len(rows) if height is None else height):
        raise Rejected(f"{name} of the instance does not have {height} rows")
    if any(len(row) != width for row in rows):
        raise Rejected(f"{name} of the instance does not have {width} values in each row")
    return [numbers(row, f"{name} of the instance", low, LARGEST_COST) for row in rows]


def _check_costs(instance: Instance) -> None:
    devices = len(instance.capacity)
    if any(row[device * (devices + 1)] for row in instance.times for device in range(devices)):
        raise Rejected("a tensor takes time from a device to itself")
    longest = [max(row) for row in instance.times]
    total = sum(map(max, instance.duration))
    for size, row in zip(instance.size, instance.consumers, strict=True):
        total += longest[size] * len(row)
    live = sum(instance.tensor_memory) + sum(instance.result_memory)
    memory = sum(instance.memory) + sum(instance.capacity) + live * (1 + devices)
    if total > LARGEST_COST or memory > LARGEST_COST:
        raise Rejected("the costs or the memory of the instance add up to more than 2^53")
    if sum(instance.memory) > sum(instance.capacity):
        raise Rejected("the operators need more memory than there is")
    for row, needed in zip(instance.duration, least_memory(instance), strict=True):
        if not any(
            ticks != UNSUPPORTED and needed[ticks > 0] <= capacity
            for ticks, capacity in zip(row, instance.capacity, strict=True)
        ):
            raise Rejected("no device supports an operator and has room for it")


def least_memory(instance: Instance) -> list[tuple[int, int]]:
    """Return the least memory of each operator: held all the time, and while it runs.

    While it runs, the tensors that it reads and those that it writes are live there.
    """
    spend(2 * len(instance.memory) + sum(map(len, instance.consumers)))
    needed = list(instance.memory)
    if instance.is_live:
        needed = [held + more for held, more in zip(needed, instance.result_memory, strict=True)]
        for tensor, taken in enumerate(instance.tensor_memory):
            for operator in (instance.producer[tensor], *instance.consumers[tensor]):
                needed[operator] += taken
    return list(zip(instance.memory, needed, strict=True))


def _check_order(instance: Instance) -> None:
    edges, nodes = sum(map(len, instance.consumers)), len(instance.memory)
    hold(ENTRY_BYTES * (edges + nodes))
    spend(4 * (edges + nodes))
    tensors = zip(instance.producer, instance.consumers, strict=True)
    if topological_order([(v, w) for v, row in tensors for w in row]) is None:
        raise Rejected("the instance's graph has a cycle")
