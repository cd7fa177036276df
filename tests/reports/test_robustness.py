"""Leads over a baseline with times drawn."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brute_force_slicing import instance, needs
from documented import append

from boundmark.problems.noise import Noise
from boundmark.problems.problem import solution_document
from boundmark.problems.slicing import SlicingPlan
from boundmark.reports.folder_results import read_folder
from boundmark.reports.report import ReportOptions, write_report
from boundmark.reports.robustness import robustness_table
from boundmark.reports.stored.store import ResultStore, write_document

SAMPLE = instance([4, 4], [[8, 8], [8, 8]], [needs(0, 1, 4, (1, -1, 3, 1, 1))])
PLANS = {"one-device": [[0, 4, 4], [0, 4, 4]], "equal-slices": [[0, 2, 4], [0, 2, 4]]}


@pytest.fixture
def store(tmp_path: Path, make_row: Callable[..., Any]) -> ResultStore:
    """Return a folder with two plans of one instance."""
    store = ResultStore.create_or_open(tmp_path)
    write_document(store.instances, SAMPLE.to_json())
    for method, rows in PLANS.items():
        plan = SlicingPlan(np.array(rows))
        document = solution_document(SAMPLE, plan, SAMPLE.objective(plan))
        row = make_row(
            f"task-{method}", method=method, method_kind="heuristic", problem="slicing",
            dataset="made", instance="up", instance_sha256=SAMPLE.sha256, nodes=2, edges=1,
            instance_params=json.dumps(SAMPLE.parameters), objective=document["objective"],
            solution_sha256=write_document(store.solutions, document),
        )  # fmt: skip
        append(store, row, [])
    return store


def test_leads_of_stored_solutions(store: ResultStore) -> None:
    """Halves take 9 where one device takes 16; without a baseline's solution there are no rows."""
    results = read_folder(store).of_problem("slicing", None)
    assert robustness_table(results, ("one-device",)).empty
    results = replace(results, noises=(Noise(0.0, 3), Noise(0.5, 200)))
    assert robustness_table(results, ("slice-search",)).empty
    calm, noisy = robustness_table(results, ("slice-search", "one-device")).to_dict("records")
    assert (calm["method"], calm["baseline"], calm["noise"]) == ("equal-slices", "one-device", 0)
    assert calm["planned"] == calm["lead"] == calm["low"] == pytest.approx(1 - 9 / 16)
    assert (calm["cost"], calm["ahead"]) == (1, 1)
    assert noisy["low"] < noisy["lead"] < noisy["high"]
    # The longer of two parts is longer on average.
    assert noisy["cost"] > 1


def test_a_section_on_request(store: ResultStore) -> None:
    """It stands on the page, and its table is stored."""
    folder = Path(store.instances).parent
    write_report(folder, ("md",))
    assert "Robustness of solutions" not in (folder / "report.md").read_text()
    write_report(folder, ("md",), ReportOptions(noises=(Noise(0.2, 5),)))
    text = (folder / "report.md").read_text()
    assert "## Robustness of solutions" in text
    assert "noise 0.2: lead %" in text
    assert (folder / "tables" / "slicing" / "robustness.parquet").is_file()
