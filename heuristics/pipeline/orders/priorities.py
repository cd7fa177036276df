"""Topological orders from node priorities ([MTPP24], Section 4.2)."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from boundmark.heuristics.pipeline.kernels.kahn import order_by_priority
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag

Priorities: TypeAlias = npt.NDArray[np.float64]


def topological_order(dag: Dag, priorities: Priorities) -> IntArray:
    """Return the order that always takes the ready node of highest priority.

    Of equal priorities the smaller node number comes first. Every topological order comes from
    some priorities, so a search over priorities misses none.
    """
    order: IntArray = order_by_priority(
        dag.consumer_start, dag.targets, dag.producer_start, priorities
    )
    return order
