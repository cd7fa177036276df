"""Every reader of files, with files that it accepts, for campaigns of damaged ones.

A reader may refuse a file with an error that names what is wrong. Anything else is a failure.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import reader_files
from certified import NAMES, PROBLEMS, certified
from ir_models import CONVOLUTION, PRODUCTS
from onnx import TensorProto, helper, numpy_helper
from torch_archives import archive, two_layers

from boundmark.benchmarks.measuring import tool_profiles
from boundmark.benchmarks.running import suite_file
from boundmark.benchmarks.solving.model import load_solution
from boundmark.bounds import checker
from boundmark.datasets.readers.onnx import file as onnx_file
from boundmark.datasets.resolve import load_file
from boundmark.problems.devices import find_device, registry
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.layers import LayerModel, Workload
from boundmark.problems.problem import solution_document
from boundmark.reports.comparison.pairs import read_thresholds
from boundmark.reports.comparison.recorded_run import read_baseline
from boundmark.reports.history import read_history

_OWN_DEVICES = b"""
[devices.npu]
source = "measured"
peak_tera_ops_per_s = { float16 = 40 }
memory_bandwidth_gb_per_s = 102.4
memory_gib = 8
op_overhead_us = 3

[clusters.box]
source = "iperf3"
devices = { left = "npu", right = "npu" }

[[clusters.box.links]]
from = "left"
to = "right"
symmetric = true
bandwidth_gb_per_s = 6.2
latency_us = 8
"""

REFUSALS = (BoundmarkError, checker.Rejected)


@dataclass(frozen=True)
class Reader:
    """One way to read a file.

    Attributes
    ----------
    suffix
        Of the files.
    seeds
        Returns contents that are accepted.
    read
        Reads a file; raises one of `REFUSALS` if it is not what it should be.
    """

    suffix: str
    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[Path], object]


def _canonical(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


@cache
def _tight() -> dict[str, Any]:
    """Return the instances of all samples, by hash."""
    found = [instance for known in PROBLEMS.values() for _, instance in known.tight.values()]
    return {instance.sha256: instance for instance in found}


def _instances() -> Sequence[bytes]:
    return [_canonical(instance.to_json()) for instance in _tight().values()]


def _certificates() -> Sequence[bytes]:
    return [_canonical(certified(*name).certificate) for name in NAMES]


def _check(path: Path) -> None:
    """Do as the command line of the checker does."""
    document = checker.read_document(path)
    known = _tight().get(str(document.get("instance_sha256")))
    if known is None:
        checker.check_instance(document)
        return
    instance = known.to_json()
    if document.get("format") == checker.SOLUTION_FORMAT:
        checker.check_solution(instance, document)
    else:
        checker.check_certificate(instance, document)


def _solutions() -> Sequence[bytes]:
    found = []
    for instance in _tight().values():
        solution = PROBLEMS[instance.problem].solution(instance)
        # Of those in the right form, some break constraints.
        with suppress(BoundmarkError):
            objective = instance.objective(solution)
            found.append(_canonical(solution_document(instance, solution, objective)))
    return found


def _read_solution(path: Path) -> None:
    for sha256, instance in _tight().items():
        try:
            load_solution(path, instance.problem, sha256)
        except REFUSALS as error:
            refusal = error
        else:
            return
    raise refusal


def _suites() -> Sequence[bytes]:
    folder = Path(suite_file.__file__).parents[1] / "suites"
    return [path.read_bytes() for path in sorted(folder.glob("*.toml"))]


def _onnx_models() -> Sequence[bytes]:
    def tensor(name: str, *shape: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    def weights(name: str, *shape: int) -> Any:
        return numpy_helper.from_array(np.zeros(shape, dtype=np.float32), name)

    convolution = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["y"], ["z"], name="relu"),
            helper.make_node("MaxPool", ["z"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("Flatten", ["p"], ["f"]),
            helper.make_node("Gemm", ["f", "g"], ["out"], transB=1),
        ],
        "graph", [tensor("x", 1, 3, 8, 8)], [tensor("out", 1, 5)],
        [weights("w", 4, 3, 3, 3), weights("b", 4), weights("g", 5, 64)],
    )  # fmt: skip
    attention = helper.make_graph(
        [
            helper.make_node("MatMul", ["q", "k"], ["s"]),
            helper.make_node("Softmax", ["s"], ["a"], axis=-1),
            helper.make_node("MatMul", ["a", "v"], ["c"]),
            helper.make_node("Add", ["c", "v"], ["out"]),
        ],
        "graph", [tensor("q", 2, 4, 8), tensor("k", 2, 8, 4), tensor("v", 2, 4, 8)],
        [tensor("out", 2, 4, 8)],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17)]
    return [
        helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
        for graph in (convolution, attention)
    ]


def _cost_graphs() -> Sequence[bytes]:
    return [
        b'node { name: "a" compute_cost: 3 output_info { size: 4 } }\n'
        b'node { name: "b" id: 1 compute_cost: 5 input_info { preceding_node: 0 } '
        b"output_info { size: 2 alias_input_port: -1 } temporary_memory_size: 7 }\n"
        b'node { name: "c" id: 2 is_final: true input_info { preceding_node: 1 preceding_port: 0 } '
        b"control_input: 0 }\n"
    ]


def _profiles() -> Sequence[bytes]:
    lines = [
        f"node{number} -- Conv2d(3, {number}) -- forward_compute_time={number}.5, "
        f"backward_compute_time=1.25, activation_size={number}00.0, parameter_size=12.0"
        for number in range(1, 4)
    ]
    return ["\n".join([*lines, "\tnode1 -- node2", "\tnode2 -- node3"]).encode()]


def _read_language_model(path: Path) -> None:
    """Read a model, and make layers of it."""
    model = load_file(path)
    assert isinstance(model, LayerModel)
    for phase in ("as-given", "decode", "training"):
        tokens = 0 if phase == "as-given" else 16
        with suppress(BoundmarkError):
            model.layers(Workload(phase, tokens and 1, tokens))


def _read_safetensors(path: Path) -> None:
    """Read a file beside the configuration of the model that it is of."""
    config = reader_files.SMALL_MODEL
    (path.parent / "config.json").write_text(json.dumps(config))
    load_file(path.parent)


def _traces() -> Sequence[bytes]:
    calls = [("linear", 0, 50), ("addmm", 10, 20), ("relu", 60, 20)]
    events: list[dict[str, Any]] = [
        {"ph": "X", "cat": "cpu_op", "name": f"aten::{name}", "pid": 1, "tid": 1, "ts": start,
         "dur": duration, "args": {"External id": at, "Input Dims": [[8, 64], []]}}
        for at, (name, start, duration) in enumerate(calls)
    ]  # fmt: skip
    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 12, "dur": 1,
                   "args": {"External id": 1, "correlation": 9}})  # fmt: skip
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 99, "dur": 7.5}
    events.append({**kernel, "args": {"correlation": 9}})
    runs = [
        {"cat": "Node", "ph": "X", "name": f"{name}_kernel_time", "ts": 30 * at, "dur": 20,
         "args": {"provider": "CPUExecutionProvider"}}
        for at, name in enumerate(("MatMul_0", "Softmax_1", "MatMul_2", "Add_3"))
    ]  # fmt: skip
    return [_canonical({"schemaVersion": 1, "traceEvents": events}), _canonical(runs)]


def _read_trace(path: Path) -> None:
    events = tool_profiles.read_events(path)
    if isinstance(events, dict):
        tool_profiles.recorded_calls(events)
    else:
        model = onnx.load_model_from_string(_onnx_models()[1])
        tool_profiles.onnxruntime_times(events, onnx_file.of_model(model))


READERS = {
    "checker": Reader(".json", lambda: [*_instances(), *_certificates(), *_solutions()], _check),
    "instance": Reader(".json", _instances, load_file),
    "solution": Reader(".json", _solutions, _read_solution),
    "onnx": Reader(".onnx", _onnx_models, onnx_file.load),
    "cost-graph-def": Reader(".pbtxt", _cost_graphs, load_file),
    "profile": Reader(".txt", _profiles, load_file),
    "suite": Reader(".toml", _suites, lambda path: suite_file.load_collection(str(path))),
    "devices": Reader(".toml", lambda: [_OWN_DEVICES], registry.load_device_file),
    "sheet": Reader(".xls", reader_files.sheets, load_file),
    "json-graph": Reader(".json", reader_files.json_graphs, load_file),
    "planners": Reader(".json", reader_files.planners, load_file),
    "openvino": Reader(".xml", lambda: [CONVOLUTION.encode(), PRODUCTS.encode()], load_file),
    "torch-export": Reader(".pt2", lambda: [archive(two_layers())], load_file),
    "language-model": Reader(".json", reader_files.configurations, _read_language_model),
    "gguf": Reader(".gguf", reader_files.gguf_files, _read_language_model),
    "layer-table": Reader(".csv", reader_files.layer_tables, _read_language_model),
    "safetensors": Reader(".safetensors", reader_files.safetensors, _read_safetensors),
    "times": Reader(".json", reader_files.times, lambda path: find_device(str(path))),
    "trace": Reader(".json", _traces, _read_trace),
    "baseline": Reader(".parquet", reader_files.baselines, read_baseline),
    "history": Reader(".parquet", reader_files.histories, read_history),
    "thresholds": Reader(".toml", reader_files.thresholds, read_thresholds),
}


class Attempt:
    """Reads contents by way of a file that is overwritten each time."""

    def __init__(self, name: str, folder: Path) -> None:
        self._reader = READERS[name]
        self._path = folder / f"file{self._reader.suffix}"

    def __call__(self, content: bytes) -> str:
        """Return ``"accepted"`` or ``"refused"``; let every other error through."""
        self._path.write_bytes(content)
        try:
            self._reader.read(self._path)
        except REFUSALS:
            return "refused"
        return "accepted"
