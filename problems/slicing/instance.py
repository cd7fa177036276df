"""An instance of `slicing`: operators with costs, and edge devices around a router."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.json_documents import (
    check_integer_lists,
    check_integer_tables,
)
from boundmark.problems.slicing.graph import Edge, SlicingGraph
from boundmark.problems.slicing.latency import latency, memory_alone
from boundmark.problems.slicing.plan import SlicingPlan
from boundmark.problems.stored_instance import StoredInstance, numbers_as_names

LISTS = ("length", "axis", "launch", "weights", "output", "capacity")
TABLES = ("work", "edges")
RATES = ("point_to_point", "broadcast")
FIELDS = (*LISTS, *TABLES, *RATES, "delay")


@dataclass(frozen=True, eq=False)
class SlicingInstance(StoredInstance):
    """Cut operators into parts, one per device, so that a model ends early ([MEMORIANOVA24], 3.3).

    Minimise::

        sum over i of max over j of communication(i, j) + computation(i, j)
        0 = x(i, 0) <= x(i, 1) <= ... <= x(i, n) = L(i)

    Operators run one after another. Device j computes the indices x(i, j - 1) up to x(i, j),
    exclusive, of operator i, whose output has L(i) of them in the dimension in which it is sliced
    (Equations 6 to 11). First it gets what it needs of the inputs and has not computed itself. What
    it holds while an operator runs fits into its memory (Constraint 18).

    Attributes
    ----------
    graph
        Lengths, work and tensors of N operators, and rates and memory of n devices.
    memory
        Memory of each device, at most, in percent of what the model takes on one device alone; 0 if
        devices have all that they have.
    """

    problem: ClassVar[str] = "slicing"

    graph: SlicingGraph
    memory: int = 0

    @classmethod
    def of(
        cls, graph: SlicingGraph, edge_devices: int, memory_percent: int = 0
    ) -> "SlicingInstance":
        """Return the instance on the first devices; on all of them if the number is 0.

        Raises
        ------
        InvalidInputError
            If there are not so many devices, or an operator does not fit on them.
        """
        chosen = graph.with_devices(edge_devices) if edge_devices else graph
        if not memory_percent:
            return cls(chosen)
        most = -(-memory_percent * memory_alone(chosen) // 100)
        limited = replace(chosen, capacity=chosen.capacity.clip(max=most))
        return cls(limited, memory_percent)

    @property
    def dag(self) -> Dag:
        """The graph of operators: each after those whose outputs it reads."""
        return self.graph.dag

    @property
    def parameters(self) -> dict[str, int]:
        """The number of devices, and their memory if that is limited."""
        limit = {"memory_percent": self.memory} if self.memory else {}
        return {"edge_devices": self.graph.devices, **limit}

    def with_parameters(self, given: Mapping[str, Any]) -> "SlicingInstance":
        """Return the instance on fewer devices, and with less memory, as far as that is given.

        Raises
        ------
        InvalidInputError
            If there are not so many devices, or an operator does not fit on them.
        """
        devices, memory = given.get("edge_devices", 0), given.get("memory_percent", 0)
        changed = SlicingInstance.of(self.graph, devices, memory)
        return changed if memory else replace(changed, memory=self.memory)

    def objective(self, solution: SlicingPlan) -> int:
        """Return the latency, in ticks.

        Raises
        ------
        InvalidInputError
            If the plan breaks a constraint.
        """
        return latency(self.graph, solution)

    def fields(self) -> dict[str, Any]:
        """Return all that the optimum depends on, as integers and texts."""
        graph = self.graph
        return {
            **{field: getattr(graph, field).tolist() for field in (*LISTS, "work")},
            "edges": [list(edge) for edge in graph.edges],
            **{field: list(getattr(graph, field)) for field in RATES},
            "delay": graph.delay,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SlicingInstance":
        """Read the JSON that `to_json` wrote; operators and devices get their numbers as names."""
        cls.check_head(value, FIELDS, FIELDS[:-1])
        check_integer_lists(value, (*LISTS, *RATES))
        check_integer_tables(value, TABLES)
        for field in RATES:
            if len(value[field]) != 2:
                raise InvalidInputError(
                    f"{field} is {quoted(value[field])}; expected two integers, ticks and bytes."
                )
        if value["edges"] and len(value["edges"][0]) != len(Edge._fields):
            raise InvalidInputError(
                f"an edge has {len(value['edges'][0])} integers; expected "
                f"{', '.join(Edge._fields)}."
            )
        if type(value["delay"]) is not int:
            raise InvalidInputError(f"delay is {quoted(value['delay'])}; expected an integer.")
        return cls(
            SlicingGraph(
                **{field: value[field] for field in (*LISTS, "work", "delay")},
                edges=tuple(Edge(*row) for row in value["edges"]),
                point_to_point=tuple(value["point_to_point"]),
                broadcast=tuple(value["broadcast"]),
                names=numbers_as_names(len(value["length"])),
                device_names=numbers_as_names(len(value["capacity"])),
            )
        )
