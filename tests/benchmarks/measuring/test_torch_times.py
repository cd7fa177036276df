"""Which calls an operator's time is that of, and that the times are a device."""

import resource
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch_modules import MODULES, Attention, Cached, convolutions  # noqa: E402

import boundmark  # noqa: E402
from boundmark.benchmarks.measuring import torch_times  # noqa: E402
from boundmark.benchmarks.measuring.measured import Measured  # noqa: E402
from boundmark.benchmarks.measuring.torch_execution import Program, runnable  # noqa: E402
from boundmark.benchmarks.measuring.torch_times import (  # noqa: E402
    CallTimes,
    is_timed,
    measure,
    of_operators,
    tried,
)
from boundmark.problems.devices import Device, find_device  # noqa: E402
from boundmark.problems.errors import InvalidInputError  # noqa: E402
from boundmark.problems.roofline import operation_seconds  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def with_equal_calls(given: Program) -> Measured:
    """Return what a program's operators take if each call takes 10 ns."""
    with torch.no_grad():
        calls = tried(given)
    timed = [node for node in given.module.graph.nodes if is_timed(node)]
    taken = {node: [10, 10] for node in timed if node not in calls.failures}
    return of_operators(given, calls, CallTimes(taken, whole=[100, 100]), 2)


def first(measured: Measured) -> dict[str, int]:
    """Return the times of the first run."""
    return {name: taken[0] for name, taken in measured.samples.items()}


class Shapes(nn.Module):
    """Reshapes that copy and that do not, and a copy that the graph leaves out."""

    def forward(self, x: Any) -> Any:
        """Return two tensors."""
        turned = x.transpose(0, 1)
        return turned.reshape(-1).relu(), x.reshape(-1).relu(), turned.contiguous().tanh()


def test_views_and_copies() -> None:
    """A view costs nothing, a reshape that copies does; a copy counts for what it copies."""
    found = with_equal_calls(runnable(Shapes(), (torch.ones(3, 4),), "cpu"))
    assert first(found) == {
        "Transpose": 10, "Reshape": 10, "Relu": 10, "Reshape_2": 0, "Relu_2": 10, "Tanh": 10,
    }  # fmt: skip
    assert found.untimed == {"Reshape_2": "a view, which copies nothing"}


def test_kernels_are_timed_as_one() -> None:
    """A convolution has the time of the normalisation behind it; dropout takes none."""
    found = with_equal_calls(runnable(*convolutional(), "cpu"))
    times = first(found)
    assert times["0/Conv"] == 20
    assert times["1/BatchNormalization"] == 0
    assert found.untimed["1/BatchNormalization"] == "its time is part of that of 0/Conv"
    assert times["2/Relu"] == 10
    assert times["6/Reshape"] == 0


def convolutional() -> tuple[nn.Module, tuple[Any, ...]]:
    """Return a network for images and its inputs."""
    return convolutions().eval(), (torch.ones(2, 3, 8, 8),)


def test_attention_is_timed_as_one() -> None:
    """Products, scale, mask and softmax have one time; its reshape at the end copies."""
    found = with_equal_calls(runnable(Attention(), (torch.ones(2, 5, 8),), "cpu"))
    times = first(found)
    # Two products, a division, a mask and a softmax, in which nothing is copied.
    assert times["MatMul"] == 50
    assert times["Reshape_4"] == 10
    assert sum(time == 10 for time in times.values()) == 4
    # What computes the mask is part of no operator.
    assert any("1 calls of the program are part of no operator" in note for note in found.notes)


class Rectified(nn.Module):
    """Chooses elements by numbers that torch cannot rectify."""

    def forward(self, x: Any) -> Any:
        """Return a product."""
        return torch.where((x > 0).logical_not(), x, x) @ x


def test_an_operator_that_cannot_be_run(tmp_path: Path) -> None:
    """It has no time, another result takes its place, and the others are timed."""
    recorded = torch.export.export(Rectified(), (torch.randn(4, 4),))
    (called,) = (one for one in recorded.graph.nodes if "logical_not" in str(one.target))
    called.target = torch.ops.aten.relu.default
    path = tmp_path / "own.pt2"
    torch.export.save(recorded, path)
    found = measure(runnable(path, device="cpu"), 2, 1)
    assert found.failed == {"Relu"}
    assert found.samples.keys() == {"Greater", "Where", "MatMul"}
    assert "torch does not run it: Boolean inputs not supported" in found.untimed["Relu"]
    assert not found.whole
    profile = boundmark.profile(path, torch_device="cpu", repeats=2)
    estimate = operation_seconds(profile.graph, profile.base)[1]
    assert profile.times["Relu"] == round(1e9 * estimate) > 0
    assert profile.estimated == ("Relu",)
    assert profile.untimed["Relu"].endswith(f"the roofline model on {profile.base.name}")
    assert profile.whole_ns is None


@pytest.mark.parametrize("name", MODULES)
def test_times_are_a_device(name: str, tmp_path: Path) -> None:
    """They cover the operators of the graph, and one stage takes their sum."""
    make, inputs = MODULES[name]
    profile = boundmark.profile(make(), example_inputs=inputs, torch_device="cpu", repeats=3)
    profile.save(tmp_path / "times.json")
    for device in (profile.device, find_device(str(tmp_path / "times.json"))):
        assert isinstance(device, Device)
        model = boundmark.load(make(), example_inputs=inputs, device=device)
        assert tuple(profile.times) == model.source.names
        seconds = operation_seconds(model.source, device)
        assert (1e9 * seconds).round().tolist() == list(profile.times.values())
    for operator, (low, high) in profile.intervals.items():
        assert low <= profile.times[operator] <= high


def test_a_module_is_left_as_it_was() -> None:
    """Neither its buffers nor its inputs change, nor the number of threads."""
    module, given, threads = Cached(), torch.ones(2, 3), torch.get_num_threads()
    boundmark.profile(module, example_inputs=given, torch_device="cpu", repeats=2, threads=3)
    assert torch.equal(module.seen, torch.zeros(2, 3))
    assert torch.equal(given, torch.ones(2, 3))
    assert torch.get_num_threads() == threads
    assert module.training


def test_the_document() -> None:
    """It says how it was measured, and describes the graph in the order of its operators."""
    module, inputs = convolutional()
    profile = boundmark.profile(
        module, example_inputs=inputs, torch_device="cpu", repeats=3, base="nvidia-h100"
    )
    document = profile.to_json()
    assert document["base"] == "nvidia-h100"
    measurement = document["measurement"]
    assert measurement["runtime"] == f"PyTorch {torch.__version__}"
    assert (measurement["threads"], measurement["repeats"]) == (1, 3)
    assert (measurement["mode"], measurement["dtype"]) == ("eager", "float32")
    assert type(measurement["whole_ns"]) is int
    graph, count = document["graph"], len(document["operators"])
    for field in ("op_types", "flops", "read_bytes", "output_bytes", "param_bytes"):
        assert len(graph[field]) == count
    assert graph["edges"] == profile.graph.dag.edge_pairs().tolist()
    assert graph["op_types"][0] == "Conv"
    table = profile.table
    assert table["operator"].tolist() == list(document["operators"])
    assert table["time"].sum() == profile.total_ns
    zeros = {name for name, time in document["operators"].items() if not time}
    assert zeros <= document["untimed"].keys()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"provider": "CPUExecutionProvider"}, "expected it with an ONNX file only"),
        ({"dims": {"batch": 2}}, "the sizes of a program are those of its example"),
        ({"repeats": 0}, "repeats is 0"),
        ({"example_inputs": None}, "needs example inputs"),
        ({"base": "moirai-intra-server"}, "expected a device with rates"),
    ],
)
def test_mistakes(arguments: dict[str, Any], expected: str) -> None:
    """Each is one sentence that says what was expected."""
    given: dict[str, Any] = {"example_inputs": torch.ones(2, 4), "torch_device": "cpu"}
    with pytest.raises(boundmark.Error, match=expected):
        boundmark.profile(nn.Linear(4, 4), **{**given, **arguments})


def test_the_command(boundmark: Any, tmp_path: Path) -> None:
    """It prints the sum beside the whole model, and stores what `solve` takes."""
    path, times = tmp_path / "own.pt2", tmp_path / "times.json"
    module, inputs = convolutional()
    torch.export.save(torch.export.export(module, inputs), path)
    options = ("--torch-device", "cpu", "--repeats", 2)
    done = boundmark("profile", path, *options, "--out", times)
    assert "7 operators take" in done.stdout
    assert "the whole model in one piece" in done.stdout
    solved = boundmark("solve", path, "-k", 2, "--device", times, "--method", "slicegraph")
    assert "measured:times" in solved.stdout
    failed = boundmark("profile", path, "--provider", "CPU", check=False)
    assert failed.returncode == 2
    assert "provider is given; expected it with an ONNX file only" in failed.stderr


# On a GPU: what does not need one.


def test_calls_that_cannot_be_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are timed as Python launches them, and named; in-place calls write into copies."""
    given = runnable(Cached(), (torch.ones(2, 3),), "cpu")

    def replayed(run: Any, often: int, repeats: int, *others: Any) -> list[int]:
        for _ in range(often):
            run()
        if len(captured) == 1:
            captured.append("refused")
            raise RuntimeError("operation not permitted when stream is capturing")
        captured.append("taken")
        return [20] * repeats

    captured: list[str] = []
    monkeypatch.setattr(torch_times, "replayed", replayed)
    monkeypatch.setattr(torch_times, "launched", lambda run, often, repeats: [50] * repeats)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "device", lambda device: torch.no_grad())
    with torch.no_grad():
        calls = tried(given)
        given.reset()
        times = torch_times.call_times_on_gpu(given, calls, 2)
    assert captured == ["taken", "refused", "taken", "taken"]
    found = of_operators(given, calls, times, 2)
    assert first(found) == {"Add": 20, "Mul": 50, "Mul_2": 20}
    assert "cannot be captured: operation not permitted" in found.untimed["Mul"]
    assert [one > 0 for one in found.eager_wall] == [True, True]
    # Each in-place call has written once, though it was timed several times, and then the whole.
    given.reset()
    with torch.no_grad():
        expected = given.module(*given.inputs)[0].clone()
    assert torch.equal(expected, torch.full((2, 3), 2.0))


def test_a_program_that_does_not_exist() -> None:
    """The file is named."""
    with pytest.raises(InvalidInputError, match=r"none\.pt2 does not exist"):
        boundmark.profile("none.pt2")


def test_threads_are_those_that_are_asked_for() -> None:
    """While the program runs."""
    seen = set()

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, call: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
            if call is torch.ops.aten.tanh.default:
                seen.add(torch.get_num_threads())
            return call(*args, **(kwargs or {}))

    given = runnable(Shapes(), (torch.ones(3, 4),), "cpu")
    with Watching():
        measure(given, 1, 3)
    assert seen == {3}


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator of Linux is meant")
def test_memory_is_touched_once() -> None:
    """Tensors that were freed leave their memory to others; new pages would take time."""
    given = torch.zeros(2**20)

    def faults(runs: int) -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(runs):
            torch.relu(torch.relu(given))
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    with torch_times.threads_of(1):
        faults(3)
        pages = given.nbytes // resource.getpagesize()
        assert faults(20) < pages
