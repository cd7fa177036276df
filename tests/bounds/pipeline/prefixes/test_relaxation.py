import numpy as np
from brute_force import cost, instances, partitions
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.prefixes.relaxation import FAMILIES, relax, single_stages
from boundmark.bounds.pipeline.prefixes.windows import Closure, shares
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
