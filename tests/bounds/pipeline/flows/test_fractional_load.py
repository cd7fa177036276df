import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from brute_force import instance, stage_cost
from hypothesis import given
from hypothesis import strategies as st
from recording import LooksBudget, Recorder

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.flows.fractional_load import (
    GrowingTable,
    ShareTable,
    share_table,
)
from boundmark.bounds.pipeline.flows.minimum_cuts import MinimumCuts
from boundmark.bounds.pipeline.prefixes import mip_tree
from boundmark.bounds.pipeline.weights import cut_tree, packing
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


@pytest.fixture(scope="module")
def graph(random_graph: Callable[..., PipelineGraph]) -> PipelineGraph:
    """Return a graph on which the number of stages decides which argument is the best."""
    return random_graph(80, 2)


@pytest.fixture(scope="module")
def table(graph: PipelineGraph) -> ShareTable:
    """Return its table."""
    return share_table(graph)


def test_bound_is_never_below_the_simpler_ones(graph: PipelineGraph, table: ShareTable) -> None:
    """Mean work, with and without overflow, and node-cut are special cases."""
    work, load = int(graph.work.sum()), int(graph.param_load.sum())
    for k in range(1, 100):
        bound = table.bound(k)
        assert bound >= math.ceil(work / k)
        assert bound >= math.ceil((work + load) / k) - graph.cache
        assert bound >= table.node_bound


@pytest.mark.parametrize(("more", "reported"), [(-1, True), (0, False), (1, False)])
def test_only_what_is_better_is_proven(
    graph: PipelineGraph,
    table: ShareTable,
    more: int,
    reported: bool,
) -> None:
    """A proof takes a minimum cut per node, and is not made in vain."""
    sample, bound = PipelineInstance(graph, 4), table.bound(4)
    proofs: list[int] = []

    class Counted(MinimumCuts):
        def flow(self, node: int, io_weight: int) -> dict[str, Any]:
            proofs.append(node)
            return super().flow(node, io_weight)

    table = replace(table, solver=Counted(graph))
    recorder = Recorder()
    best = Best(sample, recorder, certified=bound + more)
    assert table.report(sample, "fractional-load", best, Budget(60)) == bound
    assert [report.bound for report in recorder.bounds] == [bound] * reported
    count = len(proofs)
    assert (count > 0) == reported
    for run in (packing.run, cut_tree.run, mip_tree.run):
        run(sample, Budget(0), 1, best, tables=lambda graph, budget: table)
    assert len(proofs) == count


def test_proofs_end_in_time(graph: PipelineGraph) -> None:
    """All flows of a thousand nodes take seconds; without all of them, nothing is proven."""
    sample, table = PipelineInstance(graph, 4), share_table(graph)
    bound, recorder = table.bound(4), Recorder()
    assert (
        table.report(sample, "fractional-load", Best(sample, recorder), LooksBudget(10.0)) == bound
    )
    assert not recorder.bounds
    assert table.flows_in_time(bound, LooksBudget(10.0)) is None
    flows = table.flows_in_time(bound, Budget(1e6))
    assert flows is not None
    assert len(flows) > 20
    assert table.report(sample, "fractional-load", Best(sample, recorder), Budget(1e6)) == bound
    assert [report.bound for report in recorder.bounds] == [bound]
    for run in (packing.run, cut_tree.run, mip_tree.run):
        recorder = Recorder()
        run(sample, Budget(0), 1, recorder)
        # What is cheap is reported all the same.
        assert {report.kind for report in recorder.bounds} == {"fractional-load/1"}
        assert all(len(report.payload["flows"]) <= 16 for report in recorder.bounds)


def test_bound_is_strictly_better_in_between(graph: PipelineGraph, table: ShareTable) -> None:
    """The gain is real where neither mean work nor a single node decides."""
    k = 4
    simple = max(math.ceil(int(graph.work.sum()) / k), table.node_bound)
    assert table.bound(k) > simple * 1.05


@pytest.mark.parametrize("unit", [1, 10**9])
def test_certificate_proves_exactly_its_bound(
    random_graph: Callable[..., PipelineGraph], unit: int
) -> None:
    """What floating point finds, exact arithmetic confirms."""
    graph = random_graph(60, 4, unit)
    table = share_table(graph)
    for k in (1, 2, 3, 5, 8, 13, 60, 10**6):
        sample = PipelineInstance(graph, k)
        found = table.certificate(sample, "fractional-load")
        assert found.bound == table.bound(k)
        assert checker.check_certificate(sample.to_json(), found.to_json()) == found.bound


def test_no_flow_is_superfluous(graph: PipelineGraph, table: ShareTable) -> None:
    """Without the flow that gains least, the rest does not refute the threshold."""
    sample = PipelineInstance(graph, 4)
    document = table.certificate(sample, "fractional-load").to_json()
    flows = document["payload"]["flows"]
    assert 0 < len(flows) < 80
    for i in range(len(flows)):
        document["payload"]["flows"] = flows[:i] + flows[i + 1 :]
        with pytest.raises(checker.Rejected, match="do not refute the threshold"):
            checker.check_certificate(sample.to_json(), document)


@given(st.data())
def test_io_is_a_lower_bound(data: st.DataObject) -> None:
    """No stage of cost at most t around v moves less than io_v(t)."""
    n = data.draw(st.integers(1, 6))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    weights = st.lists(st.integers(1, 9), min_size=n, max_size=n)
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    sample = instance(data.draw(weights), edges, 2, transfer=data.draw(weights))
    threshold = data.draw(st.integers(0, 60))
    io = share_table(sample.graph).io(threshold)
    for mask in range(1, 2**n):
        stage = {v for v in range(n) if mask >> v & 1}
        cost = stage_cost(sample, stage)
        if cost <= threshold:
            moved = cost - sum(int(sample.graph.work[v]) for v in stage)
            assert all(io[v] <= moved for v in stage)


def test_table_goes_on_where_the_time_was_up(graph: PipelineGraph, table: ShareTable) -> None:
    """Bounds of a part of the cuts are valid and proven, and rise to those of all."""
    growing = GrowingTable(graph)
    sample = PipelineInstance(graph, 4)
    bounds = []
    for _ in range(40):
        some = growing.until(LooksBudget(7.0))
        certificate = some.certificate(sample, "fractional-load")
        bounds.append(certificate.bound)
        checked = checker.check_certificate(sample.to_json(), certificate.to_json())
        assert checked == certificate.bound == some.bound(4)
        if (some.cuts == table.cuts).all():
            break
    assert len(bounds) > 1
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] == table.bound(4)
