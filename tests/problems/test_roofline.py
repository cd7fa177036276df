import dataclasses
from pathlib import Path

import numpy as np
import pytest
from graphs import ROUND_DEVICE, ROUND_LINK, small_graph

from boundmark.problems.operator_types import FREE_OP_TYPES
from boundmark.problems.roofline import operation_seconds, transfer_seconds

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
