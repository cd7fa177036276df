"""The report of `slicing`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brute_force_slicing import instance, needs
from documented import append

from boundmark.problems.errors import StoreError
from boundmark.problems.problem import solution_document
from boundmark.problems.slicing import SlicingPlan
from boundmark.reports.folder_results import read_folder
from boundmark.reports.problem_part import ProblemPart, part_of
from boundmark.reports.slicing import latency_table, load_data, load_table
from boundmark.reports.stored.documents import write_document
from boundmark.reports.stored.store import ResultStore

SAMPLE = instance([4, 4], [[8, 8], [8, 8]], [needs(0, 1, 4, (1, -1, 3, 1, 1))])
PLANS = {
    "one-device": [[0, 4, 4], [0, 4, 4]],
    "equal-slices": [[0, 2, 4], [0, 2, 4]],
    "slice-search": [[0, 2, 4], [0, 2, 4]],
}


@pytest.fixture
def store(tmp_path: Path, make_row: Callable[..., Any]) -> ResultStore:
    """Return a folder with three plans and a bound of one instance."""
    store = ResultStore.create_or_open(tmp_path)
    write_document(store.instances, SAMPLE.to_json())
    common = {
        "problem": "slicing", "dataset": "made", "instance": "up",
        "instance_sha256": SAMPLE.sha256, "instance_params": json.dumps(SAMPLE.parameters),
        "nodes": 2, "edges": 1,
    }  # fmt: skip
    for method, rows in PLANS.items():
        plan = SlicingPlan(np.array(rows))
        document = solution_document(SAMPLE, plan, SAMPLE.objective(plan))
        found = {
            "method": method, "method_kind": "heuristic", "objective": document["objective"],
            "solution_sha256": write_document(store.solutions, document),
        }  # fmt: skip
        append(store, make_row(f"task-{method}", **(common | found)), [])
    bound = {"method": "slice-compute", "method_kind": "bound", "bound_certified": 8}
    append(
        store, make_row("task-bound", **(common | bound | {"bound_kind": "split-compute/1"})), []
    )
    return store


def part(store: ResultStore) -> ProblemPart:
    """Return the part of the report."""
    return part_of(read_folder(store), "slicing")


def test_savings_and_loads(store: ResultStore) -> None:
    """Halves take 9 where one device takes 16: 43.75 % less."""
    found = part(store)
    titles = [section.title for section in found.sections]
    assert titles[:4] == ["How far from optimal", "Speedup over one-device", "Latency", "Gaps"]
    (table,) = found.sections[2].tables
    heading, (row,) = table.groups[0].heading, table.groups[0].rows
    assert [cell.text for cell in row][3:] == [
        "9", "8", "12.5", "16", "43.8", "9", "0.0", "equal-slices",
    ]  # fmt: skip
    assert (heading[7].text, heading[7].detail) == ("43.8", "n = 1")
    assert "plots/slicing/device_loads_1.svg" in found.files
    assert "tables/slicing/device_loads.parquet" in found.files


def test_loads_of_devices(store: ResultStore) -> None:
    """Each computes 4 + 4 of 9 ticks and waits one for its halo."""
    results = read_folder(store).of_problem("slicing", None)
    loads = load_table(latency_table(results.tasks, results.certified), store)
    assert loads["computing"].tolist() == [8, 8]
    assert loads["communicating"].tolist() == [1, 1]
    assert loads["place"].tolist() == [1, 2]
    data = load_data(loads)
    assert (data["computing"] + data["communicating"]).tolist() == [1.0, 1.0]


def test_a_damaged_plan_is_named(store: ResultStore) -> None:
    """What the folder holds is read again."""
    results = read_folder(store).of_problem("slicing", None)
    latency = latency_table(results.tasks, results.certified)
    path = next(store.solutions.glob(f"{latency['solution_sha256'][0]}*"))
    path.write_text("{}")
    with pytest.raises(StoreError):
        load_table(latency, store)
