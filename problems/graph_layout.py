"""Where the nodes of a graph go: producers above consumers, long graphs in several strips."""

from dataclasses import dataclass

from boundmark.problems.dag import Dag
from boundmark.problems.graph_statistics import levels

# Levels one below the other before the next strip begins.
LEVELS_PER_STRIP = 100


@dataclass(frozen=True)
class Layout:
    """Positions on a grid.

    Attributes
    ----------
    columns, rows
        Place of each node; half columns are possible.
    strips
        Strip of each node.
    width, height
        Number of columns and rows.
    """

    columns: list[float]
    rows: list[int]
    strips: list[int]
    width: float
    height: int


def layered(dag: Dag) -> Layout:
    """Place every node in the row of its longest path from an input.

    In a row, nodes are in the order of the middle of their producers (K. Sugiyama, S. Tagawa and
    M. Toda, 1981), which keeps most lines short.
    """
    level = levels(dag).tolist()
    by_level: list[list[int]] = [[] for _ in range(max(level) + 1)]
    for node in dag.topological_order.tolist():
        by_level[level[node]].append(node)
    offset = [0.0] * dag.nodes
    for row in by_level:
        middle = {}
        for node in row:
            above = [offset[v] for v in dag.producers_of(node).tolist()]
            middle[node] = sum(above) / len(above) if above else 0.0
        row.sort(key=middle.__getitem__)
        for place, node in enumerate(row):
            offset[node] = place - (len(row) - 1) / 2
    columns, rows, strips = [0.0] * dag.nodes, [0] * dag.nodes, [0] * dag.nodes
    left = 0.0
    for strip, first in enumerate(range(0, len(by_level), LEVELS_PER_STRIP)):
        part = by_level[first : first + LEVELS_PER_STRIP]
        breadth = max(map(len, part))
        for row_number, row in enumerate(part):
            for node in row:
                columns[node] = left + (breadth - 1) / 2 + offset[node]
                rows[node], strips[node] = row_number, strip
        left += breadth + 0.5
    return Layout(columns, rows, strips, left - 0.5, min(len(by_level), LEVELS_PER_STRIP))
