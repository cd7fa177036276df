import pytest
from brute_force import all_dags, cost, instance, partitions

from boundmark.bounds.pipeline.flows.fractional_load import FEW_IO_WEIGHTS, share_table
from boundmark.bounds.pipeline.prefixes.windows import share_windows, shares


@pytest.mark.parametrize("cache", [100, 6])
def test_windows_hold_all_partitions_below_the_threshold(cache: int) -> None:
    """No partition within the threshold uses a stage outside its nodes' windows."""
    for edges in all_dags(5)[::12]:
        sample = instance(
            [3, 1, 4, 1, 5],
            edges,
            k=3,
            transfer=[2, 7, 1, 3, 2],
            param_load=[0, 6, 2, 0, 5],
            cache=cache,
        )
        table = share_table(sample.graph, FEW_IO_WEIGHTS)
        for threshold in range(5, 20, 2):
            amounts = shares(table, threshold)
            for assignment in partitions(sample):
                if cost(sample, assignment) <= threshold:
                    assert amounts is not None
                    windows = share_windows(sample.graph.dag, amounts, 3)
                    for v, stage in enumerate(assignment):
                        assert windows.first[v] <= stage <= windows.last[v]


def test_a_chain_has_narrow_windows() -> None:
    """Equal work on a chain leaves one stage to each node."""
    sample = instance([4] * 6, [(v, v + 1) for v in range(5)], 6, transfer=[0] * 6)
    amounts = shares(share_table(sample.graph), 4)
    assert amounts is not None
    windows = share_windows(sample.graph.dag, amounts, 6)
    assert windows.first.tolist() == windows.last.tolist() == [0, 1, 2, 3, 4, 5]


def test_too_little_room_is_refuted() -> None:
    """A node that exceeds the threshold alone has no stage."""
    sample = instance([4, 1], [(0, 1)], 2)
    assert shares(share_table(sample.graph), 3) is None
