from collections.abc import Callable

import pytest
from brute_force import instance, optimum

from boundmark.bounds import checker
from boundmark.bounds.pipeline.methods import certify
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


class Reports:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.partitions: list[Partition] = []
        self.bounds: list[Certificate] = []

    def solution(self, solution: Partition) -> None:
        """Keep a partition."""
        self.partitions.append(solution)

    def bound(self, bound: Certificate) -> None:
        """Keep a certificate."""
        self.bounds.append(bound)


def certified(sample: PipelineInstance, seconds: float, ideals: int) -> Reports:
    """Run the method; every report must be better than the last, and accepted."""
    reports = Reports()
    certify.run(sample, Budget(seconds), 0, reports, ideals=ideals)  # type: ignore[arg-type]
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    for report in reports.bounds:
        assert checker.check_certificate(sample.to_json(), report.to_json()) == report.bound
    return reports


def test_narrow_graphs_are_solved() -> None:
    """Where down-sets are few, bound and partition meet, and branch and bound is not begun."""
    sample = instance([5, 3, 4, 6, 2], [(0, 1), (1, 2), (2, 3), (3, 4)], 2)
    reports = certified(sample, 20, ideals=100)
    assert reports.bounds[-1].bound == optimum(sample)
    assert sample.objective(reports.partitions[-1]) == optimum(sample)
    assert all(report.kind != "mip-tree/1" for report in reports.bounds)


@pytest.mark.parametrize(("k", "kind"), [(4, "mip-tree/1"), (8, "bottleneck-tree/1")])
def test_wide_graphs_go_on_to_branch_and_bound(
    random_graph: Callable[..., PipelineGraph], k: int, kind: str
) -> None:
    """Where they are many, the share bound is improved on by the tree that suits k."""
    sample = PipelineInstance(random_graph(60, seed=1), k)
    reports = certified(sample, 5, ideals=100)
    assert reports.bounds[0].kind == "share/1"
    assert reports.bounds[-1].kind == kind


def test_another_tree_follows_one_that_ends() -> None:
    """On a small graph with many stages, what looks at one stage only is not the last word."""
    edges = [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (2, 3), (2, 5), (4, 5)]
    sample = instance([7, 5, 3, 4, 6, 6], edges, 5, transfer=[5, 1, 2, 3, 2, 4])
    reports = certified(sample, 20, ideals=1)
    assert reports.bounds[-1].kind == "mip-tree/1"
