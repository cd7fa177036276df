import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.placement.loads.dominators import OUTSIDE, immediate_dominators


@given(st.integers(1, 9), st.data())
def test_dominators_are_those_of_networkx(nodes: int, data: st.DataObject) -> None:
    """With one begin before all operators without producers, and one end after the others."""
    producers: list[list[int]] = [
        sorted(data.draw(st.sets(st.integers(0, v - 1)))) if v else [] for v in range(nodes)
    ]
    sinks = [v for v in range(nodes) if all(v not in found for found in producers)]
    graph = nx.DiGraph()
    for v, found in enumerate([*producers, sinks]):
        graph.add_edges_from((u, v) for u in found or [OUTSIDE])
    expected = nx.immediate_dominators(graph, OUTSIDE)
    found = immediate_dominators(range(nodes), [*producers, sinks])
    assert found == [expected[v] for v in range(nodes + 1)]
