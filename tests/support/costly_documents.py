"""Certificates of every kind, and solutions, made to be as costly to check as their size allows.

Each shape is a function of a size: operators without edges, one with all edges, many devices,
classes, micro-batches, intervals, stops, pairs or multipliers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from boundmark.bounds import checker

Document = dict[str, Any]

ROWS = ("cost", "share", "overflow", "enters", "leaves", "edge", "later")
LEAF: Document = {name: [] for name in ROWS}


class Shape(NamedTuple):
    """An instance and a document about it, as a function of a size.

    Attributes
    ----------
    kind
        Of the certificate; "solution" of a solution.
    largest
        The size at which the instance is about as large as the limits allow.
    """

    problem: str
    kind: str
    make: Callable[[int], tuple[Document, Any]]
    largest: int


def documents(shape: Shape, size: int) -> tuple[Document, Document]:
    """Return the instance, and the certificate or the solution."""
    fields, answer = shape.make(size)
    instance = {"format": checker.INSTANCE_FORMAT, "problem": shape.problem, **fields}
    head = {"problem": shape.problem, "instance_sha256": checker.instance_sha256(instance)}
    if shape.kind == "solution":
        return instance, {"format": checker.SOLUTION_FORMAT, **head, "objective": 1, **answer}
    certificate = {"kind": shape.kind, "bound": 1, "producer": "nobody", "payload": answer}
    return instance, {"format": checker.CERTIFICATE_FORMAT, **head, **certificate}


def star(size: int) -> list[list[int]]:
    """Return edges from the first node to all others."""
    return [[0, v] for v in range(1, size)]


def chain(size: int) -> list[list[int]]:
    """Return edges from each node to the next one."""
    return [[v, v + 1] for v in range(size - 1)]


def two_chains(size: int) -> list[list[int]]:
    """Return edges from each node to the next one, but for the middle."""
    return [edge for edge in chain(size) if edge[1] != size // 2]


def pipeline(size: int, edges: list[list[int]], **given: Any) -> Document:
    """Return a graph whose costs are 1."""
    costs = {"work": [1] * size, "transfer": [1] * size, "param_load": [1] * size}
    return {"k": 4, "cache": 0, "edges": edges, **costs, **given}


def flow(node: int, edges: int) -> Document:
    """Return a flow that goes nowhere."""
    whole = {"edges": list(range(edges)), "amounts": [0] * edges}
    return {"node": node, "io_weight": 2, **whole}


def tree(nodes: list[Any], **given: Any) -> Document:
    """Return a tree for a threshold that it does not refute."""
    return {"threshold": 10**6, "flows": [], "nodes": nodes, **given}


def branchings(size: int, leaf: Document) -> list[Any]:
    """Return a tree that branches on the last stage, again and again, with empty first branches."""
    return [*[[0, 0], leaf] * size, leaf]


def multipliers(rows: int) -> list[int]:
    """Return a multiplier for each row."""
    return [number for row in range(rows) for number in (row, 1)]


def packing(size: int, edges: list[list[int]]) -> tuple[Document, Document]:
    """Return weights of 1, and a front that lets sets weigh what they cost."""
    limit = min(size - size // 8, 8000)
    payload = {
        "threshold": limit, "loaded": 0, "unit": 1, "weights": [1] * size,
        "front": list(range(limit + 1)), "order": list(range(size)), "plan": [0] * size,
        "flows": [{"price": 0, "edges": [], "amounts": []}], "ends": [],
    }  # fmt: skip
    given = {"k": 1, "param_load": [0] * size, "transfer": [0] * size}
    return pipeline(size, edges, **given), payload


def cut_tree(size: int, edges: list[list[int]]) -> tuple[Document, Document]:
    """Return a tree that puts one node after the other outside, with a flow in between.

    There is a stage for each node, so what is left is never too light.
    """
    nodes = [entry for v in range(size) for entry in ([v, 0], [0, 0, v % 2])]
    payload = {
        "threshold": 0, "loaded": 0, "scale": 10**6, "weights": [1] * size, "nodes": nodes,
        "ends": [],
    }  # fmt: skip
    return pipeline(size, edges, k=size), payload


def reach(size: int) -> tuple[Document, Document]:
    """Return steps about all stages that prove nothing new."""
    leaf = {**LEAF, "at_least": [0, 1], "at_most": []}
    step = {"first": 0, "last": 0, "side": "lower", "limit": -1, "nodes": [leaf]}
    given = {"weights": [1] * size, "moves": [], "steps": [step] * size}
    payload = {"threshold": 10**6, "flows": [], **given}
    return pipeline(size, star(size), k=size), payload


def microbatch(blocks: int, devices: int = 1, **given: Any) -> Document:
    """Return blocks that take a tick on the first device."""
    return {
        "micro_batches": 0, "capacity": [1] * devices, "duration": [1] * blocks,
        "memory": [0] * blocks, "device_sets": [[0]] * blocks, "kinds": ["forward"] * blocks,
        "edges": [], **given,
    }  # fmt: skip


def holding(size: int) -> tuple[Document, Document]:
    """Return allocations, each with a release, and edges from each of them to many."""
    half = min(size // 2, 2048)
    edges = [[u, half + v] for u in range(half) for v in range(half) if u == v or v < 200]
    memory = [1] * half + [-1] * half
    pairs = [[block, half + block, 1] for block in range(half)]
    instance = microbatch(2 * half, memory=memory, capacity=[half], edges=edges)
    return instance, {"device": 0, "pairs": pairs}


def idle_devices(size: int) -> tuple[Document, Document]:
    """Return three blocks that exclude each other, and many devices with nothing to do."""
    devices, duration = min(size, 4096), min(size // 4, 300)
    sets = [[0, 1], [1, 2], [0, 2]]
    instance = microbatch(3, devices, device_sets=sets, duration=[duration] * 3)
    payload = {"bound": 3 * duration, "order": [0, 1, 2], "pairs": [[]] * devices}
    return instance, payload


def repetitions(size: int) -> tuple[Document, Document]:
    """Return a schedule to be checked for many numbers of micro-batches, on many devices."""
    devices = min(size, 4096)
    sets = [[0]]
    starts = [[size * 8]]
    instance = microbatch(1, devices, device_sets=sets)
    return instance, {"starts": starts, "repetend": {"period": 1, "members": [0]}}


def placement(operators: int, devices: int, consumers: list[list[int]], **given: Any) -> Document:
    """Return operators that take a tick anywhere."""
    return {
        "transfers": "per-tensor", "duration": [[1] * devices] * operators,
        "memory": [0] * operators,
        "capacity": [1] * devices, "producer": [0] * len(consumers), "consumers": consumers,
        "size": [0] * len(consumers), "times": [[0] * devices**2], **given,
    }  # fmt: skip


def whole(count: int, **given: Any) -> list[Document]:
    """Return the same interval many times, the whole schedule."""
    return [{"first": -1, "last": -1, "rows": [], **given}] * count


def jumps(size: int) -> tuple[Document, Document]:
    """Return many intervals to one operator, and as many searches from there on."""
    edges = {"producer": [0, 1], "size": [0, 0]}
    instance = placement(3, 1, [[1], [2]], **edges)
    before = {"first": 0, "last": 1, "rows": [], "searches": []}
    behind = {"first": 1, "last": 2, "rows": [], "searches": [[0, 0, 0, 0]]}
    return instance, {"intervals": [before] * size + [behind] * size}


def searches(size: int) -> tuple[Document, Document]:
    """Return a search of many operators on many devices, without tensors."""
    count = min(size, 128)
    row = [0, 0, count // 2, 50_000 * count]
    instance = placement(count, 16, [])
    return instance, {"intervals": whole(1, searches=[row])}


def ordering(size: int, consumers: list[list[int]], **given: Any) -> Document:
    """Return operators, the first of which writes all tensors, of size 1."""
    tensors = len(consumers)
    return {
        "metric": "sum", "in_place": "yes", "weights": "none", "size": [1] * tensors,
        "producer": [0] * tensors, "consumers": consumers, "kept": [],
        "parameter_size": [0] * size, "parameter_total": 0, "overwrites": [[]] * size, **given,
    }  # fmt: skip


def overwriting(size: int, **given: Any) -> Document:
    """Return operators that all read and may overwrite one tensor, and one more."""
    outputs = [[] for _ in range(size - 1)]
    written = {"producer": [*range(size)], "overwrites": [[], *[[0]] * (size - 1)]}
    return ordering(size, [list(range(1, size)), *outputs], **written, **given)


def priced(size: int) -> tuple[Document, Document]:
    """Return prices for all readers of a tensor."""
    rows = [[0, reader, 0] for reader in range(1, size)]
    payload = {"order": list(range(size)), "forced": [], "cuts": [[0, rows], [1, rows]]}
    return ordering(size, [list(range(1, size))]), payload


def linked(size: int) -> Document:
    """Return a chain of operators."""
    consumers = [[v] for v in range(1, size)]
    return ordering(size, consumers, producer=list(range(size - 1)))


def chained(size: int, devices: int = 2) -> Document:
    """Return equal layers and devices of one type."""
    return {
        "goal": "latency", "device_order": "free", "micro_batches": 1, "made_of": {},
        "in_flight": 1, "virtual_stages": 1, "time": [[1] * size], "weights": [1] * size,
        "held": [0] * size, "tied": [], "joined": [], "transfer": [[1] * (size - 1)],
        "link": [[0]], "devices": [0] * devices, "capacity": [size], "sizes": [1] * size,
        "outer": [0, 0],
    }  # fmt: skip


def reaching(size: int) -> tuple[Document, Document]:
    """Return a bound on a sum of loads, which the checker searches for without prices."""
    payload = {"bound": size, "prices": [0], "largest": 0, "largest_prices": [0]}
    return chained(size, 8), payload


def loading(size: int) -> tuple[Document, Document]:
    """Return a bound on the largest load, by the time of all devices."""
    payload = {"bound": size // 8, "steps": 3, "prices": [1]}
    return {**chained(size, 8), "goal": "bottleneck"}, payload


def choosing(size: int) -> tuple[Document, Document]:
    """Return a question that any number of layers may be the answer to, without certificates."""
    split = {
        "question": "host", "host": [0], "room": size, "split_time": [[1] * size],
        "split_bytes": [1] * size, "most_split": size, "split_joined": 1,
    }  # fmt: skip
    return {**chained(size, 1), **split}, {"bound": 1, "certificates": []}


def in_halves(begin: int, end: int) -> list[int]:
    """Return the numbers in between, those in the middle first."""
    if end - begin < 2:
        return []
    middle = (begin + end) // 2
    return [middle, *in_halves(begin, middle), *in_halves(middle, end)]


def stops(size: int) -> tuple[Document, Document]:
    """Return stops that are found one by one."""
    found = [{"forced": [at]} for at in in_halves(0, size)]
    nothing = [{"forced": []}] * size
    rest = {"stops": found + nothing, "cuts": [], "searches": []}
    return linked(size), {"order": list(range(size)), **rest}


def slope(size: int) -> tuple[Document, Document]:
    """Return a stop among operators that may overwrite what all of them read."""
    instance = overwriting(size)
    found = {"at": 1, "slope": [0, 1], "prices": []}
    rest = {"stops": [found], "cuts": [], "searches": []}
    return instance, {"order": list(range(size)), **rest}


def searched(instance: Document, cost: int) -> tuple[Document, Document]:
    """Return a search for orders of less than a cost."""
    order = list(range(len(instance["parameter_size"])))
    payload = {"order": order, "stops": [], "cuts": [], "searches": [[0, cost]]}
    return instance, payload


def edge(producer: int, consumer: int, length: int) -> list[int]:
    """Return an edge of which a part needs its own indices."""
    return [producer, consumer, 1, length, 1, 0, 1, 1, 1]


def slicing(size: int, devices: int, length: int, edges: list[list[int]]) -> Document:
    """Return operators of one length."""
    return {
        "length": [length] * size, "axis": [0] * size, "work": [[1 + d for d in range(devices)]]
        * size, "launch": [0] * devices, "weights": [0] * size, "output": [1] * size,
        "edges": edges, "capacity": [10**9] * devices, "point_to_point": [1, 1],
        "broadcast": [1, 1], "delay": 0,
    }  # fmt: skip


def classes(
    size: int, devices: int, length: int, edges: list[list[int]]
) -> tuple[Document, Document]:
    """Return a class for each width, and potentials of 0."""
    least = -(-length // devices)
    begins = list(range(least, length + 1))
    read: list[set[int]] = [set() for _ in range(size)]
    for producer, consumer, *_ in edges:
        read[consumer].add(producer)
    potentials = [[[0] * len(begins) for _ in producers] for producers in read]
    payload = {"classes": [begins] * size, "potentials": potentials}
    return slicing(size, devices, length, edges), payload


def parts(size: int, devices: int, edges: list[list[int]]) -> tuple[Document, Document]:
    """Return a plan in which all devices compute a part."""
    vector = list(range(devices + 1))
    return slicing(size, devices, devices, edges), {"vectors": [vector] * size}


EVERY_LEAF = {**LEAF, "cost": [0, 1], "share": [0, 1], "overflow": [0, 1]}

SHAPES = {
    "heaviest of many": Shape(
        "pipeline", "max-work/1", lambda n: (pipeline(n, star(n)), {"node": 0}), 500_000
    ),
    "mean of many": Shape("pipeline", "mean-work/1", lambda n: (pipeline(n, star(n)), {}), 500_000),
    "flow over a star": Shape(
        "pipeline",
        "node-cut/1",
        lambda n: (pipeline(n, star(n)), {**flow(0, n - 1), "io_weight": 1}),
        500_000,
    ),
    "flows over a star": Shape(
        "pipeline",
        "fractional-load/1",
        lambda n: (pipeline(n, star(n)), {"threshold": 9, "flows": [flow(0, n - 1)] * 20}),
        500_000,
    ),
    "many flows": Shape(
        "pipeline",
        "fractional-load/1",
        lambda n: (pipeline(2, star(2)), {"threshold": 9, "flows": [flow(0, 0)] * n}),
        500_000,
    ),
    "branchings of operators without edges": Shape(
        "pipeline",
        "mip-tree/1",
        lambda n: (pipeline(n, []), tree(branchings(n, LEAF))),
        16_000,
    ),
    "leaves of a star": Shape(
        "pipeline",
        "mip-tree/1",
        lambda n: (pipeline(n, star(n)), tree(branchings(n, EVERY_LEAF))),
        8_000,
    ),
    "multipliers of a star": Shape(
        "pipeline",
        "mip-tree/1",
        lambda n: (
            pipeline(n, star(n)),
            tree([{**LEAF, "enters": multipliers(4 * (n - 1)), "later": multipliers(4 * n)}]),
        ),
        16_000,
    ),
    "many steps of a stage": Shape("pipeline", "prefix-bound/1", reach, 8_000),
    "down-sets of operators without edges": Shape(
        "pipeline",
        "ideal-dp/1",
        lambda n: (pipeline(n, []), {"threshold": 10**6, "ignored": []}),
        40_000,
    ),
    "down-sets of a chain": Shape(
        "pipeline",
        "ideal-dp/1",
        lambda n: (pipeline(n, chain(n), k=n), {"threshold": n, "ignored": []}),
        40_000,
    ),
    "pairs of down-sets of two chains": Shape(
        "pipeline",
        "two-branch-dp/1",
        lambda n: (
            pipeline(n, two_chains(n), k=n),
            {"threshold": n, "tower": list(range(n // 2))},
        ),
        8_000,
    ),
    "down-sets beside an operator": Shape(
        "pipeline",
        "two-branch-dp/1",
        lambda n: (pipeline(n, []), {"threshold": 10**6, "tower": [0]}),
        8_000,
    ),
    "stages that read from a tower": Shape(
        "pipeline",
        "two-branch-dp/1",
        lambda n: (
            pipeline(n, sorted([*two_chains(n), *([v, v + n // 2] for v in range(n // 2))]), k=n),
            {"threshold": n, "tower": list(range(n // 2))},
        ),
        8_000,
    ),
    "sets of a star": Shape("pipeline", "packing/2", lambda n: packing(n, star(n)), 4_000),
    "sets of a chain": Shape("pipeline", "packing/2", lambda n: packing(n, chain(n)), 4_000),
    "cuts of a star": Shape("pipeline", "cut-tree/2", lambda n: cut_tree(n, star(n)), 4_000),
    "cuts of a chain": Shape("pipeline", "cut-tree/2", lambda n: cut_tree(n, chain(n)), 4_000),
    "partition of a star": Shape(
        "pipeline",
        "solution",
        lambda n: (pipeline(n, star(n), k=n), {"stages": list(range(n))}),
        500_000,
    ),
    "blocks on many devices": Shape(
        "microbatch",
        "device-load/1",
        lambda n: (
            microbatch(
                min(n, 256), n, device_sets=[list(range(n))] * min(n, 256), micro_batches=2**16
            ),
            {"device": n - 1, "blocks": list(range(min(n, 256)))},
        ),
        4_096,
    ),
    "allocations with many edges": Shape("microbatch", "memory-latency/1", holding, 4_096),
    "phases on many devices": Shape("microbatch", "modulo-tree/1", idle_devices, 4_096),
    "repetitions on many devices": Shape("microbatch", "solution", repetitions, 4_096),
    "many micro-batches": Shape(
        "microbatch",
        "solution",
        lambda n: (
            microbatch(min(n, 4096), micro_batches=n),
            {
                "starts": [list(range(min(n, 4096)))],
                "repetend": {"period": min(n, 4096), "members": [0] * min(n, 4096)},
            },
        ),
        2**16,
    ),
    "path without edges": Shape(
        "placement", "critical-path/1", lambda n: (placement(n, 8, []), {}), 500_000
    ),
    "path of a star": Shape(
        "placement",
        "critical-path/1",
        lambda n: (placement(n, 8, [list(range(1, n))]), {}),
        500_000,
    ),
    "loads of many devices": Shape(
        "placement",
        "assignment-load/1",
        lambda n: (placement(n, 64, []), {"weights": [1] * 64, "memory_weights": [0] * 64}),
        100_000,
    ),
    "intervals without edges": Shape(
        "placement",
        "interval-load/1",
        lambda n: (placement(n, 1, []), {"intervals": whole(100)}),
        500_000,
    ),
    "rows of an interval": Shape(
        "placement",
        "interval-load/1",
        lambda n: (placement(n, 2, []), {"intervals": whole(1, rows=[[0, 0, 0, 1, 1]] * n)}),
        8_000,
    ),
    "series without edges": Shape(
        "placement",
        "series/1",
        lambda n: (placement(n, 1, []), {"intervals": whole(100, searches=[])}),
        500_000,
    ),
    "many intervals to one operator": Shape("placement", "series/1", jumps, 100_000),
    "search on many devices": Shape("placement", "series/1", searches, 128),
    "starts of many operators": Shape(
        "placement",
        "solution",
        lambda n: (
            placement(n, 8, [list(range(1, n))]),
            {"devices": [0] * n, "starts": list(range(n)), "transfers": []},
        ),
        500_000,
    ),
    "assignments of equal layers": Shape("layers", "layer-reach/1", reaching, 2_000),
    "numbers of split layers": Shape("layers", "layer-choices/1", choosing, 1_000),
    "loads of equal layers": Shape("layers", "layer-load/1", loading, 16_000),
    "assignment of many layers": Shape(
        "layers", "solution", lambda n: (chained(n), {"devices": [0] * n}), 16_000
    ),
    "prices of one tensor": Shape("ordering", "live-cut/1", priced, 4_000),
    "cuts without tensors": Shape(
        "ordering",
        "live-cut/1",
        lambda n: (ordering(n, []), {"order": list(range(n)), "forced": [], "cuts": []}),
        30_000,
    ),
    "stops one by one": Shape("ordering", "downset-dp/1", stops, 30_000),
    "slope and operators that overwrite": Shape("ordering", "downset-dp/1", slope, 30_000),
    "search of one tensor": Shape(
        "ordering",
        "downset-dp/1",
        lambda n: searched(ordering(n, [list(range(1, n))], metric="peak"), 2),
        8_000,
    ),
    "search for a peak without tensors": Shape(
        "ordering",
        "downset-dp/1",
        lambda n: searched(ordering(n, [], metric="peak"), 1),
        30_000,
    ),
    "search without tensors": Shape(
        "ordering", "downset-dp/1", lambda n: searched(ordering(n, [], metric="sum"), 1), 8_000
    ),
    "order of operators that overwrite": Shape(
        "ordering",
        "solution",
        lambda n: (overwriting(n), {"order": [0, *range(n - 1, 0, -1)]}),
        400_000,
    ),
    "splits of many operators": Shape(
        "slicing", "slice-compute/1", lambda n: (slicing(n, 16, 2**20, []), {}), 300_000
    ),
    "classes without edges": Shape(
        "slicing", "slice-potentials/1", lambda n: classes(4, 16, n, []), 2**20
    ),
    "classes of one tensor": Shape(
        "slicing", "slice-potentials/1", lambda n: classes(2, 16, n, [edge(0, 1, n)]), 4_000
    ),
    "tensors of one operator": Shape(
        "slicing",
        "slice-potentials/1",
        lambda n: classes(n, 2, 4, [edge(v, n - 1, 4) for v in range(n - 1)]),
        200_000,
    ),
    "memory of classes without edges": Shape(
        "slicing", "slice-memory/1", lambda n: classes(4, 16, n, []), 2**20
    ),
    "memory of many operators": Shape(
        "slicing", "slice-memory/1", lambda n: classes(n, 16, 4, []), 30_000
    ),
    "outputs that wait": Shape(
        "slicing",
        "slice-memory/1",
        lambda n: classes(n, 2, 4, [edge(v, w, 4) for v in range(n - 2) for w in (v + 1, n - 1)]),
        4_000,
    ),
    "parts on many devices": Shape(
        "slicing",
        "solution",
        lambda n: parts(n, 16, [edge(v, n - 1, 16) for v in range(n - 1)]),
        30_000,
    ),
}
