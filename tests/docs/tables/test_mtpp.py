"""The script that makes the tables of docs/results-mtpp.md."""

from pathlib import Path

import pandas as pd
import pytest
from results_page import filled
from table_scripts import load_script


def test_the_page_is_what_the_script_makes() -> None:
    """From the data that stand beside it; made again, it is the same."""
    module = load_script("mtpp")
    page = module.PAGE.read_text()
    assert filled(page, module.parts(), module.PAGE) == page
    assert module.tables() == module.TABLES.read_text()


def test_the_papers_numbers_stand_above_ours() -> None:
    """What only the paper has, what both have, and what only we have; empty where we have none."""
    ours = pd.DataFrame(
        [("exact", "claimed", 2, 3, 0.5), ("certified", "certified", 2, 3, 0.75)],
        columns=["level", "kind", "param_k", "instances", "mean"],
    )
    printed = {"simple": (0.1,) * 6, "exact": (0.2,) * 6}
    lines = load_script("mtpp").beside(ours, "level", printed, 2).splitlines()
    assert lines[2:] == [
        "| simple | paper | 0.10 | 0.10 | 0.10 | 0.10 | 0.10 | 0.10 |",
        "| exact | paper | 0.20 | 0.20 | 0.20 | 0.20 | 0.20 | 0.20 |",
        "|  | ours, claimed | 0.50 |  |  |  |  |  |",
        "| certified | ours, certified | 0.75 |  |  |  |  |  |",
        "| instances | ours | 3 | 0 | 0 | 0 | 0 | 0 |",
    ]


def test_what_the_licence_does_not_cover_is_said_in_its_row() -> None:
    """With the limit that it passes; a row without a claim enters no mean."""
    module = load_script("mtpp")
    common = {
        "graph": "erdos-renyi-1", "nodes": 63, "edges": 76, "program": "bottleneck", "k": 8,
        "columns": 316, "rows": 369, "presolved_columns": 165, "presolved_rows": 365,
        "claimed": 2600.0, "finished": False, "tree_nodes": 12, "seconds": 15.0, "threads": 1,
        "reason": None, "best_known": 2900,
    }  # fmt: skip
    none = dict.fromkeys(("presolved_columns", "presolved_rows", "claimed", "tree_nodes"))
    rows = pd.DataFrame(
        [
            {**common, "solver": "highs"},
            {**common, "solver": "gurobi", **none, "rows": 2134, "reason": "Too large."},
        ]
    )
    covered, beyond = module.solver_table(rows).splitlines()[2:]
    assert "316 x 369 | 165 x 365 | 2,600.0 | 0.897 | 12 | 15.0 | 1 |" in covered
    assert "316 x 2,134 | more than 2,000 rows |" in beyond
    assert module.mean_solver_table(rows).splitlines()[2] == "| highs | 1 | 0.897 | 0.897 |"


def test_new_rows_replace_those_of_their_data_set_and_number_of_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others stay; rows of all data sets together are not kept."""
    module = load_script("mtpp")
    monkeypatch.setattr(module, "DATA", tmp_path)
    columns = ["dataset", "param_k", "mean"]
    old = [("zoo", 2, 0.1), ("zoo", 16, 0.2), ("regal-style", 2, 0.3)]
    module.keep("means", pd.DataFrame(old, columns=columns))
    new = [("all data sets", 2, 0.5), ("zoo", 2, 0.4), ("zoo", 4, 0.6)]
    module.keep("means", pd.DataFrame(new, columns=columns))
    kept = pd.read_csv(tmp_path / "means.csv").to_numpy().tolist()
    assert kept == [["regal-style", 2, 0.3], ["zoo", 2, 0.4], ["zoo", 4, 0.6], ["zoo", 16, 0.2]]


def test_instances_are_optimal_where_cost_and_bound_are_equal() -> None:
    """Counted by data set and number of stages; without a bound, nothing is proven."""
    certified = pd.DataFrame(
        [("zoo", 2, 7, 7), ("zoo", 2, 7, 6), ("zoo", 4, 8, None)],
        columns=["dataset", "param_k", "objective", "bound"],
    ).astype({"objective": "Int64", "bound": "Int64"})
    found = load_script("mtpp").optimal_by_k(certified)
    assert found.to_numpy().tolist() == [["zoo", 2, 1], ["zoo", 4, 0]]


def test_the_case_study_is_of_solved_programs() -> None:
    """The weakest simple bound of all is left out if a program of that model takes all the time."""
    module = load_script("mtpp")
    rows = [
        (name, method, *values)
        for name, simple, seconds in (("a", 40, 9.0), ("b", 20, 60.1), ("c", 60, 1.0))
        for method, *values in (
            ("mean-work", None, simple, 0.0),
            (module.BRKGA, 100, None, 1.0),
            *((program, None, None, seconds) for program in module.PROGRAMS),
        )
    ]
    columns = ["instance", "method", "objective", "bound_certified", "wall_seconds"]
    tasks = pd.DataFrame(rows, columns=columns).assign(
        dataset="zoo", nodes=9, param_k=4, bound_claimed=50.0, time_limit_seconds=60.0
    )
    assert set(module.case_study(tasks)["instance"]) == {"a"}
