"""The linear program of weights: as much as possible in all, at most 1 in each known packing."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline.packing.pool import Packing, Pool
from boundmark.bounds.pipeline.packing.tensors import bits_of
from boundmark.problems.solver_module import require_module

# Of HiGHS: new columns leave the basis feasible.
PRIMAL_SIMPLEX = 4

FloatArray = npt.NDArray[np.float64]

# How often each node is in a packing, by node.
Row = tuple[tuple[int, int], ...]


@dataclass
class Packings:
    """Packings of sets, each with the least that it is known to cost.

    They are rows of the program at every threshold that is not below their cost.
    """

    costs: dict[Row, int] = field(default_factory=dict)

    def add(self, pool: Pool, packing: Packing) -> Row:
        """Add a packing; return how often each node is in it."""
        times: Counter[int] = Counter()
        for i in packing:
            times.update(bits_of(pool.members[i]))
        row = tuple(sorted(times.items()))
        cost = sum(pool.costs[i] for i in packing)
        self.costs[row] = min(cost, self.costs.get(row, cost))
        return row


class Master:
    """The program at one threshold, to which packings are added.

    It is solved as its dual, the least number of packings that cover all nodes: there, a packing is
    a column, and the basis stays as small as there are nodes. Weights are the multipliers.
    """

    def __init__(self, nodes: int, threads: int) -> None:
        """Begin with weights of at most 1."""
        require_module("highspy")
        import highspy

        self._infinite = highspy.kHighsInf
        self._solver = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("threads", threads),
            ("solver", "simplex"),
            ("simplex_strategy", PRIMAL_SIMPLEX),
            ("presolve", "off"),
        ):
            self._solver.setOptionValue(option, value)
        self._packings: set[Row] = set()
        no_columns = np.zeros(0, dtype=np.int32)
        for v in range(nodes):
            self._solver.addRow(1.0, self._infinite, 0, no_columns, np.zeros(0))
            self._solver.addCol(1.0, 0.0, self._infinite, 1, np.array([v]), np.ones(1))

    def add(self, row: Row) -> bool:
        """Add a packing; return False if it is there already."""
        if row in self._packings:
            return False
        self._packings.add(row)
        nodes = np.array([v for v, _ in row], dtype=np.int32)
        times = np.array([count for _, count in row], dtype=np.float64)
        self._solver.addCol(1.0, 0.0, self._infinite, len(row), nodes, times)
        return True

    def forbid(self, node: int) -> None:
        """Give a node no weight."""
        self._solver.changeColCost(node, 0.0)

    def solve(self, seconds: float) -> tuple[FloatArray, float] | None:
        """Return weights and their sum; None if the time was too short."""
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(seconds, 0.01))
        self._solver.run()
        if not self._solver.getSolution().dual_valid:
            return None
        return (
            np.maximum(np.array(self._solver.getSolution().row_dual), 0.0),
            float(self._solver.getInfo().objective_function_value),
        )
