"""Graph coarsening by operator fusion ([MOIRAI24], Section III-B).

Operators that run as one are placed as one: rules say which types of operators fuse, chains of a
graph are where they do, and the coarse graph has an operator for each chain. Schedules of it expand
to schedules of the original graph.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement.feasibility import PER_TENSOR, needed_transfers
from boundmark.problems.placement.graph import UNSUPPORTED, PlacementGraph
from boundmark.problems.placement.schedule import PlacementSchedule

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
    """Return the rules, and those with Add also with Sum, which some exporters write instead."""
    both = ((rule, tuple("Sum" if one == "Add" else one for one in rule)) for rule in rules)
    return tuple(dict.fromkeys(rule for pair in both for rule in pair))


# Table I of the paper, in ONNX's words.
_TABLE_I: tuple[Types, ...] = (
    ("Conv", "BatchNormalization"),
    ("Conv", "BatchNormalization", "Relu"),
    ("Conv", "BatchNormalization", "Add", "Relu"),
)

# What common backends fuse beyond that: activations with what they follow, a normalisation that is
# written as three operators, and products with their bias.
_MORE: tuple[Types, ...] = (
    ("Conv", "Relu"),
    ("Conv", "Add"),
    ("Conv", "Add", "Relu"),
    ("Conv", "BatchNormalization", "Mul", "Add"),
    ("Conv", "BatchNormalization", "Mul", "Add", "Relu"),
    ("BatchNormalization", "Relu"),
    ("BatchNormalization", "Mul", "Add"),
    ("BatchNormalization", "Mul", "Add", "Relu"),
    ("Gemm", "Relu"),
    ("MatMul", "Add"),
    ("MatMul", "Add", "Relu"),
    ("MatMul", "Add", "Gelu"),
    ("Add", "LayerNormalization"),
)

RULE_SETS: Mapping[str, FusionRules] = MappingProxyType(
    {
        "moirai": FusionRules(_with_sums(_TABLE_I)),
        "backends": FusionRules(_with_sums((*_TABLE_I, *_MORE))),
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

    Parameters
    ----------
    types
        Of each operator, shape (n,).
    may_fuse
        Whether a chain may be one operator, e.g. because there is a device for it.
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

    A schedule of it is one of the original graph with the same makespan: the operators of a chain
    run one after another, and what is moved is moved at the same times.

    Attributes
    ----------
    original
        The graph that was coarsened, n operators.
    chains
        Its operators, in the order in which they run as one; N of them.
    graph
        The coarse graph, N operators. A chain takes the time and the memory of its operators
        together, on a device that supports them all.
    tensor
        The original tensor of each of the coarse graph's, shape (T,). With transfers per edge, a
        tensor that several operators of a chain read is there several times.
    """

    original: PlacementGraph
    chains: tuple[Chain, ...]
    graph: PlacementGraph
    tensor: IntArray

    @cached_property
    def chain_of(self) -> IntArray:
        """The chain of each original operator, shape (n,)."""
        return _chain_of(self.original.nodes, self.chains)

    def expanded_devices(self, devices: IntArray) -> IntArray:
        """Return the device of each original operator, shape (n,), from those of the chains."""
        return devices[self.chain_of]

    def expanded(self, schedule: PlacementSchedule, transfers: str) -> PlacementSchedule:
        """Return the same schedule for the original graph, with the same makespan.

        Parameters
        ----------
        transfers
            Per tensor or per edge, as in the instance that the coarse graph was made for.
        """
        original = self.original
        devices = self.expanded_devices(schedule.devices)
        starts = np.empty(original.nodes, dtype=np.int64)
        for chain, start in zip(self.chains, schedule.starts.tolist(), strict=True):
            for operator in chain:
                starts[operator] = start
                start += int(original.duration[operator, devices[operator]])
        moved: dict[tuple[int, int], list[int]] = {}
        for tensor, receiver, start in schedule.transfers.tolist():
            moved.setdefault((int(self.tensor[tensor]), receiver), []).append(start)
        rows = []
        for tensor, receiver in sorted(needed_transfers(original, devices, transfers)):
            of_chain = receiver if transfers == PER_TENSOR else int(self.chain_of[receiver])
            rows.append((tensor, receiver, moved[tensor, of_chain].pop()))
        return PlacementSchedule(devices, starts, frozen(np.array(rows, np.int64).reshape(-1, 3)))


def coarsen(graph: PlacementGraph, rules: FusionRules, transfers: str) -> CoarseGraph:
    """Return the graph with operators fused by rules; no chain is without a device that takes it.

    Raises
    ------
    InvalidInputError
        If the graph does not say what types its operators have.
    """
    if not graph.op_types:
        raise InvalidInputError(
            "fusion goes by the types of operators, and the graph does not say them; "
            "expected a model file, or no fusion."
        )

    def has_device(chain: Chain) -> bool:
        rows = list(chain)
        fits = graph.memory[rows].sum() <= graph.capacity
        return bool((graph.is_supported[rows].all(axis=0) & fits).any())

    chains = tuple(fused_chains(graph.dag, graph.op_types, rules, has_device))
    chain_of = _chain_of(graph.nodes, chains)
    by_chain = np.argsort(chain_of, kind="stable")
    begin = np.searchsorted(chain_of[by_chain], np.arange(len(chains)))
    memory = np.add.reduceat(graph.memory[by_chain], begin)
    supported = np.logical_and.reduceat(graph.is_supported[by_chain], begin, axis=0)
    ticks = np.add.reduceat(graph.duration[by_chain], begin, axis=0)
    tensor, producer, consumers = _tensors(graph, chain_of, transfers)
    coarse = PlacementGraph(
        duration=frozen(np.where(supported, ticks, UNSUPPORTED)),
        memory=frozen(memory),
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
    )
    return CoarseGraph(graph, chains, coarse, frozen(tensor))


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
