"""The report of a problem that brings none."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documented import append, hash_of

from boundmark.reports.folder_results import read_folder
from boundmark.reports.report import write_report
from boundmark.reports.stored.store import ResultStore

pytestmark = pytest.mark.usefixtures("all_undrawn")

METHODS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("greedy", "heuristic", {"objective": 12}),
    ("search", "heuristic", {"objective": 10}),
    ("relax", "bound", {"bound_certified": 8}),
)


def add(store: ResultStore, make_row: Any, problem: str, instance: str, **params: Any) -> None:
    """Store what three methods found on an instance with any parameters."""
    sha256 = hash_of(f"{problem}-{instance}-{params}")
    for method, kind, found in METHODS:
        values: dict[str, Any] = {"method": method, "method_kind": kind, **found}
        row = make_row(
            f"{sha256}-{method}", problem=problem, instance=instance, instance_sha256=sha256,
            instance_params=json.dumps(params), **values,
        )  # fmt: skip
        event = "solution" if kind == "heuristic" else "bound_certified"
        value = float(next(iter(found.values())))
        append(store, row, [{"seconds": 0.5, "kind": event, "value": value}])


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    """Return an empty folder."""
    return ResultStore.create_or_open(tmp_path)


def test_named_choices(store: ResultStore, make_row: Any) -> None:
    """The parameter with the most values heads the tables, its values in the order people expect.

    It may be called like a column.
    """
    for instance in ("a", "b"):
        for objective in ("v10", "peak", "v9"):
            add(store, make_row, "unheard-of", instance, objective=objective, devices=2)
    write_report(store.directory)
    text = (store.directory / "report.md").read_text()
    for title in ("Gaps", "Lower bounds", "Solutions", "Time", "Methods", "Instances"):
        assert f"## {title}" in text
    assert "| method | objective = peak | objective = v9 | objective = v10 |" in text
    assert "Solutions relative to the best certified bound" in text
    assert "unheard-of: 6 instances, none proven optimal; best solutions are at most 25.0" in text
    gaps = pd.read_parquet(store.directory / "tables" / "unheard-of" / "gap_by_objective.parquet")
    zoo = gaps[gaps["dataset"] == "zoo"]
    assert zoo["param_objective"].tolist() == ["peak", "v9", "v10"]
    assert zoo["mean_gap"].tolist() == pytest.approx([0.25] * 3)
    solutions = pd.read_parquet(
        store.directory / "tables" / "unheard-of" / "solutions_by_objective.parquet"
    )
    search = solutions[(solutions["dataset"] == "zoo") & (solutions["method"] == "search")]
    assert search["param_objective"].tolist() == ["peak", "v9", "v10"]
    assert search["wins"].tolist() == [2, 2, 2]
    assert search["mean"].tolist() == pytest.approx([1.25] * 3)


def test_integers(store: ResultStore, make_row: Any) -> None:
    """Values are in order of size, and plots are there."""
    for devices in (16, 2, 4):
        add(store, make_row, "unheard-of", "a", devices=devices)
    written = {str(path.relative_to(store.directory)) for path in write_report(store.directory)}
    text = (store.directory / "report.md").read_text()
    assert "| method | devices = 2 | devices = 4 | devices = 16 |" in text
    assert "- devices: 2, 4, 16" in text
    plots = ("gap_by_devices", "gap_distribution", "performance_profile", "runtime_scatter")
    assert written >= {f"plots/unheard-of/{name}.svg" for name in plots}


def test_no_parameters(store: ResultStore, make_row: Any) -> None:
    """All instances are one group."""
    add(store, make_row, "unheard-of", "a")
    add(store, make_row, "unheard-of", "b")
    write_report(store.directory)
    text = (store.directory / "report.md").read_text()
    assert "| method | all instances |" in text
    assert "Mean gap" in text
    table = pd.read_parquet(store.directory / "tables" / "unheard-of" / "gap.parquet")
    assert table["group"].unique().tolist() == ["all instances"]
    assert "nan" not in text.lower()


def test_some_instances_lack_the_parameter(store: ResultStore, make_row: Any) -> None:
    """They are in no table by it, and the reader is told."""
    add(store, make_row, "unheard-of", "a", devices=2)
    add(store, make_row, "unheard-of", "b")
    write_report(store.directory)
    text = (store.directory / "report.md").read_text()
    assert "1 instance of unheard-of without devices, in no table by devices." in text
    assert "Methods over all instances" in text


@pytest.mark.slow
def test_problems_with_any_name(store: ResultStore, make_row: Any) -> None:
    """Their files stay in the folder, and do not meet those of others."""
    for problem in ("../../up", "a b", "a/b", "certified"):
        add(store, make_row, problem, "a", size=1)
    written = write_report(store.directory)
    assert len(set(written)) == len(written)
    assert all(path.resolve().is_relative_to(store.directory) for path in written)
    folders = {path.parent.name for path in written if path.parent.parent.name == "plots"}
    assert len(folders) == 4


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ([{"a": 1, "b": 1}, {"a": 1, "b": 2}], "b"),
        ([{"b": 1, "a": 1}], "a"),
        ([{"a": "x", "b": 1}, {"a": "y", "b": 1}], "a"),
        ([{}, {}], None),
    ],
)
def test_the_parameter_with_the_most_values_divides(
    store: ResultStore, make_row: Any, parameters: list[dict[str, Any]], expected: str | None
) -> None:
    """The first by name of several; none without parameters."""
    for number, params in enumerate(parameters):
        add(store, make_row, "unheard-of", f"i{number}", **params)
    results = read_folder(store).of_problem("unheard-of", None)
    assert results.grouping.parameter == expected
    assert results.grouping.column in results.tasks
    assert results.grouping.column in results.certified
