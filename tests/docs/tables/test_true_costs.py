"""Figures of how true costs are follow from stored partitions, measured times and the library."""

import json

import numpy as np
import pytest
import true_costs
from page import ROOT, TABLES

from boundmark.benchmarks.library.folder import usual_library
from boundmark.benchmarks.library.known import known_results
from boundmark.datasets.measured import load, measured_model, measured_models
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.costs import pipeline_graph_of
from boundmark.reports.true_costs import engine_steps, rows, totals

PARTITIONS = json.loads((TABLES / "true_costs.json").read_text())


@pytest.mark.parametrize("name", measured_models())
def test_rows_are_costs_of_stored_partitions(name: str) -> None:
    """Predicted and real costs and sums, computed again; the optimum is the library's bound."""
    model, graph = measured_model(name), pipeline_graph_of(load(name))
    work = {"roofline": true_costs.roofline(model), "calibrated": true_costs.calibrated(model)}
    assert true_costs.total(name) in totals()
    found = [row for row in rows() if row.model == name]
    assert len(found) == len(work) * len(true_costs.STAGES)
    library = usual_library(ROOT / "library")
    assert library is not None
    for row in found:
        stages = np.array(PARTITIONS[f"{name} {row.costs} {row.k}"].split(), dtype=np.int64)
        partition = Partition(stages)
        predicted = PipelineInstance(true_costs.with_work(graph, work[row.costs]), row.k)
        measured = PipelineInstance(graph, row.k)
        assert predicted.objective(partition) == row.predicted
        assert measured.objective(partition) == row.real
        known = known_results(library, measured, 1e6)
        assert known is not None
        assert known.bound == row.optimum


def test_published_steps_are_predicted_by_the_roofline() -> None:
    """All columns again, and one by hand: weights and cache of Llama-3-8B at 4.8 TB/s, launches."""
    found = true_costs.engines()
    assert len(found) == 14
    assert tuple(found) == engine_steps()
    first = found[0]
    read = 2 * (8.03e9 - 128_256 * 4096) + 8 * 96 * 131_072
    assert (first.model, first.devices) == ("llama-3-8b", "1xH200")
    assert 1e9 * read / 4.8e12 < first.predicted < 1.2e9 * read / 4.8e12
