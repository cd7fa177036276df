"""A graph with chains of operators as one operator each, and the way back."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement.feasibility import PER_TENSOR, needed_transfers
from boundmark.problems.placement.fusion.chains import Chain, fused_chains
from boundmark.problems.placement.fusion.rules import FusionRules
from boundmark.problems.placement.graph import UNSUPPORTED, PlacementGraph
from boundmark.problems.placement.schedule import PlacementSchedule


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
