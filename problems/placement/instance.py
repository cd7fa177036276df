"""An instance of `placement`: a graph with costs on devices, and how tensors are moved."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.canonical import canonical_json, sha256_hex
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.placement import features as described
from boundmark.problems.placement.feasibility import PER_EDGE, PER_TENSOR, check_schedule
from boundmark.problems.placement.features import COSTS, OPERATORS, check_described
from boundmark.problems.placement.fusion import RULE_SETS, CoarseGraph, coarsen
from boundmark.problems.placement.graph import PlacementGraph
from boundmark.problems.placement.schedule import PlacementSchedule
from boundmark.problems.problem import INSTANCE_FORMAT
from boundmark.problems.stored_fields import (
    check_fields,
    check_format,
    check_groups,
    check_integer_lists,
    check_integer_tables,
    check_lists,
)

FIELDS = (
    "transfers", "duration", "memory", "capacity", "producer", "consumers", "size", "times",
)  # fmt: skip


NO_FUSION = "none"


@dataclass(frozen=True, eq=False)
class PlacementInstance:
    """Place the operators of `graph` on its devices, and be done as early as possible.

    Attributes
    ----------
    transfers
        ``"per-tensor"`` if the consumers of a tensor on one device share a transfer, ``"per-edge"``
        if each has its own.
    coarse
        How the graph was made by operator fusion; None if it was not, or if the instance was read
        from a document, which says the rules' name and not what was fused.
    fusion
        Name of the rules of fusion; ``"none"`` if the graph is as it was.
    features
        ``"operators"`` if the stored instance says types and output shapes of operators,
        ``"costs"`` if it does not.
    """

    graph: PlacementGraph
    transfers: str = PER_TENSOR
    coarse: CoarseGraph | None = None
    fusion: str = NO_FUSION
    features: str = COSTS

    @classmethod
    def of(
        cls, graph: PlacementGraph, transfers: str, fusion: str, features: str = COSTS
    ) -> "PlacementInstance":
        """Return the instance about a graph, its operators fused by the rules with a name if any.

        Raises
        ------
        InvalidInputError
            If there are rules, or features of operators are asked for, and the graph does not say
            what types its operators have.
        """
        if features == OPERATORS:
            check_described(graph)
        if fusion == NO_FUSION:
            return cls(graph, transfers, features=features)
        coarse = coarsen(graph, RULE_SETS[fusion], transfers)
        return cls(coarse.graph, transfers, coarse, fusion, features)

    def __post_init__(self) -> None:
        if self.transfers not in (PER_TENSOR, PER_EDGE):
            raise InvalidInputError(
                f"transfers is {self.transfers!r}; expected {PER_TENSOR!r} or {PER_EDGE!r}."
            )

    @property
    def problem(self) -> str:
        """Always ``"placement"``."""
        return "placement"

    @property
    def nodes(self) -> int:
        """Number of operators, n."""
        return self.graph.nodes

    @property
    def edges(self) -> int:
        """Number of pairs of a producer and a consumer, m."""
        return self.graph.dag.edges

    @property
    def parameters(self) -> dict[str, str]:
        """Whether consumers share transfers; which operators were fused, and features, if any."""
        said = {"transfers": self.transfers}
        if self.fusion != NO_FUSION:
            said["fusion"] = self.fusion
        if self.features != COSTS:
            said["features"] = self.features
        return said

    @property
    def is_redundant(self) -> bool:
        """Whether transfers could be shared, and operators not fused, without a difference.

        No tensor has consumers that could share a transfer, and none are shared; or the rules of
        fusion apply nowhere.
        """
        if self.coarse is not None and self.nodes == self.coarse.original.nodes:
            return True
        return self.transfers == PER_EDGE and all(
            len(readers) == 1 for readers in self._original.consumers
        )

    @property
    def _original(self) -> PlacementGraph:
        return self.graph if self.coarse is None else self.coarse.original

    def with_parameters(self, given: Mapping[str, Any]) -> "PlacementInstance":
        """Return the instance with transfers, fusion and features changed, as far as given.

        Raises
        ------
        InvalidInputError
            If operators are to be fused or described, and the graph does not say their types; or if
            the instance was stored after fusion, and would have to be fused anew.
        """
        transfers, fusion, features = (
            given.get(name, getattr(self, name)) for name in ("transfers", "fusion", "features")
        )
        if self.fusion == NO_FUSION or self.coarse is not None:
            return PlacementInstance.of(self._original, transfers, fusion, features)
        if (transfers, fusion) != (self.transfers, self.fusion):
            raise InvalidInputError(
                f"this instance was stored with transfers = {self.transfers!r} and fusion = "
                f"{self.fusion!r}, and not what its operators were before; expected the same "
                "transfers and fusion, or the original model."
            )
        if features == OPERATORS:
            check_described(self.graph)
        return replace(self, features=features)

    @cached_property
    def sha256(self) -> str:
        """Hash of the canonical JSON."""
        return sha256_hex(canonical_json(self.to_json()))

    def objective(self, solution: PlacementSchedule) -> int:
        """Return the makespan: when the last operator ends, in ticks.

        Raises
        ------
        InvalidInputError
            If the schedule breaks a constraint.
        """
        return check_schedule(self.graph, solution, self.transfers)

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form: integers, and the names of format, problem and transfers."""
        graph = self.graph
        return {
            "format": INSTANCE_FORMAT,
            "problem": self.problem,
            "transfers": self.transfers,
            **({} if self.fusion == NO_FUSION else {"fusion": self.fusion}),
            "duration": graph.duration.tolist(),
            "memory": graph.memory.tolist(),
            "capacity": graph.capacity.tolist(),
            "producer": graph.producer.tolist(),
            "consumers": [list(readers) for readers in graph.consumers],
            "size": graph.size.tolist(),
            "times": graph.times.reshape(len(graph.times), graph.devices**2).tolist(),
            **(described.to_json(graph) if self.features == OPERATORS else {}),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "PlacementInstance":
        """Read what `to_json` wrote; operators and devices get their numbers as names.

        Raises
        ------
        InvalidInputError
            If a field is missing, or is not what the format says.
        """
        check_format(value, INSTANCE_FORMAT)
        check_fields(value, FIELDS)
        check_lists(value, FIELDS[1:])
        check_integer_lists(value, ("memory", "capacity", "producer", "size"))
        check_integer_tables(value, ("duration", "times"))
        check_groups(value, ("consumers",))
        if len(value["producer"]) != len(value["consumers"]):
            raise InvalidInputError("producer and consumers differ in length.")
        devices = len(value["capacity"])
        if any(len(row) != devices**2 for row in value["times"][:1]):
            raise InvalidInputError(
                f"a row of times has {len(value['times'][0])} values; expected one for each of "
                f"the {devices**2} pairs of devices."
            )
        tables = [
            [row[at : at + devices] for at in range(0, devices**2, devices)]
            for row in value["times"]
        ]
        graph = PlacementGraph(
            duration=value["duration"],
            memory=value["memory"],
            capacity=value["capacity"],
            producer=value["producer"],
            consumers=tuple(map(tuple, value["consumers"])),
            size=value["size"],
            times=frozen(tables or np.zeros((0, devices, devices)), "times"),
            names=tuple(map(str, range(len(value["duration"])))),
            device_names=tuple(map(str, range(devices))),
            **described.from_json(value),
        )
        features = OPERATORS if graph.op_types else COSTS
        return cls(graph, value["transfers"], fusion=_fusion(value), features=features)


def _fusion(value: Mapping[str, Any]) -> str:
    """Return the name of the rules by which a stored instance's operators were fused."""
    fusion = value.get("fusion", NO_FUSION)
    if "fusion" in value and fusion not in tuple(RULE_SETS):
        raise InvalidInputError(
            f"fusion is {quoted(fusion)}; expected {' or '.join(map(repr, RULE_SETS))}, "
            "or no such field."
        )
    return str(fusion)
