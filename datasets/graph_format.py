"""Graphs in Parquet and in JSON as file formats."""

from pathlib import Path

from boundmark.datasets import graph_json
from boundmark.datasets.file_format import FileFormat
from boundmark.problems.computation_graph import ComputationGraph


def _load_parquet(path: Path) -> ComputationGraph:
    # Parquet takes a while to import, which other formats need not wait for.
    from boundmark.datasets import graph_file

    return graph_file.load(path)


FORMATS = (
    FileFormat("Parquet graph", (".parquet",), _load_parquet),
    FileFormat("JSON graph", (".json",), graph_json.load, graph_json.is_one),
)
