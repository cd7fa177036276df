"""Traces of torch.profiler and profiles of onnxruntime are joined to models, or refused by name."""

import gzip
import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import boundmark
from boundmark.benchmarks.measuring.tool_profiles import read_events
from boundmark.problems.errors import InvalidInputError

Change = Callable[[dict[str, Any]], None]


def onnx_model(path: Path) -> Path:
    """Store a model of three operators, one of which computes nothing."""
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
            helper.make_node("Identity", ["a"], ["b"], name="same"),
            helper.make_node("MatMul", ["b", "w"], ["y"], name="last"),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 8])],
        [helper.make_tensor("w", TensorProto.FLOAT, [8, 8], [0.0] * 64)],
    )
    onnx.save(helper.make_model(graph, ir_version=9), path)
    return path


# When nodes start to run, in microseconds.
CLOCK = count(10, 1000)


def node_event(name: str, microseconds: float, provider: str = "CPUExecutionProvider") -> Any:
    """Return what onnxruntime writes about a node's run."""
    return {
        "cat": "Node", "pid": 1, "tid": 1, "dur": microseconds, "ts": next(CLOCK), "ph": "X",
        "name": f"{name}_kernel_time", "args": {"op_name": "MatMul", "provider": provider},
    }  # fmt: skip


FUSED = node_event("fused", 50)

SESSION = {"cat": "Session", "pid": 1, "tid": 1, "dur": 9, "ts": 1, "ph": "X", "name": "model_run"}


def store(path: Path, value: Any) -> Path:
    """Write a value as JSON."""
    path.write_text(json.dumps(value))
    return path


def test_nodes_have_their_names_in_onnxruntimes_profiles(tmp_path: Path) -> None:
    """A time is the median of the runs; what onnxruntime leaves out takes none."""
    runs = [node_event("product", time) for time in (300, 100, 200)]
    events = [SESSION, *runs, *[node_event("last", 50, "CUDAExecutionProvider")] * 3]
    trace = store(tmp_path / "profile.json", events)
    found = boundmark.profile(onnx_model(tmp_path / "m.onnx"), trace=trace)
    assert found.times == {"product": 200_000, "same": 0, "last": 50_000}
    assert "ran it as part of another one" in found.untimed["same"]
    assert any("CUDAExecutionProvider are those of launches" in note for note in found.notes)
    assert found.source == (
        "profile of onnxruntime with CPUExecutionProvider and CUDAExecutionProvider "
        "'profile.json': median of 3 passes of m.onnx"
    )
    assert found.measurement["device"] is None
    assert found.measurement["date"] is None
    found.save(tmp_path / "times.json")
    instance = boundmark.load(tmp_path / "m.onnx", device=str(tmp_path / "times.json"))
    assert instance is not None


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([SESSION], "it has no times of nodes; expected a profile of onnxruntime"),
        (
            [SESSION, node_event("fused", 3), node_event("last", 97)],
            "1 of 2 operators with arithmetic have no time, the first of them 'product'; expected",
        ),
        (
            [SESSION, *(node_event(name, 25) for name in ("product", "last")), FUSED],
            "50% of its time belongs to no operator of the model, most of it to 'fused'; expected",
        ),
        ([SESSION, node_event("product", 0)], "its events take no time; expected some that do"),
        ([SESSION, {**SESSION, "dur": -1}], "dur -1; expected a text and microseconds"),
        ([SESSION, {**SESSION, "dur": True}], "dur True; expected a text and microseconds"),
        ([SESSION, {**SESSION, "name": 7}], "an event has the name 7, ts 1"),
        ([{"count": 3}, {"name": "a", "averageMs": 1}], "it is a layer profile of trtexec; expec"),
        ({"traceEvents": []}, "it is a trace of torch.profiler; expected a profile of onnxruntime"),
        ("text", "it is no list of events"),
    ],
)
def test_other_profiles_are_refused(tmp_path: Path, events: Any, expected: str) -> None:
    """Each mistake is a sentence that names the file."""
    trace = store(tmp_path / "profile.json", events)
    with pytest.raises(InvalidInputError, match=f"profile.json: .*{expected}"):
        boundmark.profile(onnx_model(tmp_path / "m.onnx"), trace=trace)


def test_one_operator_in_ten_may_lack_a_time(tmp_path: Path) -> None:
    """Operators count, not their times: those of a fused model are in one that has another name."""
    names = [f"relu_{at}" for at in range(10)]
    tensors = ["x", *names[:-1], "y"]
    graph = helper.make_graph(
        [
            helper.make_node("Relu", [read], [written], name=name)
            for name, read, written in zip(names, tensors, tensors[1:], strict=False)
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8])],
    )
    onnx.save(helper.make_model(graph, ir_version=9), tmp_path / "m.onnx")
    # A clock of microseconds says 0 of what is short.
    events = [SESSION, node_event("relu_9", 100), *(node_event(one, 0) for one in names[1:9])]
    trace = store(tmp_path / "profile.json", events)
    found = boundmark.profile(tmp_path / "m.onnx", trace=trace)
    assert list(found.untimed) == ["relu_0"]
    store(trace, events[:-1])
    expected = "2 of 10 operators with arithmetic have no time, the first of them 'relu_0'; exp"
    with pytest.raises(InvalidInputError, match=expected):
        boundmark.profile(tmp_path / "m.onnx", trace=trace)


def test_what_control_flow_runs_is_part_of_it(tmp_path: Path) -> None:
    """The time of a branch stands beside that of its `If`, which contains it."""
    output = helper.make_tensor_value_info("b", TensorProto.FLOAT, [8, 8])
    branches = {
        f"{which}_branch": helper.make_graph(
            [helper.make_node("MatMul", ["x", "x"], ["b"], name=f"{which}_product")],
            which, [], [output],
        )
        for which in ("then", "else")
    }  # fmt: skip
    graph = helper.make_graph(
        [
            helper.make_node("If", ["c"], ["a"], name="branch", **branches),
            helper.make_node("Relu", ["a"], ["y"], name="relu"),
        ],
        "graph",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 8]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, [1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 8])],
    )
    onnx.save(helper.make_model(graph, ir_version=9), tmp_path / "if.onnx")
    # In the order in which they end, as in real profiles.
    events = [
        {**node_event(name, dur), "ts": start + 1000 * run}
        for run in range(2)
        for name, start, dur in (("then_product", 7, 90), ("branch", 5, 100), ("relu", 105, 9))
    ]
    trace = store(tmp_path / "profile.json", [SESSION, *events])
    found = boundmark.profile(tmp_path / "if.onnx", trace=trace)
    assert found.times == {"branch": 100_000, "relu": 9_000}
    assert found.measurement["repeats"] == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"Start (ns),Duration (ns),CorrId\n7,8,9\n", "a table of nsys stats; expected a trace of"),
        (b"SQLite format 3\0", "an SQLite database, as Nsight Systems exports"),
        (b'"ID","Process ID","Process Name"\n', "a table of Nsight Compute"),
        (b"Time(%),Total Time (ns),Instances\n", "a table of nsys stats"),
        (b"NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst\n", "a table of nsys stats"),
        (b"\nProcessing [a.sqlite] with [b.py]...\nStart (ns),Duration (ns)\n", "of nsys stats"),
        (b" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n Time (%)", "of nsys stats"),
        (b'==PROF== Connected to 7\n"ID","Process ID","Process Name"\n', "of Nsight Compute"),
        (b'[{"name": "aten::add", "ph": "X"}]', "of another tool in Chrome's format; expected a"),
        (b'{"displayTimeUnit": "ns", "metadata": {"a": 1}, "traceEvents": []}', "of another tool"),
        (gzip.compress(b"Start (ns),Duration (ns)\n", mtime=0), "a table of nsys stats"),
        (b'{"traceEvents": [', "expected a trace of .* as complete JSON; found"),
        (b"\x1f\x8babc", "as complete JSON; found it cannot be decompressed"),
    ],
)
def test_what_cannot_be_joined_is_told_by_its_content(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    """Kernels do not say which operator they are of, and what is cut off says nothing."""
    (tmp_path / "trace").write_bytes(content)
    with pytest.raises(InvalidInputError, match=expected):
        read_events(tmp_path / "trace")


def test_nothing_is_run(tmp_path: Path) -> None:
    """Settings of a run have no meaning beside a trace."""
    trace = store(tmp_path / "profile.json", [SESSION])
    with pytest.raises(InvalidInputError, match="provider is given with a trace; expected none"):
        boundmark.profile(onnx_model(tmp_path / "m.onnx"), trace=trace, provider="CPU")
    with pytest.raises(InvalidInputError, match="threads is given with a trace; expected none"):
        boundmark.profile(onnx_model(tmp_path / "m.onnx"), trace=trace, threads=2)


@pytest.mark.filterwarnings("ignore")
def test_a_trace_of_a_program_in_a_file(tmp_path: Path, layers: Any) -> None:
    """It is joined to the program's calls, and has a name of its own; there are no open sizes."""
    torch = pytest.importorskip("torch")
    module, x = layers
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "net.pt2")
    trace = recorded(module, (x,), tmp_path / "trace.json")
    found = boundmark.profile(tmp_path / "net.pt2", trace=trace, name="large")
    assert (found.model, found.measurement["repeats"]) == ("large", 3)
    with pytest.raises(InvalidInputError, match="dims are given; expected none"):
        boundmark.profile(tmp_path / "net.pt2", trace=trace, dims={"n": 2})


@pytest.fixture(scope="module")
def layers() -> Any:
    """Return a module of two products with a view between them, and an input."""
    torch = pytest.importorskip("torch")

    class Layers(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = torch.nn.Linear(64, 64), torch.nn.Linear(32, 16)

        def forward(self, x: Any) -> Any:
            return self.last(self.first(x).relu().view(-1, 32))

    return Layers().eval(), torch.randn(8, 64)


def recorded(module: Any, inputs: Any, path: Path, passes: int = 3) -> Path:
    """Store a real trace of a module on the processor."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with torch.no_grad():
        module(*inputs)
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as found:
            for _ in range(passes):
                module(*inputs)
    found.export_chrome_trace(str(path))
    return path


@pytest.mark.filterwarnings("ignore")
def test_calls_of_real_traces_are_those_of_the_program(tmp_path: Path, layers: Any) -> None:
    """In their order, each with its time; views take none."""
    module, x = layers
    trace = recorded(module, (x,), tmp_path / "trace.json")
    found = boundmark.profile(module, example_inputs=x, trace=trace)
    assert found.measurement["repeats"] == 3
    positive = [name for name, time in found.times.items() if time > 0]
    types = dict(zip(found.graph.names, found.graph.op_types, strict=True))
    assert [types[name] for name in positive] == ["Gemm", "Relu", "Gemm"]
    assert any("3 passes" in note for note in found.notes)
    packed = tmp_path / "trace.json.gz"
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    assert boundmark.profile(module, example_inputs=x, trace=packed).times == found.times


@pytest.mark.filterwarnings("ignore")
def test_modules_of_all_kinds_are_joined(tmp_path: Path) -> None:
    """Exported programs call what their modules call."""
    torch = pytest.importorskip("torch")
    from torch_modules import MODULES

    joined = 0
    for name, (make, inputs) in MODULES.items():
        torch.manual_seed(1)
        trace = recorded(make().eval(), inputs, tmp_path / f"{name}.json")
        found = boundmark.profile(make().eval(), example_inputs=inputs, trace=trace)
        joined += found.measurement["repeats"] == 3 and found.total_ns > 0
    assert joined == len(MODULES)


@pytest.mark.filterwarnings("ignore")
def test_reshapes_that_copy_take_time(tmp_path: Path) -> None:
    """Those of transposed tensors do, those of others are views."""
    torch = pytest.importorskip("torch")

    class Reshapes(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x.reshape(-1, 16).relu().transpose(0, 1).reshape(-1, 8).relu()

    x = torch.randn(64, 32)
    trace = recorded(Reshapes(), (x,), tmp_path / "trace.json")
    found = boundmark.profile(Reshapes(), example_inputs=x, trace=trace)
    reshapes = [time for name, time in found.times.items() if "Reshape" in name]
    assert [time > 0 for time in reshapes] == [False, True]


def on_gpu(*changes: Change) -> dict[str, Any]:
    """Return a trace of `layers` on a GPU: calls, what they launch, and kernels."""
    names = ["linear", "addmm", "relu", "view", "linear", "addmm"]
    spans = [(0, 50), (10, 20), (60, 20), (90, 5), (100, 50), (110, 20)]
    events: list[dict[str, Any]] = [
        {
            "ph": "X", "cat": "cpu_op", "name": f"aten::{name}", "pid": 1, "tid": 1, "ts": start,
            "dur": duration, "args": {"External id": at + 1},
        }
        for at, (name, (start, duration)) in enumerate(zip(names, spans, strict=True))
    ]  # fmt: skip
    for at, time in ((1, 7), (1, 3), (2, 5), (5, 11)):
        events.append(
            {"ph": "X", "cat": "kernel", "name": "kernel", "ts": 1000, "dur": time,
             "args": {"External id": at + 1}}
        )  # fmt: skip
    trace = {"deviceProperties": [{"name": "NVIDIA H100 80GB HBM3"}], "traceEvents": events}
    for change in changes:
        change(trace)
    return trace


@pytest.mark.filterwarnings("ignore")
def test_a_call_on_a_gpu_takes_what_its_kernels_take(tmp_path: Path, layers: Any) -> None:
    """Also those that a call within it has launched; the GPU's link and memory go with them."""
    module, x = layers
    trace = store(tmp_path / "trace.json", on_gpu())
    found = boundmark.profile(module, example_inputs=x, trace=trace)
    assert [time for time in found.times.values() if time] == [10_000, 5_000, 11_000]
    assert found.measurement["device"] == "NVIDIA H100 80GB HBM3"
    assert found.base.name == "nvidia-h100"


@pytest.mark.filterwarnings("ignore")
def test_launches_tell_of_which_call_a_kernel_is(tmp_path: Path, layers: Any) -> None:
    """Where kernels do not say it themselves, by the runtime or the driver."""
    module, x = layers
    trace = on_gpu()
    for at, event in enumerate(trace["traceEvents"][6:]):
        launch = "cuda_driver" if at else "cuda_runtime"
        ids = {"External id": event["args"].pop("External id"), "correlation": at}
        event["args"]["correlation"] = at
        trace["traceEvents"].append(
            {"ph": "X", "cat": launch, "name": "launch", "ts": 15, "dur": 1, "args": ids}
        )
    found = boundmark.profile(module, example_inputs=x, trace=store(tmp_path / "t.json", trace))
    assert [time for time in found.times.values() if time] == [10_000, 5_000, 11_000]


def _without_ids(trace: dict[str, Any]) -> None:
    for event in trace["traceEvents"]:
        del event["args"]


def _of_other_operators(trace: dict[str, Any]) -> None:
    _much_else(trace)
    trace["traceEvents"][-2]["name"] = "flash::attention"


def _other_order(trace: dict[str, Any]) -> None:
    trace["traceEvents"][2]["ts"] = 200


def _much_else(trace: dict[str, Any]) -> None:
    trace["traceEvents"] += [
        {"ph": "X", "cat": "cpu_op", "name": "aten::sort", "pid": 1, "tid": 1, "ts": 97, "dur": 2,
         "args": {"External id": 99}},
        {"ph": "X", "cat": "kernel", "name": "sort", "ts": 1, "dur": 50,
         "args": {"External id": 99}},
    ]  # fmt: skip


def _other_shapes(trace: dict[str, Any]) -> None:
    for at in (0, 4):
        trace["traceEvents"][at]["args"]["Input Dims"] = [[8, 65], [64, 65], [64]]


def _no_events(trace: dict[str, Any]) -> None:
    trace["traceEvents"] = 7


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_other_order, r"of 4 calls, the first 2 were found .* then no 'aten::view'; expected a"),
        (_much_else, "66% of its time belongs to no operator of the model, most of it to calls th"),
        (
            _of_other_operators,
            "66% of its time belongs to no operator .* calls that are not the mo",
        ),
        (
            _without_ids,
            "3 of 3 operators with arithmetic have no time, the first of them 'first/Gemm'",
        ),
        (_other_shapes, "the first 0 were found in this order, and then no 'aten::linear'"),
        (_no_events, "traceEvents is no list; expected a trace of torch.profiler"),
    ],
)
def test_traces_of_other_models_are_refused(
    tmp_path: Path, layers: Any, change: Change, expected: str
) -> None:
    """Another order, other shapes, or much that the program does not call."""
    module, x = layers
    trace = store(tmp_path / "trace.json", on_gpu(change))
    with pytest.raises(InvalidInputError, match=f"trace.json: .*{expected}"):
        boundmark.profile(module, example_inputs=x, trace=trace)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.json", '{"schemaVersion":1,"traceEvents":[]}', "it is a trace of torch.profiler; exp"),
        ("t.json", '[\n{"cat" : "Session"}]', "a profile of onnxruntime; expected a model. `boun"),
        ("t.nsys-rep", "x", "'.nsys-rep', a report of Nsight Systems; expected a model, whose op"),
        ("t.csv", "Start (ns),Duration (ns)\n", "it is a table of nsys stats; expected a model"),
        ("t.json", '{"_class_name": "Flux"}', "the configuration of a model of diffusers; exp"),
        ("t.json", '{"peft_type": "LORA"}', r"an adapter \(LoRA\); expected the folder of its"),
        ("t.json", '{"a": 1, "b": 2}', "JSON of no known format, with the fields 'a', 'b'; exp"),
    ],
)
def test_files_of_other_kinds_are_named(
    tmp_path: Path, name: str, content: str, expected: str
) -> None:
    """Who gives one for a model learns what it is and what it is good for."""
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInputError, match=expected):
        boundmark.load(tmp_path / name)


def test_a_trace_is_no_device(tmp_path: Path) -> None:
    """Times come from `profile --out`."""
    trace = store(tmp_path / "trace.json", {"schemaVersion": 1, "traceEvents": []})
    with pytest.raises(InvalidInputError, match=r"a trace of .*; expected times that"):
        boundmark.load(onnx_model(tmp_path / "m.onnx"), device=str(trace))
    table = tmp_path / "table.csv"
    table.write_text("Start (ns),Duration (ns),CorrId\n")
    with pytest.raises(InvalidInputError, match=r"a table of nsys stats; expected times that"):
        boundmark.load(onnx_model(tmp_path / "m.onnx"), device=str(table))
    with pytest.raises(InvalidInputError, match=r"a table of nsys stats; expected times that"):
        boundmark.solve(tmp_path / "m.onnx", k=2, costs=str(table), quiet=True)
