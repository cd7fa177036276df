"""Reads instances of `slicing`."""

from typing import Any, NamedTuple

from ..budget import hold, spend
from ..values import LARGEST_COST, Rejected, fields, number, numbers

MOST_DEVICES = 16
LONGEST = 2**20
MOST_BYTES = 2**42

# What the checks make of each operator, and of each edge.
ENTRY_BYTES = 1000


class Edge(NamedTuple):
    """A tensor: indices a .. b - 1 of its consumer need a range of the tensor's indices.

    It goes from ``scale * ((a * multiply + add) // divide)`` up to ``scale * (((b - 1) * multiply +
    add + size - 1) // divide + 1)``, cut off at 0 and `extent`. An index has `unit` bytes, times
    the producer's length if the edge crosses: if both are sliced in different dimensions.
    """

    producer: int
    consumer: int
    unit: int
    extent: int
    multiply: int
    add: int
    size: int
    divide: int
    scale: int

    @property
    def is_whole(self) -> bool:
        """Whether every part of the consumer needs the whole tensor."""
        return self.multiply == 0

    def first(self, a: int) -> int:
        """Return the first index that a part from a on needs."""
        return min(
            max(self.scale * ((a * self.multiply + self.add) // self.divide), 0), self.extent
        )

    def end(self, b: int) -> int:
        """Return where the indices end that a part up to b needs; at least `first` of its begin."""
        reach = (b - 1) * self.multiply + self.add + self.size - 1
        return min(max(self.scale * (reach // self.divide + 1), 0), self.extent)


class Instance(NamedTuple):
    """An instance that has passed all checks, and the edges into each operator."""

    length: list[int]
    axis: list[int]
    work: list[list[int]]
    launch: list[int]
    weights: list[int]
    output: list[int]
    edges: list[Edge]
    capacity: list[int]
    point_to_point: tuple[int, int]
    broadcast: tuple[int, int]
    delay: int
    inputs: list[list[Edge]]

    def crosses(self, edge: Edge) -> bool:
        """Whether producer and consumer are sliced in different dimensions."""
        return self.axis[edge.producer] != self.axis[edge.consumer]

    def size(self, edge: Edge) -> int:
        """Return the bytes of the whole tensor."""
        parts = self.length[edge.producer] if self.crosses(edge) else 1
        return edge.unit * edge.extent * parts

    def router_ticks(self, sent: int, broadcast: int) -> int:
        """Return how long the router takes for a device's bytes."""
        if not sent and not broadcast:
            return 0
        ticks = -(-sent * self.point_to_point[0] // self.point_to_point[1])
        return self.delay + ticks - (-broadcast * self.broadcast[0] // self.broadcast[1])


def read_instance(document: dict[str, Any]) -> Instance:
    """Return an instance; raise `Rejected` if it is malformed."""
    document = fields(document, "the instance", set(Instance._fields) - {"inputs"})
    read = {
        name: numbers(document[name], f"{name} of the instance", low, high)
        for name, low, high in (
            ("length", 1, LONGEST), ("axis", 0, 1), ("launch", 0, LARGEST_COST),
            ("weights", 0, LARGEST_COST), ("output", 0, LARGEST_COST),
            ("capacity", 0, LARGEST_COST),
        )
    }  # fmt: skip
    nodes, devices = len(read["length"]), len(read["capacity"])
    if not nodes or not 1 <= devices <= MOST_DEVICES:
        raise Rejected(f"the instance has no operators, or not 1 to {MOST_DEVICES} devices")
    if any(len(read[name]) != nodes for name in ("axis", "weights", "output")):
        raise Rejected("axis, weights or output of the instance are not one for each operator")
    if len(read["launch"]) != devices:
        raise Rejected("launch of the instance is not one for each device")
    work = [
        numbers(row, "work of the instance", 0, LARGEST_COST) for row in _rows(document, "work")
    ]
    if len(work) != nodes or any(len(row) != devices for row in work):
        raise Rejected("work of the instance is not one for each operator and device")
    hold(ENTRY_BYTES * (nodes + len(_rows(document, "edges"))))
    spend(nodes * (4 + devices) + 8 * len(document["edges"]))
    edges = [_edge(row, nodes) for row in document["edges"]]
    inputs: list[list[Edge]] = [[] for _ in range(nodes)]
    for edge in edges:
        inputs[edge.consumer].append(edge)
    instance = Instance(
        read["length"], read["axis"], work, read["launch"], read["weights"], read["output"], edges,
        read["capacity"], _rate(document, "point_to_point"), _rate(document, "broadcast"),
        number(document["delay"], "delay of the instance", 0, LARGEST_COST), inputs,
    )  # fmt: skip
    _check_edges(instance)
    _check_totals(instance)
    _check_room(instance)
    return instance


def _rows(document: dict[str, Any], name: str) -> list[Any]:
    rows = document[name]
    if type(rows) is not list:
        raise Rejected(f"{name} of the instance is not a list")
    return rows


def _rate(document: dict[str, Any], name: str) -> tuple[int, int]:
    pair = numbers(document[name], f"{name} of the instance", 0, LONGEST)
    if len(pair) != 2 or pair[1] == 0:
        raise Rejected(f"{name} of the instance is not ticks and at least one byte")
    return pair[0], pair[1]


def _edge(row: Any, nodes: int) -> Edge:
    entries = numbers(row, "an edge of the instance", -LONGEST, MOST_BYTES)
    if len(entries) != len(Edge._fields):
        raise Rejected(f"an edge of the instance does not have {len(Edge._fields)} numbers")
    edge = Edge(*entries)
    if not 0 <= edge.producer < edge.consumer < nodes:
        raise Rejected("an edge of the instance does not lead to a later operator")
    is_legal = (
        edge.unit >= 0
        and all(
            1 <= value <= LONGEST for value in (edge.extent, edge.size, edge.divide, edge.scale)
        )
        and 0 <= edge.multiply <= LONGEST
        and edge.add <= LONGEST
    )
    if not is_legal or (edge.is_whole and edge[5:] != (0, edge.extent, 1, 1)):
        raise Rejected("an edge of the instance has a number out of range")
    return edge


def _check_edges(instance: Instance) -> None:
    for edge in instance.edges:
        crosses, output = instance.crosses(edge), instance.output[edge.producer]
        if not crosses and edge.extent != instance.length[edge.producer]:
            raise Rejected("an edge of the instance does not have the extent of its producer")
        # Sizes are rounded up to whole bytes, and outputs of 0 bytes are not counted.
        if edge.unit and output and (edge.unit - 1) * (edge.extent if crosses else 1) >= output:
            raise Rejected("an edge of the instance has more bytes than what it is read from")


def _check_totals(instance: Instance) -> None:
    nodes = len(instance.length)
    total = sum(map(max, instance.work)) + nodes * (instance.delay + 2 + max(instance.launch))
    size = sum(instance.weights) + sum(instance.capacity)
    size += sum(x * y for x, y in zip(instance.length, instance.output, strict=True))
    for edge in instance.edges:
        moved = instance.size(edge)
        size += moved
        for ticks, per in (instance.point_to_point, instance.broadcast):
            total += moved * ticks // per + 1
    if total > LARGEST_COST or size > LARGEST_COST:
        raise Rejected("the costs or the bytes of the instance add up to more than 2^53")


def _check_room(instance: Instance) -> None:
    """Refuse an instance if an operator fits on all devices together in no slicing."""
    spend(len(instance.length) * (4 + 2 * len(instance.capacity)) + 4 * len(instance.edges))
    for operator, length in enumerate(instance.length):
        received = _received(instance, operator)
        weights, output = instance.weights[operator], instance.output[operator]
        # With `weights` for an index if a part needs its share of them, and once for all if not.
        shared = 0 if instance.axis[operator] else weights
        each = shared + output * length
        widths = 0
        for limit in instance.capacity:
            room = limit - received - (weights - shared)
            if room >= 0:
                widths += min(length, room * length // each) if each else length
        if widths < length:
            raise Rejected("an operator of the instance does not fit on all devices together")


def _received(instance: Instance, operator: int) -> int:
    """Return the least bytes of the inputs that each part of an operator needs whole.

    A device holds what it received of such an input and what it computed of it itself, which is
    least at one of the ends. Several inputs of one producer are no more than its output.
    """
    sizes: dict[int, int] = {}
    for edge in instance.inputs[operator]:
        if edge.is_whole:
            sizes[edge.producer] = sizes.get(edge.producer, 0) + instance.size(edge)
    return sum(
        min(size, instance.length[producer] * instance.output[producer])
        for producer, size in sizes.items()
    )
