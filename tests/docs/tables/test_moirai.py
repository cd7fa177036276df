"""The script that makes the tables of docs/results-moirai.md."""

import numpy as np
import pandas as pd
import pytest
from results_page import filled
from table_scripts import load_script

COLUMNS = [
    "model", "cluster", "fusion", "memory", "operators", "method", "kind", "seed", "makespan",
    "bound", "seconds", "status", "detail",
]  # fmt: skip


def tasks(*rows: tuple[str, str, float | None, float]) -> pd.DataFrame:
    """Return tasks on one model, of each its fusion, method, makespan and the graph's bound."""
    return pd.DataFrame(
        [
            ("gpt-3-330m", "inter-server", fusion, "parameters+outputs", 10, method, "heuristic", 1,
             makespan, bound, 0.5,
             "ok" if makespan else "timeout", None if makespan else "killed after 11 s")
            for fusion, method, makespan, bound in rows
        ],
        columns=COLUMNS,
    )  # fmt: skip


def test_the_page_is_what_the_script_makes() -> None:
    """From the data that stand beside it; made again, it is the same."""
    module = load_script("moirai")
    page = module.PAGE.read_text()
    assert filled(page, module.parts(), module.PAGE) == page
    assert module.tables() == module.TABLES.read_text()


def test_speedups_of_fused_graphs_are_over_the_original_one() -> None:
    """And gaps are to the bound of the graph that was placed; the best is bold."""
    module = load_script("moirai")
    found = module.latencies(
        tasks(
            ("none", "single-device", 8e6, 4e6), ("none", "heft", 5e6, 4e6),
            ("moirai", "single-device", 4e6, 2e6), ("moirai", "heft", 2e6, 2e6),
        )
    )  # fmt: skip
    original = module.figure_10(found, "inter-server", "none").splitlines()[2]
    fused = module.figure_10(found, "inter-server", "moirai").splitlines()[2]
    assert original == "| gpt-3-330m | 8.0 | 2.000 | 1.000 (100.0 %) | **1.600 (25.0 %)** |"
    assert fused == "| gpt-3-330m | 8.0 | 4.000 | 2.000 (100.0 %) | **4.000 (0.0 %)** |"


def test_the_best_placement_is_told_with_its_gap() -> None:
    """Beside the program's and what the bound leaves; clusters that did not run have none."""
    module = load_script("moirai")
    found = module.latencies(
        tasks(("none", "single-device", 8e6, 4e6), ("none", "moirai-milp", 5e6, 4e6))
    )
    line = module.best_table(found, "none").splitlines()[
        2 + list(module.TABLE_IV).index("gpt-3-330m")
    ]
    assert line == "| gpt-3-330m | 1.600 | 1.600 (25.0 %) | 2.000 | – | – | – |"


def test_what_was_not_placed_is_told_and_enters_no_mean() -> None:
    """With the reason, and without the seconds in it."""
    module = load_script("moirai")
    given = tasks(
        ("none", "moirai-milp", 4e6, 2e6), ("none", "m-sct", 6e6, 2e6), ("none", "getf", None, 2e6)
    )
    line = module.claims(module.latencies(given)).splitlines()[2]
    assert line == (
        "| inter-server | original | 2.98, – | 1.77, **1.50** (1.500, n = 1) | 1.33, – | – |"
    )
    told = module.missing_table(given).splitlines()[2]
    assert told == "| getf | nothing within the limit | 1 | gpt-3-330m (inter-server none) |"
    assert module.missing_text(given) == "Of 1 graphs, these were not placed: `getf` 1."


def test_what_bounds_shared_transfers_bounds_those_for_each_edge() -> None:
    """The better one of both bounds counts, on graphs that are the same."""
    module = load_script("moirai")
    shared = tasks(("none", "m-sct", 6e6, 3e6), ("moirai", "m-sct", 5e6, 2e6))
    edges = tasks(
        ("none", "single-device", 8e6, 1e6), ("none", "moirai-milp", 4e6, 1e6),
        ("moirai", "single-device", 6e6, 4e6), ("moirai", "moirai-milp", None, 4e6),
    )  # fmt: skip
    found = module.per_edge(edges, shared)
    assert found["bound"].tolist() == [3e6, 3e6, 4e6, 4e6]
    line = module.per_edge_table(module.latencies(found), "none").splitlines()
    assert line[2:] == ["| gpt-3-330m | – | – | 2.000 | 2.667* | – | – | – | – |"]
    assert len(module.per_edge(edges.iloc[:3], shared)) == 2
    with pytest.raises(ValueError, match="differ"):
        module.per_edge(edges, shared.assign(operators=11))


def test_rows_of_old_versions_are_not_kept() -> None:
    """Methods that a folder lacks keep their rows as long as they are of today's version."""
    module = load_script("moirai")
    old = tasks(("none", "heft", 6e6, 3e6), ("none", "m-etf", 6e6, 3e6)).assign(version=2)
    assert module._stays(old, {"methods": ["m-etf"]}).tolist() == [True, False]
    with pytest.raises(ValueError, match="of heft are of version 1"):
        module._stays(old.assign(version=1), {"methods": ["m-etf"]})


def test_times_of_operators_by_hand() -> None:
    """In microseconds, without operators that take no time."""
    found = load_script("moirai_figures").quantiles(np.array([0, 1000, 2000, 3000, 10000, 4000]))
    assert found == {
        "operators": 5, "mean": 4.0, "p0": 1.0, "p25": 2.0, "p50": 3.0, "p75": 4.0, "p100": 10.0
    }  # fmt: skip


def test_bandwidths_are_those_of_table_iii() -> None:
    """From the row to the column, in Gbit/s."""
    found = load_script("moirai_figures").bandwidths("moirai-inter-server")
    assert found[0].round(2).tolist() == [0.0, 44.26, 32.92, 44.28]
