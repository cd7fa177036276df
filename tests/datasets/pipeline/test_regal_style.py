import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.datasets.pipeline.regal_style import DATASET, FAMILIES, load
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.pipeline import PipelineInstance

members = st.builds(
    lambda family, seed, weighting: f"{family}-{seed}{weighting}",
    st.sampled_from(tuple(FAMILIES)),
    st.integers(0, 10**12),
    st.sampled_from(("", "-plain", "-sparse")),
)


@given(members)
def test_generated_graphs_keep_to_the_recipe(member):
    """Nodes are 50 to 200 in topological order; sizes are positive; costs cover the tensors."""
    graph = load(member)
    dag = graph.dag
    assert 50 <= dag.nodes <= 200
    assert (dag.sources < dag.targets).all()
    assert graph.transfer.min() >= 1
    assert graph.tick == "unit"
    assert graph.is_cached
    if member.endswith(("-plain", "-sparse")):
        assert graph.work.min() >= 1
        return
    for node in range(dag.nodes):
        tensors = graph.transfer[node] + graph.transfer[dag.producers_of(node)].sum()
        assert tensors <= graph.work[node]


@given(members)
def test_weightings_share_edges_and_tensors(member):
    """A member with plain costs differs from its twin in nothing else."""
    name = member.removesuffix("-plain").removesuffix("-sparse")
    one, other = load(name), load(f"{name}-plain")
    assert one.dag.sources.tolist() == other.dag.sources.tolist()
    assert one.dag.targets.tolist() == other.dag.targets.tolist()
    assert one.transfer.tolist() == other.transfer.tolist()


@given(members)
def test_sparse_graphs_are_parts_of_plain_ones(member):
    """They have the same nodes, costs and tensors, and no edge that the plain graph lacks."""
    name = member.removesuffix("-plain").removesuffix("-sparse")
    plain, sparse = load(f"{name}-plain"), load(f"{name}-sparse")
    assert plain.work.tolist() == sparse.work.tolist()
    assert plain.transfer.tolist() == sparse.transfer.tolist()
    kept, edges = (
        set(zip(one.dag.sources.tolist(), one.dag.targets.tolist(), strict=True))
        for one in (sparse, plain)
    )
    assert kept < edges


def test_sparse_graphs_have_as_many_edges_as_documented():
    """Between 0.75 and 1 per node in expectation, 0.875 in the mean."""
    ratios = [
        graph.dag.edges / graph.dag.nodes
        for family in FAMILIES
        for seed in range(50)
        for graph in [load(f"{family}-{seed}-sparse")]
    ]
    # A graph of 100 nodes deviates by 0.09 from its expectation, which deviates by 0.07.
    assert np.mean(ratios) == pytest.approx(0.875, abs=0.03)
    assert np.std(ratios) < 0.16


def test_members_load_and_differ():
    """Every listed name loads, and no two are the same instance."""
    hashes = {PipelineInstance(load(member), 2).sha256 for member in DATASET.members()}
    assert len(hashes) == len(DATASET.members()) == 300


@pytest.mark.parametrize(
    ("member", "nodes", "edges", "sha256"),
    [
        (
            "erdos-renyi-1",
            63,
            76,
            "26cdce9d5126e8a0efef459b18e7de6ea2dd383c1941d2764979da2a359d3f40",
        ),
        (
            "barabasi-albert-1",
            93,
            182,
            "c5a52273b085f64800d91c8ed26b99f3f06adff5c2daad7cb90b22957dbf06fb",
        ),
        (
            "watts-strogatz-1",
            113,
            226,
            "b2d4df91583835332790fbde65d07de1f9183fc8105d8e81ebe9daa5208f15b2",
        ),
        (
            "stochastic-block-1",
            85,
            271,
            "79e38c694ae27d688e8bbb98b202e8f2beb25c9e5a61fb243f015e7066f0c5ca",
        ),
        (
            "erdos-renyi-1-plain",
            63,
            76,
            "11bfc34b3e6d464efe49c55d0c4306309c3b6bfafd0175ed6e508f2fb5bc1bc3",
        ),
        (
            "stochastic-block-123456789",
            194,
            1452,
            "2554c8e272a80ff836d42869fb86e205045a10eb91c24bf3a1fcc9e771acadd6",
        ),
    ],
)
def test_generator_never_changes(member, nodes, edges, sha256):
    """Instances are the same on every machine, in every version: results refer to their hash."""
    instance = PipelineInstance(load(member), 8)
    assert (instance.nodes, instance.edges, instance.sha256) == (nodes, edges, sha256)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "of_networkx"),
    [
        ("erdos-renyi", lambda n, seed: nx.gnp_random_graph(n, 0.05, seed=seed)),
        ("barabasi-albert", lambda n, seed: nx.barabasi_albert_graph(n, 2, seed=seed)),
        ("watts-strogatz", lambda n, seed: nx.watts_strogatz_graph(n, 4, 0.3, seed=seed)),
        (
            "stochastic-block",
            lambda n, seed: nx.stochastic_block_model(
                [len(group) for group in np.array_split(range(n), 4)],
                np.full((4, 4), 0.01) + 0.29 * np.eye(4),
                seed=seed,
            ),
        ),
    ],
)
def test_families_resemble_those_of_networkx(family, of_networkx):
    """Mean degree, largest degree and clustering agree with networkx's generator on average."""
    ours, theirs = [], []
    for seed in range(150):
        dag = load(f"{family}-{seed}").dag
        graph = nx.Graph(zip(dag.sources.tolist(), dag.targets.tolist(), strict=True))
        graph.add_nodes_from(range(dag.nodes))
        ours.append(_statistics(graph))
        theirs.append(_statistics(of_networkx(dag.nodes, seed)))
    ours, theirs = np.array(ours), np.array(theirs)
    error = np.hypot(ours.std(axis=0), theirs.std(axis=0)) / len(ours) ** 0.5
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= 4 * error + 1e-9).all()


def _statistics(graph):
    degrees = [degree for _, degree in graph.degree]
    return np.mean(degrees), max(degrees), min(degrees), nx.transitivity(graph)


def test_costs_are_distributed_as_documented():
    """Sizes and plain costs are N(50, 10); the random fractions are |N(0, 0.1)|."""
    sizes, plain, fractions = [], [], []
    for seed in range(100):
        graph = load(f"barabasi-albert-{seed}")
        dag, transfer = graph.dag, graph.transfer
        inputs = np.bincount(dag.targets, transfer[dag.sources], minlength=dag.nodes)
        sizes.extend(transfer)
        fractions.extend((graph.work - transfer - inputs) / transfer.sum())
        plain.extend(load(f"barabasi-albert-{seed}-plain").work)
    assert len(sizes) > 10_000
    for values in (sizes, plain):
        assert np.mean(values) == pytest.approx(50, abs=0.4)
        assert np.std(values) == pytest.approx(10, abs=0.3)
    assert min(fractions) >= 0
    assert np.mean(fractions) == pytest.approx(0.1 * (2 / np.pi) ** 0.5, rel=0.05)
    assert np.sqrt(np.mean(np.square(fractions))) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (
            "erdos-reny-7",
            "there is no family of regal-style 'erdos-reny'; did you mean erdos-renyi",
        ),
        ("erdos-renyi", "or FAMILY-SEED-sparse, e.g. erdos-renyi-7."),
        ("erdos-renyi-07", "there is no graph 'erdos-renyi-07' in regal-style; expected FAMILY"),
        ("erdos-renyi-x", "there is no graph 'erdos-renyi-x' in regal-style; expected FAMILY"),
        ("erdos-renyi-7-plain-plain", "there is no graph"),
        ("", "there is no graph ''"),
    ],
)
def test_unknown_members_are_explained(member, expected):
    """A name of another form, or of another family, is told apart."""
    with pytest.raises(UnknownNameError, match=expected):
        load(member)
