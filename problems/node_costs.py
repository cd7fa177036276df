"""Read the costs of a graph's nodes from attributes or columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag


@dataclass(frozen=True)
class NodeCosts:
    """The costs of nodes that a problem reads, and the graph that it makes of them.

    Attributes
    ----------
    required, optional
        Names of the costs, integers in ticks.
    make
        Returns one of the problem's sources, for a graph, its costs by name, the names of its
        nodes, and the ticks' worth of parameters that fit into one device, None if nobody says.
        Raises `InvalidInputError` if they do not go together.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...]
    make: Callable[[Dag, Mapping[str, IntArray], tuple[str, ...], int | None], Any]
