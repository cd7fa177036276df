"""Small computation graphs and devices with round numbers, for tests that count by hand."""

from boundmark.problems.computation_graph import ComputationGraph, Operator, Tensor
from boundmark.problems.devices import Device, Link

# A flop or a byte of memory traffic takes 1 ns, a byte on the link 10 ns.
ROUND_LINK = Link(bandwidth=1e8, latency=1e-7, source="made up")
ROUND_DEVICE = Device(
    name="round",
    peak_rate={"float32": 1e9},
    memory_bandwidth=1e9,
    memory_bytes=1000,
    op_overhead=2e-8,
    source="made up",
    link=ROUND_LINK,
)


def small_graph(dtype: str = "float32") -> ComputationGraph:
    """Build a convolution bound by arithmetic, a ReLU bound by memory, and a free reshape."""
    return ComputationGraph(
        operators=(
            Operator("conv", "Conv", 5000, (0, 1), (2,), {"group": 1}),
            Operator("relu", "Relu", 100, (2,), (3,), {}),
            Operator("reshape", "Reshape", 0, (3,), (4,), {}),
        ),
        tensors=(
            Tensor("x", (1, 25), "float32"),
            Tensor("w", (2, 25), "float32"),
            Tensor("y", (1, 2, 50), "float32"),
            Tensor("z", (1, 2, 50), "float32"),
            Tensor("out", (100,), "float32"),
        ),
        parameters=frozenset({1}),
        results=(4,),
        dtype=dtype,
    )
