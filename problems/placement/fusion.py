"""Graph coarsening by operator fusion ([MOIRAI24], Section III-B).

Operators that run as one are placed as one: rules say which types of operators fuse, chains of a
graph are where they do, and the coarse graph has an operator for each chain, which takes the time
of one kernel.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement.feasibility import PER_TENSOR
from boundmark.problems.placement.graph import UNSUPPORTED, FusedCosts, PlacementGraph
from boundmark.problems.ticks import to_nanoseconds

# Types in the order in which they feed each other, e.g. ("Conv", "Relu").
Types: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class FusionRules:
    """A set of rules, each a sequence of at least two types."""

    rules: tuple[Types, ...]

    def __post_init__(self) -> None:
        for rule in self.rules:
            if len(rule) < 2 or not all(isinstance(one, str) and one for one in rule):
                raise InvalidInputError(
                    f"a fusion rule is {rule!r}; expected at least two types of operators."
                )

    @cached_property
    def _whole(self) -> frozenset[Types]:
        return frozenset(self.rules)

    @cached_property
    def _parts(self) -> frozenset[Types]:
        return frozenset(
            rule[first:last]
            for rule in self.rules
            for first in range(len(rule))
            for last in range(first + 2, len(rule) + 1)
            if last - first < len(rule)
        )

    def is_rule(self, types: Types) -> bool:
        """Whether the types are a whole rule."""
        return types in self._whole

    def is_part(self, types: Types) -> bool:
        """Whether the types are some, but not all, next to each other in a rule."""
        return types in self._parts


def _with_sums(rules: Iterable[Types]) -> tuple[Types, ...]:
    """Return the rules, each with Add also with Sum, which some exporters write instead."""
    both = ((rule, tuple("Sum" if one == "Add" else one for one in rule)) for rule in rules)
    return tuple(dict.fromkeys(rule for pair in both for rule in pair))


# Table I of the paper, in ONNX's words.
TABLE_I = FusionRules(
    _with_sums(
        (
            ("Conv", "BatchNormalization"),
            ("Conv", "BatchNormalization", "Relu"),
            ("Conv", "BatchNormalization", "Add", "Relu"),
        )
    )
)

# GELU by its approximation with tanh, as exporters write it: from x^3, and from x/2 on.
_GELU: Types = ("Pow", "Mul", "Add", "Mul", "Tanh", "Add", "Mul")

# The table is said to be an example. These are of its kind, for what the paper's models consist of:
# a product, its bias and an activation or a gate; a sum and its normalisation; what leads to a
# softmax; and GELU. Reshape moves nothing.
_LIKE_TABLE_I: tuple[Types, ...] = (
    ("Conv", "Relu"),
    ("Conv", "Add", "Relu"),
    ("Gemm", "Relu"),
    ("Gemm", "Gelu"),
    ("Gemm", "Sigmoid"),
    ("Gemm", "Sigmoid", "Mul"),
    ("Gemm", "Add"),
    ("Gemm", "Reshape", "Add"),
    ("Gemm", "LayerNormalization"),
    ("Gemm", "LayerNormalization", "Add"),
    ("MatMul", "Add"),
    ("MatMul", "Add", "Relu"),
    ("MatMul", "Add", "Gelu"),
    ("MatMul", "Softmax"),
    ("MatMul", "Add", "Softmax"),
    ("MatMul", "Mul", "Add"),
    ("MatMul", "Mul", "Add", "Softmax"),
    ("Add", "Softmax"),
    ("Add", "LayerNormalization"),
    _GELU,
)

# What common backends fuse beyond that: attention as one kernel, a normalisation that is written as
# three operators or by a norm, and changes of layout with the product that writes what they read.
_MORE: tuple[Types, ...] = (
    ("Conv", "Add"),
    ("Conv", "BatchNormalization", "Mul", "Add"),
    ("Conv", "BatchNormalization", "Mul", "Add", "Relu"),
    ("BatchNormalization", "Relu"),
    ("BatchNormalization", "Mul", "Add"),
    ("BatchNormalization", "Mul", "Add", "Relu"),
    ("MatMul", "Softmax", "MatMul"),
    ("MatMul", "Add", "Softmax", "MatMul"),
    ("MatMul", "Mul", "Add", "Softmax", "MatMul"),
    ("Add", "Softmax", "MatMul"),
    ("ReduceL2", "Clip", "Expand", "Div"),
    ("Gemm", "Mul"),
    ("Gemm", "Reshape", "Transpose"),
    ("Gemm", "Transpose"),
    ("Gemm", "Transpose", "Add"),
)

RULE_SETS: Mapping[str, FusionRules] = MappingProxyType(
    {
        "moirai": FusionRules(_with_sums((*TABLE_I.rules, *_LIKE_TABLE_I))),
        "backends": FusionRules(_with_sums((*TABLE_I.rules, *_LIKE_TABLE_I, *_MORE))),
    }
)


# Operators that feed each other, in order.
Chain = tuple[int, ...]


def always(chain: Chain) -> bool:
    """Allow every chain."""
    return True


class _Vertex:
    """A vertex of the graph while it is coarsened.

    Attributes
    ----------
    parts
        Chains, one after another. A vertex that is fused, or was not touched, has one; one that is
        bound until a whole rule is found has several.
    """

    def __init__(self, parts: list[Chain], types: tuple[str, ...]) -> None:
        self.parts = parts
        self.types = types

    @property
    def first(self) -> int:
        return self.parts[0][0]

    @property
    def last(self) -> int:
        return self.parts[-1][-1]

    @property
    def chain(self) -> Chain:
        return tuple(operator for part in self.parts for operator in part)


def fused_chains(
    dag: Dag,
    types: Sequence[str],
    rules: FusionRules,
    may_fuse: Callable[[Chain], bool] = always,
) -> list[Chain]:
    """Return the operators in chains that run as one, ordered by the chains' first operators.

    The graph is traversed in depth-first order. An operator fuses with its consumer if that is its
    only one (a direct or a multi-inputs connection; not a multi-outputs one) and if the types of
    both together are a rule. If they are part of a rule, they are bound: treated as one, and
    released in the end unless the rest of the rule was found. Either may consist of several
    operators by then; an edge connects two of them only if it leads from the last operator of one
    to the first operator of the other, since a rule says in which order its operators feed each
    other.

    Nothing but the last operator of a chain has consumers outside, so what results is acyclic.
    """
    vertex_of = [_Vertex([(v,)], (types[v],)) for v in range(dag.nodes)]
    is_visited = [False] * dag.nodes
    roots = [v for v in range(dag.nodes) if not len(dag.producers_of(v))]
    stack = roots[::-1]
    while stack:
        start = stack.pop()
        if is_visited[start]:
            continue
        vertex = vertex_of[start]
        while True:
            consumers = dag.consumers_of(vertex.last).tolist()
            joined = None
            if len(consumers) == 1:
                joined = _joined(vertex, vertex_of[consumers[0]], consumers[0], rules, may_fuse)
            if joined is None:
                break
            vertex = joined
            for operator in vertex.chain:
                vertex_of[operator] = vertex
        for operator in vertex.chain:
            is_visited[operator] = True
        stack.extend(reversed(consumers))
    parts = {part for vertex in vertex_of for part in vertex.parts}
    return sorted(parts)


def _joined(
    before: _Vertex,
    after: _Vertex,
    consumer: int,
    rules: FusionRules,
    may_fuse: Callable[[Chain], bool],
) -> _Vertex | None:
    """Return both as one vertex, fused or bound; None if they stay apart."""
    if after.first != consumer:
        return None
    types = before.types + after.types
    chain = before.chain + after.chain
    if rules.is_rule(types) and may_fuse(chain):
        return _Vertex([chain], types)
    if rules.is_part(types):
        return _Vertex(before.parts + after.parts, types)
    return None


@dataclass(frozen=True, eq=False)
class CoarseGraph:
    """A graph whose operators are chains of those of another one.

    What is between the operators of a chain takes no memory and no time to write and read.

    Attributes
    ----------
    original
        The graph that was coarsened, n operators.
    chains
        Its operators, in the order in which they run as one; N of them.
    graph
        The coarse graph, N operators. A chain takes the memory of its operators together, and its
        time is that of one kernel, on a device that supports them all.
    """

    original: PlacementGraph
    chains: tuple[Chain, ...]
    graph: PlacementGraph

    @cached_property
    def chain_of(self) -> IntArray:
        """The chain of each original operator, shape (n,)."""
        return _chain_of(self.original.nodes, self.chains)

    def expanded_devices(self, devices: IntArray) -> IntArray:
        """Return the device of each original operator, shape (n,), from the chains' devices."""
        return devices[self.chain_of]


def coarsen(graph: PlacementGraph, rules: FusionRules, transfers: str) -> CoarseGraph:
    """Return graph with operators fused by rules; no chain is without a device that takes it."""
    if not graph.op_types:
        raise InvalidInputError(
            "fusion goes by the types of operators, and the graph does not say them; "
            "expected a model file, or no fusion."
        )

    written: dict[int, list[int]] = {}
    for number, writer in enumerate(graph.producer.tolist()):
        written.setdefault(writer, []).append(number)

    def has_device(chain: Chain) -> bool:
        rows = list(chain)
        # What is inside counts as written by one operator and as read by others.
        inside = [
            (1 + len(graph.consumers[number])) * int(graph.tensor_memory[number])
            for v in rows
            for number in written.get(v, ())
            if graph.is_live and set(graph.consumers[number]) <= set(rows)
        ]
        fits = graph.needed[rows].sum() - sum(inside) <= graph.capacity
        return bool((graph.is_supported[rows].all(axis=0) & fits).any())

    chains = tuple(fused_chains(graph.dag, graph.op_types, rules, has_device))
    chain_of = _chain_of(graph.nodes, chains)
    by_chain = np.argsort(chain_of, kind="stable")
    begin = np.searchsorted(chain_of[by_chain], np.arange(len(chains)))
    supported = np.logical_and.reduceat(graph.is_supported[by_chain], begin, axis=0)
    ticks = np.add.reduceat(graph.duration[by_chain], begin, axis=0)
    if graph.fusing is not None:
        fused = to_nanoseconds(_kernel_seconds(graph, graph.fusing, chain_of, begin, by_chain))
        is_chain = np.array([len(chain) > 1 for chain in chains])
        ticks = np.where(is_chain[:, None], np.minimum(ticks, fused), ticks)
    tensor, producer, consumers = _tensors(graph, chain_of, transfers)
    results = graph.result_memory
    if graph.is_live:
        results = frozen(np.add.reduceat(results[by_chain], begin))
    coarse = PlacementGraph(
        duration=frozen(np.where(supported, ticks, UNSUPPORTED)),
        memory=frozen(np.add.reduceat(graph.memory[by_chain], begin)),
        capacity=graph.capacity,
        producer=frozen(producer),
        consumers=tuple(consumers),
        size=graph.size[tensor],
        times=graph.times,
        names=tuple(" + ".join(graph.names[v] for v in chain) for chain in chains),
        device_names=graph.device_names,
        tick=graph.tick,
        op_types=tuple("+".join(graph.op_types[v] for v in chain) for chain in chains),
        output_shapes=tuple(
            graph.output_shapes[chain[-1]] for chain in chains if graph.output_shapes
        ),
        tensor_memory=graph.tensor_memory[tensor] if graph.is_live else graph.tensor_memory,
        result_memory=results,
    )
    return CoarseGraph(graph, chains, coarse)


def _kernel_seconds(
    graph: PlacementGraph,
    costs: FusedCosts,
    chain_of: IntArray,
    begin: IntArray,
    by_chain: IntArray,
) -> NDArray[np.float64]:
    """Return how long each chain takes as one kernel on each device, shape (N, D)."""
    traffic = costs.traffic.copy()
    tensor, reader = graph.readings
    writer = graph.producer[tensor]
    inside = chain_of[reader] == chain_of[writer]
    # What is free neither writes nor reads.
    saved = inside & ~costs.is_free[reader]
    np.subtract.at(traffic, reader[saved], costs.tensor_bytes[tensor[saved]])
    outside = np.zeros(len(graph.consumers), dtype=np.int64)
    np.add.at(outside, tensor, ~inside)
    within = (outside == 0) & ~costs.is_returned & ~costs.is_free[graph.producer]
    np.subtract.at(traffic, graph.producer[within], costs.tensor_bytes[within])
    moved = np.add.reduceat(traffic[by_chain], begin)
    arithmetic = np.add.reduceat(costs.arithmetic[by_chain], begin, axis=0)
    launches = np.logical_or.reduceat(~costs.is_free[by_chain], begin)
    roof = np.maximum(arithmetic, moved[:, None] / costs.bandwidth)
    return np.asarray(np.where(launches[:, None], roof + costs.overhead, 0.0))


def _chain_of(nodes: int, chains: Sequence[Chain]) -> IntArray:
    chain_of = np.empty(nodes, dtype=np.int64)
    for number, chain in enumerate(chains):
        chain_of[list(chain)] = number
    return chain_of


def _tensors(
    graph: PlacementGraph, chain_of: IntArray, transfers: str
) -> tuple[IntArray, IntArray, list[tuple[int, ...]]]:
    """Return original number, producer and consumers of each tensor that leaves its chain."""
    of = chain_of.tolist()
    tensor, producer = [], []
    consumers: list[tuple[int, ...]] = []
    for number, (writer, readers) in enumerate(
        zip(graph.producer.tolist(), graph.consumers, strict=True)
    ):
        often = Counter(of[reader] for reader in readers)
        del often[of[writer]]
        copies = max(often.values(), default=0)
        for copy in range(min(copies, 1) if transfers == PER_TENSOR else copies):
            tensor.append(number)
            producer.append(of[writer])
            consumers.append(tuple(sorted(chain for chain, count in often.items() if count > copy)))
    return frozen(np.array(tensor, np.int64)), frozen(np.array(producer, np.int64)), consumers
