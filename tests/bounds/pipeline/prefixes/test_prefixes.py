"""Trees of programs, weights of prefixes, and the rows of their relaxation."""

import itertools
from collections.abc import Callable

import numpy as np
from brute_force import cost, instance, instances, optimum, partitions, stage_cost
from hypothesis import given
from hypothesis import strategies as st
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.prefixes import mip_tree
from boundmark.bounds.pipeline.prefixes.mip_tree import next_report_at
from boundmark.bounds.pipeline.prefixes.prefix_weights import Weights
from boundmark.bounds.pipeline.prefixes.relaxation import FAMILIES, relax, single_stages
from boundmark.bounds.pipeline.prefixes.windows import SHARE_UNITS, Closure, scaled, shares
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def test_beats_the_share_bound(random_graph: Callable[..., PipelineGraph]) -> None:
    """On a graph too large to finish, each report is better than the last one and is accepted."""
    sample = PipelineInstance(random_graph(60, seed=1), 4)
    reports = Recorder()
    mip_tree.run(sample, Budget(3), 0, reports)
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    assert bounds[-1] > share_table(sample.graph).bound(4)
    for report in reports.bounds:
        assert checker.check_certificate(sample.to_json(), report.to_json()) == report.bound


def test_a_finished_tree_proves_the_optimum() -> None:
    """Leaves of older thresholds, solved again, leave nothing of a small graph's gap."""
    edges = [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (2, 3), (2, 5), (4, 5)]
    sample = instance([7, 5, 3, 4, 6, 6], edges, 5, transfer=[5, 1, 2, 3, 2, 4])
    reports = Recorder()
    mip_tree.run(sample, Budget(20), 0, reports)
    assert reports.bounds[-1].bound == optimum(sample)


def test_reports_leave_most_of_the_time_to_the_tree() -> None:
    """The next one is due after a part of the time so far, or after many times a slow check."""
    assert next_report_at(8.0, 0.0) == 10.0
    assert next_report_at(8.0, 0.1) == 10.0
    assert next_report_at(8.0, 1.0) == 18.0


@given(sample=instances(), threshold=st.integers(0, 40))
def test_a_stage_weighs_at_most_its_cost(sample: PipelineInstance, threshold: int) -> None:
    """Whatever was moved into a set of nodes came with tensors that enter it."""
    weights = Weights.moved(sample.graph, threshold)
    assert (weights.nodes >= 0).all()
    for size in range(sample.nodes + 1):
        for members in itertools.combinations(range(sample.nodes), size):
            cost = stage_cost(sample, set(members))
            weighs = sum(int(weights.nodes[v]) for v in members)
            assert weighs * max(threshold, 1) <= cost * SHARE_UNITS


@given(sample=instances(), threshold=st.integers(1, 40))
def test_moving_loses_nothing(sample: PipelineInstance, threshold: int) -> None:
    """All nodes together weigh what they did, and moves say what became of each."""
    graph = sample.graph
    weights, work = Weights.moved(graph, threshold), scaled(graph.work, threshold)
    assert weights.nodes.sum() == work.sum()
    moves = weights.moves_to_json()
    moved = work.tolist()
    for edge, amount in zip(moves[::2], moves[1::2], strict=True):
        moved[int(graph.dag.sources[edge])] -= amount
        moved[int(graph.dag.targets[edge])] += amount
    assert moved == weights.nodes.tolist()


@given(sample=instances(), data=st.data())
def test_every_partition_below_the_threshold_satisfies_all_rows(
    sample: PipelineInstance, data: st.DataObject
) -> None:
    """Neither windows nor rows lose a partition whose stages cost at most the threshold."""
    assignment = np.array(data.draw(st.sampled_from(list(partitions(sample)))))
    objective = cost(sample, tuple(assignment.tolist()))
    threshold = objective + data.draw(st.integers(0, 3))
    amounts = shares(share_table(sample.graph), threshold)
    assert amounts is not None
    superblocks = single_stages(sample.k)
    closure = Closure.of(sample.graph.dag)
    windows = closure.share_windows(amounts, sample.k)
    for _ in range(data.draw(st.integers(0, 3))):
        node = data.draw(st.integers(0, sample.nodes - 1))
        superblock = data.draw(st.integers(0, len(superblocks.merged) - 1))
        earlier, later = closure.branch(windows, node, superblock)
        windows = earlier if assignment[node] <= superblock else later
    assert (windows.first <= assignment).all()
    assert (assignment <= windows.last).all()
    relaxation = relax(sample.graph, superblocks, amounts, windows)
    columns = np.zeros(len(relaxation.upper))
    for v, b in np.argwhere(relaxation.y >= 0):
        columns[relaxation.y[v, b]] = assignment[v] <= b
    columns[-1] = objective
    matrix = np.zeros((len(relaxation.lower), len(relaxation.upper)))
    np.add.at(matrix, (relaxation.rows, relaxation.columns), relaxation.values)
    # Tensors and overflow: as little as their own rows ask for.
    tensors = [FAMILIES.index(name) for name in ("enters", "leaves")]
    is_tensor = np.isin(relaxation.family, tensors)
    is_overflow = relaxation.family == FAMILIES.index("overflow")
    for own in (is_tensor, is_overflow):
        lacking = relaxation.lower[own] - matrix[own] @ columns
        for row, amount in zip(np.flatnonzero(own), lacking, strict=True):
            first = int(relaxation.columns[relaxation.rows == row][0])
            columns[first] = max(columns[first], amount)
    assert (columns <= relaxation.upper + 1e-9).all()
    assert (matrix @ columns >= relaxation.lower - 1e-6).all()
