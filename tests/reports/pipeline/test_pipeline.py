"""The report of `pipeline`."""

from pathlib import Path
from typing import Any

import pytest
from one_row import BOUND

from boundmark.problems.dag import Dag
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.reports.folder_results import read_folder
from boundmark.reports.pipeline import REPORT
from boundmark.reports.pipeline.drawings import drawing_section, partition_data, reference_bounds
from boundmark.reports.sections.instances import detail_section
from boundmark.reports.stored.store import ResultStore, write_document
from boundmark.reports.tables.tasks import certified_table, with_names


@pytest.fixture
def instance() -> PipelineInstance:
    """Return a diamond of four nodes for two stages."""
    dag = Dag.from_edges(4, [[0, 1], [0, 2], [1, 3], [2, 3]])
    graph = PipelineGraph(dag, [1, 2, 3, 4], [1, 1, 1, 0], [0, 0, 0, 0], 0, ("a", "b", "c", "d"))
    return PipelineInstance(graph, 2)


def test_every_node_and_edge_is_there(instance: PipelineInstance) -> None:
    """Producers are left of consumers; stages are numbered in pipeline order, with their costs."""
    partition = Partition.from_json({"stages": [1, 1, 1, 0]} | partition_header())
    data = partition_data(instance, partition)
    nodes, edges = (data[data["kind"] == kind] for kind in ("node", "edge"))
    assert nodes["stage"].tolist() == [0, 0, 0, 1]
    # 1 + 2 + 3 of work and two tensors out; two tensors in and 4 of work.
    assert nodes["cost"].tolist() == [8, 8, 8, 6]
    assert len(edges) == 4
    assert (edges["x"] < edges["to_x"]).all()


def partition_header() -> dict[str, Any]:
    """Return the other fields of a stored partition."""
    stored = Partition.from_segments(*_slices()).to_json()
    return {name: value for name, value in stored.items() if name != "stages"}


def _slices() -> Any:
    import numpy as np

    return np.arange(4), np.array([3, 4])


def test_instances_lead_to_their_drawing(
    tmp_path: Path, instance: PipelineInstance, make_row: Any
) -> None:
    """The best partition is drawn, and the instance's details link to it."""
    store = ResultStore.create_or_open(tmp_path)
    sha256 = write_document(store.instances, instance.to_json())
    partition = Partition.from_segments(*_slices())
    solution = write_document(
        store.solutions,
        partition.to_json() | {"instance_sha256": sha256, "objective": 8},
    )
    row = make_row("x", objective=8, instance_sha256=sha256, solution_sha256=solution, nodes=4)
    store.append(row, [])
    results = read_folder(store).of_problem("pipeline", REPORT.grouping)
    section = drawing_section(results, {})
    assert section is not None
    (plot,) = section.plots
    assert plot.instance == sha256
    details = detail_section(results, section.plots)
    assert details is not None
    assert [link.text for link in details.details[0].links] == ["instance", "drawing: a, k=2"]
    assert details.details[0].links[1].href == f"#plot-{plot.name}"


def test_reference_falls_back_to_the_best_bound(make_row: Any, frame: Any) -> None:
    """L is the simple bound only if both parts are certified; without any bound there is none."""
    rows = [
        make_row("1", instance="a", method="max-work", bound_certified=3, **BOUND),
        make_row("2", instance="a", method="fractional-load", bound_certified=7, **BOUND),
        make_row("3", instance="b", objective=5),
    ]
    table = certified_table(frame(rows))
    references = reference_bounds(with_names(frame(rows)), table)
    assert references[["bound", "is_simple"]].to_dict("records") == [
        {"bound": 7.0, "is_simple": False}
    ]
    (instance,) = references["instance_sha256"]
    assert instance == table.set_index("instance").at["a", "instance_sha256"]
