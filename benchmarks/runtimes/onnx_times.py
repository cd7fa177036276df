"""Times of an ONNX model's operators, with onnxruntime or OpenVINO.

onnxruntime runs operators as they are written. OpenVINO's processor plugin fuses and rewrites them:
what it fuses has the time of the whole at the first of its operators in the model, and 0 at the
others; so have operators that it computes once and for all. What it adds, such as changes of
layout, counts for the next operator that it runs.
"""

import json
import os
import statistics
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from boundmark.benchmarks.runtimes.measured import WARM_UP, Measured, random_input
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import BoundmarkError, MissingFileError, extra_with, find

NANOSECONDS_PER_SECOND = 10**9

# What onnxruntime appends to a node's name where it tells how long the node took.
KERNEL = "_kernel_time"

NANOSECONDS_PER_MICROSECOND = 1000

PROCESSOR = "CPUExecutionProvider"


def measure_with_onnxruntime(
    stored: Path, names: Sequence[str], repeats: int, threads: int, provider: str | None = None
) -> dict[str, list[int]]:
    """Return the times of each operator in the runs, which onnxruntime itself takes.

    They are whole microseconds. Operators that it runs something else for have none.

    Parameters
    ----------
    provider
        Of onnxruntime, which runs what it can; None for the processor.

    Raises
    ------
    UnknownNameError
        If this onnxruntime has no such provider.
    """
    session = session_of(stored, threads, str(stored.parent / "times"), provider)
    inputs = {name: random_input(name, extents, kind) for name, extents, kind in read_by(session)}
    for _ in range(WARM_UP + repeats):
        session.run(None, inputs)
    found = runs_of(Path(session.end_profiling()), repeats)
    return {name: found[name] for name in names if name in found}


def session_of(path: Path, threads: int, profile: str = "", provider: str | None = None) -> Any:
    """Return a session that runs a model; with operators as they are, and timed, if asked for.

    Parameters
    ----------
    profile
        How the file with the operators' times begins; empty to run the model as fast as it goes.
    provider
        As for `measure_with_onnxruntime`.
    """
    import onnxruntime

    if provider is not None:
        find(
            "provider of onnxruntime",
            provider,
            dict.fromkeys(onnxruntime.get_available_providers()),
        )
        # Otherwise an operator's time is that of its launch.
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if profile:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_profiling = True
        options.profile_file_prefix = profile
    providers = dict.fromkeys([*([provider] if provider else []), PROCESSOR])
    return onnxruntime.InferenceSession(str(path), options, providers=list(providers))


def read_by(session: Any) -> list[tuple[str, list[int], str]]:
    """Return name, shape and element type of each input of a session; open sizes are 1."""
    found = []
    for value in session.get_inputs():
        extents = [extent if isinstance(extent, int) else 1 for extent in value.shape]
        plain = value.type.removeprefix("tensor(").removesuffix(")")
        kind = {"float": "float32", "double": "float64"}.get(plain, plain)
        found.append((value.name, extents, kind))
    return found


def medians_of(profile: Path, repeats: int) -> dict[str, int]:
    """Return the median of each node's times in the last runs, in nanoseconds; see `runs_of`."""
    return {
        name: round(statistics.median(times)) for name, times in runs_of(profile, repeats).items()
    }


def runs_of(profile: Path, repeats: int) -> dict[str, list[int]]:
    """Return each node's times in the last runs, in nanoseconds.

    Parameters
    ----------
    profile
        What onnxruntime has written.
    """
    found: dict[str, list[int]] = {}
    for event in json.loads(profile.read_bytes()):
        name = event.get("name", "")
        if event.get("cat") == "Node" and name.endswith(KERNEL):
            time = int(event["dur"]) * NANOSECONDS_PER_MICROSECOND
            found.setdefault(name.removesuffix(KERNEL), []).append(time)
    return {name: times[-repeats:] for name, times in found.items()}


# What OpenVINO calls the operators that a layer of its own stands for, separated by commas.
ORIGINALS = "originalLayersNames"


def measure_with_openvino(
    stored: Path, names: Sequence[str], repeats: int, threads: int, provider: str | None = None
) -> dict[str, list[int]]:
    """Return the times of each operator in the runs, which OpenVINO itself takes.

    Raises
    ------
    BoundmarkError
        If it does not say which operators its layers stand for.
    """
    import openvino

    core = openvino.Core()
    model = core.read_model(stored)
    model.reshape({value: _extents(value) for value in model.inputs})
    # Without the hint, it computes in bfloat16 where the processor can.
    settings = {
        "PERF_COUNT": True,
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = core.compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()
    given = {
        value: random_input(value.any_name, _extents(value), str(value.element_type.to_dtype()))
        for value in compiled.inputs
    }
    runs = []
    for _ in range(WARM_UP + repeats):
        request.infer(given)
        runs.append({info.node_name: info.real_time for info in request.get_profiling_info()})
    layers = [
        (operation.get_friendly_name(), _originals(operation))
        for operation in compiled.get_runtime_model().get_ordered_ops()
    ]
    stands_for = operators_of(layers, names)
    if not stands_for:
        raise BoundmarkError(
            "none of OpenVINO's layers stands for an operator of the model; expected some that do."
        )
    totals: dict[str, list[float]] = {name: [0.0] * repeats for name in names}
    for at, run in enumerate(runs[WARM_UP:]):
        for layer, time in run.items():
            if layer in stands_for:
                totals[stands_for[layer]][at] += time.total_seconds()
    return {
        name: [round(time * NANOSECONDS_PER_SECOND) for time in times]
        for name, times in totals.items()
    }


def operators_of(
    layers: Sequence[tuple[str, Sequence[str]]], names: Sequence[str]
) -> Mapping[str, str]:
    """Return the operator that each layer's time counts for; empty if no layer stands for any.

    Parameters
    ----------
    layers
        Names, and the operators and constants that they stand for, in the order of execution.
    names
        Operators, in the order of the model.
    """
    place = {name: at for at, name in enumerate(names)}
    found: dict[str, str] = {}
    following = ""
    for layer, originals in reversed(layers):
        own = [name for name in originals if name in place]
        following = min(own, key=place.__getitem__) if own else following
        found[layer] = following
    # Of what comes behind the last operator; layers were found from the end on.
    last = next((name for name in found.values() if name), "")
    return {layer: name or last for layer, name in found.items()} if last else {}


def _extents(value: Any) -> list[int]:
    return [extent.get_length() if extent.is_static else 1 for extent in value.partial_shape]


def _originals(operation: Any) -> list[str]:
    known = operation.get_rt_info()
    return str(known[ORIGINALS].astype(str)).split(",") if ORIGINALS in known else []


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
                f"{self.title} is not installed{extra_with(self.package)}."
            ) from error


RUNTIMES = {
    "onnxruntime": Runtime("onnxruntime", "onnxruntime", measure_with_onnxruntime),
    "openvino": Runtime("OpenVINO", "openvino", measure_with_openvino),
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
    from boundmark.datasets.readers.onnx.model import inferred_model, unique_names

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
