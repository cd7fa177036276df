"""The search of `packing/2` against all connected convex sets of small random graphs."""

import itertools
import random
from typing import Any

import pytest
from brute_force import instance
from brute_force_sets import connected_convex_sets
from checking import proved
from selection import each_seed

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.instance import Instance, read_instance
from boundmark.bounds.checker.pipeline.limits import SPLIT
from boundmark.bounds.checker.pipeline.packing import Sets
from boundmark.problems.pipeline import PipelineInstance

NO_FLOW = {"price": 0, "edges": [], "amounts": []}


def drawn(dice: random.Random, most: int = 6) -> PipelineInstance:
    """Return a graph of a few nodes with every cost term."""
    nodes = dice.randrange(1, most + 1)
    pairs = list(itertools.combinations(range(nodes), 2))
    edges = dice.sample(pairs, min(len(pairs), dice.randrange(1, 2 * nodes)))
    # Numbers of nodes say nothing of their order.
    numbers = dice.sample(range(nodes), nodes)

    def amounts(most: int) -> list[int]:
        return [dice.randrange(most) for _ in range(nodes)]

    return instance(
        amounts(4),
        sorted((numbers[u], numbers[w]) for u, w in edges),
        1,
        transfer=amounts(4),
        param_load=amounts(3),
        cache=dice.randrange(4),
    )


def read(sample: PipelineInstance) -> Instance:
    """Return an instance as the checker has it."""
    document = sample.to_json()
    return read_instance({name: document[name] for name in Instance._fields})


def flow_of(graph: Instance, order: list[int], dice: random.Random) -> dict[str, Any]:
    """Return a flow that every tensor lets through, though barely."""
    price = dice.randrange(4)
    left = {(u, sign): price * graph.transfer[u] for u in range(len(order)) for sign in (1, -1)}
    edges, amounts = [], []
    for number, (u, _) in enumerate(graph.edges):
        amount = dice.randint(-left[u, -1], left[u, 1])
        left[u, 1 if amount > 0 else -1] -= abs(amount)
        if amount:
            edges.append(number)
            amounts.append(amount)
    return {"price": price, "edges": edges, "amounts": amounts}


def plan_of(sets: Sets, flows: list[Any], dice: random.Random) -> list[int]:
    """Return a plan of all sets that splits some of them and gives each part any of the flows."""
    plan: list[int] = []
    while True:
        entry = dice.choice([SPLIT, *range(len(flows))])
        reason = ""
        try:
            sets.search_all(flows, [*plan, entry])
        except checker.Rejected as error:
            reason = str(error)
        if "splits what cannot be split" not in reason:
            plan.append(entry)
        if not reason:
            return plan
        assert "plan of the payload" in reason


@each_seed(range(120))
def test_fronts_hold_for_all_sets_and_no_lower_ones(seed: int) -> None:
    """A front that all sets touch is accepted, with any flows and splits; one tick less is not."""
    dice = random.Random(seed)
    sample = drawn(dice)
    graph = read(sample)
    weights = [dice.randrange(8) for _ in graph.work]
    order = dice.sample(range(sample.nodes), sample.nodes)
    sets = connected_convex_sets(sample)
    limit, unit = dice.randint(max(sets.values()) // 2, max(sets.values())), dice.choice([1, 1, 2])
    front, heaviest = [0] * (limit // unit + 1), 0
    for cost in range(limit + 1):
        own = [sum(weights[v] for v in members) for members, c in sets.items() if c == cost]
        front[cost // unit] = max([front[cost // unit], *own])
    # A front need not be that low, nor rise.
    for at in range(len(front)):
        heaviest = max(heaviest, front[at])
        if dice.random() < 0.3:
            front[at] = heaviest
    flows = [NO_FLOW, *(flow_of(graph, order, dice) for _ in range(3))]
    plan = plan_of(Sets(graph, order, weights, front, limit, unit), flows, dice)
    Sets(graph, order, weights, front, limit, unit).search_all(flows, plan)
    for members, cost in sets.items():
        weight = sum(weights[v] for v in members)
        if cost <= limit and 0 < weight == front[cost // unit]:
            lower = [*front]
            lower[cost // unit] -= 1
            with pytest.raises(checker.Rejected, match="a set of nodes weighs more than the front"):
                Sets(graph, order, weights, lower, limit, unit).search_all(flows, plan)


@each_seed(range(30))
def test_flows_that_tensors_do_not_let_through(seed: int) -> None:
    """Of what a flow sends, one unit more than a tensor of its price lets through is refused."""
    dice = random.Random(seed)
    sample = drawn(dice)
    graph = read(sample)
    order = dice.sample(range(sample.nodes), sample.nodes)
    sets = Sets(graph, order, [0] * sample.nodes, [0], 0, 1)
    for _ in range(8):
        flow = flow_of(graph, order, dice)
        sets.flow(flow)
        for edge, sign in itertools.product(range(len(graph.edges)), (1, -1)):
            amounts = dict(zip(flow["edges"], flow["amounts"], strict=True))
            u, _ = graph.edges[edge]
            used = sum(
                max(0, sign * amount)
                for other, amount in amounts.items()
                if other != edge and graph.edges[other][0] == u
            )
            most = flow["price"] * graph.transfer[u] - used
            for more in (0, 1):
                amounts[edge] = sign * (most + more)
                changed = {**flow, "edges": list(amounts), "amounts": list(amounts.values())}
                if more:
                    with pytest.raises(checker.Rejected, match="more than a tensor lets through"):
                        sets.flow(changed)
                else:
                    sets.flow(changed)


@each_seed(range(30))
def test_parameters_may_count_as_work(seed: int) -> None:
    """A stage has work, transfers and parameters of at most the threshold and the cache."""
    dice = random.Random(seed)
    sample = drawn(dice, 4)
    graph = sample.graph
    loaded = instance(
        (graph.work + graph.param_load).tolist(),
        graph.dag.edge_pairs().tolist(),
        1,
        transfer=graph.transfer.tolist(),
    )
    sets = connected_convex_sets(loaded)
    threshold = dice.randrange(12)
    weights = [dice.randrange(4) for _ in range(sample.nodes)]
    front = [0] * (threshold + graph.cache + 1)
    for members, cost in sets.items():
        if cost < len(front):
            front[cost] = max(front[cost], sum(weights[v] for v in members))
    payload = {
        "threshold": threshold, "loaded": 1, "unit": 1, "weights": weights, "front": front,
        "order": list(range(sample.nodes)), "flows": [NO_FLOW], "plan": [0] * sample.nodes,
        "ends": [],
    }  # fmt: skip
    # The one stage has all nodes, so it weighs too much if it costs too much.
    possible = {cost: front[cost] for cost in range(len(front))}
    best = [0] * len(front)
    for room in range(1, len(front)):
        best[room] = max(best[room - used] + possible[used] for used in range(1, room + 1))
    if front[0] or sum(weights) <= best[-1]:
        with pytest.raises(checker.Rejected, match=r"front of the payload|do not refute"):
            proved(sample, "packing/2", payload)
    else:
        assert proved(sample, "packing/2", payload) == threshold + 1
