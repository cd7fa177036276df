"""A solution of `slicing`: a partition vector for each operator, and an order of operators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.json_documents import is_integer_list, is_integer_table
from boundmark.problems.labels import Naming
from boundmark.problems.problem import Row, SolutionTable

if TYPE_CHECKING:
    from boundmark.problems.slicing.instance import SlicingInstance


@dataclass(frozen=True, eq=False)
class SlicingPlan:
    """Which indices of each operator each device computes, and the order of the operators.

    Attributes
    ----------
    vectors
        Device j computes the indices from ``vectors[i, j]`` up to ``vectors[i, j + 1]``, exclusive,
        of operator i, shape (N, n + 1) ([MEMORIANOVA24], Equations 6 to 11).
    order
        Numbers of the operators, from the one that runs first to the last, shape (N,); None for the
        order of their numbers. What devices hold depends on it, and the latency does not.
    """

    vectors: IntArray
    order: IntArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", frozen(self.vectors, "vectors"))
        if self.vectors.ndim != 2:
            raise InvalidInputError(
                f"vectors have the shape {self.vectors.shape}; expected (operators, devices + 1)."
            )
        if self.order is not None:
            object.__setattr__(self, "order", frozen(self.order, "order"))

    def to_json(self) -> dict[str, Any]:
        """Return ``{"vectors": [[0, ..., length], ...]}``, with ``"order"`` if there is one."""
        order = {} if self.order is None else {"order": self.order.tolist()}
        return {"vectors": self.vectors.tolist(), **order}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SlicingPlan":
        """Read the JSON that `to_json` wrote."""
        vectors = value.get("vectors")
        if not is_integer_table(vectors) or not vectors:
            raise InvalidInputError(
                "vectors of the solution is not a list of equally long lists of integers."
            )
        order = value.get("order")
        if order is None:
            return cls(frozen(vectors, "vectors"))
        if not is_integer_list(order):
            raise InvalidInputError("order of the solution is not a list of integers.")
        return cls(frozen(vectors, "vectors"), frozen(order, "order"))


# More than any operator has channels or rows.
LARGEST_PART = 2**31


def _plan(rows: Sequence[Row], instance: "SlicingInstance") -> SlicingPlan:
    """Return the plan that gives devices, in their order, these numbers of indices.

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


def _renamed(instance: "SlicingInstance", names: Sequence[str], tick: str) -> "SlicingInstance":
    return replace(instance, graph=replace(instance.graph, names=tuple(names), tick=tick))


TABLE = SolutionTable(
    columns=("operator", "device", "indices"),
    largest=LARGEST_PART,
    solution=_plan,
    rows=_rows,
    value_names=lambda instance: {"device": instance.graph.device_names},
    says_all=lambda plan: plan.order is None,
)

NAMING = Naming(
    names=lambda instance: instance.graph.names,
    rename=_renamed,
    tick=lambda instance: instance.graph.tick,
)
