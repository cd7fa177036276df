import pytest

from boundmark.datasets.pipeline.cells import DATASET, load, networks
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.pipeline import PipelineInstance


@pytest.mark.parametrize("member", DATASET.members())
def test_members_load(member: str) -> None:
    """Every listed graph is connected, in nanoseconds, and its numbers are a topological order."""
    graph = load(member)
    dag = graph.dag
    assert (dag.sources < dag.targets).all()
    assert graph.tick == "ns"
    assert graph.is_cached
    assert graph.work.min() > 0
    assert graph.transfer.min() > 0
    # One operator reads the image, and one has the classes.
    assert sorted(set(range(dag.nodes)) - set(dag.sources.tolist())) == [dag.nodes - 1]
    assert set(range(dag.nodes)) - set(dag.targets.tolist()) == {0}


def test_seeds_draw_costs_and_nothing_else() -> None:
    """Two seeds have the same graph with other costs; no two members are the same instance."""
    hashes = {PipelineInstance(load(member), 2).sha256 for member in DATASET.members()}
    assert len(hashes) == len(DATASET.members())
    one, other = load("nasnet-small-1"), load("nasnet-small-99")
    assert one.dag.sources.tolist() == other.dag.sources.tolist()
    assert one.transfer.tolist() == other.transfer.tolist()
    assert one.work.tolist() != other.work.tolist()


@pytest.mark.parametrize(
    ("member", "nodes", "edges", "sha256"),
    [
        ("inception-v3-1", 308, 342, "1c3d0a508d2727b497c75eb8"),
        ("nasnet-small-1", 575, 670, "60cc5784841b9917dc905b03"),
        ("nasnet-mobile-1", 905, 1060, "07300dc8964dcbadcce39633"),
        ("nasnet-large-1", 1235, 1450, "90b711f3b3d33dd741242dc0"),
    ],
)
def test_graphs_never_change(member: str, nodes: int, edges: int, sha256: str) -> None:
    """Instances are the same on every machine, in every version: results refer to their hash."""
    instance = PipelineInstance(load(member), 8)
    assert (instance.nodes, instance.edges, instance.sha256[:24]) == (nodes, edges, sha256)


# Millions of multiply-adds and of parameters, from the papers and the published implementations.
PUBLISHED = {
    "inception-v3": (5713, 23.8),
    "nasnet-mobile": (564, 5.3),
    "nasnet-large": (23800, 88.9),
}


@pytest.mark.parametrize("network", PUBLISHED)
def test_networks_are_as_large_as_published(network: str) -> None:
    """Multiply-adds of convolutions and numbers of parameters agree within a few percent."""
    operators = networks()[network]
    convolutions = ("conv", "depthwise", "dense")
    multiplied = sum(op.flops for op in operators if op.op_type in convolutions) / 2e6
    parameters = sum(op.param_bytes for op in operators) / 4e6
    assert multiplied == pytest.approx(PUBLISHED[network][0], rel=0.05)
    assert parameters == pytest.approx(PUBLISHED[network][1], rel=0.05)


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ("nasnet-huge-1", "there is no network of cells 'nasnet-huge'; did you mean nasnet-large"),
        ("nasnet-1", "there is no network of cells 'nasnet'"),
        ("nasnet-mobile", "there is no graph 'nasnet-mobile' in cells; expected NETWORK"),
        ("nasnet-mobile-01", "there is no graph 'nasnet-mobile-01' in cells; expected NETWORK"),
        ("nasnet-mobile-x", "there is no graph 'nasnet-mobile-x' in cells; expected NETWORK-SEED"),
        ("", "there is no graph '' in cells"),
    ],
)
def test_unknown_members_are_explained(member: str, expected: str) -> None:
    """A name of another form, or of another network, is told apart."""
    with pytest.raises(UnknownNameError, match=expected):
        load(member)
