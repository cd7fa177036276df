from brute_force import instance
from recording import Recorder

from boundmark.bounds.pipeline import (
    FRACTIONAL_LOAD,
    MAX_WORK,
    MEAN_WORK,
    NODE_CUT,
)
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Method
from boundmark.problems.pipeline import PipelineInstance


def certificate(method: Method, sample: PipelineInstance) -> Certificate:
    """Return a method's best certificate."""
    reports = Recorder()
    method.run(sample, Budget(20), 0, reports)
    assert not reports.solutions
    return max(reports.bounds, key=lambda found: found.bound)


def test_bounds_by_hand() -> None:
    """A chain of three: stages {0, 1} and {2}, or any node with its tensors alone."""
    sample = instance([5, 5, 5], [(0, 1), (1, 2)], 2, transfer=[4, 2, 0])
    assert certificate(MAX_WORK, sample).bound == 5
    assert certificate(MEAN_WORK, sample).bound == 8
    # The cheapest set around node 1 is {1} with 5 + 4 + 2, around node 0 it is {0} with 9.
    assert certificate(NODE_CUT, sample).bound == 11
    assert certificate(FRACTIONAL_LOAD, sample).bound == 11


def test_node_cut_counts_a_node_that_overflows_alone() -> None:
    """Parameters of one node beyond the cache are streamed wherever it runs."""
    sample = instance([5, 5], [(0, 1)], 2, transfer=[1, 0], param_load=[30, 0], cache=10)
    assert certificate(NODE_CUT, sample).bound == 26
