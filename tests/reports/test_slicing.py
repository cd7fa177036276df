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
from boundmark.reports.report import ProblemPart, part_of
from boundmark.reports.slicing import (
    latency_table,
    load_data,
    load_table,
    memory_section,
    memory_table,
    search_section,
    search_table,
)
from boundmark.reports.stored.store import ResultStore, write_document

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
        store, make_row("task-bound", **(common | bound | {"bound_kind": "slice-compute/1"})), []
    )
    return store


def part(store: ResultStore) -> ProblemPart:
    """Return the part of the report."""
    return part_of(read_folder(store), "slicing")


def test_savings_and_loads(store: ResultStore) -> None:
    """Halves take 9 where one device takes 16: 43.75 % less."""
    found = part(store)
    titles = [section.title for section in found.sections]
    assert titles[:3] == ["How far from optimal", "Speedup over one-device", "Latency"]
    assert titles[3:5] == ["The paper's search and ours", "Gaps"]
    (table,) = found.sections[2].tables
    heading, (row,) = table.groups[0].heading, table.groups[0].rows
    assert [cell.text for cell in row][3:] == [
        "9", "8", "12.5", "16", "43.8", "9", "0.0", "equal-slices",
    ]  # fmt: skip
    assert (heading[7].text, heading[7].detail) == ("43.8", "n = 1")
    assert "plots/slicing/device_loads_1.svg" in found.files
    assert "tables/slicing/device_loads.parquet" in found.files


def test_searches_over_seeds_and_memory(store: ResultStore, make_row: Callable[..., Any]) -> None:
    """Means over seeds, the worst and the best of them, and the least memory with a plan."""
    common = {
        "problem": "slicing", "dataset": "made", "instance": "up", "method_kind": "heuristic",
        "nodes": 2, "edges": 1,
    }  # fmt: skip
    for seed, objective in ((1, 10), (2, 14)):
        found = {"method": "geneflow", "seed": seed, "objective": objective}
        own = {
            "instance_sha256": SAMPLE.sha256, "instance_params": json.dumps(SAMPLE.parameters)
        }  # fmt: skip
        append(store, make_row(f"task-{seed}", **(common | found | own)), [])
    for percent, objective in ((100, 10), (50, 12), (40, None)):
        tight = instance([4, 4], [[8, 8], [8, 8]], capacity=[percent, percent])
        write_document(store.instances, tight.to_json())
        row = make_row(
            f"task-{percent}", **common, method="slice-search", instance_sha256=tight.sha256,
            instance_params=json.dumps({"edge_devices": 2, "memory_percent": percent}),
            objective=objective, status="ok" if objective else "unsupported",
        )  # fmt: skip
        append(store, row, [])
    results = read_folder(store).of_problem("slicing", None)
    searches = search_table(results.tasks, results.certified)
    (row,) = searches[searches["method"] == "geneflow"].to_dict("records")
    assert (row["seeds"], row["latency"], row["least"], row["most"]) == (2, 12, 10, 14)
    assert (row["saved"], row["gap"]) == (1 - 12 / 16, 12 / 8 - 1)
    least = memory_table(results.tasks, results.certified)
    assert (least["method"].item(), least["memory"].item()) == ("slice-search", 50)
    shown = memory_section(results, {"least_memory": least})
    assert shown is not None
    (lines,) = shown.tables[0].groups[0].rows
    assert [cell.text for cell in lines][:4] == ["slice-search", "50", "12", "20.0"]
    shown = search_section(results, {"searches": searches})
    assert shown is not None
    means, table = shown.tables
    cells = [
        (cell.text, cell.detail) for group in table.groups for row in group.rows for cell in row
    ]
    assert ("25.0", "12.5 to 37.5, 2 seeds") in cells
    row = means.groups[0].rows[0]
    assert [cell.text for cell in row[2:]] == ["1", "25.0", "43.8", "50.0", "12.5"]
    assert {cell.detail for cell in row} == {""}


def test_loads_of_devices(store: ResultStore) -> None:
    """Each computes 4 + 4 of 9 ticks and waits one for its halo."""
    results = read_folder(store).of_problem("slicing", None)
    loads = load_table(latency_table(results.tasks, results.certified), store)
    assert loads["computing"].tolist() == [8, 8]
    assert loads["communicating"].tolist() == [1, 1]
    assert loads["place"].tolist() == [0, 1]
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
