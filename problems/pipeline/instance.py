"""An instance of `pipeline`: a graph with costs, and a number of stages."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.canonical import canonical_json, sha256_hex
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.pipeline.objective import stage_costs
from boundmark.problems.pipeline.partition import LARGEST_K, Partition
from boundmark.problems.problem import INSTANCE_FORMAT
from boundmark.problems.stored_fields import (
    check_edges,
    check_fields,
    check_format,
    check_lists,
)


@dataclass(frozen=True, eq=False)
class PipelineInstance:
    """Partition `graph` into at most `k` stages; k may exceed the number of nodes."""

    graph: PipelineGraph
    k: int

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise InvalidInputError(f"k is {self.k!r}; expected a positive number of stages.")
        if self.k > LARGEST_K:
            raise InvalidInputError(f"k is {self.k}; expected at most {LARGEST_K} stages.")

    @property
    def problem(self) -> str:
        """Always ``"pipeline"``."""
        return "pipeline"

    @property
    def nodes(self) -> int:
        """Number of nodes, n."""
        return self.graph.dag.nodes

    @property
    def edges(self) -> int:
        """Number of edges, m."""
        return self.graph.dag.edges

    @property
    def parameters(self) -> dict[str, int]:
        """The number of stages."""
        return {"k": self.k}

    @property
    def is_redundant(self) -> bool:
        """Whether some stage has to be empty."""
        return self.k > self.nodes

    def with_parameters(self, given: Mapping[str, Any]) -> "PipelineInstance":
        """Return the instance with another number of stages, if one is given."""
        return PipelineInstance(self.graph, given.get("k", self.k))

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""
        return sha256_hex(canonical_json(self.to_json()))

    def objective(self, solution: Partition) -> int:
        """Return the cost of the slowest stage, in ticks.

        Raises
        ------
        InvalidInputError
            If the partition does not fit the instance or its quotient graph has a cycle.
        """
        stages = solution.stages
        if stages.shape != (self.nodes,):
            raise InvalidInputError(
                f"the partition has {stages.size} stages; expected one for each of the "
                f"{self.nodes} nodes."
            )
        if int(stages.min()) < 0 or int(stages.max()) >= self.k:
            raise InvalidInputError(
                f"the partition uses stages {stages.min()} to {stages.max()}; "
                f"expected 0 to {self.k - 1}."
            )
        quotient_order(self.graph.dag, solution, self.k)
        return int(stage_costs(self.graph, stages, self.k).max())

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form: integers and the names of format and problem."""
        graph = self.graph
        return {
            "format": INSTANCE_FORMAT,
            "problem": self.problem,
            "k": self.k,
            "work": graph.work.tolist(),
            "transfer": graph.transfer.tolist(),
            "param_load": graph.param_load.tolist(),
            "cache": graph.cache,
            "edges": graph.dag.edge_pairs().tolist(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "PipelineInstance":
        """Read what `to_json` wrote; nodes get their numbers as names.

        Raises
        ------
        InvalidInputError
            If a field is missing, or is not what the format says.
        """
        check_format(value, INSTANCE_FORMAT)
        check_fields(value, ("k", "work", "transfer", "param_load", "cache", "edges"))
        check_lists(value, ("work", "transfer", "param_load", "edges"))
        check_edges(value["edges"], "node numbers")
        nodes = len(value["work"])
        names = tuple(str(v) for v in range(nodes))
        dag = Dag.from_edges(nodes, value["edges"])
        graph = PipelineGraph(
            dag, value["work"], value["transfer"], value["param_load"], value["cache"], names
        )
        return cls(graph, value["k"])


def quotient_order(dag: Dag, partition: Partition, k: int) -> list[int]:
    """Return the stages 0 .. k - 1 in a topological order of the quotient graph.

    Raises
    ------
    InvalidInputError
        If the quotient graph has a cycle ([MTPP24], Section 2.2).
    """
    pairs = partition.stages[dag.edge_pairs()]
    crossing = pairs[pairs[:, 0] != pairs[:, 1]]
    try:
        quotient = Dag.from_edges(k, crossing, tuple(f"stage {stage}" for stage in range(k)))
    except InvalidInputError as error:
        raise InvalidInputError(f"the stages cannot run one after another: {error}") from error
    return [int(stage) for stage in quotient.topological_order]


def in_pipeline_order(instance: PipelineInstance, partition: Partition) -> Partition:
    """Return the same stages, numbered so that data only flows to later stages."""
    position = np.empty(instance.k, dtype=np.int64)
    position[quotient_order(instance.graph.dag, partition, instance.k)] = np.arange(instance.k)
    return Partition(frozen(position[partition.stages]))
