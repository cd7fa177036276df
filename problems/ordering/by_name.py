"""Execution orders by the names of operators: what a table of positions says."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.labels import Naming
from boundmark.problems.ordering.instance import OrderingInstance
from boundmark.problems.ordering.order import ExecutionOrder
from boundmark.problems.solution_table import Row, SolutionTable

# Positions in a table may be numbers of a longer list, such as lines of a trace.
LARGEST_POSITION = 2**31


def _order(rows: Sequence[Row], instance: OrderingInstance) -> ExecutionOrder:
    by_position = sorted((position, node) for node, position in rows)
    for (first, _), (second, _) in itertools.pairwise(by_position):
        if first == second:
            raise InvalidInputError(f"position {first} occurs twice; expected unique positions.")
    return ExecutionOrder(frozen([node for _, node in by_position], "order"))


def _rows(solution: ExecutionOrder) -> Iterable[Row]:
    position = {node: at for at, node in enumerate(solution.order.tolist())}
    return ((node, position[node]) for node in sorted(position))


def _renamed(instance: OrderingInstance, names: Sequence[str], tick: str) -> OrderingInstance:
    return replace(instance, graph=replace(instance.graph, names=tuple(names)))


TABLE = SolutionTable(
    columns=("operator", "position"), largest=LARGEST_POSITION, solution=_order, rows=_rows
)

NAMING = Naming(names=lambda instance: instance.graph.names, rename=_renamed)
