"""The script that makes docs/results-hsdag.md."""

import pandas as pd
from results_page import filled
from table_scripts import load_script

COLUMNS = ["part", "model", "method", "kind", "seed", "makespan", "bound", "cpu_seconds", "status"]


def tasks(*rows: tuple[str, int, float | None, float | None]) -> pd.DataFrame:
    """Return tasks on Inception-v3, of each its method, seed, makespan and certified bound."""
    return pd.DataFrame(
        [
            ("small", "inception-v3", method, "heuristic", seed, makespan, bound, 1.0, "ok")
            for method, seed, makespan, bound in rows
        ],
        columns=COLUMNS,
    )


def test_the_page_is_what_the_script_makes() -> None:
    """From the data that stand beside it; made again, it is the same."""
    module = load_script("hsdag")
    page = module.PAGE.read_text()
    assert filled(page, module.parts(), module.PAGE) == page
    assert module.tables() == module.TABLES.read_text()


def test_speedups_stand_beside_the_papers() -> None:
    """With the gap to the certified bound; a method that was not run has none."""
    module = load_script("hsdag")
    given = tasks(
        ("preferred-device first=0", 1, 10e6, None), ("interval-load", 1, None, 2e6),
        ("hsdag", 1, 4e6, None), ("hsdag", 2, 5e6, None), ("hsdag", 3, 8e6, None),
        ("placement-certify", 1, 2e6, 2e6),
    )  # fmt: skip
    lines = {line.split(" | ")[0]: line for line in module.table_2(given).splitlines()}
    assert lines["| HSDAG"].startswith("| HSDAG | 17.9 % | 50.0 % | 150 % | 52.1 % | – | – |")
    assert lines["| RNN-based"].endswith("| out of memory | – | – |")
    assert lines["| `placement-certify`"].startswith("| `placement-certify` | – | 80.0 % | optimal")


def test_seconds_stand_beside_the_papers() -> None:
    """The median over seeds of processor time; what ran out of memory there is told."""
    module = load_script("hsdag")
    lines = module.table_5(tasks(("hsdag", 1, 4e6, None))).splitlines()[2:]
    assert lines[2] == "| `hsdag` | 2,454 | 1.0 | 1,047 | – | 2,765 | – |"
    assert "out of memory" in lines[1]


def test_seeds_have_their_median_and_spread() -> None:
    """Beside the paper's speedup, with how many there were; what was not run is missing."""
    module = load_script("hsdag")
    given = tasks(
        ("preferred-device first=0", 1, 10e6, None), ("interval-load", 1, None, 2e6),
        ("hsdag", 1, 4e6, None), ("hsdag", 2, 5e6, None), ("hsdag", 3, 8e6, None),
    )  # fmt: skip
    lines = module.ablations(given).splitlines()[2:]
    assert lines == [
        "| all features | Inception-v3 | 17.9 % "
        "| 5.000 (4.000 to 8.000) <br> 50.0 %, 150 % <br> n = 3 | – |"
    ]


def test_after_so_many_evaluations() -> None:
    """Methods that draw count samples, others evaluations."""
    module = load_script("hsdag")
    given = tasks(
        ("interval-load", 1, None, 2e6), ("hsdag evaluations=100", 1, 4e6, None),
        ("random-sets samples=300", 1, 3e6, None),
    )  # fmt: skip
    lines = module.curves(given).splitlines()
    assert lines[2] == "| `hsdag` | 4.000, 100.0 % | – | – | – |"
    assert lines[4] == "| `random-sets` | – | 3.000, 50.0 % | – | – |"
