import itertools

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from boundmark.problems.dag import Dag
from boundmark.problems.placement.fusion import FusionRules, fused_chains

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


def test_worked_example_of_the_paper() -> None:
    """Figure 7: both branches begin at add1, the upper one has three pairs of add and relu.

    The first pair is a multi-outputs connection. The second is bound and released. The third is
    bound, then fused with what the lower branch ends with.
    """
    assert named_chains(
        "add1 relu1 add2 relu2 add3 relu3 conv1 bn1 conv2 bn2",
        "add1-relu1 relu1-add2 add2-relu2 relu2-add3 add3-relu3 "
        "add1-conv1 conv1-bn1 bn1-conv2 conv2-bn2 bn2-add3",
    ) == ["add1", "relu1", "add2", "relu2", "conv1 bn1", "conv2 bn2 add3 relu3"]


def test_the_order_of_branches_does_not_matter_there() -> None:
    """If the lower branch comes first, it is bound to add3 until relu3 is found."""
    assert named_chains(
        "add1 conv1 bn1 conv2 bn2 relu1 add2 relu2 add3 relu3",
        "add1-relu1 relu1-add2 add2-relu2 relu2-add3 add3-relu3 "
        "add1-conv1 conv1-bn1 bn1-conv2 conv2-bn2 bn2-add3",
    ) == ["add1", "conv1 bn1", "conv2 bn2 add3 relu3", "relu1", "add2", "relu2"]


def test_direct_connections_fuse_as_far_as_a_rule_goes() -> None:
    """By the second rule; the third type follows another convolution."""
    chains = named_chains(
        "conv1 bn1 relu1 conv2 relu2", "conv1-bn1 bn1-relu1 relu1-conv2 conv2-relu2"
    )
    assert chains == ["conv1 bn1 relu1", "conv2", "relu2"]


def test_several_outputs_do_not_fuse() -> None:
    """A result that somebody else needs has to be written to memory anyway."""
    assert named_chains("conv1 bn1 add1", "conv1-bn1 conv1-add1 bn1-add1") == [
        "conv1",
        "bn1",
        "add1",
    ]
    assert named_chains("conv1 bn1 relu1 add1", "conv1-bn1 bn1-relu1 bn1-add1 relu1-add1") == [
        "conv1 bn1",
        "relu1",
        "add1",
    ]


def test_several_inputs_fuse_with_one_of_the_branches() -> None:
    """Of two that could, with the one that is reached first."""
    edges = "conv1-bn1 bn1-add1 conv2-bn2 bn2-add1 add1-relu1"
    assert named_chains("conv1 bn1 conv2 bn2 add1 relu1", edges) == [
        "conv1 bn1 add1 relu1",
        "conv2 bn2",
    ]


def test_what_is_bound_for_nothing_is_released_into_what_was_fused() -> None:
    """No relu follows: the addition leaves, the fused pair stays."""
    edges = "conv1-bn1 bn1-add1 add1-conv2"
    assert named_chains("conv1 bn1 add1 conv2", edges) == ["conv1 bn1", "add1", "conv2"]


def test_an_edge_into_the_middle_of_a_chain_does_not_fuse() -> None:
    """A rule says who feeds whom: relu1 feeds the addition, not the convolution."""
    rules = FusionRules((("conv", "add"), ("relu", "conv", "add")))
    assert named_chains("conv1 relu1 add1", "conv1-add1 relu1-add1", rules) == [
        "conv1 add1",
        "relu1",
    ]


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
