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


# What the recipe says of distributions was compared when the hashes below were taken.
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


def test_members_load_and_differ():
    """Every listed name loads, and no two are the same instance."""
    hashes = {PipelineInstance(load(member), 2).sha256 for member in DATASET.members()}
    assert len(hashes) == len(DATASET.members()) == 300


@pytest.mark.parametrize(
    ("member", "nodes", "edges", "sha256"),
    [
        ("erdos-renyi-1", 63, 76, "26cdce9d5126e8a0efef459b"),
        ("barabasi-albert-1", 93, 182, "c5a52273b085f64800d91c8e"),
        ("watts-strogatz-1", 113, 226, "b2d4df91583835332790fbde"),
        ("stochastic-block-1", 85, 271, "79e38c694ae27d688e8bbb98"),
        ("erdos-renyi-1-plain", 63, 76, "11bfc34b3e6d464efe49c55d"),
        ("stochastic-block-123456789", 194, 1452, "2554c8e272a80ff836d42869"),
    ],
)
def test_generator_never_changes(member, nodes, edges, sha256):
    """Instances are the same on every machine, in every version: results refer to their hash."""
    instance = PipelineInstance(load(member), 8)
    assert (instance.nodes, instance.edges, instance.sha256[:24]) == (nodes, edges, sha256)


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
