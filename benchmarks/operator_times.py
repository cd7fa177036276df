"""Measures how long each operator of an ONNX model takes on the processor, with a runtime."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from boundmark.benchmarks.runtimes import onnxruntime_times, openvino_times
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import BoundmarkError

# Of a file; the weights of larger models are written beside it.
LARGEST_MODEL = 2**30


class Runtime(NamedTuple):
    """A library that runs models, and tells how long their operators took.

    Attributes
    ----------
    title
        What it calls itself; its package and our extra for it have the key in `RUNTIMES` as name.
    measure
        Given a model's file, its operators, how often to run it and the number of threads, returns
        nanoseconds of operators by name.
    """

    title: str
    measure: Callable[[Path, Sequence[str], int, int], dict[str, int]]


RUNTIMES = {
    "onnxruntime": Runtime("onnxruntime", onnxruntime_times.measure),
    "openvino": Runtime("OpenVINO", openvino_times.measure),
}


def measured_times(
    path: Path, dims: Mapping[str, int], repeats: int, threads: int, runtime: str
) -> dict[str, int]:
    """Return the median time of each operator in nanoseconds, by name.

    The model runs on random inputs.

    Parameters
    ----------
    dims
        Sizes of dimensions that the model leaves open; others are 1.
    repeats
        How often it runs, after some runs that do not count.
    runtime
        One of `RUNTIMES`.

    Raises
    ------
    BoundmarkError
        If the runtime cannot load or run the model.
    """
    from boundmark.datasets.onnx_file import unique_names
    from boundmark.datasets.onnx_model import inferred_model

    title, measure = RUNTIMES[runtime]
    model, _, _ = inferred_model(path, dims)
    names = unique_names(model.graph)
    for node, name in zip(model.graph.node, names, strict=True):
        node.name = name
    with tempfile.TemporaryDirectory() as folder:
        stored = _stored(model, path, Path(folder))
        try:
            return measure(stored, names, repeats, threads)
        except BoundmarkError:
            raise
        except Exception as error:
            # Whatever another library raises; its own words say why.
            reason = " ".join(str(error).split())
            raise BoundmarkError(f"{path}: {title} cannot run it: {reason}") from error


def of_graph(
    graph: ComputationGraph, times: Mapping[str, int], path: Path, runtime: str
) -> dict[str, int]:
    """Return the times of the operators of a graph.

    Raises
    ------
    BoundmarkError
        If one has not been measured.
    """
    missing = [name for name in graph.names if name not in times]
    if missing:
        raise BoundmarkError(
            f"{path}: {RUNTIMES[runtime].title} has timed no operator {missing[0]!r} "
            f"({len(missing)} in all), because it runs something else in its place; expected "
            "operators that it runs as they are."
        )
    return {name: times[name] for name in graph.names}


def _stored(model: Any, path: Path, folder: Path) -> Path:
    """Write the model with all its weights, and return the file."""
    import onnx
    import onnx.external_data_helper as external

    try:
        external.load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        # onnx refuses what is not beside the model, links and what is no regular file.
        reason = " ".join(str(error).split())
        raise BoundmarkError(f"{path}: its weights cannot be read: {reason}") from error
    stored = folder / "model.onnx"
    onnx.save_model(model, str(stored), save_as_external_data=model.ByteSize() > LARGEST_MODEL)
    return stored
