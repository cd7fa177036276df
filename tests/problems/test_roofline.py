import dataclasses
from pathlib import Path

import numpy as np
import pytest
from graphs import ROUND_DEVICE, ROUND_LINK, small_graph

from boundmark.problems.computation_graph import ComputationGraph, Operator, Tensor
from boundmark.problems.devices import Cluster, Device, find_device
from boundmark.problems.operator_types import FREE_OP_TYPES
from boundmark.problems.roofline import fused_into, operation_seconds, transfer_seconds

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "devices.md"


def test_operations_by_hand() -> None:
    """5000 flops outweigh 700 bytes; 800 bytes outweigh 100 flops; a reshape is free."""
    seconds = operation_seconds(small_graph(), ROUND_DEVICE)
    assert seconds == pytest.approx([5020e-9, 820e-9, 0])


@pytest.mark.parametrize("op_type", sorted(FREE_OP_TYPES))
def test_free_operations_take_no_time(op_type: str) -> None:
    """Neither traffic nor launch counts."""
    graph = small_graph()
    changed = tuple(dataclasses.replace(node, op_type=op_type) for node in graph.operators)
    seconds = operation_seconds(dataclasses.replace(graph, operators=changed), ROUND_DEVICE)
    assert seconds.tolist() == [0, 0, 0]


def test_transfers_by_hand() -> None:
    """Latency once, and 10 ns a byte."""
    seconds = transfer_seconds(np.array([0, 1, 400]), ROUND_LINK)
    assert seconds == pytest.approx([100e-9, 110e-9, 4100e-9])


def test_free_operations_are_documented() -> None:
    """The list in the documentation is the one in the code."""
    assert ", ".join(f"`{name}`" for name in sorted(FREE_OP_TYPES)) in " ".join(
        DOCUMENTATION.read_text().split()
    )


FUSING = dataclasses.replace(ROUND_DEVICE, fuses=True)


def chain(
    *, second: str = "Relu", third_reads: int = 2, results: tuple[int, ...] = (3,)
) -> ComputationGraph:
    """Return Conv -> `second` -> Add of a parameter, 100 floats in each tensor."""
    tensors = tuple(
        Tensor(name, (100,), "float32") for name in ("in", "conv", "relu", "out", "bias")
    )
    operators = (
        Operator("a", "Conv", 5000, (0,), (1,), {}),
        Operator("b", second, 100, (1,), (2,), {}),
        Operator("c", "Add", 100, (third_reads, 4), (3,), {}),
    )
    return ComputationGraph(operators, tensors, frozenset({4}), results)


def test_a_chain_by_hand() -> None:
    """Relu and Add go with the operation before them; a Softmax does not, but what follows does."""
    assert fused_into(chain()).tolist() == [-1, 0, 1]
    assert fused_into(chain(second="Softmax")).tolist() == [-1, -1, 1]


def test_what_is_read_elsewhere_is_not_fused() -> None:
    """The first tensor has two readers, or is a result itself: it has to be written."""
    assert fused_into(chain(third_reads=1, results=(2, 3))).tolist() == [-1, -1, -1]
    assert fused_into(chain(results=(1, 3))).tolist() == [-1, -1, 1]


def test_what_has_two_producers_is_not_fused() -> None:
    """A sum of two computed tensors is an operation of its own."""
    graph = chain()
    last = dataclasses.replace(graph.operators[2], reads=(1, 2))
    both = dataclasses.replace(
        graph, operators=(*graph.operators[:2], last), parameters=frozenset()
    )
    with_input = dataclasses.replace(both, tensors=graph.tensors[:4])
    assert fused_into(with_input).tolist() == [-1, -1, -1]


def test_a_broadcast_is_not_fused() -> None:
    """An operation that writes more elements than it reads has loops of its own."""
    graph = chain()
    tensors = (*graph.tensors[:2], Tensor("relu", (3, 100), "float32"), *graph.tensors[3:])
    assert fused_into(dataclasses.replace(graph, tensors=tensors)).tolist() == [-1, -1, -1]


def test_times_by_hand() -> None:
    """1 flop and 1 byte take 1 ns each, a launch 20 ns; between fused operations nothing moves."""
    plain = operation_seconds(chain(), ROUND_DEVICE) * 1e9
    assert plain == pytest.approx([5020, 820, 1220])
    fused = operation_seconds(chain(), FUSING) * 1e9
    # The Conv no longer writes; the Relu moves nothing; the Add reads its parameter and writes.
    assert fused == pytest.approx([5020, 100, 800])


def test_never_slower() -> None:
    """Fusion saves launches and traffic, and costs nothing."""
    graph = chain(second="Softmax")
    assert (operation_seconds(graph, FUSING) <= operation_seconds(graph, ROUND_DEVICE)).all()


def test_devices_by_name(tmp_path: object) -> None:
    """A device and a cluster that fuse have names that say so."""
    device = find_device("nvidia-t4+fusion")
    assert isinstance(device, Device)
    assert device.fuses
    assert device.name == "nvidia-t4+fusion"
    cluster = find_device("moirai-inter-server+fusion")
    assert isinstance(cluster, Cluster)
    assert all(device.fuses for device in cluster.devices)
    assert not any(device.fuses for device in find_device("moirai-inter-server").devices)  # type: ignore[union-attr]
