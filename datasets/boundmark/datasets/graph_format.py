"""Graphs in Parquet as a file format."""

from pathlib import Path

from boundmark.datasets.file_format import FileFormat
from boundmark.problems.computation_graph import ComputationGraph


def _load(path: Path) -> ComputationGraph:
    # Parquet takes a while to import, which other formats need not wait for.
    from boundmark.datasets import graph_file

    return graph_file.load(path)


FORMAT = FileFormat("Parquet graph", (".parquet",), _load)
