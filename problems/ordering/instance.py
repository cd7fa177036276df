"""An instance of `ordering`: a model's tensors, and how their memory is counted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import (
    check_groups,
    check_integer_lists,
)
from boundmark.problems.ordering.graph import OrderingGraph
from boundmark.problems.ordering.order import ExecutionOrder, memory_while_running
from boundmark.problems.stored_instance import StoredInstance, numbers_as_names

PEAK, SUM = METRICS = ("peak", "sum")
NO, YES = IN_PLACE = ("no", "yes")
NONE, STREAMED, RESIDENT = WEIGHTS = ("none", "streamed", "resident")

FIELDS = (
    "metric", "in_place", "weights", "size", "producer", "consumers", "kept", "parameter_size",
    "parameter_total", "overwrites",
)  # fmt: skip
_LISTS = ("size", "producer", "consumers", "kept", "parameter_size", "overwrites")


@dataclass(frozen=True, eq=False)
class OrderingInstance(StoredInstance):
    """Order operators that run one after another so that tensors take little memory.

    Minimise::

        max over v of M(v, D(v))    or    sum over v of M(v, D(v))
        M(v, D) = L(D) + sizes of the tensors that v writes + workspace(v)

    over all topological orders, D(v) being the operators before v ([MEMORIANOVA24], 3.2). L(D) is
    the size of the tensors that are there after D: written by D, or inputs of the model, and read
    by an operator outside D, or kept. Sizes are in bytes.

    Attributes
    ----------
    graph
        Sizes, producers and consumers of tensors, and sizes of parameters.
    metric
        ``"peak"`` if the largest memory while an operator runs is minimised, ``"sum"`` if the sum
        over all operators is.
    in_place
        ``"yes"`` if an operator overwrites one of its `overwrites` that no other operator still
        reads, so that its output takes no memory of its own while it runs.
    weights
        ``"none"`` if parameters take no memory, ``"streamed"`` if those of an operator do while it
        runs, ``"resident"`` if all of them do all the time.
    """

    problem: ClassVar[str] = "ordering"

    graph: OrderingGraph
    metric: str = PEAK
    in_place: str = NO
    weights: str = NONE

    def __post_init__(self) -> None:
        for name, known in (("metric", METRICS), ("in_place", IN_PLACE), ("weights", WEIGHTS)):
            value = getattr(self, name)
            if value not in known:
                raise InvalidInputError(
                    f"{name} is {value!r}; expected {' or '.join(map(repr, known))}."
                )

    @property
    def dag(self) -> Dag:
        """The graph of operators: each after those whose outputs it reads."""
        return self.graph.dag

    @property
    def parameters(self) -> dict[str, str]:
        """The metric, and how overwritten tensors and parameters count."""
        return {"metric": self.metric, "in_place": self.in_place, "weights": self.weights}

    @property
    def is_redundant(self) -> bool:
        """Whether `in_place` or `weights` applies to no tensor, and makes no difference."""
        cannot = self.in_place == YES and not any(self.graph.overwrites)
        return cannot or (self.weights != NONE and self.graph.parameter_total == 0)

    @cached_property
    def workspace(self) -> IntArray:
        """Memory that each operator takes beside tensors while it runs, shape (n,)."""
        if self.weights == STREAMED:
            return self.graph.parameter_size
        return frozen([self.graph.parameter_total * (self.weights == RESIDENT)] * self.nodes)

    @property
    def overwrites(self) -> tuple[tuple[int, ...], ...]:
        """The tensors that each operator overwrites if it is the last that reads them."""
        return self.graph.overwrites if self.in_place == YES else ((),) * self.nodes

    def with_parameters(self, given: Mapping[str, Any]) -> "OrderingInstance":
        """Return the instance with the given parameters changed."""
        return replace(self, **given)

    def objective(self, solution: ExecutionOrder) -> int:
        """Return the peak or the sum of the memory while operators run, in bytes.

        Raises
        ------
        InvalidInputError
            If the order is not a topological order of all operators.
        """
        taken = memory_while_running(
            self.graph, self.workspace, self.overwrites, solution.order.tolist()
        )
        return max(taken) if self.metric == PEAK else sum(taken)

    def fields(self) -> dict[str, Any]:
        """Return all that the optimum depends on, as integers and texts."""
        graph = self.graph
        return {
            **self.parameters,
            "size": graph.size.tolist(),
            "producer": graph.producer.tolist(),
            "consumers": [list(readers) for readers in graph.consumers],
            "kept": list(graph.kept),
            "parameter_size": graph.parameter_size.tolist(),
            "parameter_total": graph.parameter_total,
            "overwrites": [list(tensors) for tensors in graph.overwrites],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "OrderingInstance":
        """Read the JSON that `to_json` wrote; operators get their numbers as names."""
        cls.check_head(value, FIELDS, _LISTS)
        check_integer_lists(value, ("size", "producer", "kept", "parameter_size"))
        check_groups(value, ("consumers", "overwrites"))
        if not len(value["size"]) == len(value["producer"]) == len(value["consumers"]):
            raise InvalidInputError("size, producer and consumers differ in length.")
        graph = OrderingGraph(
            size=value["size"],
            producer=frozen(value["producer"], "producer"),
            consumers=tuple(map(tuple, value["consumers"])),
            kept=tuple(value["kept"]),
            parameter_size=value["parameter_size"],
            parameter_total=value["parameter_total"],
            overwrites=tuple(map(tuple, value["overwrites"])),
            names=numbers_as_names(len(value["parameter_size"])),
        )
        return cls(graph, value["metric"], value["in_place"], value["weights"])
