"""Compare outputs of HSDAG's models, whole and placed: `python docs/tables/hsdag_outputs.py DIR`.

DIR has the ONNX files that `hsdag_graphs.py DIR` writes. Two methods place each of them, it is cut
wherever data change devices, and onnxruntime runs whole and parts on random inputs, all on this
processor. Writes docs/tables/hsdag/outputs.csv. Needs onnxruntime.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from boundmark.benchmarks.measuring.pipeline.stage_files import CutPlacement, written
from boundmark.benchmarks.solving.model import named_instance
from boundmark.datasets.pipeline.onnx_split import split_model
from boundmark.problems.catalog import methods
from boundmark.problems.method import Budget
from boundmark.problems.placement.schedule import segments

DATA = Path(__file__).resolve().parent / "hsdag" / "outputs.csv"
CLUSTER = "hsdag-two-devices"

MODELS = ("inception-v3", "resnet-50", "bert-base")
METHODS = ("placement-search", "hsdag")
EVALUATIONS = 2000
INPUTS = 8

# Of BERT's vocabulary.
WORDS = 30522

Arrays = dict[str, Any]


def session(path: Path) -> Any:
    """Return a model that is ready to run, without fused operators, which round otherwise."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def drawn(model: Any, generator: np.random.Generator) -> Arrays:
    """Return random inputs: words, or the pixels of an image."""
    return {
        one.name: generator.integers(WORDS, size=one.shape)
        if "int" in one.type
        else generator.standard_normal(one.shape).astype(np.float32)
        for one in model.get_inputs()
    }


def outputs(parts: Sequence[Any], given: Mapping[str, Any]) -> Arrays:
    """Run models one after another, each on what is known by then, and return all outputs."""
    known = dict(given)
    for part in parts:
        names = [one.name for one in part.get_outputs()]
        inputs = {one.name: known[one.name] for one in part.get_inputs()}
        known |= zip(names, part.run(names, inputs), strict=True)
    return known


def distances(expected: Any, found: Any) -> Arrays:
    """Return the measures of [HSDAG24], Table 4, between two outputs, and whether classes agree."""
    a, b = (np.asarray(one, dtype=np.float64).ravel() for one in (expected, found))
    return {
        "mean_squared": float(((a - b) ** 2).mean()),
        "cosine": float(a @ b / np.sqrt((a @ a) * (b @ b))),
        "euclidean": float(np.linalg.norm(a - b)),
        "same_class": float(a.argmax() == b.argmax()),
        "largest_value": float(np.abs(a).max()),
    }


class Last:
    """Keeps the placement that a method reports last, the best one."""

    def solution(self, value: Any) -> None:
        """Keep a placement."""
        self.devices = value.devices

    def bound(self, value: Any) -> None:
        """Take a bound; these methods report none."""


def cut_by(model: Path, method: str) -> CutPlacement:
    """Place a model, and cut it wherever data change devices."""
    instance: Any = named_instance(
        str(model), {"features": "operators"}, "placement", CLUSTER
    ).instance
    found, placer = Last(), methods("placement")[method]
    params = {**placer.params, "evaluations": EVALUATIONS}
    placer.run(instance, Budget(3600), 1, found, **params)  # type: ignore[call-arg]
    numbers, by_segment = segments(instance.dag, found.devices)
    parts = dict(zip(instance.graph.names, numbers.tolist(), strict=True))
    models = split_model(model, parts, range(len(by_segment)), {})
    return CutPlacement(tuple(instance.graph.device_names[at] for at in by_segment), models, ())


def row(model: Path, method: str) -> Arrays:
    """Return how far the outputs of a placed model are from those of the whole."""
    generator, cut = np.random.default_rng(1), cut_by(model, method)
    with tempfile.TemporaryDirectory() as folder:
        parts = [session(path) for path in written(cut, Path(folder))]
        whole = session(model)
        names = [one.name for one in whole.get_outputs()]
        found = []
        for _ in range(INPUTS):
            given = drawn(whole, generator)
            expected, pieces = outputs([whole], given), outputs(parts, given)
            found += [distances(expected[name], pieces[name]) for name in names]
    on = dict.fromkeys(cut.devices, 0)
    for device, one in zip(cut.devices, cut.models, strict=True):
        on[device] += one.operators
    worst = pd.DataFrame(found).agg(
        {"mean_squared": "max", "cosine": "min", "euclidean": "max", "same_class": "mean",
         "largest_value": "max"}
    )  # fmt: skip
    return {
        "model": model.stem, "method": method, "on_cpu": on.get("CPU", 0),
        "on_gpu": on.get("GPU.1", 0), "parts": len(cut.models), "inputs": INPUTS, **worst,
    }  # fmt: skip


if __name__ == "__main__":
    rows = []
    for method in METHODS:
        for name in MODELS:
            rows.append(row(Path(sys.argv[1]) / f"{name}.onnx", method))
            pd.DataFrame(rows).to_csv(DATA, index=False)
