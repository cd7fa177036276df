"""The linear program of node weights with packings as rows, solved by the simplex method.

It is the largest sum of weights such that no packing weighs more than 1.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.problems.method import require_module

# HiGHS's primal simplex: new columns leave the basis feasible.
PRIMAL_SIMPLEX = 4

FloatArray = npt.NDArray[np.float64]

# How often each node is in a packing, by node.
Row = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class MasterSettings:
    """Settings of the linear program: when packings are dropped from it.

    Attributes
    ----------
    most_columns
        Packings for each node beyond which those with the largest reduced costs are dropped, down
        to half. Solving takes half to nine tenths of the time that it takes with all.
    growth
        Factor by which this number grows whenever packings are dropped, so that dropping ends.
    idle
        Reduced cost from which on a packing may be dropped, in stages.
    """

    most_columns: float = 10.0
    growth: float = 1.25
    idle: float = 1e-7


class Master:
    """The linear program of weights at one threshold, a column per packing in its dual.

    It is solved as its dual, the least number of packings that cover all nodes: there, a packing is
    a column, and the basis stays as small as there are nodes. Weights are the multipliers.
    """

    def __init__(
        self, nodes: int, threads: int, settings: MasterSettings = MasterSettings()
    ) -> None:
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
        self._settings = settings
        self._nodes, self._most = nodes, settings.most_columns * nodes
        self._packings: dict[Row, None] = {}
        no_columns = np.zeros(0, dtype=np.int32)
        for v in range(nodes):
            self._solver.addRow(1.0, self._infinite, 0, no_columns, np.zeros(0))
            self._solver.addCol(1.0, 0.0, self._infinite, 1, np.array([v]), np.ones(1))

    def add(self, packing: Row) -> bool:
        """Add a packing; return whether it is new."""
        if packing in self._packings:
            return False
        self._packings[packing] = None
        nodes = np.array([v for v, _ in packing], dtype=np.int32)
        times = np.array([count for _, count in packing], dtype=np.float64)
        self._solver.addCol(1.0, 0.0, self._infinite, len(nodes), nodes, times)
        return True

    def forbid(self, node: int) -> None:
        """Give a node no weight."""
        self._solver.changeColCost(node, 0.0)

    def drop_idle(self) -> list[Row]:
        """If there are many packings, drop those that constrain the last solution least.

        Returns
        -------
        The packings dropped, which may be added again.
        """
        if len(self._packings) <= self._most:
            return []
        costs = np.array(self._solver.getSolution().col_dual)[self._nodes :]
        order = np.argsort(costs, kind="stable")[int(self._most / 2) :]
        # Columns of the basis have no reduced cost.
        idle = np.sort(order[costs[order] > self._settings.idle])
        self._solver.deleteCols(len(idle), (self._nodes + idle).astype(np.int32))
        packings = list(self._packings)
        dropped = [packings[i] for i in idle.tolist()]
        for key in dropped:
            del self._packings[key]
        self._most *= self._settings.growth
        return dropped

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
