"""Tables of what the package declares."""

import declared_tables as tables

from boundmark.datasets import measured, zoo
from boundmark.problems.catalog import datasets
from boundmark.problems.devices import shipped


def first_cells(lines: list[str]) -> list[str]:
    """Return what stands first in each row, without the two lines of the head."""
    rows = [line for line in lines if line.startswith("|")]
    return [row.split(" | ")[0].removeprefix("| ").strip("`") for row in rows[2:]]


def test_all_that_is_shipped_has_a_row() -> None:
    """Data sets, graphs, devices and clusters, in the order of their lists."""
    assert first_cells(tables.dataset_table()) == list(datasets())
    assert first_cells(tables.graph_table("zoo")) == list(zoo.index())
    assert first_cells(tables.graph_table("measured")) == list(measured.measured_models())
    light = datasets()["onnx-light"].members()
    assert first_cells(tables.graph_table("onnx-light")) == list(light)
    assert first_cells(tables.device_table()) == list(shipped().devices)
    assert first_cells(tables.cluster_table()) == list(shipped().clusters)


def test_rows_by_hand() -> None:
    """Figures of a graph, rates of a device, and devices of a cluster with their names."""
    assert "| `resnet50` | 176 | 191 | 8.218 | 25.610 |" in tables.graph_table("onnx-light")
    row = "| `resnet-18` | 69 | 76 | 3.638 | 11.690 | He et al., CVPR 2016 |"
    assert row in tables.graph_table("zoo")
    row = "| `h100/gpt-2-b4-s512` | 411 | 482 | 2.17 | 2.11 | 1.03 | 12.44 | 1.32 |"
    assert row in tables.graph_table("measured")
    row = "| `nvidia-t4` | float32 8.1, float16 65, int8 130, int4 260 | 320 | 16 | 5 | 12 |"
    assert row in tables.device_table()
    row = "| `moirai-intra-server` | 2 × nvidia-v100 (A, B); 2 × nvidia-p100 (C, D) |"
    assert row in tables.cluster_table()
