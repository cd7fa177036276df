"""A solution of `placement`: where and when each operator runs, and when tensors are moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import is_integer_list, is_integer_table
from boundmark.problems.labels import Naming
from boundmark.problems.placement.graph import PlacementGraph
from boundmark.problems.problem import Row, SolutionTable

if TYPE_CHECKING:
    from boundmark.problems.placement.instance import PlacementInstance


# What comes later is no start of anything that a reasonable schedule does.
LATEST = 2**60


@dataclass(frozen=True, eq=False)
class PlacementSchedule:
    """Devices and start times.

    Attributes
    ----------
    devices
        The device of each operator, shape (n,).
    starts
        When each operator starts, in ticks, shape (n,).
    transfers
        A row (tensor, receiver, start) per transfer, sorted by the first two, shape (q, 3). The
        receiver is a device where transfers are per tensor, and a consumer where they are per edge.
    """

    devices: IntArray
    starts: IntArray
    transfers: IntArray

    def __post_init__(self) -> None:
        for field in ("devices", "starts", "transfers"):
            object.__setattr__(self, field, frozen(getattr(self, field), field))
        if not self.transfers.size:
            object.__setattr__(self, "transfers", frozen(self.transfers.reshape(0, 3)))
        shapes = self.devices.shape, self.starts.shape, self.transfers.shape
        if self.devices.ndim != 1 or shapes[1] != shapes[0] or shapes[2] != (shapes[2][0], 3):
            raise InvalidInputError(
                f"devices, starts and transfers of the schedule have the shapes {shapes}; "
                "expected (n,), (n,) and (q, 3)."
            )

    def to_json(self) -> dict[str, Any]:
        """Return ``{"devices": [...], "starts": [...], "transfers": [[...], ...]}``."""
        return {
            "devices": self.devices.tolist(),
            "starts": self.starts.tolist(),
            "transfers": self.transfers.tolist(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "PlacementSchedule":
        """Read the JSON that `to_json` wrote."""
        devices, starts, transfers = (
            value.get(field) for field in ("devices", "starts", "transfers")
        )
        for field, column in (("devices", devices), ("starts", starts)):
            if not is_integer_list(column) or any(abs(entry) > LATEST for entry in column):
                raise InvalidInputError(
                    f"{field} of the solution is not a list of integers up to 2^60."
                )
        if not is_integer_table(transfers) or any(
            len(row) != 3 or max(map(abs, row)) > LATEST for row in transfers
        ):
            raise InvalidInputError(
                "transfers of the solution is not a list of rows (tensor, receiver, start)."
            )
        return cls(
            frozen(devices, "devices"), frozen(starts, "starts"), frozen(transfers, "transfers")
        )


# Far more than any cluster has; the instance checks the number.
LARGEST_DEVICE = 2**20


def _placement(rows: Sequence[Row], instance: "PlacementInstance") -> PlacementSchedule:
    """Return the devices, with all starts 0: a table of devices has none."""
    devices = np.zeros(instance.nodes, dtype=np.int64)
    for node, device in rows:
        devices[node] = device
    return PlacementSchedule(devices, np.zeros_like(devices), np.zeros((0, 3), dtype=np.int64))


def _renamed(instance: "PlacementInstance", names: Sequence[str], tick: str) -> "PlacementInstance":
    graph = replace(instance.graph, names=tuple(names), tick=tick)
    # What it was before would bring back the numbers as names.
    return replace(instance, graph=graph, source=None)


TABLE = SolutionTable(
    columns=("operator", "device"),
    largest=LARGEST_DEVICE,
    solution=_placement,
    rows=lambda schedule: enumerate(schedule.devices.tolist()),
    value_names=lambda instance: {"device": instance.graph.device_names},
)

NAMING = Naming(
    names=lambda instance: instance.graph.names,
    rename=_renamed,
    tick=lambda instance: instance.graph.tick,
)


def moves(
    graph: PlacementGraph, schedule: PlacementSchedule, transfers: str
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the sender, the receiver and the ticks of each transfer, three of shape (q,)."""
    tensors, receivers, _ = schedule.transfers.T
    sources = schedule.devices[graph.producer[tensors]]
    targets = receivers if transfers == "per-tensor" else schedule.devices[receivers]
    return sources, targets, graph.times[graph.size[tensors], sources, targets]


def busy_ticks(graph: PlacementGraph, devices: IntArray) -> IntArray:
    """Return how long each device runs operators, shape (D,)."""
    busy = np.zeros(graph.devices, dtype=np.int64)
    np.add.at(busy, devices, graph.duration[np.arange(graph.nodes), devices])
    return busy


def idle_while_receiving(
    instance: "PlacementInstance", schedule: PlacementSchedule, device: int
) -> int:
    """Return for how long a device runs no operator and a tensor is on its way to it, in ticks."""
    graph = instance.graph
    here = np.flatnonzero(schedule.devices == device)
    begins = schedule.starts[here].tolist()
    running = list(zip(begins, graph.duration[here, device].tolist(), strict=True))
    _, targets, ticks = moves(graph, schedule, instance.transfers)
    arriving = np.stack([schedule.transfers[:, 2], ticks], axis=1)[targets == device].tolist()
    return sum(
        length - sum(max(0, min(begin + length, x + y) - max(begin, x)) for x, y in running)
        for begin, length in arriving
    )


def moved_ticks(
    instance: "PlacementInstance", schedule: PlacementSchedule
) -> tuple[IntArray, IntArray]:
    """Return how long each device sends, and receives; two of shape (D,)."""
    sent, received = np.zeros((2, instance.graph.devices), dtype=np.int64)
    sources, targets, ticks = moves(instance.graph, schedule, instance.transfers)
    np.add.at(sent, sources, ticks)
    np.add.at(received, targets, ticks)
    return sent, received


def segments(dag: Dag, devices: Sequence[int] | IntArray) -> tuple[IntArray, tuple[int, ...]]:
    """Return the segment of each operator, and the device of each segment.

    The operators of one device seldom are a model that can run by itself: it reads what others
    make of its own results. A segment is all that a device runs after the same number of changes
    of device, counted along the path with most of them. So data only flow from a segment to those
    with larger numbers.
    """
    placed = np.asarray(devices)
    changes = np.zeros(len(placed), dtype=np.int64)
    for tail in dag.topological_order.tolist():
        for head in dag.consumers_of(tail).tolist():
            least = changes[tail] + (placed[tail] != placed[head])
            changes[head] = max(changes[head], least)
    found, numbers = np.unique(np.stack([changes, placed], axis=1), axis=0, return_inverse=True)
    return frozen(numbers.reshape(-1), "segments"), tuple(found[:, 1].tolist())
