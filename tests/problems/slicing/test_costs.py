"""Models become instances: dimensions, windows, memory and work."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from boundmark.datasets.onnx_light import load
from boundmark.problems.computation_graph import ComputationGraph, Operator, Tensor
from boundmark.problems.devices import Cluster, Device, Link, shipped
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.roofline import operation_seconds
from boundmark.problems.slicing import CHANNELS, HEIGHT, SlicingInstance, SlicingPlan
from boundmark.problems.slicing.costs import DEFAULT_CLUSTER, slicing_graph

CLUSTER = shipped().clusters[DEFAULT_CLUSTER]

Shape = tuple[int, ...]


def model(*nodes: tuple[str, Sequence[str], Shape, Mapping[str, Any]], **given: Shape) -> Any:
    """Return a graph; inputs are names of nodes, ``x`` for the model's, or ``w...`` for parameters.

    A node is its type, its inputs, its output's shape and its attributes, and is called ``n0``, ...
    """
    names = [*given, *(f"n{at}" for at in range(len(nodes)))]
    shapes = [*given.values(), *(shape for _, _, shape, _ in nodes)]
    number = {name: at for at, name in enumerate(names)}
    operators = tuple(
        Operator(
            f"n{at}", kind, 1000, tuple(number[name] for name in reads), (len(given) + at,), why
        )
        for at, (kind, reads, _, why) in enumerate(nodes)
    )
    return ComputationGraph(
        operators,
        tuple(Tensor(name, shape, "float32") for name, shape in zip(names, shapes, strict=True)),
        frozenset(number[name] for name in given if name.startswith("w")),
        (),
    )


def window(size: int, stride: int, pad: int, group: int = 1) -> dict[str, Any]:
    """Return a square window's attributes."""
    return {
        "kernel_shape": (size, size), "strides": (stride, stride), "pads": (pad,) * 4,
        "dilations": (1, 1), "group": group,
    }  # fmt: skip


def of(graph: ComputationGraph) -> Any:
    """Return the slicing graph on the default cluster."""
    return slicing_graph(graph, CLUSTER)


IMAGE = (1, 4, 16, 16)


def test_k1_and_k2_choose_the_dimension() -> None:
    """A copy of the input is compared with one of the parameters; others follow what they read."""
    made = of(
        model(
            ("Conv", ["x", "w1"], (1, 8, 16, 16), window(3, 1, 1)),
            ("Relu", ["n0"], (1, 8, 16, 16), {}),
            ("Conv", ["n1", "w2"], (1, 64, 4, 4), window(4, 4, 0)),
            ("Relu", ["n2"], (1, 64, 4, 4), {}),
            x=IMAGE, w1=(8, 4, 3, 3), w2=(64, 8, 16, 16),
        )
    )  # fmt: skip
    assert made.axis.tolist() == [HEIGHT, HEIGHT, CHANNELS, CHANNELS]
    assert made.length.tolist() == [16, 16, 64, 64]
    assert made.weights.tolist() == [8 * 4 * 9 * 4, 0, 64 * 8 * 256 * 4, 0]
    assert made.output.tolist() == [8 * 16 * 4, 8 * 16 * 4, 16 * 4, 16 * 4]
    same, crossing, alike = made.edges
    assert same.needed(3, 5) == (3, 5)
    assert crossing.is_whole
    assert (crossing.unit, crossing.extent) == (16 * 4, 8)
    assert alike.needed(7, 9) == (7, 9)


@pytest.mark.parametrize(
    ("size", "stride", "pad"), [(1, 1, 0), (3, 1, 1), (3, 2, 1), (5, 2, 2), (2, 2, 0), (1, 2, 0)]
)
def test_rows_under_a_window(size: int, stride: int, pad: int) -> None:
    """A part's rows are those that its windows cover, found by sliding them."""
    height = (16 + 2 * pad - size) // stride + 1
    shape = (1, 4, height, height)
    made = of(
        model(
            ("Relu", ["x"], IMAGE, {}),
            ("MaxPool", ["n0"], shape, window(size, stride, pad)),
            x=IMAGE,
        )
    )
    (edge,) = made.edges
    for begin, end in itertools.combinations(range(height + 1), 2):
        rows = {
            row
            for index in range(begin, end)
            for row in range(index * stride - pad, index * stride - pad + size)
            if 0 <= row < 16
        }
        assert edge.needed(begin, end) == (min(rows), max(rows) + 1)


def channels(kind: str, source: Shape, target: Shape, attributes: Any, **others: Shape) -> Any:
    """Return the edge from an operator sliced by channels to one that follows it."""
    low = (*source[:2], 1, 1) if len(source) == 4 else source
    made = of(
        model(
            ("Relu", ["x"], low, {}),
            (kind, [*(f"w{name}" for name in ()), "n0", *others], target, attributes),
            x=low, **others,
        )
    )  # fmt: skip
    return made.edges[0]


def test_channels_of_groups() -> None:
    """A part needs the groups that it touches."""
    edge = channels("Conv", (1, 8, 1, 1), (1, 4, 1, 1), window(1, 1, 0, 2), w0=(4, 4, 1, 1))
    assert [edge.needed(0, 1), edge.needed(1, 3), edge.needed(2, 4)] == [(0, 4), (0, 8), (4, 8)]


def test_channels_of_reshapes() -> None:
    """Neighbouring elements stay together: 8 channels of 1 become 2 of 4."""
    edge = channels("Reshape", (1, 8, 1, 1), (1, 2, 4), {})
    assert [edge.needed(0, 1), edge.needed(1, 2), edge.needed(0, 2)] == [(0, 4), (4, 8), (0, 8)]


def test_channels_of_normalisation() -> None:
    """Local response normalisation looks at neighbours."""
    edge = channels("LRN", (1, 8, 1, 1), (1, 8, 1, 1), {"size": 5})
    assert [edge.needed(0, 1), edge.needed(3, 4), edge.needed(7, 8)] == [(0, 3), (1, 6), (5, 8)]


@pytest.mark.parametrize(
    ("kind", "attributes"), [("Softmax", {"axes": (1,)}), ("NoSuchOperator", {})]
)
def test_what_needs_everything(kind: str, attributes: Any) -> None:
    """Sums over channels, and what nobody knows."""
    assert channels(kind, (1, 8, 1, 1), (1, 8, 1, 1), attributes).is_whole


def test_concatenation_by_channels() -> None:
    """Each input has its place; a part that begins behind it needs none of it."""
    low: Shape = (1, 3, 1, 1)
    made = of(
        model(
            ("Relu", ["x"], low, {}), ("Relu", ["x"], low, {}),
            ("Concat", ["n0", "n1"], (1, 6, 1, 1), {"axis": 1}), x=low,
        )
    )  # fmt: skip
    first, second = made.edges
    assert [first.needed(1, 4), first.needed(3, 5)] == [(1, 3), (3, 3)]
    assert [second.needed(1, 4), second.needed(3, 5)] == [(0, 1), (0, 2)]


def test_height_is_followed_through_a_channel_shuffle() -> None:
    """Reshape, Transpose, Reshape: rows stay rows, although they are the fourth dimension."""
    made = of(
        model(
            ("MaxPool", ["x"], IMAGE, window(1, 1, 0)),
            ("Reshape", ["n0"], (1, 2, 2, 16, 16), {}),
            ("Transpose", ["n1"], (1, 2, 2, 16, 16), {"perm": (0, 2, 1, 3, 4)}),
            ("Reshape", ["n2"], IMAGE, {}),
            x=IMAGE,
        )
    )  # fmt: skip
    assert made.axis.tolist() == [HEIGHT] * 4
    assert made.length.tolist() == [16] * 4
    assert all(edge.needed(3, 7) == (3, 7) for edge in made.edges)


@pytest.mark.parametrize("name", ["alexnet", "shufflenet", "resnet50", "inception-v1"])
def test_one_device_takes_the_roofline(name: str) -> None:
    """Published models on one device: each operator's time, rounded once, and nothing moves."""
    graph = load(name)
    made = of(graph)
    vectors = np.repeat(made.length[:, None], made.devices + 1, axis=1)
    vectors[:, 0] = 0
    device = CLUSTER.devices[0]
    expected = np.rint(operation_seconds(graph, device) * 1e9)
    found = SlicingInstance(made).objective(SlicingPlan(vectors))
    assert abs(found - expected.sum()) <= made.nodes
    assert sum(length * unit for length, unit in zip(made.length, made.output, strict=True)) == (
        graph.output_bytes.sum()
    )


def test_router_of_a_cluster() -> None:
    """Bandwidth as ticks for bytes, exactly, and latency as delay."""
    device = Device("d", {"float32": 1e9}, 1e9, 2**30, 0.0, "made up")
    link = Link(125e6, 2e-3, "made up")
    cluster = Cluster.from_links(
        "c", {"a": device, "b": device}, {("a", "b"): link, ("b", "a"): link}, ""
    )
    made = slicing_graph(model(("Relu", ["x"], IMAGE, {}), x=IMAGE), cluster)
    assert (made.point_to_point, made.broadcast, made.delay) == ((8, 1), (8, 1), 2_000_000)
    assert made.device_names == ("a", "b")


def test_measured_times_are_refused() -> None:
    """They are of whole operators, and devices compute parts."""
    first, *others = CLUSTER.devices
    measured = replace(first, measured={"n0": 1.0})
    with pytest.raises(InvalidInputError, match="has measured times, which are of whole operators"):
        slicing_graph(
            model(("Relu", ["x"], IMAGE, {}), x=IMAGE),
            replace(CLUSTER, devices=(measured, *others)),
        )


def test_the_next_wider_type() -> None:
    """A Raspberry Pi computes a model in float16 at its rate of float32."""
    graph = load("squeezenet")
    assert "float16" not in CLUSTER.devices[0].peak_rate
    assert of(replace(graph, dtype="float16")).work.tolist() == of(graph).work.tolist()
