"""What the checker concludes of small random graphs, against what enumeration says."""

import random
from typing import Any

import pytest
from brute_force import instance, optimum
from brute_force_prefixes import pipelines, prefix_weights
from checking import prove, proved, read
from definitions.pipeline import drawn, flow_cost, flows_of, stages_with
from selection import each_seed

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline import flows, windows
from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.limits import TREE_SHARE_UNITS
from boundmark.bounds.checker.pipeline.prefix_bound import Step, _Prefixes
from boundmark.problems.pipeline import PipelineInstance

Document = dict[str, Any]


def test_nodes_that_are_left_out_exist() -> None:
    """The number of no node is refused."""
    sample = instance([1, 2], [(0, 1)], 2)
    for ignored in ([-1], [2], [0, 2]):
        assert prove(sample, "ideal-dp/1", {"threshold": 0, "ignored": ignored}) is None
    assert prove(sample, "ideal-dp/1", {"threshold": 0, "ignored": [0, 0]}) == 1


@each_seed(range(30))
def test_flows_prove_what_the_rules_say(seed: int) -> None:
    """Flows at a limit are accepted and those beyond are not; every set costs what is proved."""
    sample = drawn(seed)
    graph = read(sample)
    for flow in flows_of(sample, random.Random(seed)):
        expected = flow_cost(graph, flow)
        try:
            found = flows.least_cost(graph, flow)
        except checker.Rejected:
            assert expected is None
            continue
        v, weight = flow["node"], flow["io_weight"]
        assert found == (v, weight, expected)
        for work, io, _ in stages_with(sample, v):
            assert weight * io + work >= found[2]
        threshold = random.Random(seed).randrange(12)
        io_bound, node_cost = flows.io_bounds(graph, threshold, [flow])
        if weight == 1:
            own = max(0, graph.param_load[v] - graph.cache)
            assert (io_bound[v], node_cost) == (0, max(0, found[2] + own))
        else:
            least = max(0, -(-(found[2] - threshold) // (weight - 1)))
            assert (io_bound[v], node_cost) == (least, 0)
        for _, io, whole in stages_with(sample, v):
            assert whole > threshold or io >= io_bound[v]


def test_the_best_of_several_flows_counts() -> None:
    """Of flows for one node, and of flows of weight 1, whichever comes first."""
    graph = Instance(2, [4, 4], [3, 0], [0, 0], 0, [(0, 1)])
    none = {"node": 0, "io_weight": 2, "edges": [], "amounts": []}
    some = {"node": 0, "io_weight": 2, "edges": [0], "amounts": [2]}
    for both in ([none, some], [some, none]):
        assert flows.io_bounds(graph, 4, both) == ([2, 0], 0)
        assert flows.io_bounds(graph, 4, [{**one, "io_weight": 1} for one in both]) == ([0, 0], 6)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"edges": [0, 0], "amounts": [1, 1]}, "not ascending"),
        ({"edges": [1, 0], "amounts": [1, 1]}, "not ascending"),
        ({"edges": [0]}, "not of one length"),
        ({"amounts": [1]}, "not of one length"),
        ({"edges": [2], "amounts": [0]}, "edges of a flow is not an integer from 0 to 1"),
        ({"node": 3}, "node of a flow is not an integer from 0 to 2"),
        ({"io_weight": 0}, "io_weight of a flow is not an integer from 1"),
    ],
)
def test_flows_that_are_none(change: Document, reason: str) -> None:
    """Each edge is named once, with one amount."""
    graph = Instance(2, [4, 4, 4], [3, 3, 0], [0, 0, 0], 0, [(0, 1), (1, 2)])
    with pytest.raises(checker.Rejected, match=reason):
        flows.least_cost(graph, {"node": 0, "io_weight": 1, "edges": [], "amounts": [], **change})


@pytest.mark.parametrize(("works", "threshold"), [([2, 2], 2), ([3, 1], 3), ([1, 2], 2)])
def test_full_stages_are_possible(works: list[int], threshold: int) -> None:
    """Shares that fill stages to the brim refute nothing; a tick less is refuted."""
    sample = instance(works, [], 2)
    assert optimum(sample) == threshold
    assert prove(sample, "fractional-load/1", {"threshold": threshold, "flows": []}) is None
    assert (
        prove(sample, "fractional-load/1", {"threshold": threshold - 1, "flows": []}) == threshold
    )
    loaded = instance([0, 0], [], 2, param_load=works, cache=1)
    assert prove(loaded, "fractional-load/1", {"threshold": threshold - 1, "flows": []}) is None
    assert (
        prove(loaded, "fractional-load/1", {"threshold": threshold - 2, "flows": []})
        == threshold - 1
    )


@each_seed(range(40))
def test_windows_have_all_pipelines(seed: int) -> None:
    """No partition of limited cost has a node outside of its stages, as shares leave them."""
    sample = drawn(seed)
    graph = read(sample)
    flow_list = [
        flow for flow in flows_of(sample, random.Random(seed)) if flow_cost(graph, flow) is not None
    ]
    best = optimum(sample)
    for threshold in range(max(0, best - 1), best + 3):
        root = windows.root(graph, threshold, flow_list)
        if root is None:
            assert threshold < best
            continue
        first, last = root.windows
        for stages in pipelines(sample, threshold):
            assert all(
                low <= stage <= high for low, stage, high in zip(first, stages, last, strict=True)
            )
            for b in range(sample.k):
                held = sum(s for s, stage in zip(root.shares, stages, strict=True) if stage == b)
                assert held <= TREE_SHARE_UNITS


def test_windows_by_hand() -> None:
    """In a chain of full stages each node has its own; with a spare stage it has two."""
    chain = instance([2, 2, 2], [(0, 1), (1, 2)], 3, transfer=[0, 0, 0])
    root = windows.root(read(chain), 2, [])
    assert root is not None
    assert root.windows == ([0, 1, 2], [0, 1, 2])
    root = windows.root(read(instance([2, 2, 2], [(0, 1), (1, 2)], 4, transfer=[0] * 3)), 2, [])
    assert root is not None
    assert root.windows == ([0, 1, 2], [1, 2, 3])
    assert windows.root(read(chain), 1, []) is None


def test_a_single_node_that_is_too_large_refutes() -> None:
    """A flow of weight 1 that proves the threshold exactly refutes nothing."""
    graph = read(instance([3, 3], [(0, 1)], 2, transfer=[2, 0]))
    flow = {"node": 0, "io_weight": 1, "edges": [0], "amounts": [2]}
    assert windows.root(graph, 5, [flow]) is not None
    assert windows.root(graph, 4, [flow]) is None


def weighing(sample: PipelineInstance, dice: random.Random, threshold: int) -> list[int]:
    """Return weights of which no stage of limited cost has more than one."""
    return [int(x) * TREE_SHARE_UNITS // max(threshold, 1) for x in sample.graph.work]


@each_seed(range(40))
def test_prefixes_hold_all_pipelines(seed: int) -> None:
    """After any true steps, no partition of limited cost has a prefix outside of what is known."""
    sample, dice = drawn(seed), random.Random(seed)
    threshold, k = optimum(sample) + dice.randrange(2), sample.k
    weights = weighing(sample, dice, threshold)
    prefixes = _Prefixes(read(sample), weights, TREE_SHARE_UNITS)
    all_weights = [prefix_weights(weights, stages, k) for stages in pipelines(sample, threshold)]
    for _ in range(6):
        assert not prefixes.are_refuted()
        for held in all_weights:
            for least, weight, most in zip(prefixes._least, held, prefixes._most, strict=True):
                assert least <= weight <= most
        first = dice.randrange(k)
        last = dice.randrange(first, k)
        is_upper = dice.random() < 0.5
        if is_upper:
            limit = max(held[last + 1] for held in all_weights)
        else:
            limit = min(held[first] for held in all_weights)
        step = Step(first, last, is_upper, limit)
        _contrary_is_possible(sample, prefixes, step, threshold, weights)
        assert not prefixes.is_stuck(step)
        prefixes.learn(step)


def _contrary_is_possible(
    sample: PipelineInstance,
    prefixes: _Prefixes,
    step: Step,
    threshold: int,
    weights: list[int],
) -> None:
    """Claim a little less than is true: what contradicts it is in windows and rows."""
    limit = step.limit - 1 if step.is_upper else step.limit + 1
    if limit < -1:
        return
    program, rows = prefixes.program(step._replace(limit=limit))
    begin = [(step.first > 0) * (sample.k - 1), *[1] * (step.last - step.first + 1)]
    assert program.merged == [*begin, (step.last < sample.k - 1) * (sample.k - 1)]
    contrary = 0
    for stages in pipelines(sample, threshold):
        held = prefix_weights(weights, stages, sample.k)
        is_contrary = held[step.last + 1] > limit if step.is_upper else held[step.first] < limit
        if not is_contrary:
            continue
        contrary += 1
        blocks = [min(max(s - step.first + 1, 0), step.last - step.first + 2) for s in stages]
        for block, low, high in zip(blocks, *program.windows, strict=True):
            assert low <= block <= high
        for row in (*rows["at_least"], *rows["at_most"]):
            ((b, sign),) = row.prefixes
            assert (
                sign * sum(w for w, x in zip(weights, blocks, strict=True) if x <= b) >= row.least
            )
    assert contrary


def test_only_a_step_in_the_middle_is_stuck() -> None:
    """At an end of the pipeline, or over several stages, a step that leads nowhere says nothing."""
    graph = read(instance([4, 4, 4], [], 4))
    prefixes = _Prefixes(graph, [TREE_SHARE_UNITS] * 3, TREE_SHARE_UNITS)
    one = TREE_SHARE_UNITS
    for step, is_stuck in (
        (Step(1, 1, True, one), True),
        (Step(1, 1, True, one + 1), False),
        (Step(2, 2, True, 2 * one), True),
        (Step(0, 0, True, 0), False),
        (Step(3, 3, True, 0), False),
        (Step(1, 2, True, 0), False),
        (Step(1, 1, False, one), True),
        (Step(1, 1, False, 0), False),
        (Step(2, 2, False, one), False),
        (Step(2, 2, False, 2 * one), True),
        (Step(0, 0, False, 3 * one), False),
        (Step(3, 3, False, 3 * one), False),
    ):
        assert prefixes.is_stuck(step) is is_stuck, step


@pytest.mark.parametrize(("amount", "is_right"), [(2, True), (3, False)])
def test_moves_take_no_more_than_a_tensor(amount: int, is_right: bool) -> None:
    """A transfer of 2 at a threshold of 4 moves half a stage of work, and no more."""
    sample = instance([4, 1], [(0, 1)], 2, transfer=[2, 0])
    unit = TREE_SHARE_UNITS // 4
    weights = [max(0, 4 - amount) * unit, (1 + amount) * unit]
    payload = {"threshold": 4, "flows": [], "weights": weights, "steps": [],
               "moves": [0, amount * unit]}  # fmt: skip
    reason = "do not refute" if is_right else "than its transfer"
    with pytest.raises(checker.Rejected, match=reason):
        proved(sample, "prefix-bound/1", payload)


def test_one_stage_by_hand() -> None:
    """Flows of weight 1 prove a stage's cost, with its overflow, to the tick; others do not."""
    sample = instance([3, 3], [(0, 1)], 2, transfer=[2, 0], param_load=[5, 0], cache=4)
    flow = {"node": 0, "io_weight": 1, "edges": [0], "amounts": [2]}
    assert prove(sample, "node-cut/1", flow) == 3 + 2 + 1
    assert prove(sample, "node-cut/1", {**flow, "io_weight": 2}) is None
    assert prove(sample, "fractional-load/1", {"threshold": 5, "flows": [flow]}) == 6
    assert prove(sample, "fractional-load/1", {"threshold": 6, "flows": [flow]}) is None
    for works, k, mean in (([3, 2], 2, 3), ([2, 2], 2, 2), ([1, 1, 5], 3, 3)):
        assert prove(instance(works, [], k), "mean-work/1", {}) == mean
