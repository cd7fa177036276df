import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.datasets.pipeline.cost_graph_def import load
from boundmark.problems.errors import InvalidInputError

# The layout of REGAL's published example: a source, and fields left out where they are 0.
EXAMPLE = """
node {
  name: "_SOURCE"
}
node {
  name: "idle"
  id: 1
  control_input: 0
}
node {
  name: "first"
  id: 2
  output_info {
    size: 70
    alias_input_port: -1
    shape { dim { size: 7 } dim { size: 10 } }
    dtype: DT_FLOAT
  }
  output_info { size: 99 }
  control_input: 0
  compute_cost: 58
}
node {
  name: "second"
  id: 3
  input_info { preceding_node: 2 }
  output_info { size: 52 }
  compute_cost: 47
  is_final: true
}
"""


@pytest.fixture
def path(tmp_path):
    """Return where a test puts its graph."""
    return tmp_path / "graph.pbtxt"


def test_example_is_read(path):
    """Ticks are compute_cost, transfers the first output's size, and the source is left out."""
    path.write_text(EXAMPLE)
    graph = load(path)
    assert graph.names == ("idle", "first", "second")
    assert graph.work.tolist() == [0, 58, 47]
    assert graph.transfer.tolist() == [0, 70, 52]
    assert graph.dag.sources.tolist() == [1]
    assert graph.dag.targets.tolist() == [2]
    assert graph.tick == "unit"
    assert graph.is_cached


def test_ids_may_come_in_any_order(path):
    """Nodes may be listed before those that they read."""
    path.write_text(
        'node { name: "b" id: 7 input_info { preceding_node: 0 } }'
        'node { name: "a" compute_cost: 3 }'
    )
    graph = load(path)
    assert graph.names == ("b", "a")
    assert (graph.dag.sources.tolist(), graph.dag.targets.tolist()) == ([1], [0])


def test_control_inputs_are_edges(path):
    """A node waits for its control inputs."""
    path.write_text('node { name: "a" } node { name: "b" id: 1 control_input: 0 }')
    assert load(path).dag.edges == 1


@st.composite
def graphs(draw):
    """Return costs, sizes and edges of a random graph in topological order."""
    nodes = draw(st.integers(1, 8))
    costs = draw(st.lists(st.integers(0, 2**40), min_size=nodes, max_size=nodes))
    sizes = draw(st.lists(st.integers(0, 2**40), min_size=nodes, max_size=nodes))
    pairs = [(u, v) for v in range(nodes) for u in range(v)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return costs, sizes, sorted(chosen)


def as_text(costs, sizes, edges):
    """Write a graph as CostGraphDef, after a source with id 0."""
    parts = ['node { name: "_SOURCE" }']
    for node, (cost, size) in enumerate(zip(costs, sizes, strict=True)):
        inputs = "".join(
            f"input_info {{ preceding_node: {u + 1} }} " for u, v in edges if v == node
        )
        parts.append(
            f'node {{ name: "node_{node}" id: {node + 1} {inputs} control_input: 0 '
            f"output_info {{ size: {size} alias_input_port: -1 }} compute_cost: {cost} }}"
        )
    return "\n".join(parts)


@given(graphs())
def test_written_graphs_are_read_back(tmp_path_factory, graph):
    """What is written is what is read."""
    costs, sizes, edges = graph
    path = tmp_path_factory.getbasetemp() / "round_trip.pbtxt"
    path.write_text(as_text(costs, sizes, edges))
    loaded = load(path)
    assert loaded.work.tolist() == costs
    assert loaded.transfer.tolist() == sizes
    assert list(zip(loaded.dag.sources, loaded.dag.targets, strict=True)) == edges


def test_every_truncation_within_a_node_is_refused(path):
    """A text cut off inside a node is an error."""
    text = EXAMPLE.strip()
    ends = {at + 1 for at in range(len(text)) if text[: at + 1].endswith("\n}")}
    for length in range(1, len(text)):
        if length in ends or length - 1 in ends:
            continue
        path.write_text(text[:length])
        with pytest.raises(
            InvalidInputError, match=r"graph\.pbtxt: expected a complete CostGraphDef"
        ):
            load(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'node { name: "a" compute_cost: -1 }',
            "compute_cost of node 'a' is -1; expected a non-neg",
        ),
        ('node { name: "a" compute_cost: 1.5 }', "expected a complete CostGraphDef .* 1.5"),
        (
            'node { name: "a" output_info { size: -4 } }',
            "size of output_info of node 'a' is -4; expected a non-negative integer",
        ),
        (
            'node { name: "a" input_info { preceding_node: 5 } }',
            "preceding_node 5 of node 'a' is unknown; expected the id of a node",
        ),
        ('node { name: "a" control_input: 5 }', "control_input 5 of node 'a' is unknown; expected"),
        (
            'node { name: "a" } node { name: "b" }',
            "id 0 of node 'b' is taken; expected unique ids",
        ),
        ('node { name: "_SOURCE" } node { name: "b" }', "id 0 of node 'b' is taken"),
        (
            'node { name: "a" input_info { preceding_node: 1 } }'
            'node { name: "b" id: 1 input_info { } }',
            "the edges form a cycle, .*a -> b.*; expected an acyclic graph",
        ),
        ('node { name: "a" input_info { } }', "the edges form a cycle, a -> a"),
        ('node { name: "_SOURCE" }', "the graph has no nodes; expected at least one"),
        ('node { name: "a" compute_csot: 1 }', "found .*compute_csot"),
        ('node { name: "a" compute_cost: 99999999999999999999 }', "found .*99999999999999999999"),
        ('node { name: "a" compute_cost: 9007199254740993 }', r"expected at most 2\^53"),
        ("PK\x03\x04", "expected a complete CostGraphDef as text"),
    ],
)
def test_malformed_graphs_are_refused(path, text, expected):
    """Each mistake ends in one sentence that names the file and the field."""
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=expected) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(path):
    """A binary file is recognised as such."""
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match=r"expected a complete CostGraphDef as text, found"):
        load(path)
