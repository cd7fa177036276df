"""Measures how long each operator of an ONNX model takes, with onnxruntime on the processor."""

import json
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import BoundmarkError

# What onnxruntime appends to a node's name where it tells how long the node took.
KERNEL = "_kernel_time"

# Of a file; the weights of larger models are written beside it.
LARGEST_MODEL = 2**30

WARM_UP = 2

SEED = 1

NANOSECONDS_PER_MICROSECOND = 1000


def measured_times(
    path: Path, dims: Mapping[str, int], repeats: int, threads: int
) -> dict[str, int]:
    """Return the median time of each operator in nanoseconds, by name.

    The model runs on random inputs, as it is written: nothing is fused, and every operator is timed
    by onnxruntime itself, in microseconds.

    Parameters
    ----------
    dims
        Sizes of dimensions that the model leaves open; others are 1.
    repeats
        How often it runs, after two runs that do not count.

    Raises
    ------
    BoundmarkError
        If onnxruntime cannot load or run the model.
    """
    import onnxruntime

    from boundmark.datasets.onnx_file import inferred_model
    from boundmark.datasets.onnx_structure import unique_names

    model, _, _ = inferred_model(path, dims)
    for node, name in zip(model.graph.node, unique_names(model.graph), strict=True):
        node.name = name
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_profiling = True
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = str(Path(folder) / "times")
        stored = _stored(model, path, Path(folder))
        try:
            session = onnxruntime.InferenceSession(
                str(stored), options, providers=["CPUExecutionProvider"]
            )
            inputs = {value.name: _drawn(value) for value in session.get_inputs()}
            for _ in range(WARM_UP + repeats):
                session.run(None, inputs)
            events = json.loads(Path(session.end_profiling()).read_bytes())
        except BoundmarkError:
            raise
        except Exception as error:
            # Whatever another library raises; its own words say why.
            reason = " ".join(str(error).split())
            raise BoundmarkError(f"{path}: onnxruntime cannot run it: {reason}") from error
    return _medians(events)


def of_graph(graph: ComputationGraph, times: Mapping[str, int], path: Path) -> dict[str, int]:
    """Return the times of the operators of a graph.

    Raises
    ------
    BoundmarkError
        If one has not been measured.
    """
    missing = [name for name in graph.names if name not in times]
    if missing:
        raise BoundmarkError(
            f"{path}: onnxruntime has timed no operator {missing[0]!r} ({len(missing)} in all), "
            "because it runs something else in its place; expected operators that it runs as "
            "they are."
        )
    return {name: times[name] for name in graph.names}


def _stored(model: Any, path: Path, folder: Path) -> Path:
    """Write the model with all its weights, and return the file."""
    import onnx
    import onnx.external_data_helper as external

    try:
        external.load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise BoundmarkError(f"{path}: its weights cannot be read: {reason}") from error
    stored = folder / "model.onnx"
    onnx.save_model(model, str(stored), save_as_external_data=model.ByteSize() > LARGEST_MODEL)
    return stored


def _drawn(value: Any) -> Any:
    """Draw values for an input; integers are 0 and 1, which are indices of most things."""
    generator = np.random.default_rng(SEED)
    shape = [extent if isinstance(extent, int) else 1 for extent in value.shape]
    plain = value.type.removeprefix("tensor(").removesuffix(")")
    try:
        kind = np.dtype({"float": "float32", "double": "float64"}.get(plain, plain))
    except TypeError as error:
        raise BoundmarkError(
            f"input {value.name!r} has elements of type {plain}, for which no values can be drawn."
        ) from error
    if kind.kind == "f":
        return generator.standard_normal(shape).astype(kind)
    return generator.integers(0, 2, shape).astype(kind)


def _medians(events: list[dict[str, Any]]) -> dict[str, int]:
    """Return the median of each node's times, without those of the first runs."""
    found: dict[str, list[int]] = {}
    for event in events:
        name = event.get("name", "")
        if event.get("cat") == "Node" and name.endswith(KERNEL):
            found.setdefault(name.removesuffix(KERNEL), []).append(int(event["dur"]))
    return {
        name: round(statistics.median(times[WARM_UP:] or times) * NANOSECONDS_PER_MICROSECOND)
        for name, times in found.items()
    }
