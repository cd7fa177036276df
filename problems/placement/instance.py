"""An instance of `placement`: a graph with costs on devices, and how tensors are moved.

Beside costs, operators have features: types, and shapes of the tensors that they write. No
objective depends on them. Methods that learn from them can only read what an instance holds, so an
instance made with ``features = "operators"`` has them in its canonical JSON, and another hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.problems.json_documents import (
    check_groups,
    check_integer_lists,
    check_integer_tables,
    is_integer_list,
)
from boundmark.problems.placement.feasibility import PER_EDGE, PER_TENSOR, check_schedule
from boundmark.problems.placement.fusion import RULE_SETS, CoarseGraph, coarsen
from boundmark.problems.placement.graph import (
    UNSUPPORTED,
    PlacementGraph,
    with_kept_outputs,
)
from boundmark.problems.placement.schedule import PlacementSchedule
from boundmark.problems.stored_instance import StoredInstance, numbers_as_names

COSTS, OPERATORS = "costs", "operators"

FEATURE_FIELDS = ("op_types", "output_shapes")


def check_described(graph: PlacementGraph) -> None:
    """Refuse a graph without types of operators and shapes of outputs."""
    if not graph.op_types or not graph.output_shapes:
        raise InvalidInputError(
            "features is 'operators', and the graph does not say its operators' types and output "
            "shapes; expected a model file, or features = 'costs'."
        )


def _feature_fields(graph: PlacementGraph) -> dict[str, Any]:
    """Return the fields of a stored instance with a graph's types and shapes."""
    return {
        "op_types": list(graph.op_types),
        "output_shapes": [list(shape) for shape in graph.output_shapes],
    }


def _features(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored types and shapes, if any, as arguments of `PlacementGraph`."""
    given = [field for field in FEATURE_FIELDS if field in value]
    if not given:
        return {}
    for field in FEATURE_FIELDS:
        if not isinstance(value.get(field), list) or len(value[field]) != len(value["duration"]):
            raise InvalidInputError(
                f"{field} is not a list with an entry for each operator, and {given[0]} is there."
            )
    for entry in value["op_types"]:
        if not isinstance(entry, str):
            raise InvalidInputError(f"op_types has {quoted(entry)}; expected texts.")
    for entry in value["output_shapes"]:
        if not is_integer_list(entry) or any(not 0 <= extent < 2**63 for extent in entry):
            raise InvalidInputError(
                f"output_shapes has {quoted(entry)}; expected lists of non-negative integers, of "
                "at most 63 bits."
            )
    return {
        "op_types": tuple(value["op_types"]),
        "output_shapes": tuple(map(tuple, value["output_shapes"])),
    }


FIELDS = (
    "transfers", "duration", "memory", "capacity", "producer", "consumers", "size", "times",
)  # fmt: skip


NO_FUSION = "none"

# What devices have to have room for; the last one as far as the graph says how large tensors are.
KEPT_OUTPUTS, LIVE_TENSORS, AUTOMATIC = "parameters+outputs", "parameters+live", "auto"

LIVE_FIELDS = ("memory_model", "tensor_memory", "result_memory")


@dataclass(frozen=True, eq=False)
class PlacementInstance(StoredInstance):
    """Place operators on devices, and schedule them to end as early as possible ([MOIRAI24]).

    Minimise::

        max over v of start(v) + duration(v, device(v))

    over a device and a start for each operator v, and a start for each transfer. A tensor is moved
    to the devices that read it, after its producer ends and before its consumers start. A device
    runs one operator, sends one tensor and receives one at a time, all three at once (Equations 4
    to 8), and has room for the memory of all its operators together (Equation 5). With memory model
    `parameters+outputs`, that includes all that they write; with `parameters+live`, a device has
    room for that besides, as long as it is live there (see `feasibility`).

    Attributes
    ----------
    graph
        Durations, memory and tensors of n operators, and the capacity of D devices.
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
    source
        What the graph was before its outputs were added to its memory, or operators were fused;
        None if it was neither, or is not known.
    """

    problem: ClassVar[str] = "placement"

    graph: PlacementGraph
    transfers: str = PER_TENSOR
    coarse: CoarseGraph | None = None
    fusion: str = NO_FUSION
    features: str = COSTS
    source: PlacementGraph | None = None

    @classmethod
    def of(
        cls,
        graph: PlacementGraph,
        transfers: str,
        fusion: str,
        features: str = COSTS,
        memory: str = AUTOMATIC,
    ) -> "PlacementInstance":
        """Return the instance about a graph, its operators fused by the rules with a name if any.

        Raises
        ------
        InvalidInputError
            If there are rules, or features of operators are asked for, and the graph does not say
            what types its operators have; or tensors are to take memory while they are live, and it
            does not say how large they are.
        """
        if features == OPERATORS:
            check_described(graph)
        if memory == LIVE_TENSORS and not graph.is_live:
            raise InvalidInputError(
                f"memory is {memory!r}, and the graph does not say how large its tensors are; "
                f"expected a model file, or memory = {KEPT_OUTPUTS!r}."
            )
        used = with_kept_outputs(graph) if memory == KEPT_OUTPUTS else graph
        if fusion == NO_FUSION:
            return cls(_with_room(used), transfers, features=features, source=graph)
        coarse = coarsen(used, find("fusion", fusion, RULE_SETS), transfers)
        return cls(_with_room(coarse.graph), transfers, coarse, fusion, features, graph)

    def __post_init__(self) -> None:
        if self.transfers not in (PER_TENSOR, PER_EDGE):
            raise InvalidInputError(
                f"transfers is {self.transfers!r}; expected {PER_TENSOR!r} or {PER_EDGE!r}."
            )

    @property
    def dag(self) -> Dag:
        """The graph of operators: each after those whose outputs it reads."""
        return self.graph.dag

    @property
    def parameters(self) -> dict[str, str]:
        """The sharing of transfers, and all other parameters that differ from their defaults.

        That is which operators were fused, that tensors take memory while they are live, and
        features.
        """
        said = {"transfers": self.transfers}
        if self.graph.is_live:
            said["memory"] = LIVE_TENSORS
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
    def memory_model(self) -> str:
        """The memory that counts on devices: `parameters+outputs` or `parameters+live`."""
        return LIVE_TENSORS if self.graph.is_live else KEPT_OUTPUTS

    @property
    def _original(self) -> PlacementGraph:
        if self.source is not None:
            return self.source
        return self.graph if self.coarse is None else self.coarse.original

    def with_parameters(self, given: Mapping[str, Any]) -> "PlacementInstance":
        """Return the instance with transfers, fusion, features and memory changed, as far as given.

        Raises
        ------
        InvalidInputError
            If operators are to be fused or described, and the graph does not say their types; or if
            the instance was stored after fusion, and would have to be fused anew.
        """
        transfers, fusion, features = (
            given.get(name, getattr(self, name)) for name in ("transfers", "fusion", "features")
        )
        memory = given.get("memory", self.memory_model)
        if self.fusion == NO_FUSION or self.coarse is not None:
            return PlacementInstance.of(self._original, transfers, fusion, features, memory)
        if memory not in (self.memory_model, AUTOMATIC):
            raise InvalidInputError(
                f"this instance was stored with memory = {self.memory_model!r} and fused "
                "operators; expected the same memory, or the original model."
            )
        if (transfers, fusion) != (self.transfers, self.fusion):
            raise InvalidInputError(
                f"this instance was stored with transfers = {self.transfers!r} and fusion = "
                f"{self.fusion!r}, and not what its operators were before; expected the same "
                "transfers and fusion, or the original model."
            )
        if features == OPERATORS:
            check_described(self.graph)
        return replace(self, features=features)

    def objective(self, solution: PlacementSchedule) -> int:
        """Return the makespan: when the last operator ends, in ticks.

        Raises
        ------
        InvalidInputError
            If the schedule breaks a constraint.
        """
        return check_schedule(self.graph, solution, self.transfers)

    def fields(self) -> dict[str, Any]:
        """Return all that the optimum depends on, as integers and texts."""
        graph = self.graph
        return {
            "transfers": self.transfers,
            **({} if self.fusion == NO_FUSION else {"fusion": self.fusion}),
            **self._live_fields(),
            "duration": graph.duration.tolist(),
            "memory": graph.memory.tolist(),
            "capacity": graph.capacity.tolist(),
            "producer": graph.producer.tolist(),
            "consumers": [list(readers) for readers in graph.consumers],
            "size": graph.size.tolist(),
            "times": graph.times.reshape(len(graph.times), graph.devices**2).tolist(),
            **(_feature_fields(graph) if self.features == OPERATORS else {}),
        }

    def _live_fields(self) -> dict[str, Any]:
        if not self.graph.is_live:
            return {}
        return {
            "memory_model": LIVE_TENSORS,
            "tensor_memory": self.graph.tensor_memory.tolist(),
            "result_memory": self.graph.result_memory.tolist(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "PlacementInstance":
        """Read the JSON that `to_json` wrote; operators and devices get their numbers as names."""
        cls.check_head(value, FIELDS, FIELDS[1:], (*FEATURE_FIELDS, *LIVE_FIELDS, "fusion"))
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
            names=numbers_as_names(len(value["duration"])),
            device_names=numbers_as_names(devices),
            **_features(value),
            **_live_memory(value),
        )
        features = OPERATORS if graph.op_types else COSTS
        return cls(graph, value["transfers"], fusion=_fusion(value), features=features)


def _with_room(graph: PlacementGraph) -> PlacementGraph:
    """Return a graph without support for operators where their inputs and outputs do not fit.

    That changes no schedule that keeps to the memory.
    """
    if not graph.is_live or (graph.fits == graph.is_supported).all():
        return graph
    return replace(graph, duration=frozen(np.where(graph.fits, graph.duration, UNSUPPORTED)))


def _live_memory(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the memory of tensors and results as arguments of `PlacementGraph`, if any."""
    given = [field for field in LIVE_FIELDS if field in value]
    if not given:
        return {}
    if value.get("memory_model") != LIVE_TENSORS or len(given) < len(LIVE_FIELDS):
        raise InvalidInputError(
            f"memory_model is {quoted(value.get('memory_model'))}; expected {LIVE_TENSORS!r} with "
            "tensor_memory and result_memory, or none of the three."
        )
    check_integer_lists(value, LIVE_FIELDS[1:])
    if len(value["result_memory"]) != len(value["memory"]):
        raise InvalidInputError(
            f"result_memory has {len(value['result_memory'])} entries; expected one for each of "
            f"the {len(value['memory'])} operators."
        )
    return {name: value[name] for name in LIVE_FIELDS[1:]}


def _fusion(value: Mapping[str, Any]) -> str:
    """Return the name of the rules by which a stored instance's operators were fused."""
    fusion = value.get("fusion", NO_FUSION)
    if "fusion" in value and fusion not in tuple(RULE_SETS):
        raise InvalidInputError(
            f"fusion is {quoted(fusion)}; expected {' or '.join(map(repr, RULE_SETS))}, "
            "or no such field."
        )
    return str(fusion)
