from collections.abc import Callable

from brute_force import instance, optimum
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.prefixes import mip_tree
from boundmark.bounds.pipeline.prefixes.mip_tree import next_report_at
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
