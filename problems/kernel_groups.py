"""Kernels: operators that any runtime runs as one, and those that only rename what others made.

A `ComputationGraph` may say so of its operators (`ComputationGraph.kernels`); the roofline model
then costs a kernel as one operation. The time of a kernel is that of one of its operators, and the
others take none: a stage that ends inside a kernel is costed as if the rest came for free.
"""

from collections.abc import Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.operator import LEFT_OUT

if TYPE_CHECKING:
    from boundmark.problems.computation_graph import ComputationGraph

# In `ComputationGraph.kernels`: the operator is computed by no kernel.
VIEW = -1


@dataclass
class Kernel:
    """What one kernel does.

    Attributes
    ----------
    bearer
        The operator that bears the cost, that with the most arithmetic.
    members
        Numbers of all its operators.
    reads, parameters, writes
        Numbers of the tensors that enter it, those of the model's parameters, and of those that
        leave it. What stays inside is in none.
    """

    bearer: int
    members: list[int] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)
    parameters: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)


def kernels_of(graph: "ComputationGraph") -> list[Kernel]:
    """Return the kernels in the order of the operators that bear their cost; views are in none.

    Without `ComputationGraph.kernels`, each operator is a kernel by itself.
    """
    bearers = graph.kernels or range(len(graph.operators))
    found: dict[int, Kernel] = {}
    for node, bearer in enumerate(bearers):
        if bearer != VIEW:
            found.setdefault(bearer, Kernel(bearer)).members.append(node)
    readers = _readers(graph, bearers)
    for kernel in found.values():
        made: set[int] = set()
        for node in kernel.members:
            operator = graph.operators[node]
            read = set(operator.reads) - {LEFT_OUT}
            kernel.parameters |= read & graph.parameters
            kernel.reads |= read - graph.parameters
            made.update(operator.writes)
        kernel.reads -= made
        if len(kernel.members) == 1:
            kernel.writes = made
        else:
            kernel.writes = {one for one in made if readers[one] - {kernel.bearer}}
    return sorted(found.values(), key=lambda kernel: kernel.bearer)


# Among readers of a tensor: whoever runs the model, to whom it is returned.
_CALLER = -2


def _readers(graph: "ComputationGraph", bearers: "range | tuple[int, ...]") -> list[Set[int]]:
    """Return for each tensor the kernels that read it; a view stands for itself, by number - n."""
    readers: list[set[int]] = [set() for _ in graph.tensors]
    beyond = len(graph.operators)
    for node, operator in enumerate(graph.operators):
        reader = beyond + node if bearers[node] == VIEW else bearers[node]
        for number in set(operator.reads) - {LEFT_OUT}:
            readers[number].add(reader)
    for number in graph.results:
        readers[number].add(_CALLER)
    return list(readers)


def reader_counts(graph: "ComputationGraph") -> IntArray:
    """Return how many kernels, views and callers read each tensor, shape (t,)."""
    bearers = graph.kernels or range(len(graph.operators))
    return frozen(np.array([len(one) for one in _readers(graph, bearers)], np.int64))
