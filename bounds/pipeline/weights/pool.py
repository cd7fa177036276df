"""The pool of known sets of nodes, their weights, and the heaviest packings of them."""

from dataclasses import dataclass, field

import numpy as np

from boundmark.bounds.checker.pipeline.limits import MOST_PACKING_UNITS
from boundmark.bounds.pipeline.weights import growth
from boundmark.bounds.pipeline.weights.tensors import bits_of
from boundmark.problems.arrays import IntArray, frozen

# A multiset of sets, by their numbers in the pool.
Packing = list[int]


def unit_of(limit: int) -> int:
    """Return the ticks of a unit of cost, for at most the checker's number of units."""
    return limit // MOST_PACKING_UNITS + 1


@dataclass
class Pool:
    """Connected convex sets of one graph, without repetition.

    Attributes
    ----------
    members
        Bit sets.
    costs
        What they cost as stages.
    """

    members: list[int] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)
    _number: dict[int, int] = field(default_factory=dict)
    _nodes: list[int] = field(default_factory=list)
    _start: list[int] = field(default_factory=list)
    _arrays: tuple[IntArray, IntArray, IntArray] | None = None

    def add(self, members: int, cost: int) -> bool:
        """Add a set; return False if it is known."""
        if members in self._number:
            return False
        self._number[members] = len(self.members)
        self.members.append(members)
        self.costs.append(cost)
        self._start.append(len(self._nodes))
        self._nodes += bits_of(members)
        self._arrays = None
        return True

    def number(self, members: int) -> int:
        """Return the number of a set of the pool."""
        return self._number[members]

    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the costs; the nodes of all sets, one set after the other; where each begins."""
        if self._arrays is None:
            self._arrays = frozen(self.costs), frozen(self._nodes), frozen(self._start)
        return self._arrays

    def weights(self, weights: IntArray) -> IntArray:
        """Return the weight of each set, given the nodes' weights."""
        _, nodes, start = self.arrays()
        return np.add.reduceat(weights[nodes], start)


@dataclass(frozen=True, eq=False)
class Front:
    """The heaviest known sets and packings of them, by units of cost.

    Attributes
    ----------
    weights
        What the heaviest set of exactly so many units weighs.
    heaviest
        Which set of the pool that is, or -1.
    packed
        What the heaviest packing of at most so many units weighs.
    last
        Units of one of its sets, or 0 if it has fewer units.
    """

    weights: IntArray
    heaviest: IntArray
    packed: IntArray
    last: IntArray

    @classmethod
    def of(cls, pool: Pool, weights: IntArray, unit: int, units: int) -> "Front":
        """Compute the heaviest packings of a pool's sets."""
        front, heaviest, packed, last = (np.zeros(units + 1, dtype=np.int64) for _ in range(4))
        costs = frozen(pool.arrays()[0] // unit)
        growth.heaviest_by_unit(costs, frozen(pool.weights(weights)), front, heaviest)
        growth.pack(front, packed, last)
        return cls(front, heaviest, packed, last)

    @property
    def most(self) -> int:
        """The weight of the heaviest packing, at least 1."""
        return max(1, int(self.packed[-1]))

    def packing(self, units: int) -> Packing:
        """Return the heaviest packing that costs at most a number of units."""
        result = []
        while units:
            used = int(self.last[units])
            if used:
                result.append(int(self.heaviest[used]))
            units -= max(1, used)
        return result

    def tight(self, least: int) -> Packing:
        """Return the sets, one for each cost, in packings of at least a given weight."""
        return self.heaviest[self._together() >= least].tolist()  # type: ignore[no-any-return]

    def packings(self, more_than: int, most: int) -> list[Packing]:
        """Return packings heavier than a limit, each the heaviest with some set, best first.

        Parameters
        ----------
        most
            How many to return.
        """
        together = self._together()
        above = np.flatnonzero(together > more_than)
        best = above[np.argsort(-together[above], kind="stable")][:most]
        whole = len(self.weights) - 1
        return [[int(self.heaviest[i]), *self.packing(whole - i)] for i in best.tolist()]

    def _together(self) -> IntArray:
        """Return the weight of each set with the heaviest packing beside it, -1 for no set."""
        is_set = self.weights > 0
        # Sets that cost less than a unit could be packed any number of times.
        is_set[0] = False
        return np.where(is_set, self.weights + self.packed[::-1], -1)
