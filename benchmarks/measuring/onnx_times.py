"""Times of an ONNX model's operators, with onnxruntime, which runs them as they are written."""

import json
import os
import statistics
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from boundmark.benchmarks.measuring.measured import (
    MUCH_WAITING,
    WARM_UP,
    Measured,
    clock_of,
    random_input,
)
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import BoundmarkError, MissingFileError, extra_with, find

# What onnxruntime appends to a node's name where it tells how long the node took.
KERNEL = "_kernel_time"

NANOSECONDS_PER_MICROSECOND = 1000

PROCESSOR = "CPUExecutionProvider"


def measure_with_onnxruntime(
    stored: Path, names: Sequence[str], repeats: int, threads: int, provider: str | None = None
) -> Measured:
    """Return the times of each operator in the runs, which onnxruntime itself takes.

    They are whole microseconds of wall time. Where other processes kept one thread from its
    processor, the shortest quarter of each operator's runs counts, scaled down if these add up to
    more than the thread's time on it. Operators that onnxruntime runs something else for have none.
    """
    session = session_of(stored, threads, str(stored.parent / "times"), provider)
    inputs = {name: random_input(name, extents, kind) for name, extents, kind in read_by(session)}
    clock, own, waited = clock_of(threads), [], []
    for _ in range(WARM_UP + repeats):
        wall, start = time.perf_counter_ns(), clock()
        session.run(None, inputs)
        own.append(max(1, clock() - start))
        waited.append((time.perf_counter_ns() - wall) / own[-1])
    found = runs_of(Path(session.end_profiling()), repeats)
    samples = {name: found[name] for name in names if name in found}
    if provider is not None:
        # The thread waits for the GPU.
        return Measured(samples)
    ratio = statistics.median(waited[WARM_UP:])
    if ratio > MUCH_WAITING:
        samples = {name: sorted(runs)[: -(-len(runs) // 4)] for name, runs in samples.items()}
        total = sum(statistics.median(runs) for runs in samples.values())
        part = min(1.0, statistics.median(own[WARM_UP:]) / max(1.0, total))
        samples = {name: [round(one * part) for one in runs] for name, runs in samples.items()}
    return Measured(samples, waited=ratio)


def session_of(path: Path, threads: int, profile: str = "", provider: str | None = None) -> Any:
    """Return a session that runs a model; with operators as they are, and timed, if asked for."""
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
    """Return each node's times in the last runs, in nanoseconds."""
    found: dict[str, list[int]] = {}
    for event in json.loads(profile.read_bytes()):
        name = event.get("name", "")
        if event.get("cat") == "Node" and name.endswith(KERNEL):
            time = int(event["dur"]) * NANOSECONDS_PER_MICROSECOND
            found.setdefault(name.removesuffix(KERNEL), []).append(time)
    return {name: times[-repeats:] for name, times in found.items()}


# Largest file in bytes; the weights of larger models are written beside it.
LARGEST_MODEL = 2**30


def onnxruntime_version() -> str:
    """Return the name and the version of onnxruntime."""
    from importlib.metadata import version

    try:
        return f"onnxruntime {version('onnxruntime')}"
    except ModuleNotFoundError as error:
        raise MissingFileError(
            f"onnxruntime is not installed{extra_with('onnxruntime')}."
        ) from error


def measured_times(
    path: Path,
    dims: Mapping[str, int],
    repeats: int,
    threads: int,
    provider: str | None = None,
) -> Measured:
    """Return the time of each operator in each run.

    The model runs on random inputs.
    """
    from boundmark.datasets.readers.onnx.model import inferred_model, unique_names

    model, _, _ = inferred_model(path, dims)
    names = unique_names(model.graph)
    for node, name in zip(model.graph.node, names, strict=True):
        node.name = name
    with tempfile.TemporaryDirectory() as folder:
        stored = _stored(model, path, Path(folder))
        try:
            return measure_with_onnxruntime(stored, names, repeats, threads, provider)
        except BoundmarkError:
            raise
        except Exception as error:
            # Whatever another library raises; its own words say why.
            reason = " ".join(str(error).split())
            raise BoundmarkError(f"{path}: onnxruntime cannot run it: {reason}") from error


def check_names(graph: ComputationGraph, samples: Collection[str], path: Path) -> None:
    """Refuse times that some operators of a graph are missing from."""
    missing = [name for name in graph.names if name not in samples]
    if missing:
        raise BoundmarkError(
            f"{path}: onnxruntime has timed no operator {missing[0]!r} "
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
