"""ONNX models as a file format."""

from pathlib import Path

from boundmark.datasets.file_format import FileFormat
from boundmark.problems.computation_graph import ComputationGraph


def _load(path: Path) -> ComputationGraph:
    # onnx takes a quarter of a second to import, which other formats need not wait for.
    from boundmark.datasets import onnx_file

    return onnx_file.load(path)


FORMAT = FileFormat("ONNX", (".onnx",), _load)
