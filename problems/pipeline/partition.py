"""A solution of `pipeline`: a stage for every node, and how people write it as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.labels import Naming
from boundmark.problems.solution_table import Row, SolutionTable
from boundmark.problems.stored_fields import is_integer_list

if TYPE_CHECKING:
    from boundmark.problems.pipeline.instance import PipelineInstance


# Objectives and methods keep an array entry per stage.
LARGEST_K = 2**20


@dataclass(frozen=True, eq=False)
class Partition:
    """The stage of each node, 0 to k - 1, shape (n,); stages may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> order = np.array([0, 2, 1, 3])
    >>> Partition.from_slices(order, np.array([2, 4])).stages.tolist()
    [0, 1, 0, 1]
    """

    stages: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", frozen(self.stages, "stages"))

    @classmethod
    def from_slices(cls, order: IntArray, ends: IntArray) -> "Partition":
        """Cut a topological order into consecutive stages.

        Parameters
        ----------
        order
            The nodes in topological order, shape (n,).
        ends
            Position after the last node of each stage, ascending, the last one n.
        """
        stages = [0] * len(order)
        first = 0
        for stage, end in enumerate(ends.tolist()):
            for node in order[first:end].tolist():
                stages[node] = stage
            first = end
        return cls(frozen(stages, "stages"))

    def to_json(self) -> dict[str, Any]:
        """Return ``{"stages": [...]}``."""
        return {"stages": self.stages.tolist()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Partition":
        """Read what `to_json` wrote.

        Raises
        ------
        InvalidInputError
            If ``stages`` is missing or not a list of integers.
        """
        stages = value.get("stages")
        if not is_integer_list(stages):
            raise InvalidInputError("stages of the solution is not a list of integers.")
        return cls(frozen(stages, "stages"))


def _partition(rows: Sequence[Row], instance: "PipelineInstance") -> Partition:
    stages = [0] * instance.nodes
    for node, stage in rows:
        stages[node] = stage
    return Partition(frozen(stages, "stages"))


def _with_stages_used(partition: Partition) -> tuple[Partition, Mapping[str, int | str]]:
    """Return the partition with its stages numbered from 0, and how many it uses.

    Stages that are numbered from 1, or with gaps, keep their order.
    """
    used, numbered = np.unique(partition.stages, return_inverse=True)
    return Partition(frozen(numbered.ravel(), "stages")), {"k": max(1, len(used))}


def _renamed(instance: "PipelineInstance", names: Sequence[str], tick: str) -> "PipelineInstance":
    return replace(instance, graph=replace(instance.graph, names=tuple(names), tick=tick))


TABLE = SolutionTable(
    columns=("operator", "stage"),
    largest=LARGEST_K - 1,
    solution=_partition,
    rows=lambda partition: enumerate(partition.stages.tolist()),
    implied=_with_stages_used,
)

NAMING = Naming(
    names=lambda instance: instance.graph.names,
    rename=_renamed,
    tick=lambda instance: instance.graph.tick,
)
