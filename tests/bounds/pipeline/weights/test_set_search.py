"""Tests of flows through tensors, against all sets."""

import itertools

from brute_force_sets import tensors, tiny_graphs
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.pipeline.weights.set_search import TensorFlow
from boundmark.bounds.pipeline.weights.tensors import Tensors
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import PipelineInstance


def cost(sample: PipelineInstance, members: set[int]) -> int:
    """Return work and transfers of a set."""
    total = sum(int(sample.graph.work[v]) for v in members)
    for ends in tensors(sample):
        if ends & members and ends - members:
            total += int(sample.graph.transfer[producer(sample, ends)])
    return total


def producer(sample: PipelineInstance, ends: set[int]) -> int:
    """Return the end of a tensor that all others read."""
    dag = sample.graph.dag
    return next(u for u in ends if {u, *dag.consumers_of(u).tolist()} == ends)


@given(tiny_graphs(largest=6, params=False), st.data())
def test_flow_leaves_the_least_excess(sample: PipelineInstance, data: st.DataObject) -> None:
    """It equals the most that a set weighs beyond the price of its cost, found by exhaustion.

    So no other flow bounds sets with these decisions better. And the flow is one: what a tensor
    takes adds up to 0, and to no more than the price of its transfer in either direction. It does
    not matter from which flow it is gone on.
    """
    n = sample.nodes
    price = data.draw(st.integers(1, 9))
    weights = data.draw(st.lists(st.integers(0, 90), min_size=n, max_size=n))
    sides = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n))
    sides[data.draw(st.integers(0, n - 1))] = 1
    graph = Tensors.of(sample.graph).arrays()
    flow = TensorFlow(graph, frozen(weights))
    for _ in range(data.draw(st.integers(0, 2))):
        before = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n))
        before[data.draw(st.integers(0, n - 1))] = 1
        other = data.draw(st.integers(1, 9))
        flow.split(other, frozen(before))
    found = flow.split(price, frozen(sides))
    taken, left = flow.taken, flow.left

    excess = sum(int(left[v]) for v in range(n) if sides[v] > 0)
    excess += sum(max(0, int(left[v])) for v in range(n) if sides[v] == 0)
    by_node = [0] * n
    for u in range(n):
        at = range(graph.end_start[u], graph.end_start[u + 1])
        given_by = {int(graph.end[i]): int(taken[i]) for i in at}
        through = price * int(sample.graph.transfer[u])
        assert sum(given_by.values()) == 0
        for sign in (1, -1):
            consumers = (amount for v, amount in given_by.items() if v != u)
            assert sum(max(0, sign * amount) for amount in consumers) <= through
        for v, amount in given_by.items():
            by_node[v] += amount
        if {sides[v] for v in given_by} >= {1, -1}:
            excess -= through
            excess += sum(
                amount if sides[v] > 0 else max(0, amount)
                for v, amount in given_by.items()
                if sides[v] >= 0
            )
    work = sample.graph.work.tolist()
    assert left.tolist() == [weights[v] - price * work[v] - by_node[v] for v in range(n)]

    inside = {v for v in range(n) if sides[v] > 0}
    free = [v for v in range(n) if sides[v] == 0]
    sets = [
        inside | set(more)
        for size in range(len(free) + 1)
        for more in itertools.combinations(free, size)
    ]
    gains = {
        (sum(weights[v] for v in members) - price * cost(sample, members), cost(sample, members))
        for members in sets
    }
    most = max(gain for gain, _ in gains)
    assert excess == most
    assert (most, found) in gains
