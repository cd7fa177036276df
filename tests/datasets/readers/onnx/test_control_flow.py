"""Control flow is one operator: what it computes and reads follows from its bodies."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from boundmark.datasets.readers.onnx.file import load
from boundmark.problems.computation_graph import ComputationGraph

FLOAT = TensorProto.FLOAT


def value(
    name: str, shape: Sequence[int | str] | None, element: int = FLOAT
) -> onnx.ValueInfoProto:
    """Return a tensor's type."""
    return helper.make_tensor_value_info(name, element, shape)


def weights(name: str, *shape: int) -> TensorProto:
    """Return zeros."""
    return numpy_helper.from_array(np.zeros(shape, dtype=np.float32), name)


def loaded(
    path: Path, nodes: list[NodeProto], inputs: dict[str, list[int]], *constants: TensorProto
) -> ComputationGraph:
    """Return the graph of a model that returns the 3 x 4 tensor `out`."""
    kinds = {"c": TensorProto.BOOL, "M": TensorProto.INT64}
    graph = helper.make_graph(
        nodes,
        "graph",
        [value(name, shape, kinds.get(name, FLOAT)) for name, shape in inputs.items()],
        [value("out", [3, 4])],
        constants,
    )
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, path / "model.onnx")
    return load(path / "model.onnx")


def branch(name: str, products: int) -> GraphProto:
    """Return a body that multiplies the outer tensor `r` by its own `w` so many times."""
    nodes = []
    last = "r"
    for step in range(products):
        nodes.append(helper.make_node("MatMul", [last, "w"], [f"{name}{step}"]))
        last = f"{name}{step}"
    nodes.append(helper.make_node("Relu", [last], [f"{name}_out"]))
    out = helper.make_tensor_value_info(f"{name}_out", FLOAT, None)
    return helper.make_graph(nodes, name, [], [out], [weights("w", 4, 4)])


def test_an_if_costs_its_dearer_branch(tmp_path: Path) -> None:
    """Both branches' weights are its parameters, though they have one name; edges stay."""
    graph = loaded(
        tmp_path,
        [
            helper.make_node("Neg", ["x"], ["r"], name="neg"),
            helper.make_node(
                "If", ["c"], ["y"], name="if",
                then_branch=branch("t", 1), else_branch=branch("e", 2),
            ),
            helper.make_node("Add", ["y", "x"], ["out"], name="add"),
        ],
        {"x": [3, 4], "c": []},
    )  # fmt: skip
    assert graph.names == ("neg", "if", "add")
    assert graph.flops.tolist() == [12, 2 * 2 * 3 * 4 * 4 + 12, 12]
    assert graph.param_bytes.tolist() == [0, 2 * 64, 0]
    assert graph.read_bytes.tolist() == [48, 48 + 1, 96]
    assert graph.dag.edge_pairs().tolist() == [[0, 1], [1, 2]]
    assert graph.dtype == "float32"
    (note,) = graph.notes
    assert note == (
        "1 operator of type If, control flow as one operator, costed by the dearer branch: 'if'"
    )


def loop(trip_count: str) -> NodeProto:
    """Return a loop that multiplies `v` by its own weights."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["still"]),
            helper.make_node("MatMul", ["v", "lw"], ["after"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL),
         value("v", [3, 4])],
        [value("still", [], TensorProto.BOOL), value("after", [3, 4])],
        [weights("lw", 4, 4)],
    )  # fmt: skip
    return helper.make_node("Loop", [trip_count, "", "x"], ["out"], name="loop", body=body)


@pytest.mark.parametrize(("trips", "how"), [(5, "costed by trip count"), (None, "no constant")])
def test_a_loop_costs_its_trip_count(tmp_path: Path, trips: int | None, how: str) -> None:
    """Constant counts multiply; what depends on the data counts once, and is said."""
    if trips is None:
        graph = loaded(tmp_path, [loop("M")], {"x": [3, 4], "M": []})
    else:
        count = numpy_helper.from_array(np.array(trips, dtype=np.int64), "M")
        graph = loaded(tmp_path, [loop("M")], {"x": [3, 4]}, count)
    assert graph.flops.tolist() == [(trips or 1) * 2 * 3 * 4 * 4]
    assert graph.dtype == "float32"
    (note,) = graph.notes
    assert how in note


def test_a_scan_runs_along_an_axis(tmp_path: Path) -> None:
    """Its body sees slices, as many as the axis is long."""
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x1"], ["s_out"]), helper.make_node("Exp", ["x1"], ["y1"])],
        "body",
        [value("s", [4]), value("x1", [4])],
        [value("s_out", [4]), value("y1", [4])],
    )
    node = helper.make_node(
        "Scan", ["s0", "x"], ["last", "out"], name="scan", body=body, num_scan_inputs=1
    )
    graph = loaded(tmp_path, [node], {"s0": [4], "x": [3, 4]})
    assert graph.flops.tolist() == [3 * (4 + 4)]


def test_nested_bodies(tmp_path: Path) -> None:
    """What an inner body reads from far outside is read by the outermost operator."""
    inner = helper.make_node(
        "If", ["c"], ["o_out"], then_branch=branch("t", 1), else_branch=branch("e", 0)
    )
    outer = helper.make_graph(
        [inner], "outer", [], [helper.make_tensor_value_info("o_out", FLOAT, None)]
    )
    graph = loaded(
        tmp_path,
        [
            helper.make_node("Neg", ["x"], ["r"], name="neg"),
            helper.make_node(
                "If", ["c"], ["out"], name="if", then_branch=outer, else_branch=branch("z", 0)
            ),
        ],
        {"x": [3, 4], "c": []},
    )
    assert graph.dag.edge_pairs().tolist() == [[0, 1]]
    assert graph.flops.tolist() == [12, 2 * 3 * 4 * 4 + 12]
    assert graph.dtype == "float32"
    (note,) = graph.notes
    assert "dearer branch; inside, If costed by the dearer branch: 'if'" in note


def test_control_flow_on_constants_is_a_constant(tmp_path: Path) -> None:
    """As every operator that reads constants only."""
    both = helper.make_graph([helper.make_node("Neg", ["k"], ["n"])], "b", [], [value("n", [3, 4])])
    graph = loaded(
        tmp_path,
        [
            helper.make_node("If", ["always"], ["y"], then_branch=both, else_branch=both),
            helper.make_node("Add", ["x", "y"], ["out"], name="add"),
        ],
        {"x": [3, 4]},
        numpy_helper.from_array(np.array(True), "always"),
        weights("k", 3, 4),
    )
    assert graph.names == ("add",)
    assert graph.param_bytes.tolist() == [48]
    assert graph.notes == ()


def saved_and_loaded(
    path: Path,
    nodes: list[NodeProto],
    inputs: list[onnx.ValueInfoProto],
    output: onnx.ValueInfoProto,
    *constants: TensorProto,
) -> ComputationGraph:
    """Return the graph of a model of one output."""
    model = helper.make_model(
        helper.make_graph(nodes, "graph", inputs, [output], constants),
        ir_version=9,
        opset_imports=[helper.make_opsetid("", 17)],
    )
    onnx.save(model, path / "model.onnx")
    return load(path / "model.onnx")


def test_the_type_is_that_of_the_bodies(tmp_path: Path) -> None:
    """Neither that of the condition, nor of the branch that costs less, nor of the rest."""
    half = TensorProto.FLOAT16
    product = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["xh"], to=half),
            helper.make_node("MatMul", ["xh", "w"], ["t"]),
        ],
        "product",
        [],
        [value("t", [3, 4], half)],
        [numpy_helper.from_array(np.zeros((4, 4), np.float16), "w")],
    )
    sums = [helper.make_node("Exp", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["e"], to=half)]
    cheap = helper.make_graph(sums, "cheap", [], [value("e", [3, 4], half)])
    node = helper.make_node("If", ["c"], ["out"], then_branch=cheap, else_branch=product)
    inputs = [value("x", [3, 4]), value("c", [], TensorProto.BOOL)]
    graph = saved_and_loaded(tmp_path, [node], inputs, value("out", [3, 4], half))
    assert graph.flops.tolist() == [12 + 2 * 3 * 4 * 4]
    assert graph.dtype == "float16"


def gathering(trips: str, states: Sequence[int | str] | None = (3, 4)) -> list[NodeProto]:
    """Return a loop that gathers the exponentials of a 3 x 4 tensor, and what reads them.

    Parameters
    ----------
    states
        The shape that the body states.
    """
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["still"]),
            helper.make_node("Neg", ["v"], ["after"]),
            helper.make_node("Exp", ["after"], ["one"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL),
         value("v", states)],
        [value("still", [], TensorProto.BOOL), value("after", states), value("one", states)],
    )  # fmt: skip
    loop = helper.make_node("Loop", [trips, "", "x"], ["", "all"], name="loop", body=body)
    return [loop, helper.make_node("Relu", ["all"], ["out"], name="relu")]


@pytest.mark.parametrize(
    ("before", "trips"),
    [
        ([helper.make_node("Constant", [], ["M"], value_int=5)], 5),
        (
            [
                helper.make_node("Shape", ["x"], ["sizes"]),
                helper.make_node("ReduceProd", ["sizes"], ["M"], keepdims=0),
            ],
            12,
        ),
        # Only the condition ends it.
        ([helper.make_node("Constant", [], ["M"], value_int=2**63 - 1)], None),
    ],
)
def test_what_a_loop_gathers(tmp_path: Path, before: list[NodeProto], trips: int | None) -> None:
    """It is as long as the trip count, which may follow from shapes; unnamed outputs are none."""
    out = onnx.ValueInfoProto(name="out")
    graph = saved_and_loaded(tmp_path, [*before, *gathering("M")], [value("x", [3, 4])], out)
    times = trips or 1
    assert graph.names == ("loop", "relu")
    assert graph.flops.tolist() == [times * 2 * 12, times * 12]
    assert [tensor.shape for tensor in graph.tensors][-1] == (times, 3, 4)
    cost, sizes = graph.notes
    assert ("is no constant, costed by one iteration" in cost) == (trips is None)
    assert "taken to be those of the first iteration: 'loop'" in sizes


@pytest.mark.parametrize("states", [None, ("rows", 4)])
def test_what_a_loop_carries(tmp_path: Path, states: Sequence[int | str] | None) -> None:
    """It has the size that it begins with, where the body does not state it."""
    nodes = [helper.make_node("Constant", [], ["M"], value_int=5), *gathering("M", states)]
    out = onnx.ValueInfoProto(name="out")
    graph = saved_and_loaded(tmp_path, nodes, [value("x", [3, 4])], out)
    assert graph.flops.tolist() == [5 * 2 * 12, 5 * 12]


def test_branches_of_different_sizes(tmp_path: Path) -> None:
    """Outputs have the size of the dearer branch, as in decoders with and without a cache."""

    def decoder(name: str, past: int) -> GraphProto:
        read = ["x"] * past
        nodes = [
            helper.make_node("Concat", read, [f"{name}cache"], axis=0),
            helper.make_node("MatMul", [f"{name}cache", "w"], [f"{name}out"]),
        ]
        outputs = [value(f"{name}{part}", [f"{name}rows", 4]) for part in ("out", "cache")]
        return helper.make_graph(nodes, name, [], outputs)

    node = helper.make_node(
        "If", ["c"], ["y", "cache"], name="if",
        then_branch=decoder("t", 2), else_branch=decoder("e", 5),
    )  # fmt: skip
    graph = saved_and_loaded(
        tmp_path,
        [node, helper.make_node("Add", ["y", "cache"], ["out"], name="add")],
        [value("x", ["batch", 4]), value("c", [], TensorProto.BOOL)],
        value("out", ["all", 4]),
        weights("w", 4, 4),
    )
    assert graph.flops.tolist() == [5 * 2 * 4 * 4, 5 * 4]
    assert graph.output_bytes.tolist() == [2 * 5 * 16, 5 * 16]
    assert "those of the dearer branch: 'if'" in graph.notes[-1]


def test_operators_of_unknown_shapes_inside(tmp_path: Path) -> None:
    """They cost nothing, and how many there are is said."""
    body = helper.make_graph(
        [
            helper.make_node("NonZero", ["x"], ["places"]),
            helper.make_node("Neg", ["places"], ["negative"]),
            helper.make_node("Exp", ["x"], ["t"]),
        ],
        "body",
        [],
        [value("t", [3, 4])],
    )
    node = helper.make_node("If", ["c"], ["out"], then_branch=body, else_branch=branch("e", 0))
    relu = helper.make_node("Neg", ["x"], ["r"])
    graph = loaded(tmp_path, [relu, node], {"x": [3, 4], "c": []})
    assert graph.flops.tolist() == [12, 12]
    assert "inside, 2 of unknown shapes cost nothing" in graph.notes[0]
