"""Search for node weights: the largest sum such that each convex set within a limit weighs 1.

A linear program with a row per set that is known. Sets come from walks that look for heavy ones
near the best weights so far and the program's solution; whether there are heavier ones is for
`search` to tell.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline.cut_tree.walk import walk
from boundmark.bounds.pipeline.packing.tensors import Tensors, bits_of, members_where, packed
from boundmark.bounds.pipeline.packing.weighing import FloatArray, Master, Weighing
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget

BoolMatrix = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class WeightSettings:
    """Settings of the search for weights.

    Attributes
    ----------
    walks, walk_steps, most_found
        Number of walks in a round, their length, and the sets that one may find.
    from_known
        Part of the walks that begin with one of the heaviest sets known; others begin with a node.
    best_part
        Weight of the best weights so far in those of the next walks; the rest is the program's
        solution.
    heavy_part
        Sets of a walk count if they weigh this part of the heaviest set known.
    close
        The search ends when its bounds differ by less, in stages.
    patience
        Number of rounds without a new set after which it ends.
    """

    walks: int = 5
    walk_steps: int = 1200
    most_found: int = 30
    from_known: float = 0.85
    best_part: float = 0.6
    heavy_part: float = 0.97
    close: float = 0.01
    patience: int = 8


@dataclass(eq=False)
class Weights:
    """Search for weights of one graph without overflow, limit after limit.

    Attributes
    ----------
    costs
        What each known set costs, by its bits.
    """

    tensors: Tensors
    k: int
    seed: int
    settings: WeightSettings = WeightSettings()
    costs: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        dag, nodes = self.tensors.graph.dag, self.tensors.nodes
        self._random = np.random.default_rng(self.seed)
        self._before = packed(self.tensors.before, nodes)
        self._after = packed(self.tensors.after, nodes)
        self._consumers = frozen(np.diff(dag.consumer_start))
        self._in_start, edges = in_edges(self.tensors)
        self._producers = frozen(dag.sources[edges])

    def add(self, members: int) -> bool:
        """Add a set to the constraints on weights; return whether it is new."""
        is_new = members != 0 and members not in self.costs
        if is_new:
            self.costs[members] = self.tensors.cost(members)
        return is_new

    def at(self, limit: int, start: FloatArray, budget: Budget) -> Weighing:
        """Find weights under which every set that costs at most a limit weighs at most 1."""
        nodes, settings = self.tensors.nodes, self.settings
        master = Master(nodes, budget.threads)
        known: list[int] = []
        seen: set[int] = set()
        rows = np.zeros((0, nodes))
        best, looked_at, lower, upper, idle = start, start, 0.0, np.inf, 0
        while True:
            self._walk(looked_at, limit, rows, known, budget)
            new = [m for m, cost in self.costs.items() if cost <= limit and m not in seen]
            for members in new:
                master.add(tuple((v, 1) for v in bits_of(members)))
            seen.update(new)
            known += new
            rows = np.vstack([rows, *(as_mask(members, nodes) for members in new)])
            idle = 0 if new else idle + 1
            best, lower = _scaled(best, rows)
            other, total = _scaled(looked_at, rows)
            if total > lower:
                best, lower = other, total
            solved = master.solve(budget.remaining())
            if solved is None:
                break
            solution, upper = solved
            is_close = upper - lower < settings.close
            if upper <= self.k or is_close or idle == settings.patience or budget.is_spent():
                break
            looked_at = settings.best_part * best + (1 - settings.best_part) * solution
        return Weighing(best, lower, upper)

    def _walk(
        self, weights: FloatArray, limit: int, rows: FloatArray, known: list[int], budget: Budget
    ) -> None:
        """Add heavy sets, by walks from the heaviest ones known and from single nodes."""
        settings, nodes = self.settings, self.tensors.nodes
        order = np.argsort(-(rows @ weights), kind="stable")[: 3 * settings.walks]
        found: BoolMatrix = np.zeros((settings.most_found, nodes), dtype=np.bool_)
        for _ in range(settings.walks):
            if budget.is_spent():
                break
            if len(order) and self._random.random() < settings.from_known:
                members = known[order[min(len(order) - 1, int(self._random.exponential(3.0)))]]
            else:
                members = 1 << int(self._random.integers(nodes))
            count = walk(
                as_mask(members, nodes),
                self._before,
                self._after,
                self.tensors.graph.work,
                self.tensors.graph.transfer,
                self._consumers,
                self._in_start,
                self._producers,
                weights / max(float((rows @ weights).max(initial=0.0)), 1e-9),
                limit,
                settings.walk_steps,
                int(self._random.integers(2**31)),
                found,
            )
            for row in found[:count]:
                # Lighter sets are met on the way to heavy ones, and tell nothing.
                if not len(rows) or row @ weights > settings.heavy_part * (rows @ weights).max():
                    self.add(members_where(row))


def in_edges(tensors: Tensors) -> tuple[IntArray, IntArray]:
    """Return where each node's in-edges begin in a list, and the list."""
    dag = tensors.graph.dag
    edges = np.argsort(dag.targets, kind="stable")
    return frozen(np.searchsorted(dag.targets[edges], np.arange(tensors.nodes + 1))), frozen(edges)


def as_mask(members: int, nodes: int) -> npt.NDArray[np.bool_]:
    """Return a set as an array."""
    result = np.zeros(nodes, dtype=np.bool_)
    result[list(bits_of(members))] = True
    return result


def _scaled(weights: FloatArray, rows: FloatArray) -> tuple[FloatArray, float]:
    """Scale weights so that no node or known set weighs more than 1; return their sum, too."""
    heaviest = max(float(weights.max()), float((rows @ weights).max(initial=0.0)), 1e-9)
    return weights / heaviest, float(weights.sum()) / heaviest
