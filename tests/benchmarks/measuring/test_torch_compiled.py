"""Which operator a kernel of a compiled program counts for, and that nothing is lost."""

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch_modules import Attention, convolutions  # noqa: E402

from boundmark.benchmarks.measuring import torch_compiled  # noqa: E402
from boundmark.benchmarks.measuring.measured import Measured  # noqa: E402
from boundmark.benchmarks.measuring.torch_compiled import (  # noqa: E402
    CompiledTimes,
    begin,
    compiled,
    device_times,
    kernel_times,
    of_operators,
    with_gaps,
)
from boundmark.benchmarks.measuring.torch_execution import Program, runnable  # noqa: E402
from boundmark.problems.errors import BoundmarkError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def totals(measured: Measured) -> list[int]:
    """Return what operators take in each run, and what is part of none."""
    rows = [*measured.samples.values(), measured.unattributed]
    return [sum(run) for run in zip(*rows, strict=True)]


def network() -> Program:
    """Return a program of seven operators."""
    return runnable(convolutions(), (torch.randn(2, 3, 8, 8),), "cpu")


def call_of(program: Program, name: str) -> str:
    """Return the name of an operator's call."""
    found: str = program.nodes[program.graph.names.index(name)][0].name
    return found


def test_a_kernel_counts_for_the_last_operator_of_its_own() -> None:
    """Not for one that has another kernel, such as the next convolution; or for none at all."""
    program = network()
    names = program.graph.names
    norm, relu, product = (
        call_of(program, name) for name in ("1/BatchNormalization", "2/Relu", "7/Gemm")
    )
    origins = {"fused": {norm, relu, product, "other"}, "product": {product}, "fill": {"other"}}
    times = CompiledTimes(
        {"fused": [10, 20], "product": [5, 5], "fill": [1, 2]}, rest=[3, 4], whole=[20, 30]
    )
    found = of_operators(program, origins, times)
    assert {name: found.samples[name] for name in names if any(found.samples[name])} == {
        "2/Relu": [10, 20], "7/Gemm": [5, 5],
    }  # fmt: skip
    assert found.unattributed == [4, 6]
    assert found.untimed["1/BatchNormalization"] == "its time is part of that of 2/Relu"
    assert found.untimed["0/Conv"] == "no kernel of the compiled program computes it"
    assert found.whole == [20, 30]
    assert "has 3 kernels; 0.000 of 0.000 ms (20.0%) are part of no operator" in found.notes[-1]


def test_kernels_that_share_all_their_operators() -> None:
    """Each counts for the last one."""
    program = network()
    both = {call_of(program, "1/BatchNormalization"), call_of(program, "2/Relu")}
    times = CompiledTimes({"mean": [1], "scale": [2]}, rest=[0], whole=[3])
    found = of_operators(program, {"mean": both, "scale": both}, times)
    assert found.samples["2/Relu"] == [3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "shape"), [(convolutions(), (2, 3, 8, 8)), (Attention(), (2, 5, 8))]
)
def test_nothing_is_lost(net: Any, shape: tuple[int, ...]) -> None:
    """Every operator has a time or a reason, and all that kernels take counts somewhere."""
    program = runnable(net, (torch.randn(shape),), "cpu")
    origins, times = kernel_times(program, 3, 1)
    assert set(origins) == set(times.kernels)
    found = of_operators(program, origins, times)
    assert set(found.samples) == set(program.graph.names)
    assert all(any(taken) or name in found.untimed for name, taken in found.samples.items())
    rows = [*times.kernels.values(), times.rest]
    assert totals(found) == [sum(run) for run in zip(*rows, strict=True)]
    assert len(found.whole) == 3
    assert sum(map(any, found.samples.values())) > 1
    # What comes before the first kernel is part of no operator, and these have no others.
    assert found.unattributed == times.rest


@pytest.mark.slow
def test_only_what_is_timed_is_changed() -> None:
    """The same program compiled afterwards tells nobody which kernel begins."""
    program = network()
    kernel_times(program, 1, 1)
    heard: list[str] = []
    with torch.no_grad(), torch_compiled._listening(heard.append):
        call = compiled(program.module, program.inputs)
        call(*program.inputs)
    assert not heard


@pytest.mark.slow
def test_a_torch_that_does_not_name_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says which torch does."""
    monkeypatch.setattr(torch_compiled, "SETTINGS", {"fx_graph_cache": False})
    with pytest.raises(BoundmarkError, match=r"expected torch 2\.9 or later"):
        kernel_times(network(), 1, 1)


def test_a_program_that_cannot_be_compiled() -> None:
    """The sentence has the words of the compiler."""
    program = network()
    with pytest.raises(BoundmarkError, match=r"torch cannot compile the program: .*expected a C"):
        compiled(program.module, (torch.ones(1),))


def test_times_on_a_gpu() -> None:
    """They are those of the processor's ranges; the GPU has ranges of the same names."""

    def event(name: str, microseconds: float, place: str) -> Any:
        return SimpleNamespace(
            name=name, device_time_total=microseconds, device_type=SimpleNamespace(name=place)
        )

    events = [
        event("boundmark kernel a:1", 2.5, "CPU"), event("boundmark kernel a:1", 9.0, "CUDA"),
        event("aten::mm", 2.0, "CPU"), event("boundmark kernel b:2", 1.0, "CPU"),
    ]  # fmt: skip
    assert device_times(events) == {"a:1": 2500, "b:2": 1000}


def test_gaps_between_kernels() -> None:
    """Each kernel has an equal share; there is none where the whole was not timed, or is faster."""
    kernels = {"a:1": [10, 12], "b:2": [20, 20]}
    assert with_gaps(kernels, [41, 43]) == {"a:1": [16, 18], "b:2": [26, 26]}
    assert with_gaps(kernels, [20]) == with_gaps(kernels, []) == kernels


def test_a_run_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are timed in a profile, the whole in a CUDA graph, or not if there can be none."""
    program = network()

    def call(*inputs: Any) -> Any:
        for kernel in ("a:1", "b:2"):
            begin(kernel)
        return program.module(*inputs)

    def replayed(run: Any, often: int, repeats: int, before: Any) -> list[int]:
        if refusal:
            raise RuntimeError("it waits for a result")
        return [100] * repeats

    refusal: list[bool] = []
    monkeypatch.setattr(torch_compiled, "replayed", replayed)
    monkeypatch.setattr(torch.cuda, "device", lambda device: torch.no_grad())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    found = torch_compiled._on_gpu(program, call, 2)
    assert found == CompiledTimes({"a:1": [50, 50], "b:2": [50, 50]}, [0, 0], [100, 100])
    refusal.append(True)
    found = torch_compiled._on_gpu(program, call, 2)
    assert found == CompiledTimes({"a:1": [0, 0], "b:2": [0, 0]}, [0, 0], [])


def test_ranges_of_a_profile() -> None:
    """There is one for each kernel, which ends where the next one begins."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profiler, torch_compiled._ranges():
        for kernel in ("a:1", "b:2"):
            begin(kernel)
            torch.ones(2) + 1
    events = list(profiler.events())
    assert device_times(events) == {"a:1": 0, "b:2": 0}
    first, second = (one for one in events if one.name.startswith("boundmark"))
    assert first.time_range.end <= second.time_range.start
    begin("after the run, nobody listens")
