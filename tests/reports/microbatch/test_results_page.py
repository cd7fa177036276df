"""The script that makes the tables of docs/results-tessel.md."""

import pandas as pd
from results_page import filled
from table_scripts import load_script


def test_the_page_is_what_the_script_makes() -> None:
    """From the data that stand beside it; made again, it is the same."""
    module = load_script("tessel")
    page = module.PAGE.read_text()
    assert filled(page, module.parts(), module.PAGE) == page
    assert module.tables() == module.TABLES_FILE.read_text()


def test_a_rate_that_may_not_be_the_smallest_has_a_star() -> None:
    """And more micro-batches are in brackets only where they change the rate."""
    columns = ["shape", "is_papers", "micro_batches", "memory", "bubble", "is_proven"]
    rows = pd.DataFrame(
        [
            ("x", True, 3, 1, None, True), ("x", False, 9, 1, None, True),
            ("x", True, 3, 2, 25.0, True), ("x", False, 9, 2, 11.1, False),
            ("x", True, 3, 3, 11.1, True), ("x", False, 9, 3, 11.1, False),
        ],
        columns=columns,
    )  # fmt: skip
    assert (
        load_script("tessel").figure_12(rows).splitlines()[2]
        == "| X, 3 | – | 25.0 (11.1*) | 11.1 |"
    )


def test_proven_periods_are_counted_by_devices() -> None:
    """Of each method, and of the better one of each layout."""
    rows = pd.DataFrame(
        [("v-4", 4, 4, 5, 0.5), ("x-4", 8, 9, 8, 0.25), ("v-16", 4, 6, 6, 2.0)],
        columns=["shape", "bound", "tessel", "modulo", "to_period"],
    )
    assert load_script("tessel").device_summary(rows).splitlines()[2:] == [
        "| 4 | 2 | 1 | 1 | 2 | 0.50 |",
        "| 16 | 1 | 0 | 0 | 0 | 2.00 |",
    ]


def test_what_does_not_fit_is_a_cross_and_has_no_ratio() -> None:
    """Nor have others where Tessel itself does not fit."""
    rows = pd.DataFrame(
        [("gpt", 4, "Tessel", 64.0), ("gpt", 4, "1F1B", 128.0), ("gpt", 8, "1F1B", 128.0)],
        columns=["model", "gpus", "schedule", "seconds"],
    )
    four, eight = load_script("tessel").speed_table(rows, "gpt").splitlines()[2:4]
    assert four == "| 4 | 2.00 | × | 1.00 (2.00) | × | × | × |"
    assert eight == "| 8 | × | × | 1.00 | × | × | × |"
