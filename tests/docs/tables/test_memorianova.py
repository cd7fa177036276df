"""The scripts that make docs/results-memorianova.md."""

from random import Random

import pandas as pd
from results_page import filled
from table_scripts import load_script

from boundmark.problems.dag import Dag


def orders(*rows: tuple[str, float | None, float | None]) -> pd.DataFrame:
    """Return tasks on one model and the sum of memory: method, memory and certified bound."""
    return pd.DataFrame(
        [("squeezenet", 66, "sum", *row, 0.25, "ok") for row in rows],
        columns=[
            "model", "operators", "metric", "method", "objective", "bound", "seconds", "status"
        ],
    )  # fmt: skip


def slices(*rows: tuple[str, str, int, float | None, float | None]) -> pd.DataFrame:
    """Return tasks on two devices: model, method, seed, latency and certified bound."""
    return pd.DataFrame(
        [("raspberry-pi-4-gigabit", 2, *row) for row in rows],
        columns=["network", "devices", "model", "method", "seed", "objective", "bound"],
    )


ORDERS = orders(
    ("default-order", 120.0, None), ("greedy-order", 95.0, None), ("btsearch", 100.0, None),
    ("btsearch hashing", 90.0, None), ("btsearch marking", 110.0, None),
    ("btsearch marking hashing", 90.0, 90.0), ("downset-dp", 90.0, 90.0),
)  # fmt: skip


def test_the_page_is_what_the_script_makes() -> None:
    """From the data that stand beside it; made again, it is the same."""
    module = load_script("memorianova")
    page = module.PAGE.read_text()
    assert filled(page, module.parts(), module.PAGE) == page
    assert module.tables() == module.TABLES.read_text()
    page = module.PROBLEM_PAGE.read_text()
    assert filled(page, module.headline_part(), module.PROBLEM_PAGE) == page


def test_memory_is_saved_of_random_orders() -> None:
    """Not of the default order, which may be worse than they are."""
    random = pd.DataFrame({"model": ["squeezenet"], "metric": ["sum"], "mean": [100 * 2**20]})
    given = ORDERS.assign(objective=ORDERS["objective"] * 2**20, bound=ORDERS["bound"] * 2**20)
    lines = load_script("memorianova").memory_table(given, random, "sum").splitlines()
    assert lines[2:] == [
        "| squeezenet | 66 | 100.00 | -20.0 % | 5.0 % | 10.0 % | 10.0 % | optimal |",
        "| geometric mean |  |  | -20.0 % | 5.0 % | 10.0 % | 10.0 % |  |",
        "| most |  |  | -20.0 % | 5.0 % | 10.0 % | 10.0 % |  |",
    ]


def test_backtracking_without_a_proof_has_no_seconds() -> None:
    """But how far its order is off, or that it is the best without a proof."""
    lines = load_script("memorianova").backtracking_table(ORDERS, "sum").splitlines()[2:]
    assert lines == [
        "| squeezenet | 11.1 % above | optimal, not proven | 22.2 % above | 0.25 | 0.25 |",
        "| proven | 0 | 0 | 0 | 1 | 1 |",
    ]


def test_seeds_are_averaged_before_models() -> None:
    """Saved is of one device's latency; an instance without a bound enters no gap."""
    module = load_script("memorianova")
    given = slices(
        ("alexnet", "one-device", 1, 8e6, None), ("alexnet", "geneflow", 1, 3e6, None),
        ("alexnet", "geneflow", 2, 5e6, None), ("alexnet", "slice-potentials", 1, None, 2e6),
        ("vgg19", "one-device", 1, 8e6, None), ("vgg19", "geneflow", 1, 4e6, None),
    )  # fmt: skip
    found = module.latencies(given)
    line = module.saved_table(found).splitlines()[2]
    assert line.startswith("| Gigabit | 2 | 2 | – | 50.0 % (50.0 to 50.0) | – | – |")
    assert line.endswith("| 75.0 % (n = 1) | 50.0 % (n = 1) |")
    alexnet, vgg = module.by_model(found, "raspberry-pi-4-gigabit").splitlines()[2:]
    assert alexnet == "| alexnet | 8.00 | 50.0 % | – | 75.0 % | – | – | – | – | – | – |"
    assert vgg.startswith("| vgg19 | 8.00 | 50.0 % | – | – |")
    line = module.every_latency(found, "raspberry-pi-4-gigabit", 2).splitlines()[2]
    assert "| 4.00 (3.00 to 5.00) |" in line


def test_random_orders_are_topological_and_reach_all() -> None:
    """Of a fork of two branches, both orders are drawn."""
    module = load_script("memorianova_random_orders")
    fork, random = Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)]), Random(1)
    drawn = {tuple(module.random_order(fork, random)) for _ in range(20)}
    assert drawn == {(0, 1, 2, 3), (0, 2, 1, 3)}
