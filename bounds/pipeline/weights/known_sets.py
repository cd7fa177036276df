"""Sets of nodes that are known to be possible stages, and what they cost and weigh."""

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from boundmark.bounds.pipeline.weights.tensors import (
    ANY,
    FIRST,
    LAST,
    FloatArray,
    Tensors,
    bits_of,
    members_where,
    packed,
)
from boundmark.bounds.pipeline.weights.walk import WalkGraph, anneal, walk
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition

BoolMatrix = npt.NDArray[np.bool_]

POSITIONS = (ANY, FIRST, LAST)


@dataclass(eq=False)
class KnownSets:
    """Convex sets of one graph, found by walks or added.

    Overflow counts in what sets cost, but walks do not see it.

    Attributes
    ----------
    annealed
        Part of the walks that are by annealing.
    costs
        What each set costs, by its bits.
    """

    tensors: Tensors
    seed: int
    annealed: float = 0.8
    costs: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        dag, nodes = self.tensors.graph.dag, self.tensors.nodes
        self._random = np.random.default_rng(self.seed)
        self._graph = WalkGraph(
            before=packed(self.tensors.before, nodes),
            after=packed(self.tensors.after, nodes),
            work=frozen(self.tensors.graph.work),
            transfer=frozen(self.tensors.graph.transfer),
            consumers=frozen(np.diff(dag.consumer_start)),
            in_start=dag.producer_start,
            producers=dag.producers,
        )
        ends = [(u, v) for u in range(nodes) for v in bits_of(self.tensors.ends[u])]
        self._sets, self._count = np.zeros((64, nodes)), 0
        # What sets weigh, by weights: those used last are at the end.
        self._weighed: dict[bytes, FloatArray] = {}
        self._costs: IntArray = np.zeros(64, dtype=np.int64)
        # Which stages each set may be, by position.
        self._may_be = np.zeros((len(POSITIONS), 64), dtype=np.bool_)
        at = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        shape = (nodes, nodes)
        self._ends = csr_array((np.ones(at.shape[1], dtype=np.int64), (at[0], at[1])), shape=shape)
        self._end_counts = np.bincount(at[0], minlength=nodes)

    def masks(self, numbers: IntArray) -> FloatArray:
        """Return sets as rows of 0 and 1, shape (len(numbers), n)."""
        masks: FloatArray = self._sets[numbers]
        return masks

    def add(self, members: int) -> bool:
        """Add a set; return whether it is new."""
        if not members:
            return False
        return self.add_all(as_mask(members, self.tensors.nodes)[None]) > 0

    def add_stages(self, partition: Partition) -> None:
        """Add the stages of a partition."""
        for stage in range(int(partition.stages.max()) + 1):
            self.add(members_where(partition.stages == stage))

    def weighed(self, weights: FloatArray, limit: int, position: int = ANY) -> FloatArray:
        """Return what each set weighs, 0 for those that cost more or may not be such a stage."""
        key = weights.tobytes()
        whole = self._weighed.pop(key, np.zeros(0))
        if len(whole) < self._count:
            more = self._sets[len(whole) : self._count] @ weights
            whole = np.concatenate([whole, more])
        self._weighed[key] = whole
        # A round looks at few weights, again and again.
        if len(self._weighed) > 4:
            del self._weighed[next(iter(self._weighed))]
        counts = self._may_be[position, : self._count] & (self._costs[: self._count] <= limit)
        weighed: FloatArray = np.where(counts, whole, 0.0)
        return weighed

    def heaviest(self, weights: FloatArray, limit: int, position: int = ANY) -> float:
        """Return what the heaviest set that may be such a stage weighs, 0 if there is none."""
        return float(self.weighed(weights, limit, position).max(initial=0.0))

    def heaviest_sets(self, weights: FloatArray, limit: int) -> list[int]:
        """Return the sets that cost at most a limit, heaviest first."""
        sets, weighed = list(self.costs), self.weighed(weights, limit)
        order = np.argsort(-weighed, kind="stable")
        return [sets[i] for i in order.tolist() if self._costs[i] <= limit]

    def walk(self, weights: FloatArray, limit: int, position: int, budget: Budget) -> None:
        """Add heavy sets, by walks from the heaviest ones known and from single nodes."""
        walks = 6 if position == ANY else 3
        # Sets begin with one of so many, and count if they weigh this part of the heaviest one:
        # lighter sets are met on the way to heavy ones, and tell nothing.
        starts, heavy_part = 9, 0.97
        weighed = self.weighed(weights, limit, position)
        heaviest = float(weighed.max(initial=0.0))
        order = np.argsort(-weighed, kind="stable")[:starts]
        order = order[weighed[order] > 0]
        for _ in range(walks):
            if budget.is_spent():
                break
            start = self._start(order, position)
            scaled = weights / max(heaviest, float(weights.max()), 1e-9)
            is_annealed = self._random.random() < self.annealed
            found = self._walked(start, scaled, limit, position, is_annealed=is_annealed)
            heavy = found[found @ weights > heavy_part * heaviest]
            if len(heavy):
                heaviest = max(heaviest, float((heavy @ weights).max()))
                self.add_all(heavy)

    def _walked(
        self,
        start: BoolMatrix,
        weights: FloatArray,
        limit: int,
        position: int,
        *,
        is_annealed: bool,
    ) -> BoolMatrix:
        """Return sets that one walk finds, each heavier than all that it found before."""
        seed, most_found = int(self._random.integers(2**31)), 30
        found: BoolMatrix = np.zeros((most_found, self.tensors.nodes), dtype=np.bool_)
        # Walks of either sort take about the same time.
        if is_annealed:
            cold = math.exp(self._random.uniform(math.log(0.004), math.log(0.04)))
            count = anneal(
                *(start, self._graph, weights, limit, position, 10_000, seed), cold, found
            )
        else:
            count = walk(start, self._graph, weights, limit, position, 1200, seed, found)
        return found[:count]

    def _start(self, order: IntArray, position: int) -> BoolMatrix:
        """Return where a walk begins, mostly at one of the first sets of an order."""
        nodes = self.tensors.nodes
        if len(order) and self._random.random() < 0.85:
            row = order[min(len(order) - 1, int(self._random.exponential(3.0)))]
            begun: BoolMatrix = self._sets[row] > 0
            return begun
        return as_mask(1 << int(self._random.integers(nodes)) if position == ANY else 0, nodes)

    def add_all(self, masks: BoolMatrix) -> int:
        """Add sets given as rows; return how many are new."""
        graph, before = self.tensors.graph, self._count
        inside = self._ends @ masks.T.astype(np.int64)
        is_moved = (inside > 0) & (inside < self._end_counts[:, None])
        overflow = np.maximum(masks @ graph.param_load - graph.cache, 0)
        costs = masks @ graph.work + graph.transfer @ is_moved + overflow
        # An edge that enters or leaves tells that it is not the first, or not the last stage.
        sides = masks[:, graph.dag.sources].astype(np.int8) - masks[:, graph.dag.targets]
        is_first, is_last = np.all(sides >= 0, axis=1), np.all(sides <= 0, axis=1)
        for i, (mask, cost) in enumerate(zip(masks, costs.tolist(), strict=True)):
            members = members_where(mask)
            if members in self.costs:
                continue
            self.costs[members] = cost
            if self._count == len(self._sets):
                self._sets = np.vstack([self._sets, np.zeros_like(self._sets)])
                self._costs = np.concatenate([self._costs, np.zeros_like(self._costs)])
                self._may_be = np.concatenate([self._may_be, np.zeros_like(self._may_be)], axis=1)
            self._sets[self._count], self._costs[self._count] = mask, cost
            self._may_be[:, self._count] = True, is_first[i], is_last[i]
            self._count += 1
        return self._count - before


def as_mask(members: int, nodes: int) -> npt.NDArray[np.bool_]:
    """Return a set as an array."""
    result = np.zeros(nodes, dtype=np.bool_)
    result[list(bits_of(members))] = True
    return result
