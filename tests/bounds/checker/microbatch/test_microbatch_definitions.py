"""What the checker concludes of small random layouts, against definitions and enumeration."""

import random

from brute_force_microbatch import layout
from checking import prove, read
from definitions.microbatch import Pair, drawn, holds_too_much, longest, releases, trees
from selection import each_seed

from boundmark.bounds.checker.microbatch.paths import Paths
from boundmark.bounds.checker.microbatch.phases import PhaseTree
from boundmark.problems.microbatch import MicrobatchInstance


def paired(seed: int) -> tuple[MicrobatchInstance, list[list[Pair]], random.Random]:
    """Return an instance about periods, and pairs of allocations and releases of its devices."""
    sample, dice = drawn(seed, 0), random.Random(seed)
    graph = read(sample)
    pairs = [releases(graph, device, dice) or [] for device in range(len(graph.capacity))]
    return sample, pairs, dice


@each_seed(range(60))
def test_longest_paths(seed: int) -> None:
    """Heads, tails and times between blocks are those of the longest paths."""
    graph = read(drawn(seed))
    blocks, paths = range(len(graph.duration)), Paths(graph)
    between = [[longest(graph, u, v) for v in blocks] for u in blocks]
    assert paths.heads() == [max(row[v] or 0 for row in between) for v in blocks]
    assert paths.tails() == [
        max((path or 0) + graph.duration[v] for v, path in enumerate(row) if path is not None)
        - graph.duration[u]
        for u, row in enumerate(between)
    ]
    assert [paths.from_block(u) for u in blocks] == between


@each_seed(range(150))
def test_phases_decide_what_devices_hold(seed: int) -> None:
    """With all phases given, memory is exceeded or not as by definition, at any capacity."""
    sample, pairs, dice = paired(seed)
    graph = read(sample)
    blocks = range(len(graph.duration))
    for _ in range(30):
        period = dice.randrange(1, 9)
        phases = {block: dice.randrange(period) for block in blocks}
        every = [phases[block] for block in blocks]
        capacity = [dice.randrange(1, 12) for _ in graph.capacity]
        other = graph._replace(capacity=capacity)
        tree = PhaseTree(other, list(blocks), pairs)
        assert tree._is_impossible(phases, period) == holds_too_much(other, pairs, every, period)
        # With some of them only, nothing is refuted that the others would make possible.
        some = {block: phases[block] for block in blocks if dice.random() < 0.6}
        if tree._is_impossible(some, period):
            assert holds_too_much(other, pairs, every, period)


def test_trees_decide_on_phases() -> None:
    """A period is refuted exactly if no phases of all blocks remain, in any order of these."""
    for seed in range(80):
        sample, pairs, dice = paired(seed)
        for kind, payload, possible in trees(sample, pairs, dice):
            assert prove(sample, kind, payload) in possible, seed


def test_a_search_that_is_stopped_refutes_nothing() -> None:
    """Not even a period that it would refute."""
    shape = layout([("F", 1, 0, (0,)), ("S", 2, 0, (0,))], [(0, 1)], 1)
    graph = read(MicrobatchInstance.of(shape, memory=1, micro_batches=0))
    assert PhaseTree(graph, [0, 1], [[]]).refutes(2)
    assert not PhaseTree(graph, [0, 1], [[]]).refutes(2, is_stopped=lambda: True)
