"""Bounds on what the first stages of a pipeline, its prefixes, weigh, and windows that follow.

Weights are the nodes' work, partly moved along the tensors. A prefix that cuts expensive tensors is
worth less than its work says, because the stages to come have to read them. Weights that are moved
from producers to consumers say so: of each edge that a prefix cuts, they lack what was moved along
it. If no tensor takes more than its transfer, a stage still weighs at most its cost: what has come
to its nodes from elsewhere came with tensors that enter it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from boundmark.bounds.pipeline.prefixes.relaxation import PrefixWeights, Superblocks
from boundmark.bounds.pipeline.prefixes.windows import Closure, Windows, scaled
from boundmark.problems.arrays import IntArray
from boundmark.problems.pipeline.graph import PipelineGraph


@dataclass(frozen=True, eq=False)
class Weights:
    """Node weights in units of 1 / SHARE_UNITS, at most SHARE_UNITS in each feasible stage."""

    # Weight of each node, shape (n,).
    nodes: IntArray
    # What is moved along each edge, from producer to consumer, shape (m,).
    moves: IntArray

    @classmethod
    def moved(cls, graph: PipelineGraph, threshold: int) -> "Weights":
        """Return work in parts of a threshold, some of it moved to the consumers."""
        dag = graph.dag
        # Part of a tensor's transfer that is moved along it if its producer has as much.
        part = 0.3
        weights = scaled(graph.work, threshold).tolist()
        most = (scaled(graph.transfer, threshold) * part).astype(np.int64).tolist()
        moves = np.zeros(dag.edges, dtype=np.int64)
        start = dag.consumer_start.tolist()
        for u in dag.topological_order.tolist():
            edges = range(start[u], start[u + 1])
            if not edges:
                continue
            each = min(weights[u], most[u]) // len(edges)
            weights[u] -= each * len(edges)
            for e in edges:
                moves[e] = each
                weights[int(dag.targets[e])] += each
        return cls(np.array(weights), moves)

    def moves_to_json(self) -> list[int]:
        """Return the moves as certificates store them: edges and amounts in turn."""
        used = np.flatnonzero(self.moves)
        pairs: list[int] = np.stack([used, self.moves[used]], axis=1).ravel().tolist()
        return pairs


Side = Literal["upper", "lower"]


@dataclass(frozen=True)
class Step:
    """Consecutive stages, and the side from which they bound a prefix."""

    # first, last: Of the stages.
    first: int
    last: int
    # ``"upper"`` if the prefix that ends with `last` is to weigh at most something, ``"lower"`` if
    # the prefix before `first` is to weigh at least something.
    side: Side

    @property
    def stages(self) -> int:
        """Number of stages."""
        return self.last - self.first + 1

    @property
    def prefix(self) -> int:
        """Number of stages of the prefix that the step is about."""
        return self.last + 1 if self.side == "upper" else self.first


class Prefixes:
    """Bounds on the weights of all prefixes of a pipeline whose stages cost at most a threshold."""

    def __init__(self, closure: Closure, weights: IntArray, heaviest: int, k: int) -> None:
        # Weights of the nodes, shape (n,), and what a stage weighs at most.
        self.weights, self.heaviest, self.k = weights, heaviest, k
        self.total = int(weights.sum())
        # What the first s stages weigh, for s from 0 to k.
        self.at_most = [min(self.total, s * heaviest) for s in range(k)] + [self.total]
        self.at_least = [0] + [max(0, self.total - (k - s) * heaviest) for s in range(1, k + 1)]
        self._closure = closure
        self._before = closure.weights_before(weights)
        self._after = closure.weights_after(weights)

    @property
    def are_refuted(self) -> bool:
        """Whether the bounds contradict each other, so that the threshold is refuted."""
        return any(low > high for low, high in zip(self.at_least, self.at_most, strict=True))

    def bound(self, step: Step) -> int:
        """Return the bound that a step is to improve on."""
        return (self.at_most if step.side == "upper" else self.at_least)[step.prefix]

    def opposite(self, step: Step) -> int:
        """Return the bound on the other side: a step that proves more refutes the threshold."""
        return (self.at_least if step.side == "upper" else self.at_most)[step.prefix]

    def learn(self, step: Step, limit: int) -> None:
        """Tighten the bounds by what a step has proved."""
        most, least = self.at_most, self.at_least
        if step.side == "upper":
            most[step.prefix] = min(most[step.prefix], limit)
            for s in range(step.prefix, 0, -1):
                most[s - 1] = min(most[s - 1], most[s])
            for s in range(step.prefix, self.k):
                most[s + 1] = min(most[s + 1], most[s] + self.heaviest)
        else:
            least[step.prefix] = max(least[step.prefix], limit)
            for s in range(step.prefix, self.k):
                least[s + 1] = max(least[s + 1], least[s])
            for s in range(step.prefix, 0, -1):
                least[s - 1] = max(least[s - 1], least[s] - self.heaviest)

    def is_stuck(self, step: Step, limit: int) -> bool:
        """Whether a step's limit shows that no pipeline gets from one end to the other.

        A step in the middle that leads no further than it began does not do so later on, either.
        """
        if step.stages > 1 or step.first == 0 or step.last == self.k - 1:
            return False
        if step.side == "upper":
            return limit <= self.at_most[step.first] and limit < self.total
        return limit >= self.at_least[step.last + 1] and limit > 0

    def superblocks(self, step: Step) -> Superblocks:
        """Return the superblocks of a step: its stages, and all before and all after them.

        What the step is about may be anything, as far as the stages allow it.
        """
        first, last, k = step.first, step.last, self.k
        at_least = np.array(self.at_least[first : last + 2])
        at_most = np.array(self.at_most[first : last + 2])
        if step.side == "upper":
            at_most[-1] = at_most[0] + step.stages * self.heaviest
        else:
            at_least[0] = max(0, at_least[-1] - step.stages * self.heaviest)
        merged = np.ones(step.stages + 2, dtype=np.int64)
        merged[0], merged[-1] = (k - 1) * (first > 0), (k - 1) * (last < k - 1)
        is_costed = np.ones(step.stages + 2, dtype=np.bool_)
        is_costed[[0, -1]] = False
        weighed = PrefixWeights(self.weights, at_least, at_most)
        return Superblocks(merged, is_costed, prefixes=weighed)

    def windows(self, superblocks: Superblocks) -> Windows:
        """Return the windows of superblocks that the weights leave to each node.

        A prefix with a node in it weighs at least as much as all that the node depends on; one
        without the node lacks all that depends on it.
        """
        weighed = superblocks.prefixes
        assert weighed is not None
        first = (self._before[:, None] > weighed.at_most).sum(axis=1)
        last = len(weighed.at_least) - ((self.total - self._after)[:, None] < weighed.at_least).sum(
            axis=1
        )
        if superblocks.merged[0] == 0:
            first = np.maximum(first, 1)
        if superblocks.merged[-1] == 0:
            last = np.minimum(last, len(weighed.at_least) - 1)
        # What a node depends on weighs less than all that it depends on with itself, and so on:
        # these windows respect the edges.
        return Windows(first, last)
