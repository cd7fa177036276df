import pytest

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dag import Dag
from boundmark.problems.device import DEFAULT_DEVICE, DeviceProfile
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline.roofline import costed

DEVICE = DeviceProfile(
    name="round",
    peak_flops={"float32": 1e9},
    memory_bandwidth=1e9,
    memory_bytes=1000,
    link_bandwidth=1e8,
    link_latency=1e-7,
    op_overhead=2e-8,
    source="made up: a flop or a byte of memory traffic takes 1 ns, a byte on the link 10 ns",
)


def graph(dtype: str = "float32") -> ComputationGraph:
    """Build a convolution bound by arithmetic, a ReLU bound by memory, and a free reshape."""
    return ComputationGraph(
        names=("conv", "relu", "reshape"),
        op_types=("Conv", "Relu", "Reshape"),
        dag=Dag.from_edges(3, [(0, 1), (1, 2)]),
        flops=[5000, 100, 0],  # type: ignore[arg-type]
        output_bytes=[400, 400, 400],  # type: ignore[arg-type]
        param_bytes=[200, 0, 0],  # type: ignore[arg-type]
        read_bytes=[100, 400, 400],  # type: ignore[arg-type]
        dtype=dtype,
    )


def test_costs_by_hand() -> None:
    """Work is the larger of the two roofs plus the overhead; the last tensor is never sent."""
    costs = costed(graph(), DEVICE)
    assert costs.work.tolist() == [5000 + 20, 800 + 20, 0]
    assert costs.transfer.tolist() == [4000 + 100, 4000 + 100, 0]
    assert costs.param_load.tolist() == [2000, 0, 0]
    assert costs.cache == 10_000
    assert costs.tick == "ns"


def test_unknown_dtype_is_named() -> None:
    """A device without a rate for the model's type cannot be guessed at."""
    with pytest.raises(
        InvalidInputError, match="no peak rate for bfloat16; expected one of float32"
    ):
        costed(graph("bfloat16"), DEVICE)


def test_default_device_cites_its_numbers() -> None:
    """A published table must be able to say where its costs come from."""
    assert "datasheet" in DEFAULT_DEVICE.source
