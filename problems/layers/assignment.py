"""A solution of `layers`: a device for each layer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import is_integer_list
from boundmark.problems.labels import Naming
from boundmark.problems.layers.chain import MOST_DEVICES
from boundmark.problems.problem import Row, SolutionTable

if TYPE_CHECKING:
    from boundmark.problems.layers.instance import LayersInstance


class Stage(NamedTuple):
    """Layers ``first .. end - 1`` on a device."""

    device: int
    first: int
    end: int


@dataclass(frozen=True, eq=False)
class LayerAssignment:
    """The number of the device that runs each layer, shape (n,)."""

    devices: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", frozen(self.devices, "devices"))

    @classmethod
    def of_stages(cls, stages: Iterable[Stage]) -> "LayerAssignment":
        """Return the assignment with these stages, which cover all layers in order."""
        return cls(frozen([s.device for s in stages for _ in range(s.first, s.end)]))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Runs of layers on one device, in the order of the layers."""
        devices = self.devices.tolist()
        starts = [at for at, device in enumerate(devices) if at == 0 or devices[at - 1] != device]
        ends = [*starts[1:], len(devices)]
        return tuple(Stage(devices[a], a, b) for a, b in zip(starts, ends, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return ``{"devices": [0, 0, 1, ...]}``."""
        return {"devices": self.devices.tolist()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "LayerAssignment":
        """Read the JSON that `to_json` wrote.

        Raises
        ------
        InvalidInputError
            If devices are missing or no list of integers.
        """
        devices = value.get("devices")
        if not is_integer_list(devices) or not devices:
            raise InvalidInputError("devices of the solution is not a list of integers.")
        return cls(frozen(devices, "devices"))


def _assignment(rows: Sequence[Row], instance: "LayersInstance") -> LayerAssignment:
    found = dict.fromkeys(range(instance.nodes), 0)
    for layer, device in rows:
        found[layer] = device
    return LayerAssignment(frozen(list(found.values())))


def _renamed(instance: "LayersInstance", names: Sequence[str], tick: str) -> "LayersInstance":
    return replace(instance, chain=replace(instance.chain, names=tuple(names), tick=tick))


def _of_text(text: str, instance: "LayersInstance") -> LayerAssignment | None:
    from boundmark.problems.layers.tools.formats import read_text

    return read_text(text, instance)


TABLE = SolutionTable(
    columns=("layer", "device"),
    largest=MOST_DEVICES,
    solution=_assignment,
    rows=lambda solution: enumerate(solution.devices.tolist()),
    value_names=lambda instance: {"device": instance.chain.device_names},
    of_text=_of_text,
)

NAMING = Naming(
    names=lambda instance: instance.chain.names,
    rename=_renamed,
    tick=lambda instance: instance.chain.tick,
)
