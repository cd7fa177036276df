"""Devices as far as a cost model needs to know them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceProfile:
    """One kind of device and the link between two of them.

    Attributes
    ----------
    peak_flops
        Arithmetic operations a second, by dtype.
    memory_bandwidth, link_bandwidth
        Bytes a second: of the device's own memory; of the interconnect, each way.
    memory_bytes
        Capacity for parameters.
    link_latency, op_overhead
        Seconds: to start a transfer; to start an operation.
    source
        Where the numbers come from.
    """

    name: str
    peak_flops: Mapping[str, float]
    memory_bandwidth: float
    memory_bytes: int
    link_bandwidth: float
    link_latency: float
    op_overhead: float
    source: str


T4 = DeviceProfile(
    name="nvidia-t4-pcie3",
    peak_flops={"float32": 8.1e12, "float16": 65e12, "int8": 130e12},
    memory_bandwidth=320e9,
    memory_bytes=16 * 2**30,
    link_bandwidth=12e9,
    link_latency=0.0,
    op_overhead=5e-6,
    source=(
        "NVIDIA T4 datasheet (2019): 8.1 TFLOPS single precision, 65 TFLOPS mixed precision, "
        "130 TOPS INT8, 16 GB GDDR6 at 320 GB/s, x16 PCIe Gen3. The link moves 12 GB/s, what "
        "copies commonly reach of PCIe Gen3 x16's 15.75 GB/s a direction; its latency is hidden "
        "by pipelining. An operation costs 5 microseconds to launch, a usual figure for CUDA "
        "kernels. Neither of these two is a datasheet number."
    ),
)

DEFAULT_DEVICE = T4
