"""OpenVINO IR as a file format."""

from pathlib import Path

from boundmark.datasets.file_format import FileFormat
from boundmark.problems.computation_graph import ComputationGraph


def _load(path: Path) -> ComputationGraph:
    from boundmark.datasets.openvino import ir_file

    return ir_file.load(path)


FORMAT = FileFormat("OpenVINO IR", (".xml",), _load)
