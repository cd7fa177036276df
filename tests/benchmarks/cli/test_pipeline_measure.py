"""Stages run as a pipeline of processes, and their times beside those predicted."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from boundmark.benchmarks.cli.group import main
from boundmark.benchmarks.measuring.pipeline.comparison import Comparison, Predicted
from boundmark.benchmarks.measuring.pipeline.stage_times import (
    MeasurementSettings,
    StageTimes,
    assigned,
    sharing,
)

HAS_RUNTIME = importlib.util.find_spec("onnxruntime") is not None


def model(folder: Path) -> tuple[Path, Path]:
    """Write products with a shortcut over one of them, and a partition into three stages."""
    weights = numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "first"),
        helper.make_node("MatMul", ["a", "w"], ["b"], "second"),
        helper.make_node("Add", ["a", "b"], ["y"], "third"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xy"]
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:], [weights])
    path = folder / "model.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=opsets), path)
    solution = folder / "solution.csv"
    solution.write_text("operator,stage\nfirst,0\nsecond,1\nthird,2\n")
    return path, solution


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RUNTIME, reason="onnxruntime is not installed")
def test_stages_run_together(tmp_path: Path) -> None:
    """All stages are timed, what a stage hands on comes to those behind, operators are stored."""
    path, solution = model(tmp_path)
    out = tmp_path / "times.json"
    command = ["measure", str(path), str(solution), "--repeats", "5", "--json", "--out", str(out)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["stages"] == [0, 1, 2]
    assert all(time > 0 for name in ("alone_ns", "together_ns") for time in told[name])
    assert told["period_ns"] > 0
    assert set(json.loads(out.read_text())["operators"]) == {"first", "second", "third"}
    done = CliRunner().invoke(main, ["solve", str(path), "-k", "2", "--device", str(out), "--json"])
    assert json.loads(done.stdout)["costs"].startswith("operator times measured:times")


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RUNTIME, reason="onnxruntime is not installed")
def test_a_stage_that_cannot_run(tmp_path: Path) -> None:
    """The sentence of the runtime is told, and nobody waits for the others."""
    path, solution = model(tmp_path)
    loaded = onnx.load(path)
    loaded.graph.node[1].op_type = "Multiply"
    loaded.graph.node[1].domain = "mine"
    loaded.opset_import.append(helper.make_opsetid("mine", 1))
    onnx.save(loaded, path)
    done = CliRunner().invoke(main, ["measure", str(path), str(solution)])
    assert done.exit_code == 2
    assert "stage-1.onnx: onnxruntime cannot run it: " in done.stderr


def times(alone: tuple[int, ...], together: tuple[int, ...]) -> StageTimes:
    """Return times of two stages."""
    return StageTimes(((0,), (1,)), alone, together, (1, 1), 100, ({}, {}), 3.0)


def test_what_the_costs_get_wrong_is_said() -> None:
    """Another stage is the slowest, one is slowed down, and the machine was busy."""
    settings = MeasurementSettings()
    predicted = Predicted((0, 1), (100, 80), (110, 90), "ns", "the roofline model of x")
    found = Comparison(predicted, times((50, 80), (51, 160)), settings).sentences()
    assert found[0].endswith("is predicted to take 110 ns, on the roofline model of x")
    assert found[1] == "stage 1 is the slowest, and stage 0 was predicted to be"
    assert found[2].startswith("alone, stages compute 0.50 to 1.00 times as long as predicted")
    assert found[3].endswith("which costs do not know of: stage 1")
    assert found[4] == "other processes kept the machine busy: its load was 3.0"


def test_stages_that_share_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processors are given out in turn; hyperthreads of a core are known by its list of them."""
    for processor, siblings in ((0, "0-1"), (1, "0-1"), (2, "2-3")):
        folder = tmp_path / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2})
    processors = assigned(4, 1)
    assert processors == ((0,), (1,), (2,), (0,))
    assert [one.partition(":")[0] for one in sharing((0, 1, 2, 5), processors, tmp_path)] == [
        "stages 0 and 1 run on two hyperthreads of one core, on which each may be half as fast as "
        "alone",
        "stages 0 and 5 share processor 0",
        "stages 1 and 5 run on two hyperthreads of one core, on which each may be half as fast as "
        "alone",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (SimpleNamespace(model="model.txt"), "is no ONNX file; expected the suffix .onnx."),
        (SimpleNamespace(out="times.txt"), "has the suffix '.txt'; expected .json."),
    ],
)
def test_requests_that_are_refused(tmp_path: Path, change: SimpleNamespace, message: str) -> None:
    """One sentence each."""
    path, solution = model(tmp_path)
    given = {"model": str(path), "out": "times.json"} | vars(change)
    done = CliRunner().invoke(
        main, ["measure", given["model"], str(solution), "--out", given["out"]]
    )
    assert done.exit_code == 2
    assert message in done.stderr
