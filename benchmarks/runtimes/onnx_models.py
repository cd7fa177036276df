"""Measures how long each operator of an ONNX model takes, with a runtime."""

import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from boundmark.benchmarks.runtimes import onnxruntime_times, openvino_times
from boundmark.benchmarks.runtimes.measured import Measured
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import BoundmarkError, MissingFileError

# Of a file; the weights of larger models are written beside it.
LARGEST_MODEL = 2**30


class Runtime(NamedTuple):
    """A library that runs models, and tells how long their operators took.

    Attributes
    ----------
    title
        What it calls itself.
    package
        Its name, which our extra for it has too.
    measure
        Given a model's file, its operators, how often to run it, the number of threads and the
        part of the library that runs it, returns nanoseconds of operators in each run, by name.
    """

    title: str
    package: str
    measure: Callable[[Path, Sequence[str], int, int, str | None], dict[str, list[int]]]

    def version(self) -> str:
        """Return title and version.

        Raises
        ------
        MissingFileError
            If it is not installed.
        """
        from importlib.metadata import version

        try:
            return f"{self.title} {version(self.package)}"
        except ModuleNotFoundError as error:
            raise MissingFileError(
                f"{self.title} is not installed; pip install 'boundmark[{self.package}]'."
            ) from error


RUNTIMES = {
    "onnxruntime": Runtime("onnxruntime", "onnxruntime", onnxruntime_times.measure),
    "openvino": Runtime("OpenVINO", "openvino", openvino_times.measure),
}


def measured_times(
    path: Path,
    dims: Mapping[str, int],
    repeats: int,
    threads: int,
    runtime: str,
    provider: str | None = None,
) -> Measured:
    """Return the time of each operator in each run.

    The model runs on random inputs.

    Parameters
    ----------
    dims
        Sizes of dimensions that the model leaves open; others are 1.
    repeats
        How often it runs, after some runs that do not count.
    runtime
        One of `RUNTIMES`.
    provider
        Of onnxruntime; None for the processor.

    Raises
    ------
    BoundmarkError
        If the runtime cannot load or run the model.
    """
    from boundmark.datasets.onnx_file import unique_names
    from boundmark.datasets.onnx_model import inferred_model

    title, _, measure = RUNTIMES[runtime]
    model, _, _ = inferred_model(path, dims)
    names = unique_names(model.graph)
    for node, name in zip(model.graph.node, names, strict=True):
        node.name = name
    with tempfile.TemporaryDirectory() as folder:
        stored = _stored(model, path, Path(folder))
        try:
            return Measured(measure(stored, names, repeats, threads, provider))
        except BoundmarkError:
            raise
        except Exception as error:
            # Whatever another library raises; its own words say why.
            reason = " ".join(str(error).split())
            raise BoundmarkError(f"{path}: {title} cannot run it: {reason}") from error


def check_names(
    graph: ComputationGraph, samples: Collection[str], path: Path, runtime: str
) -> None:
    """Refuse times that some operators of a graph are missing from.

    Raises
    ------
    BoundmarkError
        If one has not been measured.
    """
    missing = [name for name in graph.names if name not in samples]
    if missing:
        raise BoundmarkError(
            f"{path}: {RUNTIMES[runtime].title} has timed no operator {missing[0]!r} "
            f"({len(missing)} in all), because it runs something else in its place; expected "
            "operators that it runs as they are."
        )


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
