import numpy as np
import pytest
from brute_force import cost, instance, instances, partitions
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from boundmark.bounds.pipeline.reach.prefixes import scaled
from boundmark.bounds.pipeline.share import share_table
from boundmark.bounds.pipeline.tree.relaxation import (
    FAMILIES,
    Relaxation,
    relax,
    solve,
)
from boundmark.bounds.pipeline.tree.search import bottleneck, bottleneck_guess, exact
from boundmark.bounds.pipeline.tree.superblocks import MIDDLE, Demand, single_stages
from boundmark.bounds.pipeline.windows import Windows, branch, shares
from boundmark.problems.pipeline import PipelineInstance

FORMULATIONS = {
    "exact": lambda k, demand: exact(k),
    "bottleneck": bottleneck,
    "bottleneck-guess": bottleneck_guess,
}


def superblocks_of(assignment: np.ndarray, demand: Demand, k: int) -> tuple[np.ndarray, int]:
    """Return the superblocks around the stage with the largest demand, and that stage."""
    stage = int(np.bincount(assignment, demand.amounts, minlength=k).argmax())
    return (assignment >= stage).astype(int) + (assignment > stage), stage


@pytest.mark.parametrize("formulation", FORMULATIONS)
@given(sample=instances(), data=st.data())
def test_every_partition_below_the_threshold_satisfies_all_rows(
    sample: PipelineInstance, data: st.DataObject, formulation: str
) -> None:
    """Neither windows nor rows lose a partition whose stages cost at most the threshold.

    Whatever nodes demand: superblocks stand for the stages around the one that has most of it.
    """
    stages = np.array(data.draw(st.sampled_from(list(partitions(sample)))))
    objective = cost(sample, tuple(stages.tolist()))
    threshold = objective + data.draw(st.integers(0, 3))
    amounts = shares(share_table(sample.graph), threshold)
    assert amounts is not None
    other = st.lists(st.integers(0, 2**30), min_size=sample.nodes, max_size=sample.nodes)
    demand = Demand.of(np.array(data.draw(st.just(amounts.tolist()) | other)), sample.k)
    roots = FORMULATIONS[formulation](sample.k, demand).roots(sample.graph.dag, amounts)
    assignment = stages
    if formulation != "exact":
        assignment, stage = superblocks_of(stages, demand, sample.k)
        assert demand.amounts[assignment == MIDDLE].sum() >= demand.least
    superblocks, windows = roots[stage if formulation == "bottleneck-guess" else 0]
    for _ in range(data.draw(st.integers(0, 3))):
        node = data.draw(st.integers(0, sample.nodes - 1))
        superblock = data.draw(st.integers(0, len(superblocks.merged) - 1))
        earlier, later = branch(sample.graph.dag, windows, node, superblock)
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


PRICE = 1000.0


def relaxation() -> Relaxation:
    """Return the exact program of a small graph with every cost term, for two stages."""
    sample = instance(
        [30, 60, 50, 10],
        [(0, 1), (0, 3), (1, 3), (2, 3)],
        2,
        transfer=[20, 50, 20, 20],
        param_load=[0, 50, 10, 50],
        cache=40,
    )
    windows = Windows(np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.int64))
    return relax(sample.graph, single_stages(2), scaled(sample.graph.work, 200), windows)


def proven(program: Relaxation, multipliers: np.ndarray) -> float:
    """Return what multipliers prove: the least of the summed rows over the box of the columns."""
    matrix = csr_matrix(
        (program.values, (program.rows, program.columns)),
        shape=(len(program.lower), len(program.upper)),
    )
    cost = np.zeros(len(program.upper))
    cost[-2:] = PRICE, 1.0
    reduced = cost - matrix.T @ multipliers
    reduced[np.abs(reduced) < 1e-6] = 0
    with np.errstate(invalid="ignore"):
        least = np.where(reduced < 0, reduced * program.upper, 0.0)
    return float(multipliers @ program.lower + least.sum())


@pytest.mark.parametrize("unit", [1.0, 0.5, 20.0])
def test_units_change_nothing_but_numbers(unit: float) -> None:
    """Optimum, columns and multipliers are in ticks again, and prove the optimum."""
    program = relaxation()
    expected = solve(program, PRICE, 10, 1)
    point = solve(program, PRICE, 10, 1, unit=unit)
    assert expected is not None
    assert point is not None
    assert point.optimum == pytest.approx(expected.optimum)
    assert point.columns[-1] == pytest.approx(expected.columns[-1])
    assert proven(program, point.multipliers) == pytest.approx(expected.optimum)
