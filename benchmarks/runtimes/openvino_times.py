"""Times of operators with OpenVINO: as its processor plugin runs them, fused and rewritten.

What it fuses has the time of the whole at the first of its operators in the model, and 0 at the
others; so have operators that it computes once and for all. What it adds, such as changes of
layout, counts for the next operator that it runs.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boundmark.benchmarks.runtimes.random_inputs import WARM_UP, random_input
from boundmark.problems.errors import BoundmarkError

NANOSECONDS_PER_SECOND = 10**9

# What OpenVINO calls the operators that a layer of its own stands for, separated by commas.
ORIGINALS = "originalLayersNames"


def measure(
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
