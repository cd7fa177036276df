import numpy as np
import pytest
from brute_force import cost, instance, instances, partitions
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.prefixes.prefix_weights import scaled
from boundmark.bounds.pipeline.prefixes.relaxation import (
    FAMILIES,
    Relaxation,
    relax,
    single_stages,
    solve,
)
from boundmark.bounds.pipeline.prefixes.windows import Windows, branch, share_windows, shares
from boundmark.problems.pipeline import PipelineInstance


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
    windows = share_windows(sample.graph.dag, amounts, sample.k)
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
