"""Graphs and instances in files, told apart by suffix, and texts by how they begin."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from boundmark.datasets import cost_graph_def, pipedream_profile
from boundmark.datasets.source_file import naming, read_bytes
from boundmark.problems.catalog import problems
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.problem import Instance


def _load_onnx(path: Path) -> ComputationGraph:
    # onnx takes a quarter of a second to import, which other formats need not wait for.
    from boundmark.datasets import onnx_file

    return onnx_file.load(path)


def _load_text(path: Path) -> PipelineGraph:
    if pipedream_profile.is_profile(read_bytes(path)):
        return pipedream_profile.load(path)
    return cost_graph_def.load(path)


def _load_instance(path: Path) -> Instance:
    content = read_bytes(path)
    with naming(path):
        try:
            value = json.loads(content)
        except ValueError as error:
            raise InvalidInputError(f"expected JSON, found {error}.") from error
        if not isinstance(value, dict):
            raise InvalidInputError(f"expected an instance, found a {type(value).__name__}.")
        name = value.get("problem")
        if not isinstance(name, str) or name not in problems():
            raise InvalidInputError(f"problem is {name!r}; expected {' or '.join(problems())}.")
        return problems()[name].instance_from_json(value)


READERS: Mapping[str, Callable[[Path], ComputationGraph | PipelineGraph | Instance]] = {
    ".onnx": _load_onnx,
    ".pbtxt": cost_graph_def.load,
    ".txt": _load_text,
    ".json": _load_instance,
}


def load_file(path: str | Path) -> ComputationGraph | PipelineGraph | Instance:
    """Read an ONNX model, a CostGraphDef, a profile or a stored instance.

    CostGraphDef texts end in .pbtxt or .txt, PipeDream's profiles in .txt, instances in .json.

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
