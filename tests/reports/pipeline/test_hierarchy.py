"""The form of [MTPP24], Tables 1 and 3 and Figure 4."""

from pathlib import Path
from typing import Any

import pytest
from documented import append
from one_row import BOUND

from boundmark.reports.folder_results import read_folder
from boundmark.reports.pages.formats import tabular_of
from boundmark.reports.pipeline import REPORT
from boundmark.reports.pipeline.hierarchy import (
    BEST_CERTIFIED,
    BEST_SOLUTION,
    bounds_over_time,
    hierarchy_section,
    hierarchy_table,
)
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.stored.store import ResultStore

EXACT = {"method": "exact", "method_kind": "exact"}
GUROBI, SCIP = '{"solver": "gurobi"}', '{"solver": "scip"}'


@pytest.fixture
def results(tmp_path: Path, make_row: Any) -> ProblemResults:
    """Return results of two instances with a cost of 100 by BRKGA, and of 80 by another method."""
    store = ResultStore.create_or_open(tmp_path)

    def task(name: str, *events: tuple[float, str, float], **values: Any) -> None:
        trace = [{"seconds": at, "kind": kind, "value": value} for at, kind, value in events]
        append(store, make_row(name, **values), trace)

    for instance in ("a", "b"):
        common = {"instance": instance}
        task(f"{instance}1", **common, method="max-work", bound_certified=20, **BOUND)
        task(f"{instance}2", **common, method="mean-work", bound_certified=25, **BOUND)
        task(f"{instance}3", **common, method="brkga-100", objective=100)
        task(f"{instance}4", **common, method="memetic", objective=80)
        task(f"{instance}5", **common, method="certify", bound_certified=64, **BOUND)
    claimed = "bound_claimed"
    # On `a`, SCIP has more than Gurobi, exact less than either, and a guess contradicts a cost.
    own = {"instance": "a"}
    bottleneck: dict[str, Any] = {**own, "method": "bottleneck", **BOUND}
    task("s", (1.0, claimed, 25), (4.0, claimed, 36), params=SCIP, bound_claimed=36.0, **bottleneck)
    task("g", params=GUROBI, bound_claimed=30.0, **bottleneck)
    task("w", method="bottleneck-guess", bound_claimed=81.0, **own, **BOUND)
    task("e", bound_claimed=27.0, **own, **EXACT)
    # On `b`, the licence did not cover it, and exact has most.
    task("u", instance="b", method="bottleneck", params=GUROBI, status="unsupported", **BOUND)
    task("f", instance="b", bound_claimed=49.0, **EXACT)
    return read_folder(store).of_problem("pipeline", REPORT.grouping)


def test_each_level_has_the_best_bound_up_to_it(results: ProblemResults) -> None:
    """Over solvers and levels, as the paper's caption says; over the solution of BRKGA."""
    table = hierarchy_table(results)
    part = table[table["dataset"] == "zoo"].set_index("level")
    assert set(part["param_k"]) == {2}
    expected = {
        "simple (Lemma 3.3)": (0.25, "certified", 2),
        "bottleneck": ((0.36 * 0.25) ** 0.5, "claimed", 1),
        "bottleneck-guess": ((0.36 * 0.25) ** 0.5, "claimed", 0),
        "exact": ((0.36 * 0.49) ** 0.5, "claimed", 2),
        BEST_CERTIFIED: (0.64, "certified", 2),
        BEST_SOLUTION: (0.80, "solution", 2),
    }
    assert list(part.index) == list(expected)
    for level, (mean, kind, delivered) in expected.items():
        row = part.loc[level]
        assert row["mean"] == pytest.approx(mean)
        assert (row["kind"], row["delivered"], row["instances"]) == (kind, delivered, 2)


def test_without_the_papers_programs_there_is_no_table(tmp_path: Path, make_row: Any) -> None:
    """Nor a section."""
    store = ResultStore.create_or_open(tmp_path)
    append(store, make_row("1", method="max-work", bound_certified=2, **BOUND), [])
    append(store, make_row("2", objective=5), [])
    results = read_folder(store).of_problem("pipeline", REPORT.grouping)
    table = hierarchy_table(results)
    assert table.empty
    assert hierarchy_section(results, {"hierarchy_by_k": table}) is None


def test_bounds_grow_from_the_simple_one(results: ProblemResults) -> None:
    """The curve of a program is at the simple bound until its first claim, then at the claim."""
    data = bounds_over_time(results)
    curve = data[
        data["method"].str.startswith("bottleneck (") & data["method"].str.contains("scip")
    ]
    before, after = curve[curve["seconds"] < 3.9], curve[curve["seconds"] > 4.0]
    assert set(before["mean"].round(6)) == {0.25}
    assert set(after["mean"].round(6)) == {0.36}
    assert curve["seconds"].max() == pytest.approx(10.0)


def test_the_page_marks_what_is_claimed(results: ProblemResults) -> None:
    """And says on how many instances a level has a bound of its own; in LaTeX too."""
    section = hierarchy_section(results, {"hierarchy_by_k": hierarchy_table(results)})
    assert section is not None
    (table,) = section.tables
    rows = [[cell.text for cell in row] for row in table.groups[0].rows]
    assert rows[1] == ["bottleneck", "claimed", "0.3000"]
    assert table.groups[0].rows[1][2].detail == "1/2"
    assert rows[-2][:2] == [BEST_CERTIFIED, "certified"]
    assert r"bottleneck & claimed & 0.3000 {\scriptsize(1/2)} \\" in tabular_of(table)
    assert {plot.name for plot in section.plots} == {"bounds_over_time", "program_times"}
