import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from brute_force import instance, instances, stage_cost
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from selection import examples

from boundmark.bounds.checker import check_instance
from boundmark.bounds.checker.pipeline.leaf import Program, WeighedRow, add_up
from boundmark.bounds.pipeline.trees import superblock_cuts
from boundmark.bounds.pipeline.trees.relaxation import Superblocks, relax, solve
from boundmark.bounds.pipeline.trees.superblock_cuts import MIDDLE, Costs, Proof, SuperblockCuts
from boundmark.bounds.pipeline.windows import Windows, narrowed
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

ENOUGH = 2**60

Merged = NDArray[np.int64]
Leaf = tuple[PipelineInstance, Merged, Windows]


def around(stage: int, k: int) -> Merged:
    """Return how many stages are before a stage, in it and after it."""
    return np.array([stage, 1, k - 1 - stage])


@st.composite
def leaves(draw: st.DrawFn) -> Leaf:
    """Draw a tiny instance, the superblocks around a stage, and windows; node 0 is in the stage."""
    sample = draw(instances())
    dag, stage = sample.graph.dag, draw(st.integers(0, sample.k - 1))
    ends = np.sort(
        [[draw(st.integers(0, 2)) for _ in range(2)] for _ in range(dag.nodes)], axis=1
    ) * draw(st.sampled_from([(1, 1), (0, 1)]))
    first, last = np.ascontiguousarray(ends.T)
    last = last + (2 - last) * draw(st.booleans())
    first = np.maximum(first, MIDDLE if stage == 0 else 0)
    last = np.minimum(last, MIDDLE if stage == sample.k - 1 else 2)
    first[0] = last[0] = MIDDLE
    return sample, around(stage, sample.k), narrowed(dag, Windows(first, last))


def proof_of(sample: PipelineInstance, merged: Merged, windows: Windows) -> Proof:
    """Return what cuts prove of a leaf in any time."""
    cuts = SuperblockCuts(Costs.of(sample.graph), merged, windows)
    proof = cuts.strongest([], ENOUGH, Budget(60))
    assert proof is not None
    return proof


def least_cost(sample: PipelineInstance, merged: Merged, windows: Windows) -> Fraction:
    """Return the least cost of the most expensive superblock for each of its stages."""
    costs = []
    edges = sample.graph.dag.edge_pairs().tolist()
    ranges = [range(a, b + 1) for a, b in zip(windows.first, windows.last, strict=True)]
    graph = sample.graph
    for sides in itertools.product(*ranges):
        if any(sides[u] > sides[w] for u, w in edges):
            continue
        parts = []
        for b, stages in enumerate(merged.tolist()):
            nodes = {v for v, side in enumerate(sides) if side == b}
            load = sum(int(graph.param_load[v]) for v in nodes)
            overflow = max(0, load - stages * graph.cache) - max(0, load - graph.cache)
            if nodes:
                parts.append(Fraction(stage_cost(sample, nodes) + overflow, stages))
        costs.append(max(parts))
    return min(costs)


@settings(deadline=None, max_examples=examples(100))
@given(leaves())
def test_bounds_hold(drawn: Leaf) -> None:
    """No bound is above what the superblocks cost at least."""
    if not drawn[2].are_possible:
        return
    proof, least = proof_of(*drawn), least_cost(*drawn)
    assert proof.bound <= -(-least.numerator // least.denominator)


@settings(deadline=None, max_examples=examples(100))
@given(leaves())
def test_the_checker_adds_up_the_same(
    drawn: Leaf,
) -> None:
    """The sum of the rows is what the checker makes of the multipliers in a certificate."""
    sample, merged, windows = drawn
    if not windows.are_possible:
        return
    proof = proof_of(*drawn)
    program = Program(merged.tolist(), (windows.first.tolist(), windows.last.tolist()))
    leaf = {**proof.multipliers.to_json(1), "share": [], "demand": []}
    demand = {"demand": [WeighedRow([0] * sample.nodes, ((MIDDLE, 1),), 0)]}
    checked = check_instance(sample.to_json())
    found = add_up(checked, program, [0] * sample.nodes, demand, leaf)
    assert found is not None
    total, least = found
    assert -(-least // total) == proof.bound


def training(layers: int, k: int) -> PipelineInstance:
    """Return a chain there and back; each way back has a node of its own that reads the way there.

    What the nodes read, and the nodes that read two, are neither before nor after the turn.
    """
    n = layers
    edges = [(v, v + 1) for v in range(2 * n - 1)]
    edges += [(v, 2 * n + v) for v in range(n - 1)]
    edges += [(2 * n + v, 2 * n - 1 - v) for v in range(n - 1)]
    edges += [(v, 2 * n - 2 - v) for v in range(0, n - 2, 2)]
    work = [3 + v % 4 for v in range(2 * n)] + [1 + v % 2 for v in range(n - 1)]
    transfer = [2 + v % 3 for v in range(3 * n - 1)]
    return instance(work, sorted(edges), k, transfer=transfer)


def around_the_turn(sample: PipelineInstance, stage: int) -> tuple[Merged, Windows]:
    """Return superblocks and windows for the turn of a graph of training in a stage."""
    pivot, k, n = (sample.nodes + 1) // 3 - 1, sample.k, sample.nodes
    first = np.full(n, MIDDLE if stage == 0 else 0)
    last = np.full(n, MIDDLE if stage == k - 1 else 2)
    first[pivot] = last[pivot] = MIDDLE
    return around(stage, k), narrowed(sample.graph.dag, Windows(first, last))


@pytest.mark.parametrize("stage", range(4))
def test_cuts_prove_what_the_program_does(stage: int) -> None:
    """On a graph like those of training, the bound is at least the optimum of the linear program.

    That has one column for what enters and what leaves, so that it is weaker here.
    """
    sample = training(12, k=4)
    merged, windows = around_the_turn(sample, stage)
    amounts = np.zeros(sample.nodes, dtype=np.int64)
    point = solve(
        relax(sample.graph, Superblocks(merged, merged > 0), amounts, windows), 1e6, 60, 1
    )
    assert point is not None
    proof = proof_of(sample, merged, windows)
    assert (1 - 1e-3) * point.optimum <= proof.bound <= 1.05 * point.optimum


@pytest.mark.parametrize("stage", range(4))
def test_points_are_in_the_windows(stage: int) -> None:
    """The point has the turn in its stage, what precedes it not after, and the other way round."""
    sample = training(8, k=4)
    merged, windows = around_the_turn(sample, stage)
    proof = proof_of(sample, merged, windows)
    before, not_after = proof.y.T
    assert (before[windows.first > 0] == 0).all()
    assert (not_after[windows.last < 2] >= 1 - 1e-6).all()
    for u, w in sample.graph.dag.edge_pairs().tolist():
        assert before[u] >= before[w] - 1e-6
        assert not_after[u] >= not_after[w] - 1e-6


def test_solutions_of_other_leaves() -> None:
    """With solutions to begin with, as much is proven."""
    sample = training(8, k=4)
    merged, windows = around_the_turn(sample, 1)
    cuts = SuperblockCuts(Costs.of(sample.graph), merged, windows)
    alone = proof_of(sample, merged, windows)
    again = cuts.strongest(alone.planes, ENOUGH, Budget(60))
    assert again is not None
    assert again.bound >= 0.98 * alone.bound


def test_large_costs_have_a_unit() -> None:
    """Costs far beyond what flows can add up are rounded to units, and prove nearly as much."""
    sample = training(6, k=3)
    work, transfer = sample.graph.work * 10**12 + 1, sample.graph.transfer * 10**12 + 1
    edges = sample.graph.dag.edge_pairs().tolist()
    large = instance(work.tolist(), edges, 3, transfer=transfer.tolist())
    assert Costs.of(sample.graph).unit == 1
    unit = Costs.of(large.graph).unit
    assert unit > 1
    merged, windows = around_the_turn(sample, 1)
    small_proof, proof = (proof_of(one, merged, windows) for one in (sample, large))
    program = Program(merged.tolist(), (windows.first.tolist(), windows.last.tolist()))
    leaf = {**proof.multipliers.to_json(unit), "share": []}
    found = add_up(check_instance(large.to_json()), program, [0] * sample.nodes, {}, leaf)
    assert found is not None
    assert found[1] / found[0] == pytest.approx(proof.bound, rel=1e-6)
    assert 0.95 * small_proof.bound <= proof.bound / 10**12 <= 1.05 * small_proof.bound


def test_a_solver_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the first cut's bound is what is proven."""
    sample = training(8, k=4)
    leaf = around_the_turn(sample, 1)
    best = proof_of(sample, *leaf)
    failed = SimpleNamespace(x=None)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *args, **kwargs: failed)
    for planes in ([], best.planes):
        cuts = SuperblockCuts(Costs.of(sample.graph), *leaf)
        proof = cuts.strongest(planes, ENOUGH, Budget(60))
        assert proof is not None
        assert int(sample.graph.work.sum()) // 4 <= proof.bound < best.bound


def test_no_time() -> None:
    """Nothing is found once the time is up."""
    sample = training(4, k=2)
    windows = Windows(np.full(sample.nodes, MIDDLE), np.full(sample.nodes, 2))
    cuts = SuperblockCuts(Costs.of(sample.graph), around(0, 2), windows)
    assert cuts.strongest([], ENOUGH, Budget(0)) is None
    assert superblock_cuts.SCALE * superblock_cuts.MOST_UNITS < superblock_cuts.UNLIMITED
