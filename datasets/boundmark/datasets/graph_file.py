"""Graphs in files, told apart by suffix."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from boundmark.datasets import cost_graph_def
from boundmark.datasets.source_file import naming, read_bytes
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.costed_graph import CostedGraph
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline import PipelineInstance


def _load_onnx(path: Path) -> ComputationGraph:
    # onnx takes a quarter of a second to import, which other formats need not wait for.
    from boundmark.datasets import onnx_file

    return onnx_file.load(path)


def _load_instance(path: Path) -> CostedGraph:
    content = read_bytes(path)
    with naming(path):
        try:
            value = json.loads(content)
        except ValueError as error:
            raise InvalidInputError(f"expected JSON, found {error}.") from error
        if not isinstance(value, dict):
            raise InvalidInputError(f"expected an instance, found a {type(value).__name__}.")
        return PipelineInstance.from_json(value).graph


READERS: Mapping[str, Callable[[Path], ComputationGraph | CostedGraph]] = {
    ".onnx": _load_onnx,
    ".pbtxt": cost_graph_def.load,
    ".txt": cost_graph_def.load,
    ".json": _load_instance,
}


def load_graph(path: str | Path) -> ComputationGraph | CostedGraph:
    """Read an ONNX model, a CostGraphDef text (.pbtxt, .txt) or a stored instance (.json).

    Raises
    ------
    InvalidInputError
        If the suffix is none of these, or the file is not what its suffix says.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidInputError(
            f"{path} has the suffix {path.suffix!r}; expected one of {', '.join(READERS)}."
        )
    return reader(path)
