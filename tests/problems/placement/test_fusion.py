import itertools
from dataclasses import replace

import networkx as nx
import pytest
from brute_force_placement import instance, optimum
from graphs import ROUND_DEVICE, ROUND_LINK, small_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from selection import examples

from boundmark.datasets.resolve import load_member
from boundmark.problems.dag import Dag
from boundmark.problems.devices import Cluster, find_device
from boundmark.problems.errors import BoundmarkError, InvalidInputError
from boundmark.problems.placement import PROBLEM, PlacementInstance
from boundmark.problems.placement.costs import placement_graph
from boundmark.problems.placement.fusion import RULE_SETS, FusionRules, coarsen, fused_chains


def test_rules_and_their_parts() -> None:
    """A part is next to each other in a rule, has two types at least, and is not all of it."""
    rules = FusionRules((("a", "b", "c", "d"), ("b", "c")))
    assert rules.is_rule(("a", "b", "c", "d"))
    assert rules.is_rule(("b", "c"))
    assert not rules.is_rule(("a", "b"))
    parts = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "b", "c"), ("b", "c", "d")]
    assert all(rules.is_part(part) for part in parts)
    for other in (("a", "c"), ("b", "a"), ("a",), ("a", "b", "c", "d"), ("a", "b", "d")):
        assert not rules.is_part(other)


def test_table_i() -> None:
    """The published rules are among ours, an addition being Add or Sum in ONNX."""
    assert set(RULE_SETS["moirai"].rules) > {
        ("Conv", "BatchNormalization"),
        ("Conv", "BatchNormalization", "Relu"),
        ("Conv", "BatchNormalization", "Add", "Relu"),
        ("Conv", "BatchNormalization", "Sum", "Relu"),
    }
    assert set(RULE_SETS["moirai"].rules) < set(RULE_SETS["backends"].rules)


@pytest.mark.parametrize("rule", [(), ("Conv",), ("Conv", ""), ("Conv", 3)])
def test_what_is_no_rule(rule: tuple[str, ...]) -> None:
    """A rule joins at least two operators."""
    with pytest.raises(InvalidInputError, match="expected at least two types of operators"):
        FusionRules((rule,))


TABLE_I = FusionRules((("conv", "bn"), ("conv", "bn", "relu"), ("conv", "bn", "add", "relu")))

Edges = list[tuple[int, int]]


def named_chains(names: str, edges: str, rules: FusionRules = TABLE_I) -> list[str]:
    """Return chains of operators that are called by their types and a number, e.g. "conv1"."""
    operators = names.split()
    number = {name: v for v, name in enumerate(operators)}
    pairs = [tuple(number[end] for end in edge.split("-")) for edge in edges.split()]
    types = [name.rstrip("0123456789") for name in operators]
    found = fused_chains(Dag.from_edges(len(operators), pairs), types, rules)
    return [" ".join(operators[v] for v in chain) for chain in found]


FIGURE_7 = (
    "add1-relu1 relu1-add2 add2-relu2 relu2-add3 add3-relu3 "
    "add1-conv1 conv1-bn1 bn1-conv2 conv2-bn2 bn2-add3"
)


@pytest.mark.parametrize(
    ("names", "edges", "chains"),
    [
        # Figure 7: both branches begin at add1, the upper one has three pairs of add and relu. The
        # first pair is a multi-outputs connection. The second is bound and released. The third is
        # bound, then fused with what the lower branch ends with.
        (
            "add1 relu1 add2 relu2 add3 relu3 conv1 bn1 conv2 bn2", FIGURE_7,
            "add1, relu1, add2, relu2, conv1 bn1, conv2 bn2 add3 relu3",
        ),
        # If the lower branch comes first, it is bound to add3 until relu3 is found.
        (
            "add1 conv1 bn1 conv2 bn2 relu1 add2 relu2 add3 relu3", FIGURE_7,
            "add1, conv1 bn1, conv2 bn2 add3 relu3, relu1, add2, relu2",
        ),
        # As far as a rule goes; the third type follows another convolution.
        (
            "conv1 bn1 relu1 conv2 relu2", "conv1-bn1 bn1-relu1 relu1-conv2 conv2-relu2",
            "conv1 bn1 relu1, conv2, relu2",
        ),
        # A result that somebody else needs has to be written to memory anyway.
        ("conv1 bn1 add1", "conv1-bn1 conv1-add1 bn1-add1", "conv1, bn1, add1"),
        (
            "conv1 bn1 relu1 add1", "conv1-bn1 bn1-relu1 bn1-add1 relu1-add1",
            "conv1 bn1, relu1, add1",
        ),
        # Of two branches that could fuse, the one that is reached first does.
        (
            "conv1 bn1 conv2 bn2 add1 relu1", "conv1-bn1 bn1-add1 conv2-bn2 bn2-add1 add1-relu1",
            "conv1 bn1 add1 relu1, conv2 bn2",
        ),
        # No relu follows: the addition leaves, the fused pair stays.
        ("conv1 bn1 add1 conv2", "conv1-bn1 bn1-add1 add1-conv2", "conv1 bn1, add1, conv2"),
    ],
)  # fmt: skip
def test_chains_by_hand(names: str, edges: str, chains: str) -> None:
    """By the rules of Table I."""
    assert ", ".join(named_chains(names, edges)) == chains


def test_an_edge_into_the_middle_of_a_chain_does_not_fuse() -> None:
    """A rule says who feeds whom: relu1 feeds the addition, not the convolution."""
    rules = FusionRules((("conv", "add"), ("relu", "conv", "add")))
    found = named_chains("conv1 relu1 add1", "conv1-add1 relu1-add1", rules)
    assert found == ["conv1 add1", "relu1"]


@st.composite
def typed_graphs(draw: st.DrawFn) -> tuple[int, Edges, list[str]]:
    """Return graphs of up to twelve operators of the types of the rules."""
    nodes = draw(st.integers(1, 12))
    pairs = [(u, v) for v in range(nodes) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=16)) if pairs else []
    types = draw(
        st.lists(st.sampled_from(["conv", "bn", "add", "relu"]), min_size=nodes, max_size=nodes)
    )
    order = draw(st.permutations(range(nodes)))
    return nodes, [(order[u], order[v]) for u, v in edges], types


@given(typed_graphs())
def test_chains_partition_the_graph(sample: tuple[int, Edges, list[str]]) -> None:
    """Each operator is in one; what is fused is a rule, fed along single outputs, and acyclic."""
    nodes, edges, types = sample
    dag = Dag.from_edges(nodes, edges)
    chains = fused_chains(dag, types, TABLE_I)
    assert sorted(v for chain in chains for v in chain) == list(range(nodes))
    for chain in chains:
        assert len(chain) == 1 or TABLE_I.is_rule(tuple(types[v] for v in chain))
        for before, after in itertools.pairwise(chain):
            assert dag.consumers_of(before).tolist() == [after]
    chain_of = {v: number for number, chain in enumerate(chains) for v in chain}
    coarse = nx.DiGraph((chain_of[u], chain_of[v]) for u, v in edges)
    coarse.remove_edges_from(nx.selfloop_edges(coarse))
    assert nx.is_directed_acyclic_graph(coarse)


@given(typed_graphs())
def test_no_direct_pair_that_is_a_rule_is_left(sample: tuple[int, Edges, list[str]]) -> None:
    """A lone convolution with a lone normalisation behind it, nothing else around, is fused."""
    nodes, edges, types = sample
    dag = Dag.from_edges(nodes, edges)
    alone = {chain[0] for chain in fused_chains(dag, types, TABLE_I) if len(chain) == 1}
    for v in alone:
        consumers = dag.consumers_of(v).tolist()
        if types[v] == "conv" and len(consumers) == 1 and types[consumers[0]] == "bn":
            # Another convolution has taken it.
            assert consumers[0] not in alone


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
