"""Devices, links, and clusters: devices with a link for each ordered pair of them.

Links for all pairs follow from paths over the links that exist ([MOIRAI24], Section III-A). Where
two devices have no link, data takes several hops. A path is as wide as its narrowest link
(Section III-C) and its latencies add up; of all paths, the widest one is taken, and among equally
wide ones the one with the least latency. Where two devices do have a link, that link is used, even
if a detour would be wider: what was measured stays as it was measured.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from boundmark.problems.devices.efficiency import EfficiencyTable
from boundmark.problems.errors import InvalidInputError

# What a device computes in instead of a type that it has no rate for: the first of these that it
# has one for. All hold a type's values but for float16, in which servers of models make users run
# those in bfloat16.
INSTEAD: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "int4": ("int8", "float16", "float32", "float64"),
        "int8": ("float16", "float32", "float64"),
        "uint8": ("int8", "float16", "float32", "float64"),
        "float8": ("float16", "float32", "float64"),
        "bfloat16": ("float16", "float32", "float64"),
        "float16": ("float32", "float64"),
        "float32": ("float64",),
    }
)


@dataclass(frozen=True)
class Link:
    """One direction of a connection between two devices.

    Attributes
    ----------
    bandwidth
        Bytes per second.
    latency
        Seconds until the first byte arrives.
    source
        Where the numbers come from.
    """

    bandwidth: float
    latency: float
    source: str

    def __post_init__(self) -> None:
        check_positive(self.bandwidth, "bandwidth")
        check_non_negative(self.latency, "latency")


@dataclass(frozen=True, eq=False)
class Device:
    """A kind of device: its rates, memory and link.

    Attributes
    ----------
    peak_rate
        Arithmetic operations per second, by dtype; a multiply-add counts as two.
    memory_bandwidth
        Bytes per second between the device and its own memory.
    memory_bytes
        Capacity of that memory.
    op_overhead
        Seconds to start an operation.
    source
        Where the numbers come from.
    link
        Each way between two devices of this kind, where no cluster says otherwise; None if there
        is no usual way to connect them.
    fuses
        Whether its runtime runs an elementwise operation in one kernel with its producer.
    measured
        Seconds of each operation of one model by name, which are its times then; None if they
        follow from rates.
    efficiency
        Efficiencies by class of operator, which times follow from then; None for the roofline.
    aliases
        What else people call it.
    is_computer
        Whether it is the processor of a computer, so that two of them are two computers.
    memory_is_left
        Whether the memory is what a user says is left of it, so that a model may take all of it.
    """

    name: str
    peak_rate: Mapping[str, float]
    memory_bandwidth: float
    memory_bytes: int
    op_overhead: float
    source: str
    link: Link | None = None
    fuses: bool = False
    measured: Mapping[str, float] | None = None
    efficiency: EfficiencyTable | None = None
    aliases: tuple[str, ...] = ()
    is_computer: bool = False
    memory_is_left: bool = False

    def __post_init__(self) -> None:
        if not self.peak_rate:
            raise InvalidInputError(
                f"device {self.name!r} has no peak rate; expected one for at least one dtype."
            )
        for dtype, rate in self.peak_rate.items():
            check_positive(rate, f"peak rate for {dtype}")
        check_positive(self.memory_bandwidth, "memory_bandwidth")
        check_positive(self.memory_bytes, "memory_bytes")
        check_non_negative(self.op_overhead, "op_overhead")
        object.__setattr__(self, "peak_rate", MappingProxyType(dict(self.peak_rate)))

    @property
    def model(self) -> str:
        """The name without what is left of the memory: ``nvidia-l4`` of ``nvidia-l4:9GiB``."""
        return self.name.rpartition(":")[0] if self.memory_is_left else self.name

    def used_dtype(self, dtype: str) -> str:
        """Return the dtype in which the device does the arithmetic of a model in some dtype.

        That is the same, or else the first of `INSTEAD` that the device has a rate for; the same if
        it has none for any.
        """
        choices = (dtype, *INSTEAD.get(dtype, ()))
        return next((one for one in choices if one in self.peak_rate), dtype)

    def rate(self, dtype: str) -> float:
        """Return the peak rate in a dtype, or in that which the device uses instead.

        Raises
        ------
        InvalidInputError
            If the device has none.
        """
        used = self.used_dtype(dtype)
        if used not in self.peak_rate:
            raise InvalidInputError(
                f"device {self.name!r} has no peak rate for {dtype}; "
                f"expected one of {', '.join(self.peak_rate)}."
            )
        return self.peak_rate[used]


def check_positive(value: float, field: str) -> None:
    """Refuse a number that is not positive."""
    if not (math.isfinite(value) and value > 0):
        raise InvalidInputError(f"{field} is {value:g}; expected a positive number.")


def check_non_negative(value: float, field: str) -> None:
    """Refuse a negative number."""
    if not (math.isfinite(value) and value >= 0):
        raise InvalidInputError(f"{field} is {value:g}; expected zero or a positive number.")


FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cluster:
    """Devices with a bandwidth and a latency for each ordered pair of them.

    Attributes
    ----------
    members
        What each of the d devices is called in this cluster.
    devices
        Which device it is.
    bandwidth
        Bytes per second from row to column, shape (d, d); infinite on the diagonal.
    latency
        Seconds from row to column, shape (d, d); 0 on the diagonal.
    source
        Where the numbers come from.
    """

    name: str
    members: tuple[str, ...]
    devices: tuple[Device, ...]
    bandwidth: FloatArray
    latency: FloatArray
    source: str

    @classmethod
    def from_links(
        cls,
        name: str,
        devices: Mapping[str, Device],
        links: Mapping[tuple[str, str], Link],
        source: str,
    ) -> "Cluster":
        """Build a cluster from the links that there are, and find paths for the other pairs.

        Parameters
        ----------
        devices
            By what each is called in this cluster.
        links
            By sender and receiver.

        Raises
        ------
        InvalidInputError
            If there is no device, a link's ends are not two of the devices, a link goes one way
            only, or two devices are not connected.
        """
        if not devices:
            raise InvalidInputError("the cluster has no devices; expected at least one.")
        number = {member: at for at, member in enumerate(devices)}
        bandwidth = np.zeros((len(devices), len(devices)))
        latency = np.zeros_like(bandwidth)
        for (tail, head), link in links.items():
            for member in (tail, head):
                if member not in number:
                    raise InvalidInputError(
                        f"a link names {member!r}; expected one of {', '.join(devices)}."
                    )
            if tail == head:
                raise InvalidInputError(
                    f"a link joins {tail!r} to itself; expected two different devices."
                )
            if (head, tail) not in links:
                raise InvalidInputError(
                    f"there is a link from {tail!r} to {head!r} and none back; expected both "
                    "directions, or one that is stated to be symmetric."
                )
            bandwidth[number[tail], number[head]] = link.bandwidth
            latency[number[tail], number[head]] = link.latency
        bandwidth, latency = close_to_full_mesh(bandwidth, latency, tuple(devices))
        for matrix in (bandwidth, latency):
            matrix.flags.writeable = False
        return cls(name, tuple(devices), tuple(devices.values()), bandwidth, latency, source)

    @property
    def links(self) -> list[Link]:
        """One link for each ordered pair of different devices, row by row."""
        return [
            Link(float(self.bandwidth[pair]), float(self.latency[pair]), self.source)
            for pair in itertools.permutations(range(len(self.members)), 2)
        ]


def substitutes(hardware: Device | Cluster, dtype: str) -> tuple[str, ...]:
    """Return a sentence for each kind of device that computes a model's dtype in another one.

    None for devices with measured times, which need no rate.
    """
    devices = (hardware,) if isinstance(hardware, Device) else hardware.devices
    used = {one.name: one.used_dtype(dtype) for one in devices if one.measured is None}
    return tuple(
        f"device {name} has no peak rate for {dtype}: it computes in {other}, the next type that "
        "it has"
        for name, other in used.items()
        if other != dtype
    )


def close_to_full_mesh(
    bandwidth: FloatArray, latency: FloatArray, names: Sequence[str]
) -> tuple[FloatArray, FloatArray]:
    """Return bandwidths and latencies for all ordered pairs of d devices."""
    is_linked = bandwidth > 0
    np.fill_diagonal(is_linked, True)
    direct = np.where(is_linked, bandwidth, 0.0)
    np.fill_diagonal(direct, np.inf)
    width = _widest_paths(direct)
    if not (width > 0).all():
        tail, head = np.argwhere(width == 0)[0].tolist()
        raise InvalidInputError(
            f"there is no path from {names[tail]!r} to {names[head]!r}; "
            "expected links that connect all devices in both directions."
        )
    delay = np.where(is_linked, latency, 0.0)
    np.fill_diagonal(delay, 0.0)
    # A widest path may use any link that is at least as wide as the path. So its latency is that
    # of a shortest path among these links, which differ from width to width.
    for least in np.unique(width[~is_linked]):
        shortest = _shortest_paths(np.where(direct >= least, delay, np.inf))
        pairs = ~is_linked & (width == least)
        delay[pairs] = shortest[pairs]
    return np.where(is_linked, direct, width), delay


def _widest_paths(bandwidth: FloatArray) -> FloatArray:
    """Return the largest bandwidth that some path offers, for each pair."""
    width = bandwidth.copy()
    for via in range(len(width)):
        width = np.maximum(width, np.minimum(width[:, via, None], width[None, via, :]))
    return width


def _shortest_paths(latency: FloatArray) -> FloatArray:
    """Return the least total latency of any path, for each pair."""
    total = latency.copy()
    for via in range(len(total)):
        total = np.minimum(total, total[:, via, None] + total[None, via, :])
    return total
