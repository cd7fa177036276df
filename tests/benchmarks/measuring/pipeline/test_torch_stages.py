"""Stages of PyTorch programs compute together what the program does, and are timed alone."""

import json
import random
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from command_line import Boundmark

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch_modules import MODULES, Cached, Regions, convolutions  # noqa: E402

from boundmark.benchmarks.measuring.pipeline.comparison import Predicted, TorchComparison  # noqa: E402
from boundmark.benchmarks.measuring.pipeline.torch_stages import (  # noqa: E402
    TorchSettings,
    cut_program,
    inputs_of,
    measure_stages,
    outputs_of,
)
from boundmark.benchmarks.measuring.pipeline.tuning import tune  # noqa: E402
from boundmark.benchmarks.measuring.torch_compiled import compiled  # noqa: E402
from boundmark.benchmarks.measuring.torch_execution import Program, runnable  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class OldAndNew(nn.Module):
    """Reads a tensor before and after it is written in place."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        """Return what depends on both."""
        y = x + 1
        before = y * 3
        y.mul_(2)
        self.count.add_(1)
        return before.tanh_(), y.sigmoid(), self.count + y


PROGRAMS = {
    **{name: (make(), inputs) for name, (make, inputs) in MODULES.items()},
    "cached": (Cached(), (torch.randn(2, 3),)),
    "old and new": (OldAndNew(), (torch.randn(4),)),
}


def in_stages(program: Program, stages: list[int], is_compiled: bool = False) -> list[Any]:
    """Return the program's results as its stages compute them."""
    program.reset()
    known = inputs_of(program)
    with torch.no_grad():
        for stage in cut_program(program, stages):
            given = [known[node] for node in stage.reads]
            call = compiled(stage.module, given) if is_compiled else stage.module
            known.update(zip(stage.makes, call(*given), strict=True))
    return [known[node] for node in outputs_of(program)]


def in_one_piece(program: Program) -> list[Any]:
    """Return copies of the program's results."""
    program.reset()
    with torch.no_grad():
        return [one.clone() for one in program.module(*program.inputs)]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_stages_compute_what_the_program_does(name: str, share: float) -> None:
    """In whatever places the program is cut, also between writes in place and in regions."""
    net, inputs = PROGRAMS[name]
    program = runnable(net, inputs, "cpu")
    expected = in_one_piece(program)
    generator = random.Random(1)
    for _ in range(3):
        cuts = [generator.random() < share for _ in program.graph.names]
        found = in_stages(program, list(accumulate(cuts, initial=0))[1:])
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_stages_out_of_order() -> None:
    """A stage may read what was there before an earlier stage has written over it."""
    program = runnable(*PROGRAMS["old and new"], "cpu")
    expected = in_one_piece(program)
    stage = {"Mul": 2, "Tanh": 2}
    stages = [stage.get(name, int(name != "Add")) for name in program.graph.names]
    assert stages == [0, 2, 1, 2, 1, 1]
    found = in_stages(program, stages)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_a_region_is_entered_by_each_stage() -> None:
    """A stage that begins below `torch.autocast` computes in half precision, too."""
    program = runnable(Regions(), (torch.randn(2, 8),), "cpu")
    for stage in cut_program(program, list(range(len(program.graph.names)))):
        targets = [getattr(node.target, "__name__", "") for node in stage.module.graph.nodes]
        assert targets.count("_enter_autocast") == targets.count("_exit_autocast")
        assert ("_enter_autocast" in targets) == any("linear" in one for one in targets[:3])


@pytest.mark.slow
def test_compiled_stages() -> None:
    """They compute what the program does, up to rounding."""
    program = runnable(*PROGRAMS["convolutions"], "cpu")
    expected = in_one_piece(program)
    found = in_stages(program, [0, 0, 1, 1, 1, 1, 1], is_compiled=True)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_stages_are_timed_in_turn() -> None:
    """Each has as many times as was asked for; one that fails is named."""
    program = runnable(*PROGRAMS["convolutions"], "cpu")
    stages = cut_program(program, [0, 0, 1, 1, 1, 3, 3])
    assert [stage.number for stage in stages] == [0, 1, 3]
    found = measure_stages(program, stages, TorchSettings(repeats=4))
    assert [len(one.times) for one in found] == [4, 4, 4]
    assert all(time > 0 for one in found for time in one.times)


def test_what_is_said_of_times() -> None:
    """Which stage is the slowest, and the ratio of predicted and measured bottleneck."""
    predicted = Predicted((0, 2), (900, 500), (950, 990), "ns", "the roofline model of x")
    found = TorchComparison(predicted, "PyTorch", (1000, 1200), (2,), TorchSettings(True), 0.7)
    assert found.ratio == 0.75
    assert found.sentences() == [
        "with transfers, the slowest stage is predicted to take 990 ns, on the roofline model of x",
        "stage 2 is the slowest, and stage 0 was predicted to be",
        "bottleneck without transfers: predicted 900 ns, measured 1,200 ns, ratio 0.75",
        "Python launches what no CUDA graph takes, and its time counts: stages 2",
        "other processes kept the machine busy: its load was 0.7",
    ]
    assert found.to_json()["mode"] == "compiled"


def archive(folder: Path) -> tuple[Path, Path]:
    """Write a program of seven operators, and a partition of it into two of three stages."""
    path = folder / "net.pt2"
    torch.export.save(torch.export.export(convolutions().eval(), (torch.randn(2, 3, 8, 8),)), path)
    names = runnable(path, device="cpu").graph.names
    rows = [f"{name},{2 * int(at > 2)}" for at, name in enumerate(names)]
    solution = folder / "solution.csv"
    solution.write_text("\n".join(["operator,stage", *rows]) + "\n")
    return path, solution


def test_the_command(boundmark: Boundmark, tmp_path: Path) -> None:
    """A file of torch.export is measured; a stage without operators is left out."""
    path, solution = archive(tmp_path)
    options = ("-k", 3, "--torch-device", "cpu", "--repeats", 3)
    done = boundmark("measure", path, solution, *options)
    assert "2 stages one after another, each operator by operator" in done.stdout
    assert "bottleneck without transfers: predicted" in done.stdout
    assert "stages without operators are left out: 1." in done.stderr
    told = json.loads(boundmark("measure", path, solution, *options, "--json").stdout)
    assert told["stages"] == [0, 2]
    assert told["mode"] == "eager"
    assert len(told["alone_ns"]) == len(told["predicted_work"]) == 2
    ratio = max(told["predicted_work"]) / max(told["alone_ns"])
    assert told["bottleneck_ratio"] == pytest.approx(ratio)


def test_a_measured_partition_has_the_measured_work(boundmark: Boundmark, tmp_path: Path) -> None:
    """Times of `profile` are what `measure` predicts from."""
    path, solution = archive(tmp_path)
    times = tmp_path / "times.json"
    boundmark("profile", path, "--torch-device", "cpu", "--repeats", 3, "--out", times)
    command = ("measure", path, solution, "--torch-device", "cpu", "--repeats", 2)
    told = json.loads(boundmark(*command, "--device", times, "--json").stdout)
    assert sum(told["predicted_work"]) == sum(json.loads(times.read_text())["operators"].values())


def test_requests_that_are_refused(boundmark: Boundmark, tmp_path: Path) -> None:
    """A solution of another model, and options of the other kind of model, end in a sentence."""
    path, solution = archive(tmp_path)
    other = tmp_path / "other.csv"
    other.write_text(solution.read_text().replace("0/Conv", "0/Gemm"))
    for arguments, expected in (
        ((path, other), "0/Gemm"),
        ((path, solution, "--out", tmp_path / "times.json"), "--dim and --out are for ONNX files"),
        ((tmp_path / "net.onnx", solution, "--compiled"), "are for .pt2 files; expected neither"),
        ((tmp_path / "none.pt2", solution), "does not exist"),
    ):
        done = boundmark("measure", *arguments, check=False)
        assert done.returncode == 2
        assert expected in done.stderr
        assert "Traceback" not in done.stderr


def test_without_a_compiler(
    boundmark: Boundmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the stage, and what is needed."""
    from torch._inductor import config

    path, solution = archive(tmp_path)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    command = ("measure", path, solution, "--torch-device", "cpu", "--compiled")
    # What pytest puts back, torch's settings do not take for theirs.
    with config.patch({"cpp.cxx": ("no-such-compiler",)}):
        done = boundmark(*command, check=False)
    assert done.returncode == 2
    assert "stage 0: torch cannot compile the program" in done.stderr
    assert "expected a C++ compiler" in done.stderr


def test_tuning_begins_with_measured_times(tmp_path: Path) -> None:
    """On a processor, unless other costs are given."""
    module, inputs = PROGRAMS["cached"]
    path = tmp_path / "cached.pt2"
    torch.export.save(torch.export.export(module, inputs), path)
    options = {"rounds": 0, "seconds": 5, "repeats": 3, "torch_device": "cpu"}
    found = tune(path, 2, **options)
    assert found.began_with == "operator times measured here"
    other = tune(path, 2, device="nvidia-h100", costs="roofline", **options)
    assert other.began_with == "costs of nvidia-h100"
    assert sum(found.rounds[0].predicted) != sum(other.rounds[0].predicted)
