"""ONNX models as a file format."""

from collections.abc import Mapping
from pathlib import Path

from boundmark.datasets.file_format import NO_DIMS, FileFormat
from boundmark.problems.computation_graph import ComputationGraph


def _load(path: Path, dims: Mapping[str, int] = NO_DIMS) -> ComputationGraph:
    # onnx takes a quarter of a second to import, which other formats need not wait for.
    from boundmark.datasets import onnx_file

    return onnx_file.load(path, dims)


FORMAT = FileFormat("ONNX", (".onnx",), _load, load_with_dims=_load)
