"""A device and a link, as far as cost models need to know them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from boundmark.problems.devices.quantities import check_non_negative, check_positive
from boundmark.problems.errors import InvalidInputError


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
    """One kind of device.

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

    def rate(self, dtype: str) -> float:
        """Return the peak rate in a dtype.

        Raises
        ------
        InvalidInputError
            If the device has none.
        """
        if dtype not in self.peak_rate:
            raise InvalidInputError(
                f"device {self.name!r} has no peak rate for {dtype}; "
                f"expected one of {', '.join(self.peak_rate)}."
            )
        return self.peak_rate[dtype]
