"""How `solve` and `evaluate` show orders."""

import dataclasses
import json
from pathlib import Path

import onnx
import pytest
from brute_force_ordering import instance
from command_line import Boundmark
from onnx import TensorProto, helper

from boundmark.benchmarks.cli.answers import ordering
from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.solving.answer import Answer

SAMPLE = instance(
    4,
    [(4, -1, [0]), (3, 0, [1, 2]), (5, 1, [3]), (3, 2, [3]), (2, 3, [])],
    kept=[4],
    parameters=[1, 0, 7, 0],
    weights="streamed",
)
ANSWER = Answer(
    source=NamedInstance("made", "up", SAMPLE),
    objective=15, certified_bound=14, claimed_bound=None, solution={"order": [0, 2, 1, 3]},
    certificate=None, method="hand", bound_method="hand", seconds=1.0, failures=(),
)  # fmt: skip


def test_an_order_is_written_back(boundmark: Boundmark, tmp_path: Path) -> None:
    """The file's own order is then the best one; constants stay before what reads them."""
    large, small = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [64, 64]), ("y", [1]))
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="a"),
        helper.make_node("Exp", ["x"], ["b"], name="b"),
        helper.make_node(
            "Constant", [], ["axes"], name="axes",
            value=helper.make_tensor("v", TensorProto.INT64, [2], [0, 1]),
        ),
        helper.make_node("ReduceSum", ["a", "axes"], ["sa"], name="sa", keepdims=0),
        helper.make_node("ReduceSum", ["b", "axes"], ["sb"], name="sb", keepdims=0),
        helper.make_node("Add", ["sa", "sb"], ["y"], name="y"),
    ]  # fmt: skip
    graph = helper.make_graph(nodes, "graph", [large], [small])
    opset = helper.make_opsetid("", 17)
    path, target = tmp_path / "model.onnx", tmp_path / "again.onnx"
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[opset]), path)
    command = ("solve", path, "--problem", "ordering", "--metric", "sum", "--json")
    answer = json.loads(boundmark(*command, "--out-model", target).stdout)
    assert answer["objective"] < answer["default"]
    again = onnx.load(target)
    onnx.checker.check_model(again)
    assert [node.name for node in again.graph.node if node.name != "axes"] == answer["operators"]
    found = json.loads(boundmark("solve", target, *command[2:]).stdout)
    assert found["default"] == found["objective"] == answer["objective"]
    done = boundmark("solve", path, "-k", 2, "--out-model", target, check=False)
    assert done.returncode == 2
    assert "--out-model is given for problem 'pipeline'; expected one" in done.stderr


def test_facts() -> None:
    """Names in order, what each operator takes, and what the default order costs."""
    assert ordering.facts(ANSWER) == {
        "operators": ["v0", "v2", "v1", "v3"], "memory": [8, 13, 11, 10], "default": 18,
    }  # fmt: skip
    assert (ordering.objective_name(ANSWER), ordering.PRESENTATION.unit(ANSWER)) == ("peak", " B")


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A timeline, the peak's operator and parts, and what is saved."""
    ordering.print_solution(ANSWER)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["timeline", "▅█▇▇"]
    assert "at operator 2 of 4, v2" in lines[1]
    assert lines[3] == "default order    18 B, of which 16.67% is saved"


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0, 0], "▁▁"), ([1, 8, 4], "▂█▅"), ([5] * 64 + [1] * 64, "█" * 32 + "▂" * 32)],
)
def test_timelines(values: list[int], expected: str) -> None:
    """The largest of neighbours counts where there are more operators than characters."""
    assert ordering.timeline(values) == expected


@pytest.mark.parametrize("metric", ["peak", "sum"])
def test_losses_add_up_to_the_cost(metric: str) -> None:
    """Of the operator at the peak, or of all."""
    sample = SAMPLE.with_parameters({"metric": metric})
    source = NamedInstance("made", "up", sample)
    parts = ordering.losses(dataclasses.replace(ANSWER, source=source))
    assert sum(part.ticks for part in parts) == {"peak": 13, "sum": 42}[metric]
    assert {part.where for part in parts} == {{"peak": "v2", "sum": "all operators"}[metric]}


def test_without_a_solution(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is shown."""
    nothing = dataclasses.replace(ANSWER, solution=None, objective=None)
    ordering.print_solution(nothing)
    assert capsys.readouterr().out == ""
    assert ordering.facts(nothing) == {"operators": None, "memory": None, "default": None}
    assert ordering.losses(nothing) == []


def test_a_model_and_its_default_order(boundmark: Boundmark, tmp_path: Path) -> None:
    """The sum of SqueezeNet is proven optimal, and the checker accepts what was stored.

    The order of the model file can be graded as a table.
    """
    out = tmp_path / "out"
    command = ("solve", "onnx-light/squeezenet", "--problem", "ordering", "--metric", "sum")
    quick = ("--method", "default-order", "--method", "downset-dp")
    answer = json.loads(boundmark(*command, *quick, "--json", "--out", out).stdout)
    assert answer["optimal"]
    assert answer["objective"] == answer["certified_bound"] == sum(answer["memory"])
    assert answer["default"] >= answer["objective"]
    assert "0 rejected" in boundmark("verify", out).stdout
    table = tmp_path / "order.csv"
    rows = [f"{name},{at}" for at, name in enumerate(answer["operators"])]
    table.write_text("\n".join(["operator,position", *rows]))
    graded = boundmark(
        "evaluate", "onnx-light/squeezenet", table, "--problem", "ordering", "--metric", "sum",
        "--json", "--method", "live-cut",
    )  # fmt: skip
    assert json.loads(graded.stdout)["objective"] == answer["objective"]
