from brute_force import instance

from boundmark.bounds.pipeline.ideals.pendants import pendants, without


def test_pendants_leave_the_optimum() -> None:
    """Free nodes with one neighbour go, one after another, but not the last of a component."""
    sample = instance([0, 0, 5, 0, 0, 0], [(0, 1), (1, 2), (2, 3), (2, 4)], 3)
    removed = pendants(sample.graph)
    assert sorted(v for v, _ in removed) == [0, 1, 3, 4]
    core, kept = without(sample.graph, [v for v, _ in removed])
    assert (kept, core.dag.edges) == ([2, 5], 0)
    assert len(pendants(instance([0, 0], [(0, 1)], 2).graph)) == 1
    assert not pendants(instance([0, 5], [(0, 1)], 2, param_load=[1, 0]).graph)
    assert pendants(instance([0, 5], [(0, 1)], 2, param_load=[1, 0], cache=1).graph)
