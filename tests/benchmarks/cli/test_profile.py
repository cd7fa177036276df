import json
from pathlib import Path

import pytest
from command_line import Boundmark

onnxruntime = pytest.importorskip("onnxruntime")
import onnx  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

from boundmark.benchmarks.cli.profile import profile  # noqa: E402
from boundmark.benchmarks.measuring.operator_times import rank_correlation  # noqa: E402
from boundmark.problems.errors import MissingFileError  # noqa: E402
from boundmark.reports.stored.store import ResultStore  # noqa: E402


def model(path: Path, op_type: str = "Relu") -> Path:
    """Write a product, a function without a name, and another product, of open batch size."""
    weights = helper.make_tensor("w", TensorProto.FLOAT, (64, 64), [0.5] * 64 * 64)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
        helper.make_node(op_type, ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["c"], name="last"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("batch", 64))],
        [helper.make_tensor_value_info("c", TensorProto.FLOAT, None)],
        [weights],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def test_measured_times_are_a_device(boundmark: Boundmark, tmp_path: Path) -> None:
    """Every operator is timed under the name that it has elsewhere, and `solve` takes the times."""
    path, times = model(tmp_path / "m.onnx"), tmp_path / "times.json"
    done = boundmark("profile", path, "--dim", "batch=8", "--repeats", 3, "--out", times)
    assert "3 operators take" in done.stdout
    assert "rank correlation" in done.stdout
    stored = json.loads(times.read_text())
    assert set(stored["operators"]) == {"first", "Relu_1", "last"}
    assert all(time >= 0 for time in stored["operators"].values())
    assert "onnxruntime" in stored["source"]
    assert -1 <= stored["rank_correlation"] <= 1
    assert stored["measurement"]["runtime"].startswith("onnxruntime ")
    assert stored["measurement"]["whole_ns"] is None
    assert stored["graph"]["op_types"] == ["MatMul", "Relu", "MatMul"]
    assert stored["graph"]["edges"] == [[0, 1], [1, 2]]
    for name, (low, high) in stored["intervals"].items():
        assert low <= stored["operators"][name] <= high
    solved = json.loads(
        boundmark(
            "solve", path, "--dim", "batch=8", "-k", 1, "--device", times, "--json",
            "--time-limit", 60, "--method", "slicegraph",
        ).stdout
    )  # fmt: skip
    # One stage does everything, and nothing is moved.
    assert solved["objective"] == sum(stored["operators"].values())


def test_measured_times_are_those_of_one_device(boundmark: Boundmark, tmp_path: Path) -> None:
    """A placement on the processor alone takes what was measured, in a suite and in `solve`."""
    path, times = model(tmp_path / "m.onnx"), tmp_path / "times.json"
    boundmark("profile", path, "--dim", "batch=8", "--repeats", 3, "--out", times)
    total = sum(json.loads(times.read_text())["operators"].values())
    (tmp_path / "mine.toml").write_text(SUITE)
    boundmark("run", tmp_path / "mine.toml", "--out", tmp_path / "results", "--workers", 1)
    rows = ResultStore.open(tmp_path / "results").results()
    assert rows["device"].tolist() == ["hsdag-server+CPU=measured:times"]
    assert rows["objective"].tolist() == [total]


def test_providers(boundmark: Boundmark, tmp_path: Path) -> None:
    """One that onnxruntime has is named in the times."""
    path = model(tmp_path / "m.onnx")
    options = ("--repeats", 2, "--provider", "CPUExecutionProvider", "--json")
    stored = json.loads(boundmark("profile", path, *options).stdout)
    assert "with CPUExecutionProvider" in stored["measurement"]["runtime"]
    assert set(stored["operators"]) == {"first", "Relu_1", "last"}


SUITE = """
description = "One model."
problem = "placement"
time_limit_seconds = 60
memory_limit_gib = 4
device = "hsdag-server+CPU=times.json"
methods = [{ name = "preferred-device", params = { first = 0 } }]

[[instances]]
file = "m.onnx"
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["m.txt"], "expected .onnx, or .pt2"),
        (["m.onnx", "--out", "times.csv"], "expected .json"),
        (["m.onnx", "--base", "moirai-intra-server"], "expected a device with rates"),
        (["missing.onnx"], "does not exist"),
        (["m.onnx", "--torch-device", "cpu"], "expected it with a program of PyTorch only"),
        (["m.onnx", "--provider", "Other"], "no provider of onnxruntime 'Other'"),
    ],
)
def test_mistakes(
    arguments: list[str], expected: str, boundmark: Boundmark, tmp_path: Path
) -> None:
    """A mistake ends with one sentence and exit code 2."""
    model(tmp_path / "m.onnx")
    names = [str(tmp_path / x) if x.startswith(("m.", "missing")) else x for x in arguments]
    done = boundmark("profile", *names, check=False)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says what to install."""

    def version(package: str) -> str:
        raise ModuleNotFoundError(package)

    monkeypatch.setattr("importlib.metadata.version", version)
    path = model(tmp_path / "m.onnx")
    with pytest.raises(
        MissingFileError, match=r"onnxruntime is not installed; .* extra 'onnxruntime'"
    ):
        profile.main([str(path)], standalone_mode=False)


def test_rank_correlation() -> None:
    """The same order gives 1, the opposite -1, and times that do not vary nothing."""
    assert rank_correlation([1.0, 2.0, 5.0], [10, 20, 30]) == pytest.approx(1)
    assert rank_correlation([1.0, 2.0, 5.0], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1.0, 1.0], [3, 2]) is None
