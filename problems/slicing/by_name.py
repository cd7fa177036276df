"""Slicings by the names of operators and devices: what a table of numbers of indices says."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.labels import Naming
from boundmark.problems.quoted import quoted
from boundmark.problems.slicing.instance import SlicingInstance
from boundmark.problems.slicing.plan import SlicingPlan
from boundmark.problems.solution_table import Row, SolutionTable

# More than any operator has channels or rows.
LARGEST_PART = 2**31


def _plan(rows: Sequence[Row], instance: SlicingInstance) -> SlicingPlan:
    """Return the plan in which devices take so many indices, in the order of the devices.

    Devices that an operator has no row for compute nothing of it.
    """
    graph = instance.graph
    taken = np.zeros((instance.nodes, graph.devices), dtype=np.int64)
    for node, device, indices in rows:
        if device >= graph.devices:
            raise InvalidInputError(
                f"operator {quoted(graph.names[node])} is sliced for device {device}; "
                f"expected devices 0 to {graph.devices - 1}."
            )
        taken[node, device] = indices
    for node, (found, length) in enumerate(zip(taken.sum(axis=1), graph.length, strict=True)):
        if found != length:
            raise InvalidInputError(
                f"the parts of operator {quoted(graph.names[node])} have {found} indices "
                f"together; expected {length}."
            )
    return SlicingPlan(np.pad(taken.cumsum(axis=1), ((0, 0), (1, 0))))


def _rows(plan: SlicingPlan) -> Iterable[Row]:
    """Yield a row for each part that is not empty."""
    for node, parts in enumerate(np.diff(plan.vectors, axis=1).tolist()):
        for device, indices in enumerate(parts):
            if indices:
                yield node, device, indices


def _renamed(instance: SlicingInstance, names: Sequence[str], tick: str) -> SlicingInstance:
    return SlicingInstance(replace(instance.graph, names=tuple(names), tick=tick))


TABLE = SolutionTable(
    columns=("operator", "device", "indices"),
    largest=LARGEST_PART,
    solution=_plan,
    rows=_rows,
    value_names=lambda instance: {"device": instance.graph.device_names},
)

NAMING = Naming(
    names=lambda instance: instance.graph.names,
    rename=_renamed,
    tick=lambda instance: instance.graph.tick,
)
