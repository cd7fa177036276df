"""Instances and solutions of `pipeline`, and the costs of a solution's stages.

Costs are those of [MTPP24], Equations 1 to 3. The overflow term differs from the paper's Equation 2
in that the room left for parameters is a constant of the instance (`cache`) instead of M - peak(S);
the paper makes the same simplification for its MIPs ("reserving a buffer for activations",
Section 3). It also counts parameters in ticks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.json_documents import (
    check_edges,
    is_integer_list,
)
from boundmark.problems.labels import Naming
from boundmark.problems.pipeline.graph import AS_GIVEN, INFERENCE, TRAINING, PipelineGraph
from boundmark.problems.problem import Row, SolutionTable
from boundmark.problems.stored_instance import StoredInstance


def _sums(stages: IntArray, weights: IntArray, k: int) -> IntArray:
    # bincount would add in floating point.
    sums = np.zeros(k, dtype=np.int64)
    np.add.at(sums, stages, weights)
    return sums


def stage_work(graph: PipelineGraph, stages: IntArray, k: int) -> IntArray:
    """Return the work of each stage, shape (k,)."""
    return _sums(stages, graph.work, k)


def stage_transfer(graph: PipelineGraph, stages: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """Return ticks for the tensors that enter, and that leave, each stage; two of shape (k,).

    A tensor counts once for each stage that it enters, however many consumers it has there, and
    once for the stage that it leaves.
    """
    sources, targets = graph.dag.sources, graph.dag.targets
    crossing = stages[sources] != stages[targets]
    producers, receivers = sources[crossing], stages[targets[crossing]]
    entering = np.unique(producers * k + receivers)
    leaving = np.unique(producers)
    return (
        _sums(entering % k, graph.transfer[entering // k], k),
        _sums(stages[leaving], graph.transfer[leaving], k),
    )


def stage_overflow(graph: PipelineGraph, stages: IntArray, k: int) -> IntArray:
    """Return ticks to stream the parameters that do not fit, shape (k,)."""
    return np.maximum(_sums(stages, graph.param_load, k) - graph.cache, 0)


def stage_costs(graph: PipelineGraph, stages: IntArray, k: int) -> IntArray:
    """Return f(S) of each stage S, shape (k,)."""
    incoming, outgoing = stage_transfer(graph, stages, k)
    return stage_work(graph, stages, k) + incoming + outgoing + stage_overflow(graph, stages, k)


# Objectives and methods keep an array entry per stage.
LARGEST_K = 2**20


@dataclass(frozen=True, eq=False)
class Partition:
    """The stage of each node, 0 to k - 1, shape (n,); stages may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> order = np.array([0, 2, 1, 3])
    >>> Partition.from_segments(order, np.array([2, 4])).stages.tolist()
    [0, 1, 0, 1]
    """

    stages: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", frozen(self.stages, "stages"))

    @classmethod
    def from_segments(cls, order: IntArray, ends: IntArray) -> "Partition":
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
        """Read the JSON that `to_json` wrote."""
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


LISTS = ("work", "transfer", "param_load", "edges")
FIELDS = ("k", "work", "transfer", "param_load", "cache", "edges")

TWO_PHASES = "forward and backward times count; phase=inference counts the forward times alone"


@dataclass(frozen=True, eq=False)
class PipelineInstance(StoredInstance):
    """Partition a graph into at most k stages, the slowest as fast as possible ([MTPP24], 2.2).

    Minimise::

        max over S of f(S)
        f(S) = work(S) + io(S) + max(0, param_load(S) - cache)

    over all maps of nodes to stages S = 0, ..., k - 1, some of which may be empty, whose quotient
    graph is acyclic. io(S) adds up the transfer times of the tensors that enter S and of those that
    leave S, each tensor once per direction.

    Attributes
    ----------
    graph
        Work, transfer time and parameters of each of n nodes, and the cache of a stage, in ticks.
    k
        Number of stages; it may exceed n.

    Examples
    --------
    Three operators in a row, of 4, 2 and 3 ticks; moving an output takes one tick:

    >>> from boundmark.problems.dag import Dag
    >>> from boundmark.problems.pipeline.graph import PipelineGraph
    >>> chain = Dag.from_edges(3, [(0, 1), (1, 2)])
    >>> graph = PipelineGraph.without_parameters(chain, [4, 2, 3], [1, 1, 1], ("a", "b", "c"))
    >>> instance = PipelineInstance(graph, k=2)
    >>> instance.objective(Partition([0, 1, 1]))
    6

    The longest operator is a lower bound, which the checker accepts with the operator's number:

    >>> from boundmark.bounds import checker
    >>> from boundmark.problems.certificate import Certificate
    >>> longest = Certificate.of(instance, "max-work/1", 4, {"node": 0}, "example")
    >>> checker.check_certificate(instance.to_json(), longest.to_json())
    4
    """

    problem: ClassVar[str] = "pipeline"

    graph: PipelineGraph
    k: int

    @classmethod
    def of(cls, graph: PipelineGraph, *, k: int, phase: str) -> "PipelineInstance":
        """Return the instance of a graph in a phase.

        Raises
        ------
        InvalidInputError
            If the graph has no such phase.
        """
        if phase == INFERENCE and graph.inference is not None:
            return cls(graph.inference, k)
        if phase not in (AS_GIVEN, graph.phase):
            raise InvalidInputError(
                f"phase is {phase!r}, and the graph has "
                + (
                    "a backward pass, without times of the forward pass alone; expected the model "
                    "without its gradients."
                    if graph.phase
                    else "neither gradients nor times of a backward pass; expected no phase."
                )
            )
        return cls(graph, k)

    def __post_init__(self) -> None:
        if type(self.k) is not int or self.k < 1:
            raise InvalidInputError(f"k is {quoted(self.k)}; expected a positive number of stages.")
        if self.k > LARGEST_K:
            raise InvalidInputError(f"k is {quoted(self.k)}; expected at most {LARGEST_K} stages.")

    @property
    def dag(self) -> Dag:
        """The graph of nodes: each after those whose outputs it reads."""
        return self.graph.dag

    @property
    def parameters(self) -> dict[str, int | str]:
        """The number of stages, and the phase if there are two."""
        return {"k": self.k, **self._phase}

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions that were made, as sentences."""
        if self.graph.inference is None:
            return self.graph.notes
        return (*self.graph.notes, TWO_PHASES)

    @property
    def _phase(self) -> dict[str, int | str]:
        return {"phase": self.graph.phase} if self.graph.phase else {}

    @property
    def is_redundant(self) -> bool:
        """Whether some stage has to be empty."""
        return self.k > self.nodes

    def with_parameters(self, given: Mapping[str, Any]) -> "PipelineInstance":
        """Return the instance with another number of stages, if one is given.

        Raises
        ------
        InvalidInputError
            If another phase is given.
        """
        asked = given.get("phase", AS_GIVEN)
        if asked not in (AS_GIVEN, self.graph.phase):
            raise InvalidInputError(
                f"phase is {quoted(asked)}, and the stored instance has "
                f"{quoted(self.graph.phase) if self.graph.phase else 'none'}; "
                "expected the model that it was made of."
            )
        return replace(self, k=given.get("k", self.k))

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

    def fields(self) -> dict[str, Any]:
        """Return all that the optimum depends on, as integers and texts."""
        graph = self.graph
        return {
            "k": self.k,
            "work": graph.work.tolist(),
            "transfer": graph.transfer.tolist(),
            "param_load": graph.param_load.tolist(),
            "cache": graph.cache,
            "edges": graph.dag.edge_pairs().tolist(),
            **self._phase,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "PipelineInstance":
        """Read the JSON that `to_json` wrote; nodes get their numbers as names."""
        cls.check_head(value, FIELDS, LISTS, ("phase",))
        phase = value.get("phase", TRAINING)
        if phase not in (TRAINING, INFERENCE):
            raise InvalidInputError(
                f"phase is {quoted(phase)}; expected {TRAINING!r} or {INFERENCE!r}."
            )
        check_edges(value["edges"], "node numbers")
        nodes = len(value["work"])
        names = tuple(str(v) for v in range(nodes))
        dag = Dag.from_edges(nodes, value["edges"])
        graph = PipelineGraph(
            dag, value["work"], value["transfer"], value["param_load"], value["cache"], names,
            phase=value.get("phase", ""),
        )  # fmt: skip
        return cls(graph, value["k"])


def quotient_order(dag: Dag, partition: Partition, k: int) -> list[int]:
    """Return the stages 0 .. k - 1 in a topological order of the quotient graph."""
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
