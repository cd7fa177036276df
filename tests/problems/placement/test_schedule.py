"""Segments: parts of a placement that can run one after the other."""

from hypothesis import given
from hypothesis import strategies as st

from boundmark.problems.dag import Dag
from boundmark.problems.placement.schedule import segments


def test_a_device_that_is_returned_to_has_a_segment_for_each_visit() -> None:
    """0 -> 1 -> 2 with the ends on one device; 3 depends on nothing and needs no change."""
    dag = Dag.from_edges(4, [(0, 1), (1, 2)])
    numbers, devices = segments(dag, [0, 1, 0, 0])
    assert numbers.tolist() == [0, 1, 2, 0]
    assert devices == (0, 1, 0)


@st.composite
def placed_graphs(draw: st.DrawFn) -> tuple[Dag, list[int]]:
    """Draw a graph of up to 9 operators, and a device for each."""
    nodes = draw(st.integers(1, 9))
    pairs = [(tail, head) for head in range(nodes) for tail in range(head)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=20)) if pairs else []
    devices = draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes))
    return Dag.from_edges(nodes, edges), devices


@given(placed_graphs())
def test_data_flow_forward_only(drawn: tuple[Dag, list[int]]) -> None:
    """Each segment is of one device, and can run when those before it have ended."""
    dag, placed = drawn
    numbers, devices = segments(dag, placed)
    assert [devices[number] for number in numbers.tolist()] == placed
    assert set(numbers.tolist()) == set(range(len(devices)))
    assert all(numbers[tail] <= numbers[head] for tail, head in dag.edge_pairs().tolist())
