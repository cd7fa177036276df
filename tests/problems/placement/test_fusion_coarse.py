from dataclasses import replace

import pytest
from brute_force_placement import instance, optimum
from graphs import ROUND_DEVICE, ROUND_LINK, small_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from selection import examples

from boundmark.datasets.resolve import load_member
from boundmark.problems.devices import Cluster, find_device
from boundmark.problems.errors import BoundmarkError, InvalidInputError
from boundmark.problems.placement import PROBLEM, PlacementInstance
from boundmark.problems.placement.costs import placement_graph
from boundmark.problems.placement.fusion import FusionRules, coarsen

RULES = FusionRules((("a", "b"), ("a", "b", "c"), ("b", "c"), ("b", "a", "c")))


def typed(sample: PlacementInstance, types: str) -> PlacementInstance:
    """Give the operators types of one letter each."""
    return replace(sample, graph=replace(sample.graph, op_types=tuple(types)))


def test_costs_are_added() -> None:
    """Time and memory of a chain; a device has to support all of it; names say what is in it."""
    sample = typed(
        instance(
            [[1, 2], [3, -1], [5, 6]], [(0, 1), (1, 2)], memory=[1, 2, 4], capacity=[9, 9],
            times=[[0, 3, 4, 0], [0, 5, 6, 0]],
        ),
        "abd",
    )  # fmt: skip
    coarse = coarsen(sample.graph, RULES, "per-tensor")
    assert coarse.chains == ((0, 1), (2,))
    assert coarse.graph.duration.tolist() == [[4, -1], [5, 6]]
    assert coarse.graph.memory.tolist() == [3, 4]
    assert coarse.graph.names == ("v0 + v1", "v2")
    # The tensor of operator 1, with its own table of times.
    assert (coarse.graph.producer.tolist(), coarse.graph.consumers) == ([0], ((1,),))
    assert coarse.graph.times[coarse.graph.size[0]].tolist() == [[0, 5], [6, 0]]


@pytest.mark.parametrize(
    ("duration", "memory"),
    [([[1, -1], [-1, 1]], [1, 1]), ([[1, 1], [1, 1]], [2, 2])],
    ids=["support", "memory"],
)
def test_no_chain_is_without_a_device(duration: list[list[int]], memory: list[int]) -> None:
    """Operators that no device takes together stay apart."""
    sample = typed(instance(duration, [(0, 1)], memory=memory, capacity=[3, 3]), "ab")
    assert coarsen(sample.graph, RULES, "per-tensor").chains == ((0,), (1,))


@pytest.mark.parametrize(("transfers", "tensors"), [("per-tensor", 1), ("per-edge", 2)])
def test_consumers_in_one_chain(transfers: str, tensors: int) -> None:
    """Per edge, operator 0 sends its tensor to both operators of the chain."""
    sample = typed(instance([[1, 1]] * 3, [(0, 1), (0, 2), (1, 2)], transfers=transfers), "xab")
    coarse = coarsen(sample.graph, RULES, transfers)
    assert coarse.chains == ((0,), (1, 2))
    assert coarse.graph.producer.tolist() == [0] * tensors


@settings(deadline=None, max_examples=examples(25))
@given(instances(most_nodes=4), st.data())
def test_fusion_restricts(sample: PlacementInstance, data: st.DataObject) -> None:
    """Where costs are added, the optimum of the coarse graph is not below the original one's."""
    types = data.draw(st.text("abc", min_size=sample.nodes, max_size=sample.nodes))
    coarse = coarsen(typed(sample, types).graph, RULES, sample.transfers)
    assert optimum(PlacementInstance(coarse.graph, sample.transfers)) >= optimum(sample)


def test_fusion_of_a_real_model() -> None:
    """In ResNet-50, by Table I: what is left are pooling and the end."""
    make = PROBLEM.maker(load_member("onnx-light/resnet50"))
    original, fused = make({}), make({"fusion": "moirai"})
    assert isinstance(fused, PlacementInstance)
    assert (original.nodes, fused.nodes) == (176, 58)
    memory = {"memory": "parameters+live"}
    assert fused.parameters == {"transfers": "per-tensor", **memory, "fusion": "moirai"}
    assert fused.with_parameters({"fusion": "none"}).sha256 == original.sha256
    assert original.with_parameters({"fusion": "moirai"}).sha256 == fused.sha256
    assert fused.coarse is not None
    sizes = [len(chain) for chain in fused.coarse.chains]
    # Sixteen blocks end with Conv, BatchNormalization, Sum and Relu, 33 have three of it.
    assert sorted(sizes, reverse=True)[:54] == [4] * 16 + [3] * 33 + [2] * 4 + [1]


def test_rules_that_apply_nowhere_are_redundant() -> None:
    """Suites leave the instance out: it is the one without fusion."""
    make = PROBLEM.maker(load_member("zoo/alexnet"))
    rules = FusionRules((("Conv", "Conv"),))
    original = make({})
    assert isinstance(original, PlacementInstance)
    nothing = coarsen(original.graph, rules, "per-tensor")
    assert replace(original, graph=nothing.graph, coarse=nothing).is_redundant
    assert not make({"fusion": "backends"}).is_redundant


def test_a_fused_operator_is_one_kernel() -> None:
    """1 flop and 1 byte take 1 ns each, a launch 20 ns; what is in between is not moved."""
    links = {("a", "b"): ROUND_LINK, ("b", "a"): ROUND_LINK}
    cluster = Cluster.from_links("pair", {"a": ROUND_DEVICE, "b": ROUND_DEVICE}, links, "made up")
    graph = replace(placement_graph(small_graph(), cluster), op_types=("a", "b", "d"))
    coarse = coarsen(graph, RULES, "per-tensor").graph
    # Conv: 5,000 flops, 200 bytes of weights; Relu: 100 flops, and 400 bytes to write.
    assert graph.duration.tolist() == [[5020] * 2, [820] * 2, [0] * 2]
    assert coarse.duration.tolist() == [[5120] * 2, [0] * 2]
    # The tensor between the two is gone; the other one is live as before.
    assert (coarse.tensor_memory.tolist(), coarse.result_memory.tolist()) == ([400], [0, 400])


@pytest.mark.parametrize("device", ["moirai-inter-server", "moirai-intra-server"])
def test_fusion_never_slows_down(device: str) -> None:
    """On each device, all operators together take less than before."""
    make = PROBLEM.maker(load_member("onnx-light/squeezenet"), find_device(device))
    original, fused = make({}), make({"fusion": "moirai"})
    assert isinstance(fused, PlacementInstance)
    assert isinstance(original, PlacementInstance)
    assert (fused.graph.duration.sum(axis=0) < original.graph.duration.sum(axis=0)).all()
    assert fused.coarse is not None
    for rows in (fused.graph, original.graph):
        assert (rows.duration >= 0).all()


def test_unknown_rules() -> None:
    """One sentence with what there is."""
    make = PROBLEM.maker(load_member("zoo/alexnet"))
    with pytest.raises(BoundmarkError, match=r"'tvm'.*moirai"):
        make({"fusion": "tvm"})
    with pytest.raises(BoundmarkError, match="'tvm'"):
        PlacementInstance.of(make({}).graph, "per-tensor", "tvm")  # type: ignore[attr-defined]


def test_without_types_nothing_is_fused() -> None:
    """A sheet or a stored instance does not say what its operators are."""
    sample = instance([[1, 1]], [])
    with pytest.raises(InvalidInputError, match="the graph does not say them; expected a model"):
        sample.with_parameters({"fusion": "moirai"})
    with pytest.raises(InvalidInputError, match="there are 2 op_types; expected 1 or none"):
        replace(sample.graph, op_types=("a", "b"))
