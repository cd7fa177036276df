"""Times of operators with onnxruntime: as they are written, without fusion."""

import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boundmark.benchmarks.runtimes.random_inputs import WARM_UP, random_input
from boundmark.problems.errors import find

# What onnxruntime appends to a node's name where it tells how long the node took.
KERNEL = "_kernel_time"

NANOSECONDS_PER_MICROSECOND = 1000

PROCESSOR = "CPUExecutionProvider"


def measure(
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
        As for `measure`.
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
