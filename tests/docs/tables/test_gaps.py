"""The script that makes the tables of docs/how-far-from-optimal.md."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import runs
from results_page import filled
from table_scripts import load_script


def test_the_page_is_what_the_script_makes() -> None:
    """From the tables that stand beside it; made again, it is the same."""
    module = load_script("gaps")
    page = module.PAGE.read_text()
    assert filled(page, module.parts(), module.PAGE) == page


def test_printed_tables_are_kept_cell_by_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each under its name, also with columns of one name; a wrong number of names is refused."""
    module = load_script("gaps")
    monkeypatch.setattr(module, "DATA", tmp_path / "new")
    table = "| a | gap | gap |\n| --- | ---: | ---: |\n| x, y | 1.0 % |  |"
    module.save(["-", "kept"], f"text\n\n{table}\n\nmore\n\n{table}\n")
    assert [path.name for path in module.DATA.iterdir()] == ["kept.csv"]
    assert module.whole("kept", 1) == table
    with pytest.raises(ValueError, match="has 1 tables; expected 2"):
        module.save(["one", "two"], table)


def test_solved_graphs_are_counted() -> None:
    """Those with a gap have a line, all others one together."""
    cells = pd.DataFrame(
        [("a", "9", "optimal", "1.00 %"), ("b", "9", "optimal", "optimal")],
        columns=["graph", "nodes", "k = 2", "k = 4"],
    )
    assert load_script("gaps").zoo_table(cells).splitlines()[2:] == [
        "| a | 9 | optimal | 1.00 % |",
        "| 1 others |  | optimal | optimal |",
        "| proven optimal |  | 2 of 2 | 1 of 2 |",
    ]


def test_what_the_paper_has_stands_first() -> None:
    """With its source; the number of graphs stays last, below how many are solved."""
    methods = pd.DataFrame(
        [("`certify`", "certified", "0.9"), ("graphs", "", "2")],
        columns=["method", "bound", "k = 2"],
    )
    graphs = pd.DataFrame({"k = 2": ["optimal", "0.9"]})
    assert load_script("gaps").random_graph_table(methods, graphs, [0.98]).splitlines()[2:] == [
        "| exact, an hour | [MTPP24] | 0.9800 |",
        "| `certify` | certified | 0.9 |",
        "| proven optimal |  | 1 |",
        "| graphs |  | 2 |",
    ]


def test_gaps_of_placements_are_those_of_the_numbers() -> None:
    """By whether all operators are in small modules, and of all of them."""
    cells = pd.DataFrame(
        [("40", "0", "1,100", "1,000"), ("40", "1", "7", "7"), ("1,041", "0", "4", "1")],
        columns=["largest", "outside", "makespan", "LB"],
    )
    small, others, every = load_script("gaps").placement_table(cells).splitlines()[2:]
    assert small.endswith("| 1 | 0 | 10.00 % | 10.00 % |")
    assert others == "| others | 2 | 1 | 100.00 % | 300.00 % |"
    assert every.startswith("| all | 3 | 1 |")


def test_a_page_without_marks_is_refused() -> None:
    """The sentence names the page and the mark."""
    with pytest.raises(ValueError, match=r"page.md: <!-- table 9 -->"):
        filled("# Page\n", {"table 9": "text"}, Path("page.md"))


RECORD = {
    "commit": "0123456789abcdef", "dirty": False, "cpu": "One", "cores": 2,
    "load_at_start": [0.25, 0, 0], "libraries": {"jax": "1.0"},
}  # fmt: skip


@pytest.mark.parametrize("change", [{}, {"dirty": True}, {"commit": None, "dirty": None}])
def test_results_of_code_that_was_not_committed_are_refused(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """The sentence says what to do; others are told with their commit, machine and day."""
    (tmp_path / "results").mkdir()
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "1.json").write_text(json.dumps(RECORD | change))
    rows = pd.DataFrame({"started_at": pd.to_datetime(["2026-11-23 13:28", "2026-11-23 14:21"])})
    if change:
        with pytest.raises(ValueError, match="commit the code, and run the suite into a new"):
            runs.machine_facts([tmp_path], rows)
        return
    found = runs.machine_facts([tmp_path], rows, ["jax"])
    assert runs.machine(found) == (
        'Commit 0123456789, 2026-11-23 13:28 to 14:21 UTC, "One", 2 cores'
    )
    assert (found["loads"], found["versions"]) == ([0.2], {"jax": "1.0"})
