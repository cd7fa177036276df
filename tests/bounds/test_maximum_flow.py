import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.maximum_flow import SINK, SOURCE, UNLIMITED, Network, augment

Arc = tuple[int, int, int]


@st.composite
def arcs(draw: st.DrawFn) -> tuple[int, list[Arc]]:
    """Draw the number of vertices, and arcs, some of them alike, some without a limit."""
    vertices = draw(st.integers(2, 8))
    end = st.integers(0, vertices - 1)
    room = st.one_of(st.integers(0, 5), st.just(2**40))
    found = draw(st.lists(st.tuples(end, end, room), max_size=25))
    return vertices, [arc for arc in found if arc[0] != arc[1]]


def flow_of(vertices: int, found: list[Arc]) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the flow, the sides, and the value; rooms of 2^40 have no limit."""
    tails, heads, rooms = np.array(found, dtype=np.int64).reshape(-1, 3).T.copy()
    flow, is_source = Network.of(vertices, tails, heads).cut(rooms)
    value = int(flow[tails == SOURCE].sum() - flow[heads == SOURCE].sum())
    return flow, is_source, value


@given(arcs())
def test_flows_are_maximal(drawn: tuple[int, list[Arc]]) -> None:
    """The flow keeps to the rooms, gets lost nowhere, and is as large as the cut's rooms."""
    vertices, found = drawn
    flow, is_source, value = flow_of(vertices, found)
    assert is_source[SOURCE]
    assert not is_source[SINK]
    gained = [0] * vertices
    for (tail, head, room), amount in zip(found, flow.tolist(), strict=True):
        assert 0 <= amount <= room
        gained[tail] -= amount
        gained[head] += amount
    assert gained[2:] == [0] * (vertices - 2)
    assert gained[SINK] == value
    crossing = [room for tail, head, room in found if is_source[tail] and not is_source[head]]
    assert sum(crossing) == value


@given(arcs())
def test_flows_equal_a_general_solver(drawn: tuple[int, list[Arc]]) -> None:
    """Values agree with networkx."""
    vertices, found = drawn
    network = nx.DiGraph()
    network.add_nodes_from(range(vertices))
    for tail, head, room in found:
        known = network.get_edge_data(tail, head, {"capacity": 0})["capacity"]
        network.add_edge(tail, head, capacity=known + room)
    assert flow_of(vertices, found)[2] == nx.maximum_flow_value(network, SOURCE, SINK)


@pytest.mark.parametrize("back", [0, 1])
@given(drawn=arcs(), wanted=st.one_of(st.integers(1, 12), st.just(2**50)))
def test_a_flow_ends_at_what_is_wanted(
    back: int, drawn: tuple[int, list[Arc]], wanted: int
) -> None:
    """From either end, it is the largest one or as much as is wanted, and levels tell a cut."""
    vertices, found = drawn
    tails, heads, rooms = np.array(found, dtype=np.int64).reshape(-1, 3).T.copy()
    network, most = Network.of(vertices, tails, heads), flow_of(vertices, found)[2]
    room = np.zeros(2 * len(found), dtype=np.int64)
    room[::2] = rooms
    level = np.empty(vertices, dtype=np.int64)
    ends = (SINK, SOURCE) if back else (SOURCE, SINK)
    arrays = network.first, network.leaving, network.heads, room, level
    assert augment(*ends, back, wanted, *arrays) == min(wanted, most)
    if most < wanted:
        is_source = level < 0 if back else level >= 0
        assert is_source[SOURCE]
        assert not is_source[SINK]
        assert int(rooms[is_source[tails] & ~is_source[heads]].sum()) == most


@pytest.mark.parametrize("length", [1, 2, 400])
def test_chains_without_a_limit(length: int) -> None:
    """Rooms without a limit pass on what others let through, with no overflow."""
    inner = [SOURCE, *range(2, 2 + length), SINK]
    found = [(a, b, UNLIMITED) for a, b in itertools.pairwise(inner)]
    found[length // 2] = (*found[length // 2][:2], 2**59)
    assert flow_of(length + 2, found)[2] == 2**59
