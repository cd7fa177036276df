"""Times of operators with onnxruntime: as they are written, without fusion."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boundmark.benchmarks.runtimes.random_inputs import WARM_UP, random_input

# What onnxruntime appends to a node's name where it tells how long the node took.
KERNEL = "_kernel_time"

NANOSECONDS_PER_MICROSECOND = 1000


def measure(stored: Path, names: Sequence[str], repeats: int, threads: int) -> dict[str, int]:
    """Return the median time of each operator, which onnxruntime itself takes, in microseconds.

    Operators that it runs something else for have none.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_profiling = True
    options.profile_file_prefix = str(stored.parent / "times")
    session = onnxruntime.InferenceSession(str(stored), options, providers=["CPUExecutionProvider"])
    inputs = {value.name: _drawn(value) for value in session.get_inputs()}
    for _ in range(WARM_UP + repeats):
        session.run(None, inputs)
    found = _medians(json.loads(Path(session.end_profiling()).read_bytes()))
    return {name: found[name] for name in names if name in found}


def _drawn(value: Any) -> Any:
    extents = [extent if isinstance(extent, int) else 1 for extent in value.shape]
    plain = value.type.removeprefix("tensor(").removesuffix(")")
    kind = {"float": "float32", "double": "float64"}.get(plain, plain)
    return random_input(value.name, extents, kind)


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
