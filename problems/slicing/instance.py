"""An instance of `slicing`: operators with costs, and edge devices around a router."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from boundmark.problems.canonical import canonical_json, sha256_hex
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.problem import INSTANCE_FORMAT
from boundmark.problems.slicing.edge import Edge
from boundmark.problems.slicing.graph import SlicingGraph
from boundmark.problems.slicing.latency import latency
from boundmark.problems.slicing.plan import SlicingPlan
from boundmark.problems.stored_fields import (
    check_fields,
    check_format,
    check_integer_lists,
    check_integer_tables,
    check_lists,
)

LISTS = ("length", "axis", "launch", "weights", "output", "capacity")
TABLES = ("work", "edges")
RATES = ("point_to_point", "broadcast")
FIELDS = (*LISTS, *TABLES, *RATES, "delay")


@dataclass(frozen=True, eq=False)
class SlicingInstance:
    """Slice the operators of `graph` over its devices, and be done as early as possible."""

    graph: SlicingGraph

    @classmethod
    def of(cls, graph: SlicingGraph, edge_devices: int) -> "SlicingInstance":
        """Return the instance on the first devices; on all of them if the number is 0."""
        return cls(graph.with_devices(edge_devices) if edge_devices else graph)

    @property
    def problem(self) -> str:
        """Always ``"slicing"``."""
        return "slicing"

    @property
    def nodes(self) -> int:
        """Number of operators, N."""
        return self.graph.nodes

    @property
    def edges(self) -> int:
        """Number of pairs of a producer and a consumer, m."""
        return self.graph.dag.edges

    @property
    def parameters(self) -> dict[str, int]:
        """The number of devices."""
        return {"edge_devices": self.graph.devices}

    @property
    def is_redundant(self) -> bool:
        """Always false: every number of devices is a problem of its own."""
        return False

    def with_parameters(self, given: Mapping[str, Any]) -> "SlicingInstance":
        """Return the instance on fewer devices, if that is given.

        Raises
        ------
        InvalidInputError
            If there are not so many.
        """
        return SlicingInstance.of(self.graph, given.get("edge_devices", 0))

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""
        return sha256_hex(canonical_json(self.to_json()))

    def objective(self, solution: SlicingPlan) -> int:
        """Return the latency, in ticks.

        Raises
        ------
        InvalidInputError
            If the plan breaks a constraint.
        """
        return latency(self.graph, solution)

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form: integers, and the names of format and problem."""
        graph = self.graph
        return {
            "format": INSTANCE_FORMAT,
            "problem": self.problem,
            **{field: getattr(graph, field).tolist() for field in (*LISTS, "work")},
            "edges": [list(edge) for edge in graph.edges],
            **{field: list(getattr(graph, field)) for field in RATES},
            "delay": graph.delay,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SlicingInstance":
        """Read what `to_json` wrote; operators and devices get their numbers as names.

        Raises
        ------
        InvalidInputError
            If a field is missing, or is not what the format says.
        """
        check_format(value, INSTANCE_FORMAT)
        check_fields(value, FIELDS)
        check_lists(value, FIELDS[:-1])
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
                names=tuple(map(str, range(len(value["length"])))),
                device_names=tuple(map(str, range(len(value["capacity"])))),
            )
        )
