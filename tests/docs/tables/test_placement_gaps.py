"""The generator of the table in docs/how-far-from-optimal.md."""

from types import ModuleType

import pandas as pd
import pytest
from brute_force_placement import instance
from table_scripts import load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return the script as a module."""
    return load_script("placement_gaps")


def test_gaps_are_those_of_the_best_rows(script: ModuleType) -> None:
    """The quickest of the best names the schedule; means are of ratios, and by sort of modules."""
    rows = pd.DataFrame(
        [
            ("a", "x", "1", "heft", 12, None, 0.1, 0.1),
            ("a", "x", "1", "slow", 11, None, 9.0, 8.0),
            ("a", "x", "1", "quick", 11, None, 1.0, 1.0),
            ("a", "x", "1", "placement-certify", 13, 10, 60.0, 41.6),
            ("b", "", "2", "heft", 5000, None, 0.1, 0.1),
            ("b", "", "2", "placement-certify", None, 5000, 60.0, 50.0),
            ("c", "x", "3", "placement-certify", None, 7, 60.0, None),
        ],
        columns=[
            "instance", "device", "instance_sha256", "method", "objective", "bound_certified",
            "wall_seconds", "cpu_seconds",
        ],
    ).assign(nodes=1234)  # fmt: skip
    modules = {
        "1": script.Modules(50, 0),
        "2": script.Modules(40, 0),
        "3": script.Modules(3, 2),
    }
    assert script.gap_table(rows, modules).splitlines()[2:] == [
        "| b | its own | 1,234 | 40 | 0 | heft | 5,000 | 5,000 | optimal | 50 |",
        "| a | x | 1,234 | 50 | 0 | quick | 11 | 10 | 10.00 % | 42 |",
        "| c | x | 1,234 | 3 | 2 |  |  | 7 | none |  |",
        "",
        "- All, n = 2: GM(UB/LB) - 1 = 4.88 %",
        "- Modules of at most 40 operators, none outside, n = 1: GM(UB/LB) - 1 = 0.00 %",
        "- Others, n = 1: GM(UB/LB) - 1 = 10.00 %",
    ]


def test_modules_of_a_model(script: ModuleType) -> None:
    """Two branches are a module between their ends, and with a mask for both a larger one."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]
    assert script.modules_of(instance([[9, 9]] * 5, edges)) == script.Modules(2, 0)
    masked = instance([[9, 9]] * 5 + [[1, 1]], [*edges, (5, 1), (5, 4)])
    assert script.modules_of(masked) == script.Modules(4, 0)
    assert script.Modules(2, 0).are_small
    assert not script.Modules(2, 1).are_small
    assert not script.Modules(41, 0).are_small
