"""Runs a model, and the models of its stages one after another, on the same random inputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# Of the values that are drawn for inputs.
SEED = 1

# Relative to the largest value.
TOLERANCE = 1e-4

Arrays = Mapping[str, Any]


def is_available() -> bool:
    """Whether the package that runs models is installed."""
    import importlib.util

    return importlib.util.find_spec("onnxruntime") is not None


def largest_difference(
    whole: Path, stages: Sequence[Path], dims: Mapping[str, int]
) -> tuple[float, float]:
    """Return the largest difference between outputs, and the largest value of an output.

    Parameters
    ----------
    stages
        In the order in which data flows.
    dims
        Sizes of dimensions that the whole model leaves open; others are 1.

    Raises
    ------
    BoundmarkError
        If a model cannot be run.
    """
    model = _session(whole)
    given = _inputs(model, dims)
    expected = _run(model, given, whole)
    known: dict[str, Any] = dict(given)
    for path in stages:
        known.update(_run(_session(path), known, path))
    difference = largest = 0.0
    for name, value in expected.items():
        wanted, found = (np.asarray(one, dtype=np.float64) for one in (value, known[name]))
        if not wanted.size:
            continue
        same = (wanted == found) | (np.isnan(wanted) & np.isnan(found))
        apart = np.where(same, 0.0, np.abs(wanted - found))
        difference = max(difference, float(np.nan_to_num(apart, nan=np.inf).max()))
        finite = np.abs(wanted[np.isfinite(wanted)])
        largest = max(largest, float(finite.max(initial=0.0)))
    return difference, largest


def _session(path: Path) -> Any:
    import onnxruntime

    from boundmark.problems.errors import BoundmarkError

    options = onnxruntime.SessionOptions()
    # What is fused across a cut would differ in the last digits.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = " ".join(str(error).split())
        raise BoundmarkError(f"{path}: onnxruntime cannot load it: {reason}") from error


def _run(session: Any, known: Arrays, path: Path) -> dict[str, Any]:
    from boundmark.problems.errors import BoundmarkError

    names = [output.name for output in session.get_outputs()]
    given = {value.name: known[value.name] for value in session.get_inputs()}
    try:
        return dict(zip(names, session.run(names, given), strict=True))
    except Exception as error:
        reason = " ".join(str(error).split())
        raise BoundmarkError(f"{path}: onnxruntime cannot run it: {reason}") from error


def _inputs(session: Any, dims: Mapping[str, int]) -> dict[str, Any]:
    """Draw values for the inputs; integers are 0 and 1, which are indices of most things."""
    generator = np.random.default_rng(SEED)
    found: dict[str, Any] = {}
    for value in session.get_inputs():
        shape = [
            extent
            if isinstance(extent, int)
            else dims.get(str(extent), dims.get(f"{value.name}.{at}", 1))
            for at, extent in enumerate(value.shape)
        ]
        kind = _dtype(value.type)
        if kind.kind == "f":
            found[value.name] = generator.standard_normal(shape).astype(kind)
        else:
            found[value.name] = generator.integers(0, 2, shape).astype(kind)
    return found


def _dtype(name: str) -> "np.dtype[Any]":
    from boundmark.problems.errors import BoundmarkError

    plain = name.removeprefix("tensor(").removesuffix(")")
    kinds = {"float": "float32", "double": "float64"}
    try:
        return np.dtype(kinds.get(plain, plain))
    except TypeError as error:
        raise BoundmarkError(
            f"an input has elements of type {plain}, for which no values can be drawn."
        ) from error
